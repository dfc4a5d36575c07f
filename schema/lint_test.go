package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// lintRow is one row of TestLintFindings: what loading notices without refusing it.
type lintRow struct {
	name  string
	pairs []string
	want  []string // FILE:LINE:COL POINTER RULE, of all findings in their order
}

func lintRows() []lintRow {
	const flag = `"x-gdpr-sensitive": true`
	const person = `"person": {"properties": {"mail": {"type": "string"}, "age": {"type": "integer"}}}`
	return []lintRow{
		// flag-elsewhere.
		{"flagged beside one of two references", []string{"a.v1.json", `{"properties": {"buyer": {"allOf": [{"$ref": "#/$defs/person"}, {"properties": {"mail": {` + flag + `}}}]}, "seller": {"$ref": "#/$defs/person"}},
			"$defs": {` + person + `}}`}, []string{"a.v1.json:2:48 /$defs/person/properties/mail flag-elsewhere"}},
		{"flagged beside both", []string{"a.v1.json", `{"properties": {"buyer": {"$ref": "#/$defs/flagged"}, "seller": {"$ref": "#/$defs/flagged"}},
			"$defs": {` + person + `, "flagged": {"$ref": "#/$defs/person", "properties": {"mail": {` + flag + `}}}}}`}, nil},
		{"flagged in one alternative of one location", []string{"a.v1.json", `{"anyOf": [{"$ref": "#/$defs/person"}, {"properties": {"mail": {` + flag + `}}}], "$defs": {` + person + `}}`}, nil},
		{"flagged itself", []string{"a.v1.json", `{"properties": {"a": {"$ref": "#/$defs/p"}, "b": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"properties": {"mail": {` + flag + `}}}}}`}, nil},
		{"sealed whole at one location, in clear at another", []string{"a.v1.json", `{"properties": {"buyer": {"$ref": "#/$defs/person", ` + flag + `}, "seller": {"$ref": "#/$defs/person"}}, "$defs": {` + person + `}}`}, nil},
		{"flagged at one location, with flags of its own below at another", []string{"a.v1.json", `{"properties": {"buyer": {"allOf": [{"$ref": "#/$defs/person"}, {"properties": {"mails": {` + flag + `}}}]}, "seller": {"$ref": "#/$defs/person"}},
			"$defs": {"person": {"properties": {"mails": {"items": {` + flag + `}}}}}}`}, nil},
		{"flagged only where it recurs", []string{"a.v1.json", `{"properties": {"mail": {"type": "string"}, "boss": {"$ref": "#", "properties": {"mail": {` + flag + `}}}}}`}, []string{"a.v1.json:1:25 /properties/mail flag-elsewhere"}},
		{"in clear where nothing is looked at", []string{"a.v1.json", `{"x-gdpr-undeclared": "clear", "properties": {"buyer": {"$ref": "#/$defs/person", "properties": {"mail": {` + flag + `}}}, "old": {"items": {"properties": {"seller": {"$ref": "#/$defs/person"}}}}},
			"$defs": {` + person + `}}`}, []string{"a.v1.json:2:48 /$defs/person/properties/mail flag-elsewhere"}},
		{"an overlay of one event type of two", []string{
			"a.v1.json", `{"$ref": "common.json", "x-gdpr-overlay": {"common.json#/properties/mail": {` + flag + `}}}`,
			"b.v1.json", `{"$ref": "common.json"}`,
			"common.json", `{"properties": {"mail": {"type": "string"}}}`}, []string{"common.json:1:25 /properties/mail flag-elsewhere"}},
		{"an overlay of both", []string{
			"a.v1.json", `{"$ref": "common.json", "x-gdpr-overlay": {"common.json#/properties/mail": {` + flag + `}}}`,
			"b.v1.json", `{"$ref": "common.json", "x-gdpr-overlay": {"common.json#/properties/mail": {` + flag + `}}}`,
			"common.json", `{"properties": {"mail": {"type": "string"}}}`}, nil},

		// flag-unused.
		{"a flagged definition that nothing refers to", []string{"a.v1.json", `{"$defs": {"x": {` + flag + `}}}`}, []string{"a.v1.json:1:18 /$defs/x flag-unused"}},
		{"a definition with a flag inside", []string{"a.v1.json", `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"x": {"properties": {"y": {` + flag + `}}}}}`}, []string{"a.v1.json:1:99 /definitions/x/properties/y flag-unused"}},
		{"a definition that another refers to, which nothing refers to", []string{"a.v1.json", `{"$defs": {"x": {` + flag + `}, "y": {"$ref": "#/$defs/x"}}}`}, []string{"a.v1.json:1:18 /$defs/x flag-unused"}},
		{"a definition of another file, of which another is used", []string{
			"a.v1.json", `{"$ref": "common.json#/$defs/y"}`,
			"common.json", `{"$defs": {"x": {` + flag + `}, "y": {}}}`}, []string{"common.json:1:18 /$defs/x flag-unused"}},
		{"an overlay on a definition that nothing refers to", []string{
			"a.v1.json", `{"x-gdpr-overlay": {"#/$defs/x": {` + flag + `}}, "$defs": {"x": {}}}`}, []string{"a.v1.json:1:35 /x-gdpr-overlay/#~1$defs~1x flag-unused"}},
		{"a definition that is used", []string{"a.v1.json", `{"properties": {"p": {"$ref": "#/$defs/x"}}, "$defs": {"x": {` + flag + `}}}`}, nil},

		// names-stay-clear.
		{"flagged values of an open map", []string{"a.v1.json", `{"properties": {"m": {"additionalProperties": {` + flag + `}}}}`}, []string{"a.v1.json:1:22 /properties/m names-stay-clear"}},
		{"flagged values of a pattern", []string{"a.v1.json", `{"patternProperties": {"@": {"anyOf": [{}, {` + flag + `}]}}}`}, []string{"a.v1.json:1:1  names-stay-clear"}},
		{"flagged values of what is not evaluated", []string{"a.v1.json", `{"unevaluatedProperties": {` + flag + `}}`}, []string{"a.v1.json:1:1  names-stay-clear"}},
		{"flagged values behind a reference", []string{"a.v1.json", `{"additionalProperties": {"$ref": "#/$defs/s"}, "$defs": {"s": {` + flag + `}}}`}, []string{"a.v1.json:1:1  names-stay-clear"}},
		{"flagged names too", []string{"a.v1.json", `{"properties": {"m": {"propertyNames": {` + flag + `}, "additionalProperties": {"type": "string"}}}}`}, nil},
		{"flagged names in another subschema of the same map", []string{"a.v1.json", `{"properties": {"m": {"allOf": [{"propertyNames": {` + flag + `}}, {"additionalProperties": {"type": "string"}}]}}}`}, nil},
		{"an open map that is flagged by what refers to it", []string{"a.v1.json", `{"properties": {"m": {"$ref": "#/$defs/m", ` + flag + `}}, "$defs": {"m": {"additionalProperties": {"type": "string"}}}}`}, nil},
		{"an open map of objects with flagged members", []string{"a.v1.json", `{"additionalProperties": {"properties": {"v": {` + flag + `}}}}`}, nil},

		// format-unknown.
		{"an unknown format", []string{"a.v1.json", `{"properties": {"m": {"format": "emial"}}}`}, []string{"a.v1.json:1:33 /properties/m/format format-unknown"}},
		{"a format that no draft has", []string{"a.v1.json", `{"$schema": "http://json-schema.org/draft-04/schema#", "items": {"format": "int64"}}`}, []string{"a.v1.json:1:76 /items/format format-unknown"}},
		{"a format that the validator does not have", []string{"a.v1.json", `{"items": {"format": "idn-email"}}`}, []string{"a.v1.json:1:22 /items/format format-unknown"}},
		{"a known format", []string{"a.v1.json", `{"items": {"format": "uri-template"}}`}, nil},
		{"a member named format", []string{"a.v1.json", `{"properties": {"format": {"type": "string"}}, "default": {"format": "emial"}}`}, nil},

		// flag-without-effect, file-unreferenced.
		{"false", []string{"a.v1.json", `{"properties": {"a": {"x-gdpr-sensitive": false}}}`}, []string{"a.v1.json:1:43 /properties/a/x-gdpr-sensitive flag-without-effect"}},
		{"a flag below a flag", []string{"a.v1.json", `{"properties": {"a": {` + flag + `, "properties": {"b": {` + flag + `}}}}}`}, []string{"a.v1.json:1:70 /properties/a/properties/b flag-without-effect"}},
		{"a file that nothing refers to", []string{"a.v1.json", `{}`, "lonely.json", `{"type": "string"}`}, []string{"lonely.json:1:1  file-unreferenced"}},
		{"a file that another refers to", []string{"a.v1.json", `{"$ref": "used.json"}`, "used.json", `{"type": "object"}`}, nil},
	}
}

