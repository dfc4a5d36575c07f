package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// What an accepter accepts the validator accepts: over random schemas of all drafts with all keywords, and over their wire schemas with sealed
// events and events that each hold one plaintext.
func TestLawWhatAnAccepterAcceptsTheValidatorAccepts(t *testing.T) {
	t.Parallel()
	const schemas = 1_500 / lawScale
	type tally struct{ accepted, valid, judged int }
	var own, wire tally
	judge := func(into *tally, a *accepter, s *jsonschema.Schema, v any, text string) bool {
		payload, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		accepted, valid := a.accepts(payload), run(s, v) == nil
		into.judged++
		if valid {
			into.valid++
		}
		if accepted {
			into.accepted++
		}
		if accepted && !valid {
			t.Errorf("accepts %s, which the validator does not, by\n%s", payload, text)
		}
		return !accepted || valid
	}
	r := rand.New(rand.NewPCG(7, 9))
	for i := range schemas {
		g := generate(r, generatedDrafts()[i%5])
		wireAssertions(g, r)
		reg, err := LoadFS(mapFS(g.texts(false)))
		var refused *LoadError
		if errors.As(err, &refused) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s := reg.events[0].validator.plain
		a := newAccepter(s)
		for range 20 {
			if !judge(&own, a, s, instance(r, 4), (&subject{g: g}).print()) {
				return
			}
		}
		if i%2 != 0 {
			continue
		}
		c, err := newWireCase(g, r, wireRule{}, 20, 4)
		if errors.Is(err, errLoops) || err == nil && c.wire == nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err = compileForLaw(c.wire)
		if err != nil {
			t.Fatal(err)
		}
		a = newAccepter(s)
		for _, v := range append(c.good, c.bad...) {
			if !judge(&wire, a, s, v, string(c.wire)) {
				return
			}
		}
	}
	t.Logf("events' own schemas %+v; wire schemas %+v", own, wire)
	if own.accepted < 1_000/lawScale || own.judged-own.valid < 1_000/lawScale || wire.accepted < 40/lawScale {
		t.Errorf("too few to say so: %+v, %+v", own, wire)
	}
}

