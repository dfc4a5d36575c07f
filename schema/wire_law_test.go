package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The law of the wire schema: every sealed event validates, and none does once a single token is put back to its plaintext. It is asked of
// jsonschema/v5 and of ajv, over the generator of the Plan's laws, with the assertions that only this law needs.

// wireAssertions adds what the weakened schema treats each in its own way.
func wireAssertions(g *generator, pick chooser) {
	for _, s := range g.shapes {
		if s.flag && pick.IntN(3) > 0 { // fewer flags: a payload that is one token shows little
			s.flag, s.overlay = false, false
		}
		if s.boolean != "" || s.hidden || pick.IntN(3) > 0 {
			continue
		}
		switch k := pick.IntN(16); {
		case k == 0:
			s.words["uniqueItems"] = true
		case k == 1 && g.has(s, "contains") && s.draft >= 2019:
			s.words["maxContains"] = 1 + pick.IntN(2)
		case k == 2 && g.has(s, "contains") && s.draft >= 2019:
			s.words["minContains"] = pick.IntN(3)
		case k == 3:
			s.words["format"] = []string{"email", "date", "uuid", "no-such"}[pick.IntN(4)]
		case k == 4:
			s.words["pattern"] = []string{"^[a-z]+$", "(?i)^A", `.\s`, "(?m)^a$"}[pick.IntN(4)]
		case k == 5 && s.draft == 4:
			s.words["minimum"], s.words["exclusiveMinimum"] = 1, pick.IntN(2) == 0
		case k == 5:
			s.words["exclusiveMinimum"] = 1
		case k == 6:
			s.words["multipleOf"] = 1
		case k == 7 && s.draft >= 2019:
			s.words["dependentRequired"] = map[string]any{"a": []any{"b"}}
		case k == 8:
			s.words["enum"] = []any{[]any{}, map[string]any{"a": 1}, "a", map[string]any{}, 1}
		case k == 9:
			s.words["not"] = map[string]any{"properties": map[string]any{"a": map[string]any{"type": "string"}}, "required": []any{"a"}}
		case k == 10:
			s.words["not"] = map[string]any{"items": map[string]any{"enum": []any{1, "a"}}, "minItems": 1}
		case k == 11:
			s.words["not"] = map[string]any{"uniqueItems": true, "type": "array"}
		case k == 12:
			s.words["oneOf"] = []any{map[string]any{"type": "object"}, map[string]any{"additionalProperties": map[string]any{"type": []any{"string", "object"}}}}
		case k == 13:
			s.words["minProperties"] = 1
		case k == 14:
			s.words["maxLength"] = 6
		}
	}
}

// sealedAt is a location that the Plan names, and what stood there.
type sealedAt struct {
	path  []any
	plain any
}

// sealer walks a value along the Plan, with made-up tokens. ok is false where Seal refuses the event.
type sealer struct {
	r      *rand.Rand
	tokens []sealedAt
}

func (w *sealer) seal(q *State, v any, path []any) (out any, ok bool) {
	if q == nil || q.Conflict() != nil {
		return nil, false
	}
	if _, object := v.(map[string]any); q.Sealed() || q.SealedIfObject() && object {
		w.tokens = append(w.tokens, sealedAt{slices.Clone(path), v})
		return w.token(), w.walksInside(q, v)
	}
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c, _ := q.Member([]byte(name))
			if m[name], ok = w.seal(c, v[name], append(path, name)); !ok {
				return nil, false
			}
		}
		return m, true
	case []any:
		l := make([]any, len(v))
		for i := range v {
			if l[i], ok = w.seal(q.Item(i), v[i], append(path, i)); !ok {
				return nil, false
			}
		}
		return l, true
	}
	return v, true
}

