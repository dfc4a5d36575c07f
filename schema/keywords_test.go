package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// violation is one row of TestEveryKeywordIsReportedWithoutAValue: what one broken rule is reported as. In schema, ⮞ stands before the place
// that must be named, and in the payload the canary stands for what must not.
type violation struct {
	keyword  string
	drafts   string // empty: all of them
	schema   string
	payload  string
	location string
	message  string
}

const canary = "zq9canary" // no part of it is a word of a message

// violationsOfKeywords has each keyword of JSON Schema that can refuse a value, and each applicator through which another may.
func violationsOfKeywords() []violation {
	const since2019, since6, since7, until7 = "2019 2020", "6 7 2019 2020", "7 2019 2020", "4 6 7"
	const str, num = `"zq9canary"`, `7654321.75`
	return []violation{
		{"type", "", `{"properties": {"a": {⮞"type": "integer"}}}`, `{"a": ` + str + `}`, "/a", "expected integer, found string"},
		{"type", "", `{"properties": {"a": {⮞"type": ["object", "null"]}}}`, `{"a": ` + num + `}`, "/a", "expected object or null, found number"},
		{"enum", "", `{"properties": {"a": {⮞"enum": ["x", 1]}}}`, `{"a": ` + str + `}`, "/a", "not one of the allowed values"},
		{"const", since6, `{"properties": {"a": {⮞"const": "x"}}}`, `{"a": ` + str + `}`, "/a", "not one of the allowed values"},
		{"const", since6, `{"properties": {"a": {⮞"const": {"x": 1}}}}`, `{"a": {"zq9canary": 1}}`, "/a", "not one of the allowed values"},
		{"multipleOf", "", `{"properties": {"a": {⮞"multipleOf": 2}}}`, `{"a": ` + num + `}`, "/a", "violates multipleOf 2"},
		{"maximum", "", `{"properties": {"a": {⮞"maximum": 5}}}`, `{"a": ` + num + `}`, "/a", "violates maximum 5"},
		{"minimum", "", `{"properties": {"a": {⮞"minimum": 1e9}}}`, `{"a": ` + num + `}`, "/a", "violates minimum 1e9"},
		{"exclusiveMaximum", since6, `{"properties": {"a": {⮞"exclusiveMaximum": 5}}}`, `{"a": ` + num + `}`, "/a", "violates exclusiveMaximum 5"},
		{"exclusiveMinimum", since6, `{"properties": {"a": {⮞"exclusiveMinimum": 1e9}}}`, `{"a": ` + num + `}`, "/a", "violates exclusiveMinimum 1e9"},
		{"exclusiveMaximum", "4", `{"properties": {"a": {"maximum": 5, ⮞"exclusiveMaximum": true}}}`, `{"a": ` + num + `}`, "/a", "violates exclusiveMaximum 5"},
		{"exclusiveMinimum", "4", `{"properties": {"a": {"minimum": 1e9, ⮞"exclusiveMinimum": true}}}`, `{"a": ` + num + `}`, "/a", "violates exclusiveMinimum 1e9"},
		{"maxLength", "", `{"properties": {"a": {⮞"maxLength": 3}}}`, `{"a": ` + str + `}`, "/a", "violates maxLength 3"},
		{"minLength", "", `{"properties": {"a": {⮞"minLength": 30}}}`, `{"a": ` + str + `}`, "/a", "violates minLength 30"},
		{"pattern", "", `{"properties": {"a": {⮞"pattern": "^[0-9]+$"}}}`, `{"a": ` + str + `}`, "/a", `does not match the pattern "^[0-9]+$"`},
		{"format", "", `{"properties": {"a": {⮞"format": "date"}}}`, `{"a": ` + str + `}`, "/a", `not a valid "date"`},
		{"contentEncoding", "7", `{"properties": {"a": {⮞"contentEncoding": "base64"}}}`, `{"a": "zq9canary!"}`, "/a", `is not encoded as "base64"`},
		{"contentMediaType", "7", `{"properties": {"a": {⮞"contentMediaType": "application/json"}}}`, `{"a": ` + str + `}`, "/a", `does not hold "application/json"`},
		{"maxItems", "", `{"properties": {"a": {⮞"maxItems": 1}}}`, `{"a": [` + str + `, ` + num + `]}`, "/a", "violates maxItems 1"},
		{"minItems", "", `{"properties": {"a": {⮞"minItems": 3}}}`, `{"a": [` + str + `]}`, "/a", "violates minItems 3"},
		{"uniqueItems", "", `{"properties": {"a": {⮞"uniqueItems": true}}}`, `{"a": [` + str + `, ` + str + `]}`, "/a", "has equal items"},
		{"contains", since6, `{"properties": {"a": {⮞"contains": {"type": "null"}}}}`, `{"a": [` + str + `]}`, "/a", "has no item of the required form"},
		{"minContains", since2019, `{"properties": {"a": {"contains": {"type": "string"}, ⮞"minContains": 2}}}`, `{"a": [` + str + `]}`, "/a", "violates minContains 2"},
		{"maxContains", since2019, `{"properties": {"a": {"contains": {"type": "string"}, ⮞"maxContains": 1}}}`, `{"a": [` + str + `, "x"]}`, "/a", "violates maxContains 1"},
		{"maxProperties", "", `{"properties": {"a": {⮞"maxProperties": 1}}}`, `{"a": {"zq9canary": 1, "b": ` + str + `}}`, "/a", "violates maxProperties 1"},
		{"minProperties", "", `{"properties": {"a": {⮞"minProperties": 2}}}`, `{"a": {"zq9canary": 1}}`, "/a", "violates minProperties 2"},
		{"required", "", `{"properties": {"a": {⮞"required": ["x", "y", "z"]}}}`, `{"a": {"y": ` + str + `}}`, "/a", `missing "x", "z"`},
		{"dependentRequired", since2019, `{"properties": {"a": {"dependentRequired": {"x": ["y", ⮞"z"]}}}}`, `{"a": {"x": ` + str + `, "y": 1}}`, "/a", `missing "z", which "x" requires`},
		{"dependencies", until7, `{"properties": {"a": {"dependencies": {"x": [⮞"z"]}}}}`, `{"a": {"x": ` + str + `}}`, "/a", `missing "z", which "x" requires`},
		{"additionalProperties", "", `{"properties": {"a": {⮞"additionalProperties": false}}}`, `{"a": {"zq9canary": ` + str + `}}`, "/a", "has a member that the schema does not allow"},
		{"additionalItems", "4 6 7 2019", `{"properties": {"a": {"items": [{}], ⮞"additionalItems": false}}}`, `{"a": [1, ` + str + `]}`, "/a", "has an item that the schema does not allow"},
		{"unevaluatedProperties", since2019, `{"properties": {"a": {⮞"unevaluatedProperties": false}}}`, `{"a": {"zq9canary": ` + str + `}}`, "/a/*", "a member that the schema does not allow"},
		{"unevaluatedItems", since2019, `{"properties": {"a": {⮞"unevaluatedItems": false}}}`, `{"a": [` + str + `]}`, "/a/0", "an item that the schema does not allow"},
		{"not", "", `{"properties": {"a": {⮞"not": {"type": "string"}}}}`, `{"a": ` + str + `}`, "/a", "matches what the schema excludes"},
		{"oneOf", "", `{"properties": {"a": {⮞"oneOf": [{"type": "string"}, {"minLength": 2}]}}}`, `{"a": ` + str + `}`, "/a", "matches more than one of the alternatives"},

		// The schema false, at each keyword that may hold it.
		{"properties", since6, `{"properties": {⮞"a": false}}`, `{"a": ` + str + `}`, "/a", "a member that the schema does not allow"},
		{"patternProperties", since6, `{"patternProperties": {⮞"^z": false}}`, `{"zq9canary": ` + str + `}`, "/*", "a member that the schema does not allow"},
		{"items", since6, `{"properties": {"a": {⮞"items": false}}}`, `{"a": [` + str + `]}`, "/a/0", "an item that the schema does not allow"},
		{"items", "6 7 2019", `{"properties": {"a": {"items": [{}, ⮞false]}}}`, `{"a": [1, ` + str + `]}`, "/a/1", "an item that the schema does not allow"},
		{"prefixItems", "2020", `{"properties": {"a": {"prefixItems": [{}, ⮞false]}}}`, `{"a": [1, ` + str + `]}`, "/a/1", "an item that the schema does not allow"},
		{"contains", since6, `{"properties": {"a": {⮞"contains": false}}}`, `{"a": [` + str + `]}`, "/a", "no value is allowed"},
		{"propertyNames", since6, `{⮞"propertyNames": false}`, `{"zq9canary": ` + str + `}`, "/*", "the member's name: no value is allowed"},
		{"allOf", since6, `{"properties": {"a": {"allOf": [{}, ⮞false]}}}`, `{"a": ` + str + `}`, "/a", "no value is allowed"},
		{"then", since7, `{"properties": {"a": {"if": {"type": "string"}, ⮞"then": false}}}`, `{"a": ` + str + `}`, "/a", "no value is allowed"},
		{"else", since7, `{"properties": {"a": {"if": {"type": "null"}, ⮞"else": false}}}`, `{"a": ` + str + `}`, "/a", "no value is allowed"},
		{"dependentSchemas", since2019, `{"dependentSchemas": {⮞"a": false}}`, `{"a": ` + str + `}`, "", "no value is allowed"},
		{"dependencies", "6 7", `{"dependencies": {⮞"a": false}}`, `{"a": ` + str + `}`, "", "no value is allowed"},
		{"$ref", since6, `{"properties": {"a": {"$ref": "#/$defs/no"}}, "$defs": {⮞"no": false}}`, `{"a": ` + str + `}`, "/a", "no value is allowed"},

		// The way to another keyword, through each applicator.
		{"type", "", `{"patternProperties": {"^z": {⮞"type": "null"}}}`, `{"zq9canary": ` + str + `}`, "/*", "expected null, found string"},
		{"type", "", `{"additionalProperties": {⮞"type": "null"}}`, `{"zq9canary": ` + str + `}`, "/*", "expected null, found string"},
		{"type", "", `{"additionalProperties": {"properties": {"b": {⮞"type": "null"}}}}`, `{"zq9canary": {"b": ` + num + `}}`, "/*/b", "expected null, found number"},
		{"type", since2019, `{"unevaluatedProperties": {⮞"type": "null"}}`, `{"zq9canary": ` + str + `}`, "/*", "expected null, found string"},
		{"maxLength", since6, `{"propertyNames": {⮞"maxLength": 3}}`, `{"zq9canary": 1}`, "/*", "the member's name: violates maxLength 3"},
		{"pattern", since6, `{"propertyNames": {"$ref": "#/$defs/n"}, "$defs": {"n": {⮞"pattern": "^a$"}}}`, `{"zq9canary": 1}`, "/*", `the member's name: does not match the pattern "^a$"`},
		{"type", since6, `{"properties": {"propertyNames": {⮞"type": "null"}}}`, `{"propertyNames": [` + str + `]}`, "/propertyNames", "expected null, found array"},
		{"type", "", `{"properties": {"a": {"items": {⮞"type": "null"}}}}`, `{"a": [null, ` + str + `]}`, "/a/1", "expected null, found string"},
		{"type", "2020", `{"prefixItems": [{⮞"type": "null"}]}`, `[` + str + `]`, "/0", "expected null, found string"},
		{"type", "4 6 7 2019", `{"items": [{⮞"type": "null"}]}`, `[` + str + `]`, "/0", "expected null, found string"},
		{"type", "4 6 7 2019", `{"items": [{}], "additionalItems": {⮞"type": "null"}}`, `[1, ` + str + `]`, "/1", "expected null, found string"},
		{"type", since2019, `{"unevaluatedItems": {⮞"type": "null"}}`, `[` + str + `]`, "/0", "expected null, found string"},
		{"type", "", `{"allOf": [{}, {"allOf": [{⮞"type": "array"}]}]}`, `{"zq9canary": 1}`, "", "expected array, found object"},
		{"type", since7, `{"if": {"type": "string"}, "then": {⮞"type": "array"}}`, str, "", "expected array, found string"},
		{"type", since7, `{"if": {"type": "array"}, "else": {⮞"type": "null"}}`, str, "", "expected null, found string"},
		{"required", since2019, `{"dependentSchemas": {"a": {⮞"required": ["b"]}}}`, `{"a": ` + str + `}`, "", `missing "b"`},
		{"required", until7, `{"dependencies": {"a": {⮞"required": ["b"]}}}`, `{"a": ` + str + `}`, "", `missing "b"`},
		{"type", "", `{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {⮞"type": "null"}}}`, str, "", "expected null, found string"},
		{"type", "2020", `{"properties": {"a": {"$dynamicRef": "#x"}}, "$defs": {"a": {"$dynamicAnchor": "x", ⮞"type": "null"}}}`, `{"a": ` + str + `}`, "/a", "expected null, found string"},
		{"type", "2019", `{⮞"type": "object", "properties": {"a": {"$recursiveRef": "#"}}}`, `{"a": ` + str + `}`, "/a", "expected object, found string"},
	}
}

