package schema_test

import "testing"

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
