package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The model: what the format says of flags, declared members and policies, worked out for one instance at a time over the generator's own
// shapes, without states, caches, resolved references or JSON. The Plan must agree at every location: it seals what is flagged and no
// more, refuses, seals or copies what is undeclared and nothing else.
type model struct {
	g       *generator
	dynamic map[string][]*shape // of the files that are reached
}

// modelSet holds the shapes at a location; true where one may declare names.
type modelSet map[*shape]bool

func newModel(g *generator) *model {
	m := &model{g: g, dynamic: map[string][]*shape{}}
	root := g.files[0].root
	for before := -1; before != len(m.reachable(root)); { // more anchors reach more files
		reached := m.reachable(root)
		before = len(reached)
		files := map[*shapeFile]bool{}
		for s := range reached {
			files[s.file] = true
		}
		m.dynamic = map[string][]*shape{}
		for _, s := range g.shapes {
			if files[s.file] && s.dynamic != "" {
				m.dynamic[s.dynamic] = append(m.dynamic[s.dynamic], s)
			}
			if files[s.file] && s.recurse {
				m.dynamic["recursive"] = append(m.dynamic["recursive"], s)
			}
		}
	}
	return m
}

// applications lists what a draft reads of a shape: beside $ref in draft 7 and earlier, nothing.
func (s *shape) applications() []application {
	if s.ref != nil && s.draft <= 7 {
		return nil
	}
	return s.apps
}

func (s *shape) application(keyword string) *application {
	for _, a := range s.applications() {
		if a.keyword == keyword {
			return &a
		}
	}
	return nil
}

func (m *model) referred(s *shape) []*shape {
	if s.ref == nil {
		return nil
	}
	targets := []*shape{s.ref.target}
	switch s.ref.keyword {
	case "$dynamicRef":
		targets = append(targets, m.dynamic[s.ref.target.dynamic]...)
	case "$recursiveRef":
		targets = append(targets, m.dynamic["recursive"]...)
	}
	return targets
}

func (m *model) reachable(s *shape) map[*shape]bool {
	seen := map[*shape]bool{s: true}
	for queue := []*shape{s}; len(queue) > 0; queue = queue[1:] {
		next := m.referred(queue[0])
		for _, a := range queue[0].applications() {
			next = append(next, a.to...)
		}
		for _, t := range next {
			if !seen[t] {
				seen[t] = true
				queue = append(queue, t)
			}
		}
	}
	return seen
}

// close adds all that applies to the same value.
func (m *model) close(set modelSet) modelSet {
	out := modelSet{}
	var add func(s *shape, declares bool)
	add = func(s *shape, declares bool) {
		if had, seen := out[s]; seen && (had || !declares) {
			return
		}
		out[s] = declares
		for _, t := range m.referred(s) {
			add(t, declares)
		}
		for _, a := range s.applications() {
			switch a.keyword {
			case "allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies", "if":
				for _, t := range a.to {
					add(t, declares && a.keyword != "if")
				}
			}
		}
	}
	for s, declares := range set {
		add(s, declares)
	}
	return out
}

func (m *model) flagged(set modelSet) bool {
	for s := range set {
		if s.flag {
			return true
		}
		if names := s.application("propertyNames"); names != nil {
			for below := range m.reachable(names.to[0]) {
				if below.flag {
					return true
				}
			}
		}
	}
	return false
}

// says: true, {}, false and annotations alone say nothing.
func (m *model) says(s *shape, seen map[*shape]bool) bool {
	switch {
	case seen[s]:
		return false
	case s.flag:
		return true
	case s.boolean != "":
		return false
	}
	seen[s] = true
	if s.ref == nil || s.draft > 7 {
		for word := range s.words {
			switch word {
			case "title", "description", "default":
			case "const":
				if s.draft >= 6 {
					return true
				}
			case "contentEncoding":
				if s.draft >= 7 {
					return true
				}
			case "dependentRequired":
				if s.draft >= 2019 {
					return true
				}
			default:
				return true
			}
		}
	}
	below := m.referred(s)
	for _, a := range s.applications() {
		switch a.keyword {
		case "allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas":
			below = append(below, a.to...)
		case "if":
		default:
			return true
		}
	}
	return slices.ContainsFunc(below, func(t *shape) bool { return m.says(t, seen) })
}