// Each rule that an accepter knows: a value that it is sure of, and one that breaks the rule.
func TestAnAccepterIsSureOfWhatIsCommon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, good, bad string }{
		{`"type": "string"`, `"a"`, `1`},
		{`"type": ["integer", "null"]`, `12`, `12.5`},
		{`"type": ["integer", "number"]`, `12.5`, `true`},
		{`"type": "boolean"`, `true`, `null`},
		{`"minLength": 2`, `"\u00e4\u00e4"`, `"\u00e4"`},
		{`"maxLength": 2`, `"ää"`, `"äää"`},
		{`"pattern": "^a\n$"`, `"a\n"`, `"an"`},
		{`"format": "date"`, `"2026-12-01"`, `"2026-13-01"`},
		{`"format": "uri-template"`, `"{/owner}"`, `"{"`},
		{`"enum": ["a", 1, null, true, [1]]`, `1.0`, `false`},
		{`"enum": ["a", "\u00e4"]`, `"\u00e4"`, `"b"`},
		{`"const": false`, `false`, `true`},
		{`"minimum": 1, "maximum": 2.5`, `2.5`, `0.999`},
		{`"minimum": 1, "maximum": 2.5`, `2`, `3`},
		{`"minimum": 1.5`, `2`, `1`},
		{`"exclusiveMinimum": 1`, `1.1`, `1`},
		{`"exclusiveMinimum": 1`, `2`, `1`},
		{`"exclusiveMaximum": -1`, `-2`, `-1`},
		{`"exclusiveMaximum": 1.5`, `1`, `2`},
		{`"maximum": 9223372036854775807`, `9223372036854775807`, `9223372036854775808`},
		{`"minimum": -99999999999999999999`, `-5`, `-100000000000000000000`},
		{`"required": ["a", "\u00e4"]`, `{"a": 1, "\u00e4": 2}`, `{"a": 1}`},
		{`"allOf": [{"required": ["a"]}, {"properties": {"a": {"type": "string"}}}]`, `{"a": "x"}`, `{}`},
		{`"properties": {"a": {"type": "string"}}`, `{"\u0061": "x"}`, `{"\u0061": 1}`},
		{`"properties": {"a": {}}, "additionalProperties": false`, `{"a": 1}`, `{"b": 1}`},
		{`"properties": {"a": {}}, "additionalProperties": {"type": "string"}`, `{"a": 1, "b": "x"}`, `{"b": 1}`},
		{`"properties": {"a": {}}, "patternProperties": {"a": {"type": "string"}}, "additionalProperties": false`, `{"a": "x"}`, `{"a": 1}`},
		{`"minProperties": 1, "maxProperties": 2`, `{"a": 1}`, `{}`},
		{`"minProperties": 1, "maxProperties": 2`, `{"a": 1, "b": 2}`, `{"a": 1, "b": 2, "c": 3}`},
		{`"items": {"type": "string"}, "minItems": 1, "maxItems": 2`, `["a", "b"]`, `["a", 1]`},
		{`"items": {"type": "string"}, "minItems": 1, "maxItems": 2`, `["a"]`, `[]`},
		{`"maxItems": 2`, `[1, 2]`, `[1, 2, 3]`},
		{`"prefixItems": [{"type": "string"}], "items": {"type": "integer"}`, `["a", 1]`, `["a", "b"]`},
		{`"prefixItems": [{"type": "string"}], "items": false`, `["a"]`, `["a", 1]`},
		{`"allOf": [{"type": ["string", "null"]}, {"$ref": "#/$defs/short"}]`, `"a"`, `"aa"`},
		{`"anyOf": [{"type": "string"}, {"required": ["a"]}], "minProperties": 1`, `{"a": 1}`, `{"b": 1}`},
		{`"anyOf": [{"type": "string"}, {"items": {"type": "integer"}}], "maxItems": 2`, `[1, 2]`, `[1, 2, 3]`},
		{`"pattern": ` + quoteJSON(tokenPattern), `"fc1:00000001:` + strings.Repeat("A", 59) + `"`, `"fc1:00000001:` + strings.Repeat("A", 58) + `"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			reg, err := LoadFS(fstest.MapFS{"x.v1.json": {Data: []byte(`{"$defs": {"short": {"maxLength": 1}}, "properties": {"p": {` + c.rule + `}}}`)}})
			if err != nil {
				t.Fatal(err)
			}
			e := reg.events[0]
			a := newAccepter(e.validator.plain)
			for _, one := range []struct {
				value string
				want  bool
			}{{c.good, true}, {c.bad, false}} {
				payload := []byte(`{"p": ` + one.value + `}`)
				if got := a.accepts(payload); got != one.want {
					t.Errorf("%s: accepted %v, want %v", payload, got, one.want)
				}
				if got := e.Validate(payload) == nil; got != one.want || (e.Check(payload) == nil) != one.want {
					t.Errorf("%s: the validator says %v, Check %v, want %v", payload, got, e.Check(payload), one.want)
				}
			}
		})
	}
}

// What is no strict JSON is never accepted, and alternatives below alternatives come to an end.
func TestAnAccepterIsNotSureOfMalformedOrHostilePayloads(t *testing.T) {
	t.Parallel()
	reg, err := LoadFS(fstest.MapFS{"x.v1.json": {Data: []byte(`{"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/again"}]}}, "$defs": {"again": {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	a := newAccepter(reg.events[0].validator.plain)
	deep := strings.Repeat(`{"a": `, 2000) + `1` + strings.Repeat(`}`, 2000)
	for _, payload := range []string{``, `{`, `{"a"}`, `{"a": 1,}`, `{"a": 1} 2`, `{"b": "` + "\xff" + `"}`, `{"b": "\ud800"}`, `{"b": 1, "b": 2}`, `{"b": 01}`, `{"b": nul}`, deep} {
		if a.accepts([]byte(payload)) {
			t.Errorf("%.60s: accepted", payload)
		}
	}
	if !a.accepts([]byte(` {"b": [{}, 1e5, -0.0, "\u00e4"]} `)) {
		t.Error("not sure of a payload that the schema says nothing about")
	}
}

// Alternatives below alternatives read the same text again and again: what that would cost more than the payload's size allows is left to the validator,
// which meters itself. Without that bound this took minutes.
func TestAnAccepterReadsAPayloadABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	var alternatives []string
	for i := range 200 {
		alternatives = append(alternatives, fmt.Sprintf(`{"required": ["r%d"]}`, i))
	}
	reg, err := LoadFS(fstest.MapFS{"x.v1.json": {Data: []byte(`{"$defs": {"t": {"properties": {"c": {"$ref": "#/$defs/t"}}, "anyOf": [` + strings.Join(alternatives, ",") + `, true]}}, "$ref": "#/$defs/t"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	a := newAccepter(reg.events[0].validator.plain)
	nested := func(depth, size int) []byte {
		return []byte(strings.Repeat(`{"c": `, depth) + `{"b": "` + strings.Repeat("y", size) + `"}` + strings.Repeat(`}`, depth))
	}
	if a.accepts(nested(60, 1<<20)) {
		t.Error("sure of a payload that it had to read some thousand times")
	}
	if !a.accepts(nested(0, 20)) {
		t.Error("not sure of a small payload with alternatives")
	}
}

// A schema from which an accepter would be made with too much work gives one that is sure of nothing, soon.
func TestAnAccepterIsMadeInBoundedWork(t *testing.T) {
	t.Parallel()
	const n = 60
	var all []string
	for i := range n {
		var properties []string
		for j := range n {
			properties = append(properties, fmt.Sprintf(`"p%d_%d": {"type": "string"}`, i, j))
		}
		all = append(all, fmt.Sprintf(`{"properties": {%s}, "additionalProperties": {"minLength": %d}}`, strings.Join(properties, ","), i))
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("x.json", strings.NewReader(`{"allOf": [`+strings.Join(all, ",")+`]}`)); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("x.json")
	if err != nil {
		t.Fatal(err)
	}
	b := newAcceptBuilder()
	a := b.accepter(s)
	if a.accepts([]byte(`{}`)) || b.work > maxAcceptWork+n*n || b.size > maxAcceptSchemas+n*n {
		t.Errorf("%d steps, %d schemas", b.work, b.size)
	}
}

// The formats are about strings alone: an accepter does not ask them of anything else.
func TestEveryFormatAcceptsWhatIsNoString(t *testing.T) {
	t.Parallel()
	for _, name := range knownFormats() {
		check := jsonschema.Formats[name]
		if own := formats()[name]; own != nil {
			check = own
		}
		for _, v := range []any{nil, true, json.Number("1"), []any{}, map[string]any{}} {
			if !check(v) {
				t.Errorf("%s refuses %T", name, v)
			}
		}
	}
}

func TestTheHandWrittenTokenTestIsItsPattern(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(tokenPattern)
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte("0189abfgAZz_-:s=+/ \n")
	accepted := 0
	for range 200_000 / lawScale {
		kid := []string{"00c0ffee", "s00c0ffee00c0ffee", "00c0ffe", "s00c0ffee"}[r.IntN(4)]
		text := []byte("fc1:" + kid + ":" + strings.Repeat("A", 57+r.IntN(5)))
		for range r.IntN(3) {
			text[r.IntN(len(text))] = alphabet[r.IntN(len(alphabet))]
		}
		text = text[:len(text)-r.IntN(2)*r.IntN(20)]
		want := re.Match(text)
		if isTokenText(text) != want {
			t.Fatalf("%q: the pattern says %v", text, want)
		}
		if want {
			accepted++
		}
	}
	if accepted < 10_000/lawScale {
		t.Errorf("only %d were tokens", accepted)
	}
}