// lineColumn gives the place of the mark, and the text without it.
func lineColumn(t *testing.T, text string) (line, column int, clean string) {
	t.Helper()
	before, after, found := strings.Cut(text, "⮞")
	if !found {
		t.Fatalf("no mark in %s", text)
	}
	return 1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n'), before + after
}

func TestEveryKeywordIsReportedWithoutAValue(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	rows := 0
	for _, row := range violationsOfKeywords() {
		covered[row.keyword] = true
		if row.drafts == "" {
			row.drafts = "4 6 7 2019 2020"
		}
		for _, draft := range strings.Fields(row.drafts) {
			rows++
			text := "{\"$schema\": \"" + metaschemas()[draft] + "\",\n " + strings.TrimPrefix(row.schema, "{")
			if len(draft) == 1 {
				text = strings.ReplaceAll(text, "$defs", "definitions")
			}
			line, column, text := lineColumn(t, text)
			reg := load(t, "invoice.v1.json", text)
			what := fmt.Sprintf("%s in draft %s: %s", row.keyword, draft, row.schema)
			vs := violations(t, reg, row.payload)
			if len(vs) != 1 {
				t.Errorf("%s: violations %v", what, vs)
				continue
			}
			place := fmt.Sprintf("invoice.v1.json:%d:%d", line, column)
			if v := vs[0]; v.Keyword != row.keyword || v.Location != row.location || v.Message != row.message || v.Schema != place {
				t.Errorf("%s:\ngot  %s at %q, %s: %s\nwant %s at %q, %s: %s", what, v.Keyword, v.Location, v.Schema, v.Message, row.keyword, row.location, place, row.message)
			}
			holdsNoValue(t, reg, row.payload, []string{canary, "765432"})
		}
	}
	for _, keyword := range []string{"type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength",
		"pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "contains", "maxProperties", "minProperties", "required",
		"dependentRequired", "dependencies", "format", "contentEncoding", "contentMediaType", "additionalProperties", "additionalItems",
		"unevaluatedProperties", "unevaluatedItems", "not", "oneOf"} {
		if !covered[keyword] {
			t.Errorf("no row for %s", keyword)
		}
	}
	t.Logf("%d rows over the drafts", rows)
}