// walksInside looks for conflicts below a sealed value, which refuse the event too.
func (w *sealer) walksInside(q *State, v any) bool {
	if q == nil {
		return true
	}
	if q.Conflict() != nil {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for name, c := range v {
			next, _ := q.Member([]byte(name))
			if !w.walksInside(next, c) {
				return false
			}
		}
	case []any:
		for i, c := range v {
			if !w.walksInside(q.Item(i), c) {
				return false
			}
		}
	}
	return true
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func (w *sealer) token() string {
	body := make([]byte, 59)
	for i := range body {
		body[i] = base64url[w.r.IntN(64)]
	}
	return "fc1:0f3a9c01:" + string(body)
}

// putBack gives the sealed value with one token replaced by its plaintext.
func putBack(v any, path []any, plain any) any {
	if len(path) == 0 {
		return plain
	}
	switch v := v.(type) {
	case map[string]any:
		m := maps.Clone(v)
		m[path[0].(string)] = putBack(v[path[0].(string)], path[1:], plain)
		return m
	case []any:
		l := slices.Clone(v)
		l[path[0].(int)] = putBack(v[path[0].(int)], path[1:], plain)
		return l
	}
	return plain
}

// wireCase is one schema with sealed events, and with events that each have one plaintext.
type wireCase struct {
	g       *generator
	wire    []byte
	good    []any
	bad     []any
	spoilt  []string // good events that the event's own schema rejects
	refused string   // the rule, where there is no wire schema
}

// newWireCase makes up to most sealed events of a generated set of schemas.
func newWireCase(g *generator, r *rand.Rand, rule wireRule, tries, most int) (*wireCase, error) {
	reg, err := LoadFS(mapFS(g.texts(false)))
	var le *LoadError
	if errors.As(err, &le) {
		return nil, errLoops
	}
	if err != nil {
		return nil, err
	}
	e := reg.events[0]
	c := &wireCase{g: g}
	if e.plan.root.Sealed() {
		return c, nil // the payload is one token
	}
	for range tries {
		v := instance(r, 4)
		if e.validator.validate(v, 1000) != nil {
			continue
		}
		w := sealer{r: r}
		out, ok := w.seal(e.plan.Root(), v, nil)
		if !ok || len(w.tokens) == 0 {
			continue
		}
		c.good = append(c.good, out)
		if e.validator.validate(out, 1000) != nil {
			c.spoilt = append(c.spoilt, "")
		}
		for _, t := range w.tokens {
			c.bad = append(c.bad, putBack(out, t.path, t.plain))
		}
		if len(c.good) == most {
			break
		}
	}
	if len(c.good) == 0 {
		return c, nil
	}
	w, err := deriveWire(e, rule)
	var we *WireError
	if errors.As(err, &we) {
		c.refused = we.Finding.Rule
		return c, nil
	}
	if err == nil {
		c.wire = w.b.Bytes()
	}
	return c, err
}

func compileForLaw(text []byte) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	if err := c.AddResource("wire.json", bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return c.Compile("wire.json")
}

// judge asks jsonschema/v5.
func (c *wireCase) judge() (good, bad []bool, err error) {
	s, err := compileForLaw(c.wire)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range c.good {
		good = append(good, s.Validate(v) == nil)
	}
	for _, v := range c.bad {
		bad = append(bad, s.Validate(v) == nil)
	}
	return good, bad, nil
}

// breach says which side of the law a verdict breaks, or nothing.
func (c *wireCase) breach(who string, good, bad []bool) string {
	say := func(what string, v any) string {
		text, _ := json.Marshal(v)
		return fmt.Sprintf("%s %s %s\n%s\n%s", who, what, text, (&subject{g: c.g}).print(), c.wire)
	}
	if len(good) != len(c.good) || len(bad) != len(c.bad) {
		return say("did not judge all of", c.good)
	}
	for i, ok := range good {
		if !ok {
			return say("rejects the sealed event", c.good[i])
		}
	}
	for i, ok := range bad {
		if ok {
			return say("accepts a plaintext in", c.bad[i])
		}
	}
	return ""
}

const (
	wirePairs  = 20_000 / lawScale
	wireMost   = 8
	wireTries  = 60
	wireStream = 2
)

// wireTally counts what the law went through.
type wireTally struct {
	pairs, tokens, schemas, spoilt, bytes int
	policies, drafts, applied, refused    map[string]int
}

func newWireTally() *wireTally {
	return &wireTally{policies: map[string]int{}, drafts: map[string]int{}, applied: map[string]int{}, refused: map[string]int{}}
}

func (t *wireTally) count(c *wireCase) {
	t.pairs += len(c.good)
	t.tokens += len(c.bad)
	t.spoilt += len(c.spoilt)
	t.schemas++
	t.bytes += len(c.wire)
	t.policies[c.g.policy] += len(c.good)
	t.drafts[fmt.Sprint(c.g.files[0].draft)] += len(c.good)
	for k := range c.g.applied {
		t.applied[k] += len(c.good)
	}
}

func (t *wireTally) add(o *wireTally) {
	t.pairs, t.tokens, t.schemas, t.spoilt, t.bytes = t.pairs+o.pairs, t.tokens+o.tokens, t.schemas+o.schemas, t.spoilt+o.spoilt, t.bytes+o.bytes
	for _, m := range [][2]map[string]int{{t.policies, o.policies}, {t.drafts, o.drafts}, {t.applied, o.applied}, {t.refused, o.refused}} {
		for k, n := range m[1] {
			m[0][k] += n
		}
	}
}

func (t *wireTally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d pairs, %d tokens put back, %d schemas (wire schemas of %d bytes on average); the events' own schemas reject %d sealed events",
		t.pairs, t.tokens, t.schemas, t.bytes/max(1, t.schemas), t.spoilt)
	for _, m := range []struct {
		what   string
		counts map[string]int
	}{{"pairs by policy", t.policies}, {"by draft", t.drafts}, {"by applicator in the set", t.applied}, {"schemas refused", t.refused}} {
		fmt.Fprintf(&b, "\n%s:", m.what)
		for _, k := range slices.Sorted(maps.Keys(m.counts)) {
			fmt.Fprintf(&b, " %s %d,", k, m.counts[k])
		}
	}
	return b.String()
}