// member steps to a member of an object.
func (m *model) member(set modelSet, name string) (child modelSet, declared bool) {
	child = modelSet{}
	take := func(s *shape, declares bool, named bool) {
		child[s] = child[s] || declares
		declared = declared || declares && (named || m.says(s, map[*shape]bool{}))
	}
	for s, declares := range set {
		taken := false
		if a := s.application("properties"); a != nil {
			if i := slices.Index(a.names, name); i >= 0 {
				take(a.to[i], declares, true)
				taken = true
			}
		}
		if a := s.application("patternProperties"); a != nil {
			for i, pattern := range a.names {
				if matchesGenerated(pattern, name) {
					take(a.to[i], declares, false)
					taken = true
				}
			}
		}
		if taken {
			continue
		}
		if a := s.application("additionalProperties"); a != nil {
			take(a.to[0], declares, false)
		} else if a := s.application("unevaluatedProperties"); a != nil {
			take(a.to[0], declares, false)
		}
	}
	return child, declared
}

// matchesGenerated knows the generator's four patterns without a regular expression.
func matchesGenerated(pattern, name string) bool {
	switch pattern {
	case "^[ab]$":
		return name == "a" || name == "b"
	case "[bc]":
		return strings.ContainsAny(name, "bc")
	case "^x":
		return strings.HasPrefix(name, "x")
	}
	return strings.Contains(name, "~")
}

func (m *model) item(set modelSet, i int) modelSet {
	child := modelSet{}
	take := func(s *shape, declares bool) { child[s] = child[s] || declares }
	for s, declares := range set {
		tuple := s.application("prefixItems")
		if tuple == nil {
			tuple = s.application("items[]")
		}
		rest := s.application("items")
		if rest == nil {
			rest = s.application("additionalItems")
		}
		switch {
		case tuple != nil && i < len(tuple.to):
			take(tuple.to[i], declares)
		case rest != nil:
			take(rest.to[0], declares)
		}
		beyond := tuple == nil || i >= len(tuple.to)
		forbidden := rest != nil && rest.keyword == "additionalItems" && rest.to[0].boolean == "false"
		if a := s.application("unevaluatedItems"); a != nil && beyond && (rest == nil || forbidden) {
			take(a.to[0], declares)
		}
		if a := s.application("contains"); a != nil {
			take(a.to[0], false)
		}
	}
	return child
}

// declaresAName reports that some name at all is declared.
func (m *model) declaresAName(set modelSet) bool {
	for s, declares := range set {
		if !declares {
			continue
		}
		for _, a := range s.applications() {
			switch a.keyword {
			case "properties":
				if len(a.to) > 0 {
					return true
				}
			case "patternProperties", "additionalProperties", "unevaluatedProperties":
				if slices.ContainsFunc(a.to, func(t *shape) bool { return m.says(t, map[*shape]bool{}) }) {
					return true
				}
			}
		}
	}
	return false
}

