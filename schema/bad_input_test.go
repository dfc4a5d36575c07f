package schema

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// rulesOf loads files and gives the rules of the refusals, none where they load.
func rulesOf(t *testing.T, fsys fs.FS) []string {
	t.Helper()
	_, err := LoadFS(fsys)
	if err == nil {
		return nil
	}
	var le *LoadError
	if !errors.As(err, &le) {
		t.Fatalf("not a *LoadError: %v", err)
	}
	var rules []string
	for _, f := range le.Findings {
		if f.File == "" || f.Message == "" {
			t.Errorf("a finding that does not say where or what: %+v", f)
		}
		rules = append(rules, f.Rule)
	}
	return rules
}

func oneFile(text string) fstest.MapFS { return fstest.MapFS{"a.v1.json": {Data: []byte(text)}} }

func TestAReferenceThatOnlyLeadsToReferencesIsRefused(t *testing.T) {
	t.Parallel()
	ring := func(draft, n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"$schema": %q, "properties": {"a": {"$ref": "#/definitions/r0"}}, "definitions": {`, metaschemaOf(draft))
		for i := range n {
			fmt.Fprintf(&b, `"r%d": {"$ref": "#/definitions/r%d"},`, i, (i+1)%n)
		}
		return strings.TrimSuffix(b.String(), ",") + "}}"
	}
	for _, draft := range generatedDrafts() {
		for _, n := range []int{1, 2, 2000} {
			if rules := rulesOf(t, oneFile(ring(draft, n))); !slices.Equal(rules, []string{"ref-loop"}) {
				t.Errorf("a ring of %d in draft %d: %v", n, draft, rules)
			}
		}
	}
	for name, text := range map[string]string{
		"the root to itself":      `{"$ref": "#"}`,
		"through allOf":           `{"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}`,
		"a dynamic reference":     `{"$dynamicAnchor": "x", "$dynamicRef": "#x"}`,
		"a recursive reference":   `{"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"}`,
		"through another file":    `{"$ref": "b.json"}`,
		"beside a flag":           `{"$ref": "#/$defs/a", "$defs": {"a": {"x-gdpr-sensitive": true, "$ref": "#/$defs/a"}}}`,
		"through then and others": `{"if": true, "then": {"dependentSchemas": {"a": {"$ref": "#"}}}}`,
	} {
		fsys := oneFile(text)
		fsys["b.json"] = &fstest.MapFile{Data: []byte(`{"$ref": "a.v1.json"}`)}
		if rules := rulesOf(t, fsys); !slices.Contains(rules, "ref-loop") {
			t.Errorf("%s: %v", name, rules)
		}
	}
}

// definitions makes a schema of n definitions that refer to each other in a ring, each with a flag.
func definitions(draft, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"$schema": %q, "properties": {"a": {"$ref": "#/definitions/d0"}}, "definitions": {`, metaschemaOf(draft))
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {"x-gdpr-sensitive": %t, "properties": {"next": {"$ref": "#/definitions/d%d"}}},`, i, i == n-1, (i+1)%n)
	}
	return strings.TrimSuffix(b.String(), ",") + "}}"
}

// measured runs f and gives its time, and how many MiB of the heap it keeps and allocates.
func measured(f func()) (took time.Duration, kept, allocated int64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	f()
	took = time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&after)
	return took, (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20, int64(after.TotalAlloc-before.TotalAlloc) >> 20
}

// Not parallel, as the heap is measured.
func TestLawTenThousandDefinitionsLoad(t *testing.T) {
	for _, draft := range []int{7, 2020} {
		n := 10_000 / lawScale
		var reg *Registry
		took, kept, allocated := measured(func() {
			var err error
			if reg, err = LoadFS(oneFile(definitions(draft, n))); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%d definitions in draft %d: %v, %d MiB kept, %d MiB allocated", n, draft, took, kept, allocated)
		if kept > 400 || allocated > 2000 {
			t.Errorf("draft %d: %v, %d MiB kept, %d MiB allocated", draft, took, kept, allocated)
		}
		s := reg.events[0].plan.Root()
		s, _ = s.Member([]byte("a"))
		for range n - 1 {
			if s.Sealed() {
				t.Fatal("sealed too early")
			}
			s, _ = s.Member([]byte("next"))
		}
		if !s.Sealed() {
			t.Error("the last definition's flag is lost")
		}
	}
}

func TestAFileOfTooManySubschemasIsRefused(t *testing.T) {
	t.Parallel()
	took := time.Now()
	if rules := rulesOf(t, oneFile(definitions(2020, maxSubschemas/2))); !slices.Equal(rules, []string{"file-too-large"}) {
		t.Errorf("%v", rules)
	}
	if d := time.Since(took); d > time.Minute {
		t.Errorf("%v", d)
	}
}

// unsized is a file system whose files do not know their size.
type unsized struct{ fstest.MapFS }

type unsizedFile struct{ fs.File }

func (f unsizedFile) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

func (u unsized) Open(name string) (fs.File, error) {
	f, err := u.MapFS.Open(name)
	if err != nil || name == "." {
		return f, err
	}
	return unsizedFile{f}, nil
}

// Not parallel, as the heap is measured.
func TestAFileOf50MBIsRefusedBeforeItIsRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.v1.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 50<<20); err != nil {
		t.Fatal(err)
	}
	_, _, allocated := measured(func() {
		var le *LoadError
		if _, err := Load(dir); !errors.As(err, &le) || le.Findings[0].Rule != "file-too-large" || le.Findings[0].File != path {
			t.Errorf("%v", err)
		}
	})
	if allocated > 4 {
		t.Errorf("%d MiB allocated", allocated)
	}
	big := unsized{fstest.MapFS{"a.v1.json": {Data: make([]byte, 50<<20)}}}
	_, _, allocated = measured(func() {
		if rules := rulesOf(t, big); !slices.Equal(rules, []string{"file-too-large"}) {
			t.Errorf("%v", rules)
		}
	})
	if allocated > 120 {
		t.Errorf("%d MiB allocated", allocated)
	}
}

func TestRegularExpressionsThatRE2RefusesAreRefused(t *testing.T) {
	t.Parallel()
	for _, re := range []string{`(?!x)`, `(?=x)`, `(?<=x)y`, `(a)\1`, `\cA`, `(a{1000}){1000}`, `(`, `[`, strings.Repeat("(", 2000) + strings.Repeat(")", 2000)} {
		quoted := fmt.Sprintf("%q", re)
		for _, c := range []struct{ text, rule string }{
			{`{"properties": {"a": {"pattern": ` + quoted + `}}}`, "schema-invalid"},
			{`{"properties": {"a": {"patternProperties": {` + quoted + `: {"x-gdpr-sensitive": true}}}}}`, "pattern-unsupported"},
		} {
			if rules := rulesOf(t, oneFile(c.text)); !slices.Contains(rules, c.rule) {
				t.Errorf("%.40s: %v, want %s", re, rules, c.rule)
			}
		}
	}
}

func TestARemoteReferenceIsRefusedAndNotFetched(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(server.Close)
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		text := fmt.Sprintf(`{"properties": {"a": {%q: "%s/b.json#/definitions/x"}}}`, keyword, server.URL)
		if rules := rulesOf(t, oneFile(text)); !slices.Equal(rules, []string{"ref-not-found"}) {
			t.Errorf("%s: %v", keyword, rules)
		}
	}
	if rules := rulesOf(t, oneFile(fmt.Sprintf(`{"$schema": "%s/meta.json"}`, server.URL))); !slices.Equal(rules, []string{"metaschema-unknown"}) {
		t.Errorf("$schema: %v", rules)
	}
	select {
	case path := <-asked:
		t.Errorf("%s was fetched", path)
	default:
	}
}