// wireLaw runs cases until it has n pairs; ask judges each beside jsonschema/v5.
func wireLaw(seed uint64, n int, rule wireRule, ask func(*wireCase) (good, bad []bool, err error)) (*wireTally, string) {
	r := rand.New(rand.NewPCG(seed, 44))
	t := newWireTally()
	for i := 0; t.pairs < n; i++ {
		g := generate(r, generatedDrafts()[i%5])
		wireAssertions(g, r)
		c, err := newWireCase(g, r, rule, wireTries, wireMost)
		if errors.Is(err, errLoops) {
			continue
		}
		if err != nil {
			return t, fmt.Sprintf("%v\n%s", err, (&subject{g: g}).print())
		}
		if c.refused != "" {
			t.refused[c.refused]++
			continue
		}
		if len(c.good) == 0 {
			continue
		}
		t.count(c)
		good, bad, err := c.judge()
		if err != nil {
			return t, fmt.Sprintf("%v\n%s\n%s", err, (&subject{g: g}).print(), c.wire)
		}
		if s := c.breach("jsonschema/v5", good, bad); s != "" {
			return t, s
		}
		if ask == nil {
			continue
		}
		if good, bad, err = ask(c); err != nil {
			return t, fmt.Sprintf("%v\n%s", err, c.wire)
		}
		if s := c.breach("ajv", good, bad); s != "" {
			return t, s
		}
	}
	return t, ""
}

func TestLawSealedEventsMatchTheWireSchemaAndPlaintextsDoNot(t *testing.T) {
	t.Parallel()
	total := newWireTally()
	var mu sync.Mutex
	t.Run("pairs", func(t *testing.T) {
		for i := range wireStream {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				ajv := newAjv(t)
				part, breach := wireLaw(uint64(i), wirePairs/wireStream, wireRule{}, ajv.judge)
				mu.Lock()
				total.add(part)
				mu.Unlock()
				if breach != "" {
					t.Error(breach)
				}
			})
		}
	})
	t.Log(total)
	for what, counts := range map[string]map[string]int{"policy": total.policies, "draft": total.drafts, "applicator": total.applied} {
		for name, n := range counts {
			if n < leastHits {
				t.Errorf("%s %s: %d pairs, want %d", what, name, n, leastHits)
			}
		}
	}
	if len(total.policies) != 3 || len(total.drafts) != 5 || len(total.applied) < 22 {
		t.Errorf("%d policies, %d drafts, %d applicators", len(total.policies), len(total.drafts), len(total.applied))
	}
}