func stricter(a, b string) string {
	order := []string{"", "clear", "seal", "reject"}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// compare walks model and plan side by side and gives the first place at which they differ. counts takes what was seen.
func (m *model) compare(set modelSet, s *State, v any, policy string, inside bool, at string, counts map[string]int) string {
	set = m.close(set)
	for shape := range set {
		if shape.file != m.g.files[0] {
			policy = stricter(policy, shape.file.policy)
		}
	}
	_, object := v.(map[string]any)
	want := "open"
	switch {
	case m.flagged(set):
		want = "sealed"
	case inside:
		want = "inside"
	case policy == "seal" && !m.declaresAName(set) && object:
		want = "sealed whole"
	}
	got := "open"
	switch {
	case s == nil:
		return at + ": the plan refuses what the model has as " + want
	case s.Conflict() != nil:
		return at + ": conflict"
	case s.Sealed():
		got = "sealed"
	case inside:
		got = "inside"
	case s.SealedIfObject() && object:
		got = "sealed whole"
	}
	counts[policy+" "+want]++
	if got != want {
		return fmt.Sprintf("%s: %s, and by the model %s", at, got, want)
	}
	if s.Clear() && (m.holds(set) || policy != "clear" && !inside) {
		return at + ": the plan lets a walker pass by"
	}
	inside = inside || want != "open"
	switch v := v.(type) {
	case map[string]any:
		for name, c := range v {
			child, declared := m.member(set, name)
			next, _ := s.Member([]byte(name))
			where := at + "/" + name
			undeclared := !declared && !inside
			switch {
			case undeclared && policy == "reject":
				counts["reject undeclared"]++
				if next != nil {
					return where + ": undeclared and not refused"
				}
				continue
			case undeclared && policy == "seal":
				counts["seal undeclared"]++
				if next == nil || !next.Sealed() {
					return where + ": undeclared and not sealed"
				}
				continue
			case undeclared:
				counts["clear undeclared"]++
			}
			if diff := m.compare(child, next, c, policy, inside, where, counts); diff != "" {
				return diff
			}
		}
	case []any:
		for i, c := range v {
			if diff := m.compare(m.item(set, i), s.Item(i), c, policy, inside, fmt.Sprintf("%s/%d", at, i), counts); diff != "" {
				return diff
			}
		}
	}
	return ""
}

// holds reports a flag at or below.
func (m *model) holds(set modelSet) bool {
	for s := range set {
		for below := range m.reachable(s) {
			if below.flag {
				return true
			}
		}
	}
	return false
}

func TestLawThePlanIsTheModel(t *testing.T) {
	t.Parallel()
	const streams = 4
	counts := map[string]int{}
	var mu sync.Mutex
	t.Run("schemas", func(t *testing.T) {
		for stream := range streams {
			t.Run(fmt.Sprint(stream), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(stream), 15))
				own := map[string]int{}
				for i := range 8000 / lawScale / streams {
					if diff := compareOnce(r, generatedDrafts()[i%5], own); diff != "" {
						t.Fatal(diff)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for k, n := range own {
					counts[k] += n
				}
			})
		}
	})
	t.Logf("locations by policy: %v", counts)
	for _, k := range []string{"clear open", "clear sealed", "clear inside", "clear undeclared", "seal open", "seal sealed", "seal sealed whole",
		"seal undeclared", "reject open", "reject sealed", "reject undeclared"} {
		if counts[k] < leastHits {
			t.Errorf("%s: only %d locations", k, counts[k])
		}
	}
}

// compareOnce generates one set of schemas and compares plan and model on five instances.
func compareOnce(pick chooser, draft int, counts map[string]int) string {
	g := generate(pick, draft)
	if pick.IntN(2) == 1 { // fewer flags, so that more is undeclared
		g = generateWith(pick, draft, 20, []string{"seal", "reject"})
	}
	reg, err := LoadFS(mapFS(g.texts(false)))
	var le *LoadError
	if errors.As(err, &le) && !slices.ContainsFunc(le.Findings, func(f Finding) bool { return f.Rule != "ref-loop" }) {
		return ""
	}
	if err != nil {
		return fmt.Sprintf("%v\n%s", err, (&subject{g: g}).print())
	}
	m := newModel(g)
	for range instancesASchema {
		v := instance(pick, 4)
		if diff := m.compare(modelSet{g.files[0].root: true}, reg.events[0].plan.Root(), v, g.policy, false, "", counts); diff != "" {
			text, _ := json.Marshal(v)
			return fmt.Sprintf("%s\nof %s\n%s", diff, text, (&subject{g: g}).print())
		}
	}
	return ""
}

// FuzzPlan lets the input choose schemas and an instance, and holds the Plan against the validator and against the model.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{"", "\x00\x01\x02\x03\x04\x05\x06\x07", strings.Repeat("\x05\x01\x03\x07", 60), strings.Repeat("\x02\x01", 90)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		pick := &tape{choices}
		draft := generatedDrafts()[pick.IntN(5)]
		rest := slices.Clone(pick.rest)
		if diff := compareOnce(pick, draft, map[string]int{}); diff != "" {
			t.Fatal(diff)
		}
		again := &tape{rest}
		s, err := newSubject(generate(again, draft))
		if errors.Is(err, errLoops) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for range instancesASchema {
			if m := s.miss(instance(again, 4), nil); m != "" {
				t.Fatal(m)
			}
		}
	})
}
