package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The oracle: the validator itself says, through an extension, which values a flagged subschema was applied to. The Plan must seal each of
// them, or something around it.

// tracer records the identity of each value that a flagged schema applied to, by the keyword that the flag stands below.
type tracer struct{ seen func(v any) }

func (c tracer) Compile(_ jsonschema.CompilerContext, m map[string]any) (jsonschema.ExtSchema, error) {
	if m[wordSensitive] == true {
		return c, nil
	}
	return nil, nil
}

func (c tracer) Validate(_ jsonschema.ValidationContext, v any) error {
	c.seen(v)
	return nil
}

// randomSchema writes a random schema in which about one subschema in three is flagged.
type randomSchema struct {
	r      *rand.Rand
	seven  bool // draft 7, else 2020-12
	placed map[string]int
}

func (g *randomSchema) schema(depth int, keyword string) any {
	s := map[string]any{}
	if g.r.IntN(3) == 0 {
		s[wordSensitive] = true
		g.placed[keyword]++
	}
	if depth == 0 {
		if g.r.IntN(6) == 0 {
			return g.r.IntN(2) == 0
		}
		return s
	}
	names := []string{"a", "b", "c"}
	object := func(k string) map[string]any {
		m := map[string]any{}
		for _, n := range names {
			if g.r.IntN(2) == 0 {
				m[n] = g.schema(depth-1, k)
			}
		}
		return m
	}
	list := func(k string) []any {
		l := []any{g.schema(depth-1, k)}
		for range g.r.IntN(2) {
			l = append(l, g.schema(depth-1, k))
		}
		return l
	}
	for range 1 + g.r.IntN(3) {
		switch g.r.IntN(11) {
		case 0, 1:
			s["properties"] = object("properties")
		case 2:
			s["patternProperties"] = map[string]any{"^[ab]$": g.schema(depth-1, "patternProperties"), "[bc]": g.schema(depth-1, "patternProperties")}
		case 3:
			s["additionalProperties"] = g.schema(depth-1, "additionalProperties")
		case 4:
			s["items"] = g.schema(depth-1, "items")
		case 5:
			if g.seven {
				s["items"] = list("prefixItems")
			} else {
				s["prefixItems"] = list("prefixItems")
			}
		case 6:
			s["allOf"] = list("allOf")
		case 7:
			s["anyOf"] = list("anyOf")
		case 8:
			s["oneOf"] = list("oneOf")
		case 9:
			s["if"], s["then"], s["else"] = g.schema(depth-1, "if"), g.schema(depth-1, "then"), g.schema(depth-1, "else")
		case 10:
			if g.seven {
				// Siblings are ignored by the draft, all but the flag: it is taken off here, since the validator drops it.
				delete(s, wordSensitive)
			}
			s["$ref"] = "#/definitions/" + names[g.r.IntN(3)]
			if g.seven {
				return map[string]any{"$ref": s["$ref"]}
			}
		}
	}
	return s
}

// randomValue writes a value whose leaves are all different, so that each has an identity.
func randomValue(r *rand.Rand, depth int, next *int) any {
	switch k := r.IntN(5); {
	case depth > 0 && k < 3:
		m := map[string]any{}
		for _, n := range []string{"a", "b", "c", "d"} {
			if r.IntN(4) > 0 {
				m[n] = randomValue(r, depth-1, next)
			}
		}
		return m
	case depth > 0 && k == 3:
		l := make([]any, 0, 4)
		for range 1 + r.IntN(3) {
			l = append(l, randomValue(r, depth-1, next))
		}
		return l
	}
	*next++
	return json.Number(fmt.Sprint(*next))
}

func identity(v any) any {
	switch v := v.(type) {
	case map[string]any, []any:
		return reflect.ValueOf(v).Pointer()
	default:
		return v
	}
}

// sealedValues walks a value along the Plan and collects the identity of what is sealed, and of all below it.
func sealedValues(s *State, v any, inside bool, out map[any]bool) {
	inside = inside || s != nil && s.Sealed()
	if inside {
		out[identity(v)] = true
	}
	switch v := v.(type) {
	case map[string]any:
		for n, c := range v {
			var next *State
			if s != nil {
				next, _ = s.Member([]byte(n))
			}
			sealedValues(next, c, inside, out)
		}
	case []any:
		for i, c := range v {
			var next *State
			if s != nil {
				next = s.Item(i)
			}
			sealedValues(next, c, inside, out)
		}
	}
}

func TestPlanSealsWhateverTheValidatorSaysIsFlagged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	placed, applied, loops := map[string]int{}, 0, 0
	for i := range 1500 {
		g := &randomSchema{r: r, seven: i%2 == 0, placed: placed}
		root := g.schema(3, "root")
		object, ok := root.(map[string]any)
		if !ok {
			continue
		}
		delete(object, "$ref") // a root that is a reference alone often loops
		object["definitions"] = map[string]any{"a": g.schema(2, "$ref"), "b": g.schema(2, "$ref"), "c": g.schema(1, "$ref")}
		object["x-gdpr-undeclared"] = "clear"
		object["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		if g.seven {
			object["$schema"] = "http://json-schema.org/draft-07/schema#"
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		reg, err := LoadFS(fstest.MapFS{"a.v1.json": {Data: text}})
		if err != nil {
			if strings.Contains(err.Error(), "ref-loop") {
				loops++
				continue
			}
			t.Fatalf("%v\n%s", err, text)
		}
		flagged := map[any]bool{}
		c := jsonschema.NewCompiler()
		c.RegisterExtension("flags", nil, tracer{func(v any) { flagged[identity(v)] = true }})
		if err := c.AddResource("fs://0/a.v1.json", strings.NewReader(string(text))); err != nil {
			t.Fatal(err)
		}
		compiled, err := c.Compile("fs://0/a.v1.json")
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			next := 0
			v := randomValue(r, 3, &next)
			clear(flagged)
			_ = compiled.Validate(v)
			sealed := map[any]bool{}
			sealedValues(reg.events[0].plan.Root(), v, false, sealed)
			for id := range flagged {
				applied++
				if !sealed[id] {
					t.Fatalf("the validator applied a flag to %v of %v, and the plan leaves it clear\n%s", id, v, text)
				}
			}
		}
	}
	t.Logf("flags applied: %d; flags placed by keyword: %v; loops: %d", applied, placed, loops)
	for _, k := range []string{"properties", "patternProperties", "additionalProperties", "items", "prefixItems", "allOf", "anyOf", "oneOf", "if", "then", "else", "$ref"} {
		if placed[k] < 300 {
			t.Errorf("%s: only %d flags", k, placed[k])
		}
	}
	if applied < 10_000 {
		t.Errorf("only %d flags applied", applied)
	}
}
