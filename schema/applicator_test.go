package schema_test

import (
	"fmt"
	"slices"
	"testing"
)

// Each applicator with a flag below it, in the drafts that have it, and what the Plan makes of it. The law beside it
// (TestLawThePlanSealsWhateverTheValidatorSaysIsFlagged) asks the validator; this table says what a reader of the specification expects.
func TestFlagsBelowEachApplicator(t *testing.T) {
	t.Parallel()
	const d4, d6, d7 = `"$schema": "http://json-schema.org/draft-04/schema#", `, `"$schema": "http://json-schema.org/draft-06/schema#", `, `"$schema": "http://json-schema.org/draft-07/schema#", `
	const d2019 = `"$schema": "https://json-schema.org/draft/2019-09/schema", `
	const clear, flag = `"x-gdpr-undeclared": "clear", `, `{"x-gdpr-sensitive": true}`
	for _, c := range []struct{ name, schema, want string }{
		{"contains", `"properties": {"a": {"contains": ` + flag + `}}`, "a: open\na #0: sealed\na #5: sealed"},
		{"contains in draft 6", d6 + `"properties": {"a": {"contains": ` + flag + `}}`, "a #0: sealed"},
		{"contains beside items", `"properties": {"a": {"prefixItems": [true, true], "items": {"type": "string"}, "contains": ` + flag + `}}`, "a #0: sealed\na #1: sealed\na #2: sealed"},
		{"dependentSchemas", `"dependentSchemas": {"b": {"properties": {"c": ` + flag + `}}}`, "c: sealed\nb: open"},
		{"dependentSchemas at the location itself", `"properties": {"a": {"dependentSchemas": {"b": ` + flag + `}}}`, "a: sealed"},
		{"dependencies in draft 4", d4 + `"dependencies": {"b": {"properties": {"c": ` + flag + `}}, "x": ["y"]}`, "c: sealed"},
		{"dependencies in draft 7", d7 + `"dependencies": {"b": {"properties": {"c": ` + flag + `}}}`, "c: sealed"},
		{"dependencies in 2020-12, where the validator still takes them", `"dependencies": {"b": {"properties": {"c": ` + flag + `}}}`, "c: sealed"},
		{"unevaluatedProperties", `"properties": {"a": {}}, "unevaluatedProperties": ` + flag, "a: open\nb: sealed"},
		{"unevaluatedProperties, whatever a branch evaluates", `"anyOf": [{"properties": {"a": {}}}], "unevaluatedProperties": ` + flag, "a: sealed\nb: sealed"},
		{"unevaluatedProperties beside additionalProperties", `"additionalProperties": {"type": "string"}, "unevaluatedProperties": ` + flag, "b: open"},
		{"unevaluatedItems", `"properties": {"a": {"prefixItems": [{}], "unevaluatedItems": ` + flag + `}}`, "a #0: open\na #1: sealed"},
		{"unevaluatedItems, whatever contains evaluates", `"properties": {"a": {"contains": {"const": 1}, "unevaluatedItems": ` + flag + `}}`, "a #0: sealed"},
		{"unevaluatedItems beside items", `"properties": {"a": {"items": {}, "unevaluatedItems": ` + flag + `}}`, "a #0: open"},
		{"unevaluatedItems in 2019-09 beside a tuple", d2019 + `"properties": {"a": {"items": [{}], "unevaluatedItems": ` + flag + `}}`, "a #0: open\na #1: sealed"},
		{"unevaluatedItems beside additionalItems: false, which evaluates nothing", d2019 + `"properties": {"a": {"items": [{}], "additionalItems": false, "unevaluatedItems": ` + flag + `}}`, "a #0: open\na #1: sealed"},
		{"additionalItems", d7 + `"properties": {"a": {"items": [{}], "additionalItems": ` + flag + `}}`, "a #0: open\na #1: sealed\na #9: sealed"},
		{"propertyNames flags the object", `"properties": {"a": {"propertyNames": ` + flag + `}}`, "a: sealed\n/: open"},
		{"propertyNames through a reference", d6 + `"properties": {"a": {"propertyNames": {"allOf": [{"$ref": "#/definitions/email"}]}}}, "definitions": {"email": ` + flag + `}`, "a: sealed"},
		{"contentSchema flags the string", `"properties": {"a": {"contentMediaType": "application/json", "contentSchema": {"properties": {"b": ` + flag + `}}}}`, "a: sealed\n/: open"},
		{"a dynamic reference", `"$ref": "#/$defs/list", "$defs": {"list": {"properties": {"items": {"items": {"$dynamicRef": "#item"}}}, "$defs": {"none": {"$dynamicAnchor": "item"}}}}`, "items #0: open"},
		{"a dynamic reference to another resource of the document", `"$ref": "list", "$defs": {"person": {"$dynamicAnchor": "item", "properties": {"name": ` + flag + `}},
			"list": {"$id": "list", "properties": {"items": {"items": {"$dynamicRef": "#item"}}}, "$defs": {"none": {"$dynamicAnchor": "item"}}}}`, "items #0 name: sealed"},
		{"a recursive reference", d2019 + `"$recursiveAnchor": true, "properties": {"name": ` + flag + `, "child": {"$recursiveRef": "#"}}`, "child child name: sealed"},
		{"a recursive reference of another resource", d2019 + `"$recursiveAnchor": true, "$ref": "tree", "properties": {"name": ` + flag + `}, "$defs": {"tree": {"$id": "tree", "$recursiveAnchor": true, "properties": {"child": {"$recursiveRef": "#"}}}}`, "child child name: sealed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fates(t, plan(t, load(t, "a.v1.json", "{"+clear+c.schema+"}"), "a"), c.want)
		})
	}
}