// holdsNoValue looks for what must not be there in every text that an error can be turned into.
func holdsNoValue(t *testing.T, reg *schema.Registry, payload string, secrets []string) {
	t.Helper()
	e, err := reg.Event("invoice", 1)
	if err != nil {
		t.Fatal(err)
	}
	err = e.Validate([]byte(payload))
	var ve *schema.ValidationError
	if !errors.As(err, &ve) {
		t.Fatalf("not a *ValidationError: %v", err)
	}
	text, jsonErr := json.Marshal(ve)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	all := string(text) + ve.Hint()
	for e := err; e != nil; e = errors.Unwrap(e) {
		all += fmt.Sprintf("%v %+v %#v %s %q", e, e, e, e, e)
	}
	for _, v := range ve.Violations {
		all += fmt.Sprintf("%v %+v %#v %s %q %x", v, v, v, v, v, v) + fmt.Sprintf("%v %+v %#v", &v, &v, &v)
	}
	for _, secret := range secrets {
		if strings.Contains(all, secret) {
			t.Errorf("an error holds %q: %s", secret, all)
		}
	}
}

func metaschemas() map[string]string {
	return map[string]string{
		"4": "http://json-schema.org/draft-04/schema#", "6": "http://json-schema.org/draft-06/schema#", "7": "http://json-schema.org/draft-07/schema#",
		"2019": "https://json-schema.org/draft/2019-09/schema", "2020": "https://json-schema.org/draft/2020-12/schema",
	}
}

