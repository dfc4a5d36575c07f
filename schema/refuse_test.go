package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// refusals loads files and gives the findings, or nil where the files load.
func refusals(t *testing.T, pairs ...string) []schema.Finding {
	t.Helper()
	_, err := schema.LoadFS(files(pairs...))
	if err == nil {
		return nil
	}
	var le *schema.LoadError
	if !errors.As(err, &le) {
		t.Fatalf("not a *LoadError: %v", err)
	}
	return le.Findings
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const d7 = `"$schema": "http://json-schema.org/draft-07/schema#"`
	props := func(s string) string { return `{"properties": {` + s + `}}` }
	for _, c := range []struct{ name, rule, place, text string }{
		{"not JSON", "syntax", "1:2", `{`},
		{"text after the value", "syntax", "1:4", `{} {}`},
		{"invalid UTF-8", "syntax", "1:11", "{\"title\":\"\xff\"}"},
		{"a lone surrogate", "syntax", "1:11", `{"title":"\ud800"}`},
		{"a duplicate name", "duplicate-name", "1:49", props(`"a": {"x-gdpr-sensitive": true, "x-gdpr-sensitive": false}`)},
		{"a number without bounds", "syntax", "1:34", props(`"a": {"minimum": 1e5000000}`)},
		{"no schema", "not-a-schema", "1:1", `{"name": "package", "version": "1.0.0"}`},
		{"an array", "not-a-schema", "1:1", `[]`},
		{"invalid by its metaschema", "schema-invalid", "1:10", `{"type": "strnig"}`},
		{"a string as flag", "word-type", "1:43", props(`"a": {"x-gdpr-sensitive": "true"}`)},
		{"a number as flag", "word-type", "", props(`"a": {"x-gdpr-sensitive": 1}`)},
		{"null as flag", "word-type", "", props(`"a": {"x-gdpr-sensitive": null}`)},
		{"a misspelt flag", "word-unknown", "1:23", props(`"a": {"x-gdpr-sensitve": true}`)},
		{"another misspelt flag", "word-unknown", "", props(`"a": {"x-gpdr-sensitive": true}`)},
		{"underscores", "word-unknown", "", props(`"a": {"x_gdpr_sensitive": true}`)},
		{"a word of somebody else's", "word-unknown", "", props(`"a": {"gdprSensitive": true}`)},
		{"capitals", "word-unknown", "", props(`"a": {"X-GDPR-Sensitive": true}`)},
		{"a misspelt index", "word-unknown", "", props(`"a": {"x-blind-indx": true}`)},
		{"a root word elsewhere", "word-misplaced", "", props(`"a": {"x-gdpr-undeclared": "clear"}`)},
		{"an unknown policy", "word-type", "", `{"x-gdpr-undeclared": "ignore"}`},
		{"an invalid event type", "word-type", "", `{"x-event-type": "a b"}`},
		{"version 0", "word-type", "", `{"x-event-version": 0}`},
		{"a version beyond 31 bits", "word-type", "", `{"x-event-version": 2147483648}`},
		{"an invalid retention", "word-type", "", `{"x-gdpr-retention": "10 years"}`},
		{"a number as purpose", "word-type", "", `{"x-gdpr-purpose": 3}`},
		{"false as subject", "word-type", "", props(`"a": {"x-gdpr-subject": false}`)},
		{"an invalid keyring name", "word-type", "", props(`"a": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "Health"}`)},
		{"false as index", "word-type", "", props(`"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": false}`)},
		{"an unknown member of an index", "word-unknown", "", props(`"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"nmae": "x"}}`)},
		{"an invalid index name", "index-name", "", props(`"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "Tax"}}`)},
		{"7 bits", "word-type", "", props(`"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"bits": 7}}`)},
		{"257 bits", "word-type", "", props(`"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"bits": 257}}`)},
		{"an unknown normaliser", "index-normalize", "", props(`"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["lower"]}}`)},
		{"an index without a flag", "index-unflagged", "", props(`"a": {"type": "string", "x-blind-index": true}`)},
		{"an index inside a flagged object, itself without a flag", "index-unflagged", "", props(`"a": {"x-gdpr-sensitive": true, "properties": {"b": {"type": "string", "x-blind-index": true}}}`)},
		{"an index on an object", "index-type", "", props(`"a": {"type": "object", "x-gdpr-sensitive": true, "x-blind-index": true}`)},
		{"an index on a number", "index-type", "", props(`"a": {"type": "number", "x-gdpr-sensitive": true, "x-blind-index": true}`)},
		{"an index without a type", "index-type", "", props(`"a": {"x-gdpr-sensitive": true, "x-blind-index": true}`)},
		{"an index on an array of anything", "index-type", "", props(`"a": {"type": "array", "x-gdpr-sensitive": true, "x-blind-index": {"multi": true}}`)},
		{"an index on an array without multi", "index-multi", "", props(`"a": {"type": "array", "items": {"type": "string"}, "x-gdpr-sensitive": true, "x-blind-index": true}`)},
		{"an index below items without multi", "index-multi", "", props(`"a": {"items": {"properties": {"b": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}}}}`)},
		{"an index in an open map without multi", "index-multi", "", props(`"a": {"additionalProperties": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "a"}}}`)},
		{"an index below a pattern without multi", "index-multi", "", props(`"a": {"patternProperties": {"^x": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "a"}}}}`)},
		{"an index in a recursion without multi", "index-multi", "", `{"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "b": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}}}}}`},
		{"an index without a name in an open map", "index-name", "", props(`"a": {"additionalProperties": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"multi": true}}}`)},
		{"an index whose name does not fit", "index-name", "", props(`"ş": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}`)},
		{"two indexes of one name", "index-conflict", "", props(`"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "i"}}, "b": {"type": "integer", "x-gdpr-sensitive": true, "x-blind-index": {"name": "i"}}`)},
		{"two indexes at one location", "index-conflict", "", props(`"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true, "allOf": [{"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"bits": 64}}]}`)},
		{"a keyring without a flag", "keyring-unflagged", "", props(`"a": {"x-gdpr-keyring": "health"}`)},
		{"two keyrings at one location", "keyring-conflict", "", props(`"a": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "health", "anyOf": [{"x-gdpr-sensitive": true}]}`)},
		{"another keyring below a flag", "keyring-conflict", "", props(`"a": {"x-gdpr-sensitive": true, "properties": {"b": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "health"}}}`)},
		{"a flag below not", "flag-below-not", "", props(`"a": {"not": {"x-gdpr-sensitive": true}}`)},
		{"a flag below not, by reference", "flag-below-not", "", `{"properties": {"a": {"not": {"$ref": "#/$defs/x"}}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"x-gdpr-sensitive": true}}}`},
		{"a flag in const", "flag-misplaced", "", props(`"a": {"const": {"x-gdpr-sensitive": true}}`)},
		{"a flag in enum", "flag-misplaced", "", props(`"a": {"enum": [{"x-gdpr-sensitive": true}]}`)},
		{"a flag in default", "flag-misplaced", "", props(`"a": {"default": {"x-gdpr-sensitive": true}}`)},
		{"a flag in examples", "flag-misplaced", "", props(`"a": {"examples": [{"x-gdpr-sensitive": true}]}`)},
		{"a flag below an unknown keyword", "flag-misplaced", "", props(`"a": {"then-some": {"x-gdpr-sensitive": true}}`)},
		{"a flag below then without if", "flag-misplaced", "", props(`"a": {"then": {"x-gdpr-sensitive": true}}`)},
		{"a flag below a later keyword", "flag-misplaced", "", `{` + d7 + `, "properties": {"a": {"prefixItems": [{"x-gdpr-sensitive": true}]}}}`},
		{"a flag in $defs of draft 7", "flag-misplaced", "", `{` + d7 + `, "$defs": {"a": {"x-gdpr-sensitive": true}}}`},
		{"a flag below additionalItems without a tuple", "flag-misplaced", "", `{` + d7 + `, "properties": {"a": {"items": {}, "additionalItems": {"x-gdpr-sensitive": true}}}}`},
		{"a flag below what $ref hides in draft 7", "flag-misplaced", "", `{` + d7 + `, "properties": {"a": {"$ref": "#/definitions/b", "properties": {"c": {"x-gdpr-sensitive": true}}}}, "definitions": {"b": {}}}`},
		{"an unknown metaschema", "metaschema-unknown", "1:13", `{"$schema": "https://example.com/meta", "properties": {"a": {"x-gdpr-sensitive": true}}}`},
		{"another draft inside", "metaschema-mixed", "", `{"$defs": {"a": {"$id": "x", "$schema": "http://json-schema.org/draft-07/schema#"}}}`},
		{"an index below propertyNames", "index-misplaced", "", props(`"a": {"propertyNames": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}}`)},
		{"an index below contentSchema", "index-misplaced", "", props(`"a": {"contentSchema": {"properties": {"b": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}}}}`)},
		{"a pattern that RE2 refuses", "schema-invalid", "", props(`"a": {"pattern": "(?!x)"}`)},
		{"a member pattern that RE2 refuses", "pattern-unsupported", "", `{"patternProperties": {"(?!x)": {}}}`},
		{"a missing reference", "ref-not-found", "", props(`"a": {"$ref": "b.json"}`)},
		{"a remote reference", "ref-not-found", "", props(`"a": {"$ref": "https://example.com/b.json"}`)},
		{"a missing anchor", "ref-not-found", "", props(`"a": {"$ref": "#b"}`)},
		{"a reference to nothing", "ref-not-found", "", props(`"a": {"$ref": "#/$defs/b"}`)},
		{"a metaschema as reference", "ref-metaschema", "", props(`"a": {"$ref": "https://json-schema.org/draft/2020-12/schema"}`)},
		{"references alone", "ref-loop", "", `{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`},
		{"an overlay on nothing", "overlay-target", "", `{"x-gdpr-overlay": {"#/properties/a": {"x-gdpr-sensitive": true}}}`},
		{"an overlay on data", "overlay-target", "", `{"const": {"a": {}}, "x-gdpr-overlay": {"#/const/a": {"x-gdpr-sensitive": true}}}`},
		{"an overlay with other words", "word-misplaced", "", `{"properties": {"a": {}}, "x-gdpr-overlay": {"#/properties/a": {"type": "string"}}}`},
		{"an overlay with a misspelt word", "word-unknown", "", `{"properties": {"a": {}}, "x-gdpr-overlay": {"#/properties/a": {"x-gdpr-sensitiv": true}}}`},
		{"an overlay that is a list", "word-type", "", `{"x-gdpr-overlay": []}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs := refusals(t, "a.v1.json", c.text)
			if len(fs) == 0 {
				t.Fatalf("loads: %s", c.text)
			}
			for _, f := range fs {
				if f.Rule != c.rule {
					continue
				}
				if c.place != "" && fmt.Sprintf("%d:%d", f.Line, f.Column) != c.place {
					t.Errorf("at %d:%d, want %s", f.Line, f.Column, c.place)
				}
				if f.File != "a.v1.json" || f.Line == 0 || f.Message == "" {
					t.Errorf("incomplete finding: %+v", f)
				}
				return
			}
			t.Errorf("rules %v, want %s", fs, c.rule)
		})
	}
}

func TestLoadRefusesAmongFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rule string
		pairs      []string
	}{
		{"two files claim one event", "event-duplicate", []string{"a.v1.json", `{}`, "b.json", `{"x-event-type": "a", "x-event-version": 1}`}},
		{"an event type without version", "event-version-missing", []string{"b.json", `{"x-event-type": "a"}`}},
		{"a version without event type", "event-type-missing", []string{"b.json", `{"x-event-version": 1}`}},
		{"two files with one id", "id-duplicate", []string{"a.v1.json", `{"$id": "https://example.com/a"}`, "b.v1.json", `{"$id": "https://example.com/a"}`}},
		{"an overlay in a file that is no event schema", "word-misplaced", []string{"b.json", `{"x-gdpr-overlay": {}}`}},
		{"an index that differs between events", "index-conflict", []string{
			"a.v1.json", `{"properties": {"t": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}}}`,
			"b.v1.json", `{"properties": {"t": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"bits": 64}}}}`}},
		{"another default keyring in a referenced file", "keyring-conflict", []string{
			"a.v1.json", `{"properties": {"t": {"$ref": "b.json#/$defs/x"}}}`,
			"b.json", `{"x-gdpr-keyring": "health", "$defs": {"x": {"x-gdpr-sensitive": true}}}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs := refusals(t, c.pairs...)
			for _, f := range fs {
				if f.Rule == c.rule {
					return
				}
			}
			t.Errorf("findings %v, want %s", fs, c.rule)
		})
	}
}

func TestLoadRefusesHugeFilesQuickly(t *testing.T) {
	t.Parallel()
	fs := refusals(t, "a.v1.json", `{"description": "`+strings.Repeat("x", 17<<20)+`"}`)
	if len(fs) != 1 || fs[0].Rule != "file-too-large" {
		t.Errorf("findings %v", fs)
	}
	fs = refusals(t, "a.v1.json", strings.Repeat(`{"not":`, 600)+"{}"+strings.Repeat("}", 600))
	if len(fs) != 1 || fs[0].Rule != "syntax" {
		t.Errorf("findings %v", fs)
	}
}