func TestProductsOfSubschemasAreRefused(t *testing.T) {
	t.Parallel()
	const n = 1001
	var refs, anchors, names, flags strings.Builder
	for i := range n {
		fmt.Fprintf(&refs, `"r%d": {"$dynamicRef": "#x"},`, i)
		fmt.Fprintf(&anchors, `"d%d": {"$id": "d%d.json", "$dynamicAnchor": "x"},`, i, i)
		fmt.Fprintf(&names, `"n%d": {"propertyNames": {"$ref": "#/$defs/all"}},`, i)
		fmt.Fprintf(&flags, `{"x-gdpr-sensitive": true},`)
	}
	trim := func(b strings.Builder) string { return strings.TrimSuffix(b.String(), ",") }
	for name, text := range map[string]string{
		"dynamic references": `{"$dynamicAnchor": "x", "properties": {` + trim(refs) + `}, "$defs": {` + trim(anchors) + `}}`,
		"property names":     `{"properties": {` + trim(names) + `}, "$defs": {"all": {"allOf": [` + trim(flags) + `]}}}`,
	} {
		if rules := rulesOf(t, oneFile(text)); !slices.Equal(rules, []string{"plan-too-large"}) {
			t.Errorf("%s: %v", name, rules)
		}
	}
}

// What states are made of, and patterns on names, may grow with the square of a schema's size: each case has many times maxPlanWork to look through.
func TestSchemasThatMultiplyAreRefusedAfterABoundedNumberOfSteps(t *testing.T) {
	t.Parallel()
	const flag = `{"x-gdpr-sensitive": true}`
	list := func(n int, format string, args func(i int) []any) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(format, args(i)...)
		}
		return strings.Join(items, ",")
	}
	number := func(i int) []any { return []any{i} }
	for name, text := range map[string]string{
		"properties of a union": `{"properties": {"f": ` + flag + `,` + list(2500, `"p%d": {"allOf": [{"$ref": "#/$defs/u"}, {"minLength": %d}]}`, func(i int) []any { return []any{i, i} }) +
			`}, "$defs": {"u": {"anyOf": [` + list(2500, `{"minLength": %d}`, number) + `]}}}`,
		"names and patterns": `{"properties": {` + list(4000, `"member%d": `+flag, number) + `}, "patternProperties": {` + list(1000, `"^(a?){20}%d": `+flag, number) + `}}`,
		"patterns":           `{"patternProperties": {` + list(2000, `"^a%d": `+flag, number) + `}}`,
		"large patterns":     `{"patternProperties": {` + list(100, `"^(a{200}b?){4}(c?){900}%d": `+flag, number) + `}}`,
		"open maps of chains": `{"patternProperties": {` + list(1500, `"^a%d": {"properties": {"b": `+flag+`}, "additionalProperties": {"$ref": "#/$defs/c0"}}`, number) +
			`}, "$defs": {` + list(3000, `"c%d": {"allOf": [{"$ref": "#/$defs/c%d"}]}`, func(i int) []any { return []any{i, i + 1} }) + `, "c3000": {}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, f := parseDocument("a.v1.json", "fs://0/a.v1.json", []byte(text))
			if f != nil {
				t.Fatal(f)
			}
			r := &Registry{byURL: map[string]*document{}, byType: map[string]map[int]*EventSchema{}}
			var own findings
			r.addDocument(d, &own)
			p := newPlan(r, r.events[0], &own)
			p.prepare(&own)
			if len(own.list) != 1 || own.list[0].Rule != "plan-too-large" || own.list[0].Hint == "" {
				t.Errorf("%v", own.list)
			}
			t.Logf("%d steps", p.work.steps)
			if p.work.steps > 2*maxPlanWork {
				t.Errorf("given up after %d steps", p.work.steps)
			}
		})
	}
}

// Patterns that are large, or many, are tried on names that two of them match as long as that takes no more than the plan's own bound.
func TestLargePatternsLoadWithoutTriesOfPairs(t *testing.T) {
	t.Parallel()
	for expression, name := range map[string]string{"^(a?){900}%d": "aa1", "^%d(ab?){20}": "1" + strings.Repeat("a", 20)} {
		var patterns strings.Builder
		for i := range 32 {
			fmt.Fprintf(&patterns, `%q: {"x-gdpr-sensitive": true},`, fmt.Sprintf(expression, i))
		}
		reg, err := LoadFS(oneFile(`{"patternProperties": {` + strings.TrimSuffix(patterns.String(), ",") + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		p := reg.events[0].plan
		t.Logf("%s: %d steps, %d tries of pairs", expression, p.work.steps, p.work.pairs)
		if p.work.pairs > maxPlanWork {
			t.Errorf("%d tries of pairs", p.work.pairs)
		}
		if member, _ := p.Root().Member([]byte(name)); member == nil || !member.Sealed() {
			t.Error("the flag below a large pattern is lost")
		}
	}
}

// Dynamic references are linked pair by pair, however late a document is reached: here each is reached through the one before alone.
func TestDynamicReferencesThatReachOneDocumentAfterAnotherAreLinkedOnce(t *testing.T) {
	t.Parallel()
	const files = 150
	fsys := fstest.MapFS{"a.v1.json": {Data: []byte(`{"$ref": "f0.json"}`)}}
	for i := range files {
		last := fmt.Sprintf(`{"$ref": "f%d.json"}`, i+1)
		if i == files-1 {
			last = `{"x-gdpr-sensitive": true}`
		}
		// The next file is named in a resource that only a dynamic reference leads to.
		fsys[fmt.Sprintf("f%d.json", i)] = &fstest.MapFile{Data: fmt.Appendf(nil,
			`{"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}, "$defs": {"e": {"$id": "e%d.json", "$dynamicAnchor": "n", "properties": {"next": %s}}}}`, i, last)}
	}
	reg, err := LoadFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	p := reg.events[0].plan
	for _, n := range p.visited {
		if n.dynamicRef == nil {
			continue
		}
		places := map[*node]bool{}
		for _, t := range p.refs[n] {
			places[t] = true
		}
		if len(p.refs[n]) != 2*files || len(places) != 2*files {
			t.Fatalf("%s has %d links, to %d places of %d", n.location(), len(p.refs[n]), len(places), 2*files)
		}
	}
	a, _ := p.Root().Member([]byte("a"))
	if s, _ := a.Member([]byte("next")); !s.Sealed() {
		t.Error("the flag in the last file is lost")
	}
}

// walkable is a plan with names, patterns, open maps, tuples and a recursion.
func walkable(t *testing.T) *Plan {
	t.Helper()
	reg, err := LoadFS(oneFile(`{"x-gdpr-undeclared": "seal", "properties": {"known": {"$ref": "#"}, "list": {"prefixItems": [{}, {"x-gdpr-sensitive": true}], "items": {"$ref": "#"}}},
		"patternProperties": {"^x": {"$ref": "#"}, "a": {"x-gdpr-sensitive": true}, "[0-9]$": {"$ref": "#"}}, "additionalProperties": {"$ref": "#"}}`))
	if err != nil {
		t.Fatal(err)
	}
	return reg.events[0].plan
}

// A step that was taken before, or that loading took, takes no lock: it is taken while the lock is held.
func TestKnownStepsTakeNoLock(t *testing.T) {
	t.Parallel()
	p := walkable(t)
	steps := func() {
		s := p.Root()
		for _, name := range []string{"known", "x", "list", "known", "xa", "x1"} {
			next, _ := s.Member([]byte(name))
			s = next
		}
		list, _ := p.Root().Member([]byte("list"))
		for i := range 4 {
			next, _ := list.Item(i).Member([]byte("known"))
			_ = next.Sealed()
		}
	}
	steps()
	done := make(chan bool)
	p.mu.Lock()
	defer p.mu.Unlock()
	go func() {
		steps()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("a known step waits for the lock")
	}
}

// keptStates counts everything that a plan remembers.
func keptStates(p *Plan) int {
	n := len(p.intern) + len(p.shared)
	for _, st := range p.shared {
		for _, cache := range []*map[string]*State{st.members.Load(), st.others.Load()} {
			if cache != nil {
				n += len(*cache)
			}
		}
		if items := st.items.Load(); items != nil {
			n += len(*items)
		}
	}
	return n
}

func TestHostileNamesDoNotGrowMemory(t *testing.T) {
	t.Parallel()
	p := walkable(t)
	r := rand.New(rand.NewPCG(1, 1))
	walk := func(n int) {
		for range n {
			s := p.Root()
			for range 6 {
				name := fmt.Sprintf("%c%d%c", 'a'+rune(r.IntN(26)), r.Uint64(), '0'+rune(r.IntN(30)))
				if s, _ = s.Member([]byte(name)); s == nil || s.Sealed() {
					break
				}
				s = s.Item(r.IntN(1000))
			}
		}
	}
	walk(2000)
	before := keptStates(p)
	walk(100_000 / lawScale)
	if after := keptStates(p); after != before {
		t.Errorf("%d states and steps are kept, %d before", after, before)
	}
}

// Patterns that combine in more ways than are remembered, on a schema of more states than are kept.
func TestHostilePatternsAndStatesStayBounded(t *testing.T) {
	t.Parallel()
	var patterns, defs strings.Builder
	for i := range 14 {
		fmt.Fprintf(&patterns, `"%c": {"$ref": "#/$defs/s%d"},`, 'a'+rune(i), i)
		fmt.Fprintf(&defs, `"s%d": {"patternProperties": {"%c": {"$ref": "#/$defs/s%d"}, "%c.": {"$ref": "#/$defs/s%d"}, "x": {"x-gdpr-sensitive": true}}},`,
			i, 'a'+rune((i+1)%14), (i+2)%14, 'a'+rune((i*3+1)%14), (i*5+1)%14)
	}
	reg, err := LoadFS(oneFile(`{"x-gdpr-undeclared": "clear", "patternProperties": {` + strings.TrimSuffix(patterns.String(), ",") + `}, "$defs": {` + strings.TrimSuffix(defs.String(), ",") + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := reg.events[0].plan
	r := rand.New(rand.NewPCG(2, 2))
	for range 60_000 / lawScale {
		s := p.Root()
		for range 4 {
			name := make([]byte, 1+r.IntN(9))
			for i := range name {
				name[i] = 'a' + byte(r.IntN(14))
			}
			if s, _ = s.Member(name); s == nil {
				break
			}
		}
	}
	if n := len(p.intern); n > maxStates {
		t.Errorf("%d states are kept", n)
	}
	for _, st := range p.shared {
		if others := st.others.Load(); others != nil && len(*others) > maxPatternSets {
			t.Errorf("%d combinations of patterns are kept", len(*others))
		}
	}
}
