package schema_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// refusal is one row of TestEveryRefusalSaysWhereWhyAndWhatNext. In files, ⮞ stands before the place that must be named.
type refusal struct {
	rule    string
	pointer string
	hint    string // a part of it
	files   []string
}

func refusalsOfTheFormat() []refusal {
	one := func(rule, pointer, hint, text string) refusal {
		return refusal{rule, pointer, hint, []string{"dir/a.v1.json", text}}
	}
	const d7 = `"$schema": "http://json-schema.org/draft-07/schema#"`
	const indexed = `"type": "string", "x-gdpr-sensitive": true, "x-blind-index"`
	return []refusal{
		// A value of the wrong type.
		one("word-type", "/properties/a/x-gdpr-sensitive", "docs/vocabulary.md", "{\n  \"properties\": {\"a\": {\"x-gdpr-sensitive\": ⮞\"true\"}}}"),
		one("word-type", "/properties/a/x-gdpr-sensitive", "docs/vocabulary.md", `{"properties": {"a": {"x-gdpr-sensitive": ⮞1}}}`),
		one("word-type", "/x-gdpr-undeclared", "docs/vocabulary.md", `{"x-gdpr-undeclared": ⮞"allow"}`),
		one("word-type", "/x-gdpr-overlay", "docs/vocabulary.md", `{"x-gdpr-overlay": ⮞[]}`),
		one("word-type", "/items/x-gdpr-keyring", "docs/vocabulary.md", `{"items": {"x-gdpr-sensitive": true, "x-gdpr-keyring": ⮞"Health"}}`),
		one("word-type", "/items/x-gdpr-subject", "docs/vocabulary.md", `{"items": {"x-gdpr-subject": ⮞"yes"}}`),
		one("word-type", "/x-gdpr-retention", "docs/vocabulary.md", `{"x-gdpr-retention": ⮞"10 years"}`),
		one("word-type", "/x-gdpr-purpose", "docs/vocabulary.md", `{"x-gdpr-purpose": ⮞{}}`),
		one("word-type", "/x-event-type", "docs/vocabulary.md", `{"x-event-type": ⮞"a/b"}`),
		one("word-type", "/x-event-version", "docs/vocabulary.md", `{"x-event-version": ⮞"1"}`),

		// A count that the validator would read as another.
		one("count-too-large", "/properties/a/minLength", "leave it out", `{"properties": {"a": {"minLength": ⮞1e30}}}`),
		one("count-too-large", "/items/maxItems", "leave it out", `{"items": {"maxItems": ⮞9007199254740992}}`),
		one("count-too-large", "/maxProperties", "leave it out", `{"maxProperties": ⮞1e1000}`),

		// A misspelling, with the nearest right word.
		one("word-unknown", "/properties/a/x-gdpr-sensitve", "did you mean x-gdpr-sensitive?", "{\"properties\": {\n\t\"a\": {⮞\"x-gdpr-sensitve\": true}}}"),
		one("word-unknown", "/items/x_blind_index", "did you mean x-blind-index?", `{"items": {⮞"x_blind_index": true}}`),
		one("word-unknown", "/X-GDPR-Undeclared", "did you mean x-gdpr-undeclared?", `{⮞"X-GDPR-Undeclared": "clear"}`),
		one("word-unknown", "/x-gdpr-kering", "did you mean x-gdpr-keyring?", `{⮞"x-gdpr-kering": "a"}`),
		one("word-unknown", "/x-event-typo", "did you mean x-event-type?", `{⮞"x-event-typo": "a"}`),
		one("word-unknown", "/properties/a/gdprSensitive", "did you mean x-gdpr-sensitive?", `{"properties": {"a": {⮞"gdprSensitive": true}}}`),
		one("word-unknown", "/x-gpdr-retention", "did you mean x-gdpr-retention?", `{⮞"x-gpdr-retention": "P1Y"}`),
		one("word-unknown", "/properties/a/x-blind-index/nmae", "name", `{"properties": {"a": {`+indexed+`: {⮞"nmae": "x"}}}}`),

		// A word where the table does not allow it.
		one("word-misplaced", "/properties/a/x-gdpr-undeclared", "root", `{"properties": {"a": {⮞"x-gdpr-undeclared": "clear"}}}`),
		one("word-misplaced", "/properties/x-gdpr-sensitive", "member's schema", `{"properties": {⮞"x-gdpr-sensitive": true}}`),
		one("word-misplaced", "/x-gdpr-overlay/#~1items/type", "words of the x-gdpr vocabulary", `{"items": {}, "x-gdpr-overlay": {"#/items": {"x-gdpr-sensitive": true, ⮞"type": "string"}}}`),
		{"word-misplaced", "/x-gdpr-overlay", "TYPE.vN.json", []string{"b.json", `{"x-gdpr-overlay": ⮞{}}`}},

		// A duplicate name, and what is no strict JSON.
		one("duplicate-name", "", "without duplicate names", `{"properties": {"a": {"x-gdpr-sensitive": true, ⮞"x-gdpr-sensitive": false}}}`),
		one("syntax", "", "RFC 8259", `{"a": ⮞`),
		one("syntax", "", "RFC 8259", `{"maximum": ⮞1e2000}`),
		one("not-a-schema", "", "schema directory", `⮞[1]`),
		one("schema-invalid", "/properties/a/type", "metaschema of 2020-12", `{"properties": {"a": {"type": ⮞"text"}}}`),
		one("pattern-unsupported", "/patternProperties/(?!x)", "RE2", `{"patternProperties": {"(?!x)": ⮞{}}}`),

		// A flag below not, and one where the draft puts no schema.
		one("flag-below-not", "/not", "applies", `{"not": {⮞"x-gdpr-sensitive": true}}`),
		one("flag-below-not", "/not", "applies", `{"not": ⮞{"$ref": "#/$defs/x"}, "$defs": {"x": {"x-gdpr-sensitive": true}}}`),
		one("flag-misplaced", "/then/x-gdpr-sensitive", "validator reads", `{"then": {⮞"x-gdpr-sensitive": true}}`),
		one("flag-misplaced", "/enum/0/x-gdpr-sensitive", "validator reads", `{"enum": [{⮞"x-gdpr-sensitive": true}]}`),
		one("flag-misplaced", "/default/a/x-gdpr-sensitive", "validator reads", `{"type": "object", "default": {"a": {⮞"x-gdpr-sensitive": true}}}`),
		one("flag-misplaced", "/$defs/a/x-gdpr-sensitive", "validator reads", `{`+d7+`, "$defs": {"a": {⮞"x-gdpr-sensitive": true}}}`),
		one("flag-misplaced", "/items/properties/b/x-gdpr-sensitive", "validator reads", `{`+d7+`, "items": {"$ref": "#/definitions/a", "properties": {"b": {⮞"x-gdpr-sensitive": true}}}, "definitions": {"a": {}}}`),
		one("metaschema-unknown", "/$schema", "2020-12", `{"$schema": ⮞"https://example.com/meta", "items": {"x-gdpr-sensitive": true}}`),
		one("metaschema-mixed", "/$defs/a/$schema", "file of its own", `{"$defs": {"a": {"$id": "b", "$schema": ⮞"http://json-schema.org/draft-07/schema#"}}}`),

		// Which event a schema is of.
		{"event-duplicate", "", "one file for each type and version", []string{"a.v1.json", `{}`, "b.json", `⮞{"x-event-type": "a", "x-event-version": 1}`}},
		{"event-type-missing", "/x-event-version", "TYPE.vN.json", []string{"b.json", `{"x-event-version": ⮞1}`}},
		{"event-version-missing", "/x-event-type", "TYPE.vN.json", []string{"b.json", `⮞{"x-event-type": "a"}`}},

		// References, ids and overlays.
		one("ref-not-found", "/items", "add the file", `{"items": {"$ref": ⮞"b.json"}}`),
		one("ref-not-found", "/items", "add the file", `{"items": {"$ref": ⮞"https://example.com/b.json"}}`),
		one("ref-not-found", "/items", "correct the pointer", `{"items": {"$ref": ⮞"#/$defs/a"}}`),
		one("ref-not-found", "/items", "correct the anchor", `{"items": {"$ref": ⮞"#a"}}`),
		one("ref-invalid", "/items", "$id", `{"items": {"$ref": ⮞"http://[::1"}}`),
		one("ref-invalid", "/items", "~1", `{"items": {"$ref": ⮞"#/$defs/a%2Fb"}}`),
		one("ref-metaschema", "/items", "file of your own", `{"items": {"$ref": ⮞"http://json-schema.org/draft-07/schema"}}`),
		one("ref-loop", "/$defs/a", "says something", `{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": ⮞"#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`),
		one("id-invalid", "/$defs/a/$id", "URL", `{"$defs": {"a": {"$id": ⮞"http://[::1"}}}`),
		{"id-duplicate", "/$id", "unique", []string{"a.v1.json", `{"$id": "http://example.com/a"}`, "b.v1.json", `⮞{"$id": "http://example.com/a"}`}},
		one("id-misplaced", "/x/y/$id", "", `{"$ref": "#/x/y", "x": {"y": {"$id": ⮞"b.json"}}}`),
		one("overlay-target", "/x-gdpr-overlay/#~1items", "correct the pointer", `{"x-gdpr-overlay": {⮞"#/items": {"x-gdpr-sensitive": true}}}`),
		one("overlay-target", "/x-gdpr-overlay/#~1const~1a", "name a schema", `{"const": {"a": {}}, "x-gdpr-overlay": {⮞"#/const/a": {"x-gdpr-sensitive": true}}}`),
		one("overlay-target", "/x-gdpr-overlay/#~1items~1.", "correct the pointer", `{"items": {}, "x-gdpr-overlay": {⮞"#/items/.": {"x-gdpr-sensitive": true}}}`),

		// Keyrings and indexes.
		one("keyring-conflict", "/items/allOf/0", "one keyring", `{"items": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "a", "allOf": [{⮞"x-gdpr-sensitive": true}]}}`),
		one("keyring-unflagged", "/items", "x-gdpr-sensitive", `{"items": {⮞"x-gdpr-keyring": "a"}}`),
		one("index-name", "/properties/a/x-blind-index/name", "such as", `{"properties": {"a": {`+indexed+`: {"name": ⮞"Tax"}}}}`),
		one("index-name", "/properties/ş", "give it a name", `{"properties": {"ş": {"type": "string", "x-gdpr-sensitive": true, ⮞"x-blind-index": true}}}`),
		one("index-normalize", "/properties/a/x-blind-index/normalize/1", "steps", `{"properties": {"a": {`+indexed+`: {"normalize": ["trim", ⮞"lower"]}}}}`),
		one("index-type", "/properties/a", "type", `{"properties": {"a": {"type": "number", "x-gdpr-sensitive": true, ⮞"x-blind-index": true}}}`),
		one("index-multi", "/items/properties/a", `"multi": true`, `{"items": {"properties": {"a": ⮞{`+indexed+`: true}}}}`),
		one("index-unflagged", "/properties/a", "x-gdpr-sensitive", `{"properties": {"a": ⮞{"type": "string", "x-blind-index": true}}}`),
		one("index-misplaced", "/properties/a/propertyNames", "index a value", `{"properties": {"a": {"propertyNames": ⮞{`+indexed+`: {"multi": true}}}}}`),
		one("index-field", "/x-blind-indexes/ab/fields/1", "", `{"properties": {"a": {"type": "string", "x-gdpr-sensitive": true}}, "x-blind-indexes": {"ab": {"fields": ["/a", ⮞"/b"]}}}`),
		one("index-previous", "/properties/a/x-blind-index/previous/0", "", `{"properties": {"a": {`+indexed+`: {"previous": [⮞{"bits": 128}]}}}}`),
		{"index-conflict", "", "equal", []string{"a.v1.json", `{"properties": {"t": {` + indexed + `: true}}}`, "b.v1.json", `⮞{"properties": {"t": {` + indexed + `: {"bits": 64}}}}`}},
	}
}