// A member may be named as a keyword is, and an alternative may break two rules: neither is a broken keyword of that name.
func TestViolationsOfNamesThatAreKeywords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, payload, want string }{
		{`{"properties": {"anyOf": {"minLength": 9, "pattern": "^x"}}}`, `{"anyOf": "a"}`, "/anyOf minLength, /anyOf pattern"},
		{`{"properties": {"contains": {"minLength": 9, "pattern": "^x"}}}`, `{"contains": "a"}`, "/contains minLength, /contains pattern"},
		{`{"properties": {"a": {"oneOf": [{"minLength": 9, "pattern": "^x"}, {"minLength": 9, "pattern": "^y", "format": "date"}]}}}`, `{"a": "a"}`, "/a minLength, /a oneOf, /a pattern"},
		{`{"$defs": {"0": {"minLength": 9, "pattern": "^x"}}, "properties": {"0": {"$ref": "#/$defs/0"}}}`, `{"0": "a"}`, "/0 minLength, /0 pattern"},
		{`{"properties": {"a": {"contains": {"minLength": 9, "pattern": "^x"}}}}`, `{"a": ["b", "c"]}`, "/a contains"},
		{`{"patternProperties": {"^a/b~c%2F": {"type": "null"}}, "additionalProperties": {"type": "string"}}`, `{"a/b~c%2F": 1}`, "/* type"},
		{`{"properties": {"a/b~c%2F": {"type": "null"}}}`, `{"a/b~c%2F": 1}`, "/a~1b~0c%2F type"},
		{`false`, `1`, " "},
	} {
		var got []string
		for _, v := range violations(t, load(t, "invoice.v1.json", c.schema), c.payload) {
			got = append(got, v.Location+" "+v.Keyword)
			if v.Message == "" || strings.Count(v.Schema, ":") != 2 {
				t.Errorf("%s: incomplete: %s at %q", c.schema, v.Message, v.Schema)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.schema, strings.Join(got, ", "), c.want)
		}
	}
}

// What is refused for another reason than a keyword holds no value either.
func TestViolationsInOtherFilesNameThem(t *testing.T) {
	t.Parallel()
	reg := load(t,
		"invoice.v1.json", `{"properties": {"a": {"$ref": "common/types.json#/$defs/tax"}, "b": {"$ref": "https://example.com/embedded.json"}}, "$defs": {"e": {"$id": "https://example.com/embedded.json",
			"pattern": "^x"}}}`,
		"common/types.json", "{\"$defs\": {\n  \"tax\": {\"type\": \"string\",\n    \"maxLength\": 3}}}")
	vs := violations(t, reg, `{"a": "zq9canary", "b": "zq9canary"}`)
	if len(vs) != 2 || vs[0].Schema != "common/types.json:3:5" || vs[1].Schema != "invoice.v1.json:2:4" {
		t.Errorf("violations %v at %q and %q", vs, vs[0].Schema, vs[len(vs)-1].Schema)
	}
	holdsNoValue(t, reg, `{"a": "zq9canary", "b": "zq9canary"}`, []string{canary})
}
