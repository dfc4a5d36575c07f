package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tokenText stands for any token.
const tokenText = `"fc1:0f3a9c01:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKis"`

// wireFixture loads one event schema, in 2020-12 where it names no other, and gives its event.
func wireFixture(t *testing.T, files map[string]string) *EventSchema {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	reg, err := LoadFS(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return reg.events[0]
}

// Each keyword in the drafts that have it: what a sealed event may hold, and what it may not. T is a token.
func TestTheWireSchemaByKeyword(t *testing.T) {
	t.Parallel()
	const flag = `"x-gdpr-sensitive": true`
	const clear = `"x-gdpr-undeclared": "clear", `
	a := newAjv(t)
	draft := map[int]string{}
	for _, d := range generatedDrafts() {
		draft[d] = `"$schema": "` + metaschemaOf(d) + `", `
	}
	for name, c := range map[string]struct {
		schema    string
		good, bad []string
	}{
		"properties": {`{` + clear + `"required": ["n"], "properties": {"n": {"type": "integer"}, "a": {"type": "integer", ` + flag + `}}}`,
			[]string{`{"n":1,"a":T}`, `{"n":1}`}, []string{`{"n":1,"a":1}`, `{"n":1,"a":null}`, `{"n":1,"a":"fc1:"}`, `{"n":"x","a":T}`, `{"a":T}`}},
		"the root": {`{` + flag + `}`, []string{`T`}, []string{`{}`, `null`, `"x"`}},
		"patternProperties": {`{` + clear + `"patternProperties": {"^x": {` + flag + `}, "y$": {"type": "integer"}}}`,
			[]string{`{"x":T,"y":1,"xy":T,"z":0}`}, []string{`{"x":1}`, `{"xy":1}`, `{"y":"s"}`}},
		"a pattern of RE2": {`{` + clear + `"patternProperties": {"(?i)^straße\\s.$": {` + flag + `}}}`,
			[]string{`{"STRASSE x":1,"Straße x":T}`}, []string{`{"STRAßE\tx":1}`, `{"straße ß":1}`}},
		"additionalProperties": {`{"properties": {"n": {"type": "integer"}}, "additionalProperties": {` + flag + `}}`,
			[]string{`{"n":1,"b":T}`}, []string{`{"n":1,"b":2}`, `{"n":T}`}},
		"unevaluatedProperties": {`{"anyOf": [{"properties": {"n": {"type": "integer"}}}], "unevaluatedProperties": {` + flag + `}}`,
			[]string{`{"n":T,"b":T}`}, []string{`{"b":2}`, `{"n":1}`}},
		"items": {`{"type": "array", "items": {"type": "integer", ` + flag + `}}`, []string{`[]`, `[T,T]`}, []string{`[T,1]`, `{}`}},
		"items and additionalItems of draft 4": {`{` + draft[4] + `"items": [{"type": "integer"}, {` + flag + `}], "additionalItems": {"type": "string"}}`,
			[]string{`[1,T,"x"]`, `[]`}, []string{`[1,2]`, `[T,T]`, `[1,T,2]`}},
		"additionalItems: false": {`{` + draft[7] + `"items": [{` + flag + `}], "additionalItems": false}`, []string{`[T]`}, []string{`[1]`, `[T,T]`}},
		"prefixItems":            {`{"prefixItems": [{` + flag + `}], "items": {"type": "integer"}}`, []string{`[T,1]`}, []string{`[1]`, `[T,T]`}},
		"unevaluatedItems":       {`{"prefixItems": [{"type": "integer"}], "unevaluatedItems": {` + flag + `}}`, []string{`[1,T]`}, []string{`[1,1]`, `[T]`}},
		"contains": {`{"contains": {"type": "integer", ` + flag + `}, "minContains": 2, "maxContains": 2}`,
			[]string{`[T,T]`, `[T,T,T]`}, []string{`[T]`, `[T,T,1]`}},
		"contains of what is clear": {`{` + clear + `"properties": {"a": {` + flag + `}, "l": {"contains": {"type": "integer"}, "maxContains": 1}}}`,
			[]string{`{"l":[1,"x"],"a":T}`}, []string{`{"l":[1,2]}`, `{"l":["x"]}`}},
		"maxContains that counts tokens": {`{` + clear + `"contains": {"properties": {"a": {"type": "integer", ` + flag + `}}, "required": ["a"]}, "maxContains": 1}`,
			[]string{`[{"a":T},{"a":T}]`}, []string{`[{"a":1}]`, `[{}]`}},
		"allOf": {`{` + clear + `"allOf": [{"properties": {"a": {` + flag + `}}}, {"properties": {"a": {"type": "integer"}, "n": {"type": "integer"}}}]}`,
			[]string{`{"a":T,"n":1}`}, []string{`{"a":1}`, `{"n":"x"}`}},
		"anyOf: sealed whichever branch applies": {`{` + clear + `"anyOf": [{"properties": {"a": {` + flag + `}}, "required": ["a"]}, {"properties": {"a": {"type": "integer"}}, "required": ["b"]}]}`,
			[]string{`{"a":T}`, `{"a":T,"b":1}`, `{"b":1}`}, []string{`{"a":1,"b":1}`, `{}`}},
		"oneOf that reads a token": {`{` + clear + `"oneOf": [{"properties": {"a": {"type": "integer", ` + flag + `}}}, {"properties": {"a": {"type": "string"}}}]}`,
			[]string{`{"a":T}`}, []string{`{"a":1}`, `{"a":"x"}`}},
		"oneOf of what is clear": {`{` + clear + `"properties": {"a": {` + flag + `}}, "oneOf": [{"required": ["n"]}, {"required": ["m"]}]}`,
			[]string{`{"n":1,"a":T}`}, []string{`{"n":1,"m":1}`, `{}`}},
		"not that reads a token": {`{` + clear + `"properties": {"a": {` + flag + `}}, "not": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}`,
			[]string{`{"a":T}`, `{}`}, []string{`{"a":1}`}},
		"not of what is clear": {`{` + clear + `"properties": {"a": {` + flag + `}}, "not": {"required": ["n"]}}`, []string{`{"a":T}`}, []string{`{"n":1}`}},
		"not uniqueItems": {`{` + clear + `"properties": {"l": {"items": {` + flag + `}, "not": {"uniqueItems": true}}}}`,
			[]string{`{"l":[T,"fc1:0f3a9c01:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"]}`}, []string{`{"l":[1,1]}`}},
		"uniqueItems": {`{` + clear + `"uniqueItems": true, "items": {"properties": {"a": {` + flag + `}}}}`, []string{`[{"a":T},{"n":1}]`}, []string{`[{"n":1},{"n":1}]`}},
		"if that reads a token": {`{` + draft[7] + clear + `"properties": {"a": {` + flag + `}}, "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["n"]}, "else": {"required": ["m"]}}`,
			[]string{`{"a":T,"n":1}`, `{"a":T,"m":1}`}, []string{`{"a":T}`, `{"a":1,"n":1}`}},
		"if of what is clear": {`{` + draft[7] + clear + `"properties": {"k": {"type": "string"}}, "if": {"properties": {"k": {"const": "x"}}, "required": ["k"]}, "then": {"properties": {"a": {` + flag + `}}}, "else": {"required": ["m"]}}`,
			[]string{`{"k":"x","a":T}`, `{"k":"y","m":1,"a":T}`}, []string{`{"k":"x","a":1}`, `{"k":"y"}`, `{"k":"y","m":1,"a":1}`}},
		"a format in an if": {`{` + draft[7] + clear + `"properties": {"a": {` + flag + `}, "k": {"type": "string"}}, "if": {"properties": {"k": {"format": "email"}}}, "then": {"required": ["n"]}, "else": {"required": ["m"]}}`,
			[]string{`{"k":"x","n":1}`, `{"k":"x@y.example","m":1,"a":T}`}, []string{`{"k":"x"}`}},
		"dependentSchemas": {`{` + clear + `"dependentSchemas": {"n": {"properties": {"a": {` + flag + `}}, "required": ["a"]}}, "dependentRequired": {"b": ["c"]}}`,
			[]string{`{"n":1,"a":T}`, `{"a":T}`}, []string{`{"n":1}`, `{"a":1}`, `{"b":1}`}},
		"dependencies": {`{` + draft[4] + clear + `"dependencies": {"n": {"properties": {"a": {` + flag + `}}}, "b": ["c"]}}`,
			[]string{`{"n":1,"a":T}`, `{"b":1,"c":1}`}, []string{`{"n":1,"a":1}`, `{"b":1}`}},
		"propertyNames flags the object": {`{` + clear + `"properties": {"o": {"propertyNames": {"minLength": 1, ` + flag + `}}}}`, []string{`{"o":T}`}, []string{`{"o":{}}`}},
		"propertyNames":                  {`{` + clear + `"properties": {"a": {` + flag + `}}, "propertyNames": {"maxLength": 2}}`, []string{`{"a":T}`}, []string{`{"abc":1}`}},
		"contentSchema flags the string": {`{` + clear + `"properties": {"s": {"contentMediaType": "application/json", "contentSchema": {` + flag + `}}}}`, []string{`{"s":T}`}, []string{`{"s":"{}"}`}},
		"enum and const": {`{` + clear + `"properties": {"k": {"enum": ["x", {"a": 1}], "properties": {"a": {` + flag + `}}}, "c": {"const": "x", "properties": {"a": {` + flag + `}}}}}`,
			[]string{`{"k":{"a":T},"c":"x"}`}, []string{`{"k":{"a":1}}`, `{"c":"y"}`}},
		"exclusiveMinimum of draft 4": {`{` + draft[4] + clear + `"properties": {"a": {` + flag + `}, "n": {"minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false}}}`,
			[]string{`{"n":2,"a":T}`, `{"n":9}`}, []string{`{"n":1}`, `{"n":10}`}},
		"const, which draft 4 has not": {`{` + draft[4] + clear + `"properties": {"a": {` + flag + `}, "n": {"const": 1}}}`, []string{`{"n":2,"a":T}`}, []string{`{"a":1}`}},
		"siblings of $ref in draft 7": {`{` + draft[7] + clear + `"properties": {"a": {"$ref": "#/definitions/d", "type": "array", ` + flag + `}, "b": {"$ref": "#/definitions/d", "type": "array"}}, "definitions": {"d": {"type": "integer"}}}`,
			[]string{`{"a":T,"b":1}`}, []string{`{"a":1}`, `{"b":[]}`}},
		"$ref, $anchor, $id": {`{"$id": "https://example.com/a", ` + clear + `"properties": {"a": {"$ref": "#x"}, "b": {"$ref": "b#/$defs/y"}}, "$defs": {"x": {"$anchor": "x", ` + flag + `}, "b": {"$id": "b", "$defs": {"y": {"type": "integer"}}}}}`,
			[]string{`{"a":T,"b":1}`}, []string{`{"a":1}`, `{"b":"x"}`}},
		"recursion": {`{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "a": {` + flag + `}, "l": {"type": "array", "items": {"$ref": "#"}}}}`,
			[]string{`{"n":1,"a":T,"l":[{"n":1,"l":[{"n":2,"a":T}]}]}`}, []string{`{"n":1,"l":[{"n":1,"l":[{"n":2,"a":1}]}]}`, `{"n":1,"l":[{"n":1,"l":[{"a":T}]}]}`}},
		"$dynamicRef": {`{"$id": "https://example.com/a", "$dynamicAnchor": "n", ` + clear + `"$ref": "tree", "properties": {"a": {` + flag + `}}, "$defs": {"tree": {"$id": "tree", "$dynamicAnchor": "n", "properties": {"k": {"$dynamicRef": "#n"}}}}}`,
			[]string{`{"a":T,"k":{"a":T,"k":{"a":T}}}`}, []string{`{"k":{"k":{"a":1}}}`}},
		"$recursiveRef": {`{` + draft[2019] + `"$recursiveAnchor": true, ` + clear + `"properties": {"a": {` + flag + `}, "k": {"$recursiveRef": "#"}}}`,
			[]string{`{"k":{"a":T}}`}, []string{`{"k":{"a":1}}`}},
		"undeclared members refused": {`{"properties": {"a": {` + flag + `}, "o": {"properties": {"p": {"type": "integer"}}}, "l": {"items": {"properties": {"q": {}}}}}}`,
			[]string{`{"a":T,"o":{"p":1},"l":[{"q":1}]}`}, []string{`{"z":1}`, `{"o":{"z":1}}`, `{"l":[{"z":1}]}`, `{"l":[{"q":{"z":1}}]}`}},
		"undeclared members sealed": {`{"x-gdpr-undeclared": "seal", "properties": {"n": {"type": "integer"}, "o": {"properties": {"p": {"type": "integer"}}}, "any": {}}}`,
			[]string{`{"n":1,"z":T,"o":{"p":1,"z":T},"any":T}`, `{"any":[1,T]}`, `{"any":1}`}, []string{`{"z":1}`, `{"o":{"z":1}}`, `{"any":{}}`, `{"any":[{}]}`, `{"n":T}`}},
		"undeclared by one pattern of two": {`{"x-gdpr-undeclared": "seal", "patternProperties": {"^x": {"properties": {"p": {"type": "integer"}}}, "y$": {"properties": {"q": {"type": "integer"}}}}}`,
			[]string{`{"x":{"p":1,"q":T},"y":{"q":1,"p":T},"xy":{"p":1,"q":2,"r":T},"z":T}`},
			[]string{`{"x":{"q":1}}`, `{"y":{"p":1}}`, `{"xy":{"r":1}}`, `{"z":1}`}},
		"undeclared under a pattern that says nothing": {`{"x-gdpr-undeclared": "seal", "patternProperties": {"^x": true}, "additionalProperties": {"type": "integer"}}`,
			[]string{`{"x":T,"z":1}`}, []string{`{"x":1}`, `{"z":"s"}`}},
		"names that JavaScript's objects inherit": {`{"properties": {"constructor": {` + flag + `}, "__proto__": {"type": "integer", ` + flag + `}, "toString": {"type": "integer"}}, "patternProperties": {"^toString$": {"minimum": 2}}}`,
			[]string{`{}`, `{"constructor":T,"__proto__":T,"toString":2}`}, []string{`{"constructor":1}`, `{"__proto__":1}`, `{"toString":1}`, `{"toString":"s"}`, `{"valueOf":1}`}},
		"asking for inherited names": {`{` + clear + `"properties": {"a": {` + flag + `}}, "not": {"required": ["valueOf"]}, "dependentRequired": {"toString": ["n"], "b": ["c"]}, "dependentSchemas": {"constructor": {"required": ["n"]}}}`,
			[]string{`{"a":T}`, `{"b":1,"c":1}`}, []string{`{"a":1}`, `{"b":1}`}},
		"asking for inherited names in draft 7": {`{` + draft[7] + clear + `"properties": {"a": {` + flag + `}}, "dependencies": {"toString": ["n"], "constructor": {"required": ["n"]}, "b": ["c"]}}`,
			[]string{`{"a":T}`}, []string{`{"a":1}`, `{"b":1}`}},
		"multipleOf": {`{` + clear + `"properties": {"a": {` + flag + `}, "price": {"multipleOf": 0.01}, "n": {"multipleOf": 2}, "m": {"not": {"multipleOf": 0.1}}}}`,
			[]string{`{"price":19.99,"n":4,"m":0.35,"a":T}`}, []string{`{"n":3}`, `{"a":1}`}},
		"an empty enum": {`{` + clear + `"properties": {"a": {` + flag + `}, "n": {"enum": []}}}`, []string{`{"n":1,"a":T}`}, []string{`{"a":1}`}},
		"a false":       {`{` + clear + `"properties": {"a": {` + flag + `}, "no": false}}`, []string{`{"a":T}`}, []string{`{"no":1}`, `{"no":T}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := wireFixture(t, map[string]string{"a.v1.json": c.schema})
			w, err := deriveWire(e, wireRule{})
			if err != nil {
				t.Fatal(err)
			}
			wire := w.b.Bytes()
			plain, err := compileForLaw(wire)
			if err != nil {
				t.Fatalf("%v\n%s", err, wire)
			}
			events := make([]any, 0, len(c.good)+len(c.bad))
			for i, text := range slices.Concat(c.good, c.bad) {
				text = strings.ReplaceAll(text, "T", tokenText)
				if name == "a pattern of RE2" {
					text = strings.ReplaceAll(slices.Concat(c.good, c.bad)[i], ":T", ":"+tokenText)
				}
				var v any
				dec := json.NewDecoder(strings.NewReader(text))
				dec.UseNumber()
				if err := dec.Decode(&v); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				events = append(events, v)
				if got := plain.Validate(v) == nil; got != (i < len(c.good)) {
					t.Errorf("jsonschema/v5 says %v of %s\n%s", got, text, wire)
				}
				if got := e.ValidateWire([]byte(text)) == nil; got != (i < len(c.good)) {
					t.Errorf("ValidateWire says %v of %s\n%s", got, text, wire)
				}
			}
			valid, err := a.validate(wire, events)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range valid {
				if got != (i < len(c.good)) {
					t.Errorf("ajv says %v of %v\n%s", got, events[i], wire)
				}
			}
		})
	}
}

func TestWireSchemasThatCannotBe(t *testing.T) {
	t.Parallel()
	many := &strings.Builder{}
	for i := range maxWirePatterns + 1 {
		fmt.Fprintf(many, `"^%c": {"type": "object", "properties": {"a%d": {"type": "string"}}},`, 'a'+i, i)
	}
	for name, c := range map[string]struct{ schema, rule, at string }{
		"a pattern over a flag that only RE2 has": {`{"x-gdpr-undeclared": "clear",
 "patternProperties": {"(?m)^a$": {"x-gdpr-sensitive": true}}}`, "wire-pattern", "a.v1.json:2:35"},
		"a pattern that takes names from a flag": {`{"x-gdpr-undeclared": "clear",
 "patternProperties": {"(?m)^a$": {"type": "string"}}, "additionalProperties": {"x-gdpr-sensitive": true}}`, "wire-pattern", "a.v1.json:2:35"},
		"sealed beside a pattern that only RE2 has":       {`{"x-gdpr-undeclared": "seal", "patternProperties": {"(?m)^a$": {"type": "string"}}}`, "wire-pattern", "a.v1.json:1:1"},
		"sealed for matching one pattern and not another": {`{"x-gdpr-undeclared": "seal", "patternProperties": {"^x": true, "y": {"type": "string"}}, "additionalProperties": {"type": "string"}}`, "wire-undeclared", "a.v1.json:1:1"},
		"sealed beside too many patterns":                 {`{"x-gdpr-undeclared": "seal", "patternProperties": {` + strings.TrimSuffix(many.String(), ",") + `}}`, "wire-too-large", "a.v1.json:1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := wireFixture(t, map[string]string{"a.v1.json": c.schema})
			_, err := e.WireSchema()
			var we *WireError
			if !errors.As(err, &we) || we.Finding.Rule != c.rule || !strings.HasPrefix(we.Finding.String(), c.at+": ") || we.Hint() == "" || we.Type != "a" || we.Version != 1 {
				t.Errorf("%v", err)
			}
			if err := e.ValidateWire([]byte(`{}`)); !errors.As(err, &we) {
				t.Errorf("ValidateWire: %v", err)
			}
		})
	}
}

func TestAPatternThatOnlyRE2HasIsDroppedWhereItOnlyAsserts(t *testing.T) {
	t.Parallel()
	e := wireFixture(t, map[string]string{"a.v1.json": `{"x-gdpr-undeclared": "clear", "properties": {"a": {"x-gdpr-sensitive": true}, "s": {"type": "string", "pattern": "(?m)^a$"}},
		"patternProperties": {"(?m)^b$": {"type": "integer"}}, "additionalProperties": {"type": "string"}}`})
	for text, want := range map[string]bool{`{"s":"x"}`: true, `{"s":1}`: false, `{"x\nb":1}`: true, `{"a":` + tokenText + `}`: true, `{"a":1}`: false} {
		if err := e.ValidateWire([]byte(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWireSchemasAreTheSameBytesEachTime(t *testing.T) {
	t.Parallel()
	const text = `{"x-gdpr-undeclared": "seal", "properties": {"b": {"x-gdpr-sensitive": true}, "a": {"$ref": "#/$defs/d"}, "c": {"$ref": "#/$defs/d"}},
		"patternProperties": {"^x": {"type": "object", "properties": {"p": {}}}, "y$": {"type": "integer"}}, "$defs": {"d": {"type": "object", "properties": {"l": {"items": {"$ref": "#"}}}}}}`
	var first []byte
	for range 20 {
		wire, err := wireFixture(t, map[string]string{"a.v1.json": text}).WireSchema()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = wire
		}
		if string(wire) != string(first) {
			t.Fatalf("%s\n%s", first, wire)
		}
	}
	if b := strings.Index(string(first), `"b"`); b < 0 || b > strings.Index(string(first), `"c"`) {
		t.Errorf("not in the order of the source:\n%s", first)
	}
}

func TestViolationsOfAWireSchemaHoldNoValue(t *testing.T) {
	t.Parallel()
	e := wireFixture(t, map[string]string{"a.v1.json": `{"x-gdpr-undeclared": "clear", "properties": {"n": {"type": "integer"}, "a": {"x-gdpr-sensitive": true}}, "additionalProperties": {"maxLength": 3}}`})
	err := e.ValidateWire([]byte(`{"n":"zvqwx","a":"zvqwx","zvqwx":"zvqwx"}`))
	var invalid *ValidationError
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	var got []string
	for _, v := range invalid.Violations {
		got = append(got, v.Location+" "+v.Keyword)
		if !regexp.MustCompile(`^wire schema of a@1:\d+:\d+$`).MatchString(v.Schema) {
			t.Errorf("%s", v.Schema)
		}
	}
	if want := []string{"/* maxLength", "/a pattern", "/n type"}; !slices.Equal(slices.Compact(got), want) {
		t.Errorf("%q", got)
	}
	if text := fmt.Sprintf("%v %+v %#v", err, invalid.Violations, invalid.Violations); strings.Contains(text, "zvqwx") {
		t.Error(text)
	}
}

// Patterns mean the same in both dialects, or are not written.
func TestPatternsAreWrittenForBothDialects(t *testing.T) {
	t.Parallel()
	texts := []string{`^a$`, `^[a-z0-9_-]+$`, `\d{2,3}`, `\s`, `[\s]`, `\S+`, `.`, `(?s).`, `(?i)straße`, `(?i)k`, `[[:alpha:]]`, `\pL`, `\p{Greek}`, `a\-b`, `\@`, `\Qa.b\E`,
		`(?P<n>a)|b`, `^*a`, `{x}`, `a{,2}`, `[^a]`, `\x41`, `\x{1F600}`, `\bfoo\b`, `\Aa\z`, `a|`, `(?:)`, `[a\]b]`, `[\d-x]`, `[-a]`, `\/`, `(?U)a+`, `x{0}`, `[\x{D800}-\x{DFFF}]`}
	subjects := []string{"", "a", "b", "ab", "A", "a-b", "a.b", "@", "1", "12", " ", " ", "\v", "\n", "\r", "\u2028", "strasse", "STRAßE", "ſtraße", "K", "K", "{x}", "a{,2}", "é", "α",
		"😀", "foo", "foobar", "]", "x", "-", "/", "\\", "d", "a\n", "\na"}
	a := newAjv(t)
	for _, text := range texts {
		s := sharePattern(text)
		if !s.ok {
			t.Errorf("%s: not written", text)
			continue
		}
		schema, err := json.Marshal(map[string]string{"pattern": s.text})
		if err != nil {
			t.Fatal(err)
		}
		events := make([]any, len(subjects))
		for i, subject := range subjects {
			events[i] = subject
		}
		valid, err := a.validate(schema, events)
		if err != nil {
			t.Errorf("%s as %q: %v", text, s.text, err)
			continue
		}
		for i, subject := range subjects {
			want := regexp.MustCompile(text).MatchString(subject)
			if again := regexp.MustCompile(s.text).MatchString(subject); again != want || valid[i] != want {
				t.Errorf("%s as %q on %q: %v, in RE2 %v, in ECMA-262 %v", text, s.text, subject, want, again, valid[i])
			}
		}
	}
	for _, text := range []string{`(?m)^a$`, `(?m)a$`} {
		if s := sharePattern(text); s.ok {
			t.Errorf("%s: written as %q", text, s.text)
		}
	}
}