func TestEveryRefusalSaysWhereWhyAndWhatNext(t *testing.T) {
	t.Parallel()
	for i, row := range refusalsOfTheFormat() {
		t.Run(fmt.Sprintf("%d %s", i, row.rule), func(t *testing.T) {
			t.Parallel()
			files := slices.Clone(row.files)
			where := ""
			for i := 1; i < len(files); i += 2 {
				if strings.Contains(files[i], "⮞") {
					line, column, text := lineColumn(t, files[i])
					files[i], where = text, fmt.Sprintf("%s:%d:%d", files[i-1], line, column)
				}
			}
			fs := refusals(t, files...)
			for _, f := range fs {
				if f.Hint == "" || f.Message == "" {
					t.Errorf("without a hint: %+v", f)
				}
				at := fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
				if f.Rule == row.rule && f.Location == row.pointer && at == where && strings.Contains(f.Hint, row.hint) {
					return
				}
			}
			t.Errorf("refused with\n%+v\nwant %s at %q, %s, hint …%s…", fs, row.rule, row.pointer, where, row.hint)
		})
	}
}

// Each rule that the vocabulary lists as a refusal has a row, but for those that stand elsewhere.
func TestEveryRuleOfTheVocabularyHasARefusal(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/vocabulary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## 10. What is refused")
	table, _, _ = strings.Cut(table, "## 11.")
	covered := map[string]bool{
		"file-too-large": true,                                                  // TestLoadRefusesHugeFilesQuickly
		"plan-too-large": true,                                                  // TestProductsOfSubschemasAreRefused, TestSchemasThatMultiplyAreRefusedAfterABoundedNumberOfSteps
		"wire-pattern":   true, "wire-undeclared": true, "wire-too-large": true, // of the derived schema: wire_test.go
		// These guard against errors of ours: guards_test.go.
		"plan-incomplete": true, "flag-unreachable": true,
	}
	for _, row := range refusalsOfTheFormat() {
		covered[row.rule] = true
	}
	n := 0
	for _, m := range regexp.MustCompile("(?m)^\\| (`[a-z`, -]+) \\|").FindAllStringSubmatch(table, -1) {
		for _, id := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(m[1], -1) {
			n++
			if !covered[id[1]] {
				t.Errorf("no refusal by %s", id[1])
			}
		}
	}
	if n < 30 {
		t.Errorf("read %d rules", n)
	}
}