// The documents that count for a dynamic reference are those that the event schema reaches, not all that happen to be loaded.
func TestDynamicReferencesReachOtherFilesThatAreReferredTo(t *testing.T) {
	t.Parallel()
	reg := load(t,
		"a.v1.json", `{"x-gdpr-undeclared": "clear", "$ref": "list.json", "$defs": {"item": {"$dynamicAnchor": "item", "$ref": "person.json"}}}`,
		"b.v1.json", `{"x-gdpr-undeclared": "clear", "$ref": "list.json"}`,
		"list.json", `{"items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}}`,
		"person.json", `{"properties": {"name": {"x-gdpr-sensitive": true}, "friends": {"$ref": "list.json"}}}`)
	fates(t, plan(t, reg, "a"), "#0 name: sealed\n#3 friends #0 name: sealed")
	fates(t, plan(t, reg, "b"), "#0 name: open")
}

func TestAKeyringBelowPropertyNamesAndContentCounts(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"properties": {"a": {"propertyNames": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "contact"}}, "b": {"contentSchema": {"items": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "health"}}}}}`)
	p := plan(t, reg, "a")
	if a, b := at(p, "a").Keyring(), at(p, "b").Keyring(); a != "contact" || b != "health" {
		t.Errorf("keyrings %q and %q", a, b)
	}
	for _, text := range []string{
		`{"properties": {"a": {"x-gdpr-sensitive": true, "propertyNames": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "contact"}}}}`,
		`{"properties": {"a": {"contentSchema": {"items": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "health"}, "x-gdpr-sensitive": true}}}}`,
	} {
		if fs := refusals(t, "a.v1.json", text); len(fs) != 1 || fs[0].Rule != "keyring-conflict" {
			t.Errorf("%v for %s", fs, text)
		}
	}
}

// What jsonschema/v5 ignores in silence, by draft: a flag there is refused, not ignored.
func TestFlagsBelowWhatADraftIgnoresAreRefused(t *testing.T) {
	t.Parallel()
	const flag = `{"x-gdpr-sensitive": true}`
	one := func(keyword string) string { return `"` + keyword + `": ` + flag }
	for _, c := range []struct {
		text   string
		drafts []int // in which it is ignored; in all others it counts
	}{
		{one("contains"), []int{4}},
		{one("propertyNames"), []int{4}},
		{`"if": {}, "then": ` + flag, []int{4, 6}},
		{one("if"), []int{4, 6}},
		{one("then"), []int{4, 6, 7, 2019, 2020}},
		{one("else"), []int{4, 6, 7, 2019, 2020}},
		{`"dependentSchemas": {"a": ` + flag + `}`, []int{4, 6, 7}},
		{`"dependencies": {"a": ` + flag + `}`, nil},
		{one("unevaluatedProperties"), []int{4, 6, 7}},
		{one("unevaluatedItems"), []int{4, 6, 7}},
		{one("contentSchema"), []int{4, 6, 7}},
		{`"prefixItems": [` + flag + `]`, []int{4, 6, 7, 2019}},
		{`"items": {}, "additionalItems": ` + flag, []int{4, 6, 7, 2019, 2020}},
		{one("additionalItems"), []int{4, 6, 7, 2019, 2020}},
		{`"const": ` + flag, []int{4, 6, 7, 2019, 2020}},
		{`"$defs": {"a": ` + flag + `}, "allOf": [{"$ref": "#/properties/p/$defs/a"}]`, []int{4, 6, 7}},
	} {
		for _, d := range []int{4, 6, 7, 2019, 2020} {
			text := fmt.Sprintf(`{"$schema": %q, "properties": {"p": {%s}}}`, metaschema(d), c.text)
			fs := refusals(t, "a.v1.json", text)
			switch ignored := slices.Contains(c.drafts, d); {
			case ignored && (len(fs) == 0 || fs[0].Rule != "flag-misplaced"):
				t.Errorf("draft %d: %s: %v, want flag-misplaced", d, c.text, fs)
			case !ignored && len(fs) > 0:
				t.Errorf("draft %d: %s: %v", d, c.text, fs)
			}
		}
	}
	if fs := refusals(t, "a.v1.json", `{"$schema": "https://example.com/no-applicators", "properties": {"p": `+flag+`}}`); len(fs) != 1 || fs[0].Rule != "metaschema-unknown" {
		t.Errorf("a metaschema of one's own: %v", fs)
	}
}

func metaschema(draft int) string {
	if draft >= 2019 {
		return map[int]string{2019: "https://json-schema.org/draft/2019-09/schema", 2020: "https://json-schema.org/draft/2020-12/schema"}[draft]
	}
	return fmt.Sprintf("http://json-schema.org/draft-%02d/schema#", draft)
}

// What the law's oracle cannot see, each by hand.
func TestWhatTheValidatorStopsBefore(t *testing.T) {
	t.Parallel()
	const clear, flag = `"x-gdpr-undeclared": "clear", `, `{"x-gdpr-sensitive": true}`
	for _, c := range []struct{ name, schema, want string }{
		{"the third alternative of a oneOf, after two that match", `"oneOf": [true, true, {"properties": {"a": ` + flag + `}}]`, "a: sealed"},
		{"then and else together", `"if": {"required": ["b"]}, "then": {"properties": {"a": ` + flag + `}}, "else": {"properties": {"c": ` + flag + `}}`, "a: sealed\nc: sealed"},
		{"a type that fails", `"properties": {"a": {"type": "string", "x-gdpr-sensitive": true}, "b": {"anyOf": [{"type": "string"}, {"type": "array", "items": ` + flag + `}]}}`, "a: sealed\nb #0: sealed"},
		{"a dependent schema without its member", `"dependentSchemas": {"b": {"properties": {"a": ` + flag + `}}}`, "a: sealed"},
		{"a target that a dynamic reference does not take", `"properties": {"l": {"$ref": "list"}}, "$defs": {"x": {"$dynamicAnchor": "i", "properties": {"a": ` + flag + `}},
			"list": {"$id": "list", "items": {"$dynamicRef": "#i"}, "$defs": {"i": {"$dynamicAnchor": "i"}}}}`, "l #0 a: sealed"},
		{"content", `"properties": {"a": {"contentMediaType": "application/json", "contentEncoding": "base64", "contentSchema": {"items": ` + flag + `}}}`, "a: sealed"},
		{"beside $ref in draft 7", `"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/s", "x-gdpr-sensitive": true}}, "definitions": {"s": {"type": "string"}}`, "a: sealed"},
		{"a boolean schema that an overlay flags", `"properties": {"a": true, "b": {"anyOf": [{"properties": {"c": false}}, {}]}}, "x-gdpr-overlay": {"#/properties/a": ` + flag + `, "#/properties/b/anyOf/0/properties/c": ` + flag + `}`, "a: sealed\nb c: sealed"},
		{"contains where minContains is 0", `"properties": {"a": {"contains": ` + flag + `, "minContains": 0}}`, "a #0: sealed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fates(t, plan(t, load(t, "a.v1.json", "{"+clear+c.schema+"}"), "a"), c.want)
		})
	}
}
