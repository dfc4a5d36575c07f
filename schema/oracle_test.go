package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The oracle: jsonschema/v5 itself says, through an extension, at which locations of an instance a flagged subschema was evaluated. The
// Plan must seal each of them, or something around it, or refuse the event.
//
// What the oracle cannot see, and how it is covered:
//
//   - v5 does not call extensions after a type that failed, at boolean schemas, and beside $ref in draft 7 and earlier: the schemas that it
//     gets are rewritten to say the same in words that it does call them for (shape.write).
//   - It evaluates one of then and else, a dependent schema only where its member is present, no alternative of a oneOf after the second
//     that matches, and one target of a dynamic reference: the generator varies instances, and the Plan takes all of them, which
//     TestThePlanIsTheModel states for every schema of the same generator.
//   - It never evaluates contentSchema from 2019-09 on, and flags below not are refused: TestFlagsBelowEachApplicator and TestLoadRefuses.
//   - At propertyNames the instance is a name: the location counted is that of the object.
type oracle struct {
	mu   sync.Mutex // the validator is used by one goroutine at a time; a run with -race shows it
	hits []hit
}

// hit is one evaluation of a flagged subschema.
type hit struct {
	id      int
	tokens  []string // the location in the instance
	keyword string   // the last applicator on the way to the flag
	ways    []string // all of them
}

type oracleFlag struct {
	oracle *oracle
	id     int
}

// Compile makes the extension stand at each flagged object.
func (o *oracle) Compile(_ jsonschema.CompilerContext, m map[string]any) (jsonschema.ExtSchema, error) {
	if m[wordSensitive] != true {
		return nil, nil
	}
	id, err := m["x-id"].(json.Number).Int64()
	return oracleFlag{o, int(id)}, err
}

// Validate notes the location: the only way to learn it is to ask for an error.
func (f oracleFlag) Validate(ctx jsonschema.ValidationContext, _ any) error {
	e := ctx.Error("x", "")
	h := hit{id: f.id, tokens: splitLocation(e.InstanceLocation)}
	h.ways = applicatorsIn(strings.TrimSuffix(e.KeywordLocation, "/x"))
	if n := len(h.ways); n > 0 {
		h.keyword = h.ways[n-1]
	} else {
		h.keyword = "root"
	}
	if slices.Contains(h.ways, "propertyNames") {
		h.tokens = h.tokens[:len(h.tokens)-1]
	}
	f.oracle.mu.Lock()
	f.oracle.hits = append(f.oracle.hits, h)
	f.oracle.mu.Unlock()
	return nil
}

func splitLocation(location string) []string {
	if location == "" {
		return nil
	}
	tokens := strings.Split(location[1:], "/")
	for i, t := range tokens {
		u, err := url.PathUnescape(t)
		if err != nil {
			panic(err)
		}
		tokens[i] = pointerUnescaper.Replace(u)
	}
	return tokens
}

// applicatorsIn reads the applicators on a keyword location.
func applicatorsIn(location string) []string {
	var ways []string
	tokens := strings.Split(location, "/")[1:]
	for i := 0; i < len(tokens); i++ {
		k := tokens[i]
		switch k {
		case "properties", "patternProperties", "dependencies", "dependentSchemas", "allOf", "anyOf", "oneOf", "prefixItems":
			i++
		case "items":
			if i+1 < len(tokens) && strings.Trim(tokens[i+1], "0123456789") == "" {
				k = "items[]"
				i++
			}
		}
		ways = append(ways, k)
	}
	return ways
}

// subject is one generated set of schemas, loaded, and compiled for the oracle.
type subject struct {
	g        *generator
	reg      *Registry
	compiled *jsonschema.Schema
	oracle   *oracle
}

var errLoops = errors.New("references loop")

// newSubject loads and compiles what was generated. errLoops: references that lead in a circle, which both refuse.
func newSubject(g *generator) (*subject, error) {
	reg, err := LoadFS(mapFS(g.texts(false)))
	var le *LoadError
	if errors.As(err, &le) && !slices.ContainsFunc(le.Findings, func(f Finding) bool { return f.Rule != "ref-loop" && f.Rule != "flag-below-not" }) {
		return nil, errLoops
	}
	if err != nil {
		return nil, err
	}
	s := &subject{g: g, reg: reg, oracle: &oracle{}}
	c := jsonschema.NewCompiler()
	c.LoadURL = reg.newCompiler().LoadURL
	texts := g.texts(true)
	for name, text := range texts {
		if err := c.AddResource("fs://0/"+name, bytes.NewReader(text)); err != nil {
			return nil, err
		}
	}
	for _, f := range g.files {
		if f.id != f.url {
			if err := c.AddResource(f.id, bytes.NewReader(texts[f.name])); err != nil {
				return nil, err
			}
		}
	}
	c.RegisterExtension("flags", nil, s.oracle)
	s.compiled, err = c.Compile(g.files[0].url)
	return s, err
}

// ask gives every location of the instance at which a flagged subschema is evaluated.
func (s *subject) ask(v any) []hit {
	s.oracle.hits = nil
	_ = s.compiled.Validate(v) // whether the instance is valid does not matter: another branch may take it
	return s.oracle.hits
}