func TestLintFindings(t *testing.T) {
	t.Parallel()
	for _, row := range lintRows() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range load(t, row.pairs...).Findings() {
				got = append(got, fmt.Sprintf("%s:%d:%d %s %s", f.File, f.Line, f.Column, f.Location, f.Rule))
				if f.Message == "" || f.Hint == "" {
					t.Errorf("incomplete: %+v", f)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("findings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
		})
	}
}

func TestFlagElsewhereNamesBothLocations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ buyers, want string }{
		{`{"items": {"allOf": [{"$ref": "#/$defs/p"}, {"properties": {"mail": {"x-gdpr-sensitive": true}}}]}}`, `"mail" is sealed at /buyers/*/mail of a version 1 and stays in clear at /seller/mail of a version 1`},
		{`{"additionalProperties": {"allOf": [{"$ref": "#/$defs/p"}, {"properties": {"mail": {"x-gdpr-sensitive": true}}}]}}`, `"mail" is sealed at /buyers/*/mail of a version 1 and stays in clear at /seller/mail of a version 1`},
	} {
		reg := load(t, "a.v1.json", `{"properties": {"buyers": `+c.buyers+`, "seller": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"properties": {"mail": {"type": "string"}}}}}`)
		fs := reg.Findings()
		if len(fs) != 1 || fs[0].Message != c.want {
			t.Errorf("findings %v, want %s", fs, c.want)
		}
	}
	reg := load(t,
		"a.v1.json", `{"x-gdpr-undeclared": "clear", "$ref": "common.json", "x-gdpr-overlay": {"common.json#/properties/mail": {"x-gdpr-sensitive": true}}}`,
		"b.v2.json", `{"x-gdpr-undeclared": "clear", "properties": {"old": {"$ref": "common.json"}}}`,
		"common.json", `{"properties": {"mail": {"type": "string"}}}`)
	fs := reg.Findings()
	if want := `"mail" is sealed at /mail of a version 1 and stays in clear at /… of b version 2`; len(fs) != 1 || fs[0].Message != want {
		t.Errorf("findings %v, want %s", fs, want)
	}
}