// Each part of the rule is needed: an event on which the law breaks without it.
func TestTheLawOfTheWireSchemaBreaksWithoutEachPartOfItsRule(t *testing.T) {
	t.Parallel()
	const flag = `{"x-gdpr-sensitive": true}`
	const clear = `{"x-gdpr-undeclared": "clear", `
	for name, c := range map[string]struct {
		rule          wireRule
		schema, event string
		sealed        bool // the event is a sealed one, which must be valid; else it holds a plaintext, and must not
	}{
		"the tokens' schema":                     {wireRule{noTokens: true}, clear + `"if": {"properties": {"a": ` + flag + `}}}`, `{"a":1}`, false},
		"its names beyond properties":            {wireRule{noRest: true}, clear + `"if": {"additionalProperties": ` + flag + `}}`, `{"a":1}`, false},
		"one object for each schema":             {wireRule{merge: true}, clear + `"if": {"allOf": [{"properties": {"a": {}, "b": ` + flag + `}}, {"additionalProperties": ` + flag + `}]}}`, `{"a":1}`, false},
		"the members' schema":                    {wireRule{noMembers: true}, `{"x-gdpr-undeclared": "seal", "properties": {"n": {}}}`, `{"a":1}`, false},
		"names by the patterns they do not have": {wireRule{noSets: true}, `{"x-gdpr-undeclared": "seal", "patternProperties": {"^x": {"properties": {"p": {"type": "integer"}}}, "y$": {"properties": {"q": {"type": "integer"}}}}}`, `{"x":{"q":1}}`, false},
		"enum dropped":                           {wireRule{keepValues: true}, clear + `"enum": [{"a": 1}], "properties": {"a": ` + flag + `}}`, `{"a":T}`, true},
		"not dropped":                            {wireRule{keepNot: true}, clear + `"properties": {"a": ` + flag + `}, "not": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}`, `{"a":T}`, true},
		"if as anyOf":                            {wireRule{keepIf: true}, clear + `"properties": {"a": ` + flag + `}, "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["n"]}, "else": {"required": ["m"]}}`, `{"a":T,"m":1}`, true},
		"oneOf as anyOf":                         {wireRule{keepOneOf: true}, clear + `"oneOf": [{"properties": {"a": ` + flag + `}}, {"properties": {"a": {"type": "string"}}}]}`, `{"a":T}`, true},
		"maxContains dropped":                    {wireRule{keepContains: true}, clear + `"contains": {"properties": {"a": ` + flag + `}, "required": ["a"]}, "maxContains": 1, "type": "array"}`, `[{"a":T},{"a":T}]`, true},
		"uniqueItems read":                       {wireRule{keepUnique: true}, clear + `"items": ` + flag + `, "not": {"uniqueItems": true}}`, `[T,"fc1:0f3a9c01:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"]`, true},
		"format read":                            {wireRule{keepFormat: true}, clear + `"properties": {"a": ` + flag + `}, "if": {"properties": {"k": {"format": "email"}}}, "then": {"required": ["n"]}, "else": {"required": ["m"]}}`, `{"k":"x","m":1,"a":T}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := wireFixture(t, map[string]string{"a.v1.json": c.schema})
			var event any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(c.event, "T", tokenText)), &event); err != nil {
				t.Fatal(err)
			}
			for _, rule := range []wireRule{{}, c.rule} {
				w, err := deriveWire(e, rule)
				if err != nil {
					t.Fatal(err)
				}
				s, err := compileForLaw(w.b.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				if valid := s.Validate(event) == nil; valid != (c.sealed == (rule == wireRule{})) {
					t.Errorf("by %+v: %v\n%s", rule, valid, w.b.Bytes())
				}
			}
		})
	}
}