// sealed reports that the plan seals the location or something around it, or refuses the event.
func sealed(p *Plan, v any, tokens []string) bool {
	s := p.Root()
	for i := 0; ; i++ {
		_, object := v.(map[string]any)
		switch {
		case s == nil, s.Conflict() != nil, s.Sealed(), s.SealedIfObject() && object:
			return true
		case i == len(tokens):
			return false
		}
		switch w := v.(type) {
		case map[string]any:
			v = w[tokens[i]]
			s, _ = s.Member([]byte(tokens[i]))
		case []any:
			n := 0
			fmt.Sscan(tokens[i], &n)
			v = w[n]
			s = s.Item(n)
		}
	}
}

func (s *subject) print() string {
	var b strings.Builder
	for name, text := range s.g.texts(false) {
		fmt.Fprintf(&b, "%s: %s\n", name, text)
	}
	return b.String()
}

// miss says what of an instance the oracle sees flagged and the plan leaves clear, or nothing.
func (s *subject) miss(v any, count func(hit)) string {
	p := s.reg.events[0].plan
	for _, h := range s.ask(v) {
		if count != nil {
			count(h)
		}
		if !sealed(p, v, h.tokens) {
			text, _ := json.Marshal(v)
			return fmt.Sprintf("the validator applied a flag (by %v) to %q of %s, and the plan leaves it clear\n%s", h.ways, h.tokens, text, s.print())
		}
	}
	return ""
}

const (
	lawCases         = 100_000 / lawScale
	instancesASchema = 5
	leastHits        = 300 / lawScale
)

type row struct {
	keyword string
	draft   int
}

// tally counts hits by applicator and draft.
type tally struct {
	rows            map[row]int
	cases, loops    int
	hits, unlimited int
}

func (t *tally) add(o *tally) {
	for k, n := range o.rows {
		t.rows[k] += n
	}
	t.cases, t.loops, t.hits, t.unlimited = t.cases+o.cases, t.loops+o.loops, t.hits+o.hits, t.unlimited+o.unlimited
}

// countHits runs n cases of one stream of random numbers and gives the first miss.
func countHits(seed uint64, n int) (*tally, string) {
	r := rand.New(rand.NewPCG(seed, 4))
	t := &tally{rows: map[row]int{}}
	for i := 0; t.cases < n; i++ {
		g := generate(r, generatedDrafts()[i%5])
		s, err := newSubject(g)
		if errors.Is(err, errLoops) {
			t.loops++
			continue
		}
		if err != nil {
			return t, fmt.Sprintf("%v\n%s", err, (&subject{g: g}).print())
		}
		for range instancesASchema {
			t.cases++
			if m := s.miss(instance(r, 4), func(h hit) { t.count(s, h) }); m != "" {
				return t, m
			}
		}
	}
	return t, ""
}

func (t *tally) count(s *subject, h hit) {
	t.hits++
	if s.g.policy == "clear" {
		t.unlimited++ // nothing but the flag seals it
	}
	flag := s.g.byID(h.id)
	t.rows[row{h.keyword, flag.draft}]++
	if flag.ref != nil && flag.draft <= 7 {
		t.rows[row{"beside $ref", flag.draft}]++
	}
	if flag.overlay {
		t.rows[row{"overlay", flag.draft}]++
	}
	if flag.boolean != "" {
		t.rows[row{"boolean schema", flag.draft}]++
	}
}

func (g *generator) byID(id int) *shape {
	i := slices.IndexFunc(g.shapes, func(s *shape) bool { return s.id == id })
	return g.shapes[i]
}

// lawRows lists what must be hit in each draft.
func lawRows() []row {
	var rows []row
	for _, d := range generatedDrafts() {
		for _, k := range append(applicatorsOf(d), "root", "overlay", "boolean schema") {
			rows = append(rows, row{k, d})
		}
		if d <= 7 {
			rows = append(rows, row{"beside $ref", d})
		}
	}
	return rows
}

func TestLawThePlanSealsWhateverTheValidatorSaysIsFlagged(t *testing.T) {
	t.Parallel()
	const streams = 4
	total := &tally{rows: map[row]int{}}
	var mu sync.Mutex
	t.Run("cases", func(t *testing.T) {
		for i := range streams {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				part, miss := countHits(uint64(i), lawCases/streams)
				mu.Lock()
				total.add(part)
				mu.Unlock()
				if miss != "" {
					t.Error(miss)
				}
			})
		}
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%d cases, %d hits (%d of them under the policy clear), %d schemas that loop\n%-24s", total.cases, total.hits, total.unlimited, total.loops, "flag hit below")
	for _, d := range generatedDrafts() {
		fmt.Fprintf(&b, "%8d", d)
	}
	rows := lawRows()
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.keyword) {
			names = append(names, r.keyword)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "\n%-24s", name)
		for _, d := range generatedDrafts() {
			if !slices.Contains(rows, row{name, d}) {
				fmt.Fprintf(&b, "%8s", "-")
				continue
			}
			fmt.Fprintf(&b, "%8d", total.rows[row{name, d}])
			if n := total.rows[row{name, d}]; n < leastHits {
				t.Errorf("%s in draft %d: a flag was hit %d times, want %d", name, d, n, leastHits)
			}
		}
	}
	t.Log(b.String())
}
