package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Sets of files in which a flag used to be lost: each is refused, by the rule that is named.
func TestLoadRefusesWhatCouldHideAFlag(t *testing.T) {
	t.Parallel()
	const d7 = `"$schema": "http://json-schema.org/draft-07/schema#"`
	for _, c := range []struct {
		name, rule string
		pairs      []string
	}{
		{"an id that is where another file stands", "id-duplicate", []string{
			"a.json", `{"$id": "common.json", "definitions": {"email": {"type": "string"}}}`,
			"common.json", `{"definitions": {"email": {"type": "string", "x-gdpr-sensitive": true}}}`,
			"c.v1.json", `{"properties": {"e": {"$ref": "common.json#/definitions/email"}}}`}},
		{"an id that is where a later broken file stands", "word-type", []string{
			"customer.v1.json", `{"$id": "order.v1.json", "type": "object"}`,
			"order.v1.json", `{"properties": {"a": {"x-gdpr-sensitive": "yes"}}}`}},
		{"an embedded id that is another file's", "id-duplicate", []string{
			"a.v1.json", `{"properties": {"y": {"$ref": "m.json"}, "w": {"$ref": "k.json"}}}`,
			"m.json", `{"properties": {"z": {"$id": "k.json", "type": "string"}, "y": {"$ref": "k.json"}}}`,
			"k.json", `{"x-gdpr-sensitive": true}`}},
		{"an anchor that stands twice", "id-duplicate", []string{
			"a.v1.json", `{"$defs": {"a": {"$anchor": "d", "x-gdpr-sensitive": true}, "b": {"$anchor": "d"}}, "properties": {"z": {"$ref": "#d"}, "q": {"$ref": "#/$defs/a"}}}`}},
		{"a misspelt flag in a place that only a reference makes a schema", "word-unknown", []string{
			"a.v1.json", `{` + d7 + `, "properties": {"e": {"$ref": "#/$defs/E"}}, "$defs": {"E": {"type": "string", "x_gdpr_sensitive": true}}}`}},
		{"the same below an unknown keyword", "word-unknown", []string{
			"a.v1.json", `{"properties": {"e": {"$ref": "#/components/schemas/E"}}, "components": {"schemas": {"E": {"x-gdpr-sensitve": true}}}}`}},
		{"a percent-encoded slash in a pointer", "ref-invalid", []string{
			"a.v1.json", `{"properties": {"y": {"$ref": "#/$defs/a%2Fb"}}, "$defs": {"a/b": {"x-gdpr-sensitive": true}, "a": {"b": {"type": "string"}}}}`}},
		{"a percent-encoded tilde in a pointer", "ref-invalid", []string{
			"a.v1.json", `{"properties": {"y": {"$ref": "#/$defs/a%7E1b"}}, "$defs": {"a/b": {"x-gdpr-sensitive": true}, "a~1b": {}}}`}},
		{"a bare tilde in a pointer", "ref-invalid", []string{
			"a.v1.json", `{` + d7 + `, "properties": {"y": {"$ref": "#/definitions/a~b"}}, "definitions": {"a~b": {}}}`}},
		{"Cyrillic letters in a flag", "word-unknown", []string{"a.v1.json", `{"properties": {"a": {"x-gdрr-sеnsitive": true}}}`}},
		{"a dotless i in an index", "word-unknown", []string{"a.v1.json", `{"properties": {"a": {"x-blınd-ındex": true}}}`}},
		{"other hyphens", "word-unknown", []string{"a.v1.json", `{"properties": {"a": {"x‑blind‑index": true}}}`}},
		{"a flag among the names of members", "word-misplaced", []string{"a.v1.json", `{"properties": {"x-gdpr-sensitive": true, "z": {"type": "string"}}}`}},
		{"a misspelt flag among definitions", "word-misplaced", []string{"a.v1.json", `{"$defs": {"x-gdpr-sensitve": true}}`}},
		{"a keyring below an object that is sealed whole", "keyring-conflict", []string{
			"a.v1.json", `{"x-gdpr-undeclared": "seal", "properties": {"m": {"type": "object", "if": {"properties": {"b": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "health"}}}}}}`}},
		{"a keyring without a flag in a clear area", "keyring-unflagged", []string{
			"a.v1.json", `{"x-gdpr-undeclared": "clear", "properties": {"o": {"properties": {"m": {"type": "string", "x-gdpr-keyring": "health"}}}}}`}},
		{"a keyring without a flag inside a sealed object", "keyring-unflagged", []string{
			"a.v1.json", `{"properties": {"o": {"x-gdpr-sensitive": true, "properties": {"p": {"properties": {"m": {"x-gdpr-keyring": "health"}}}}}}}`}},
		{"a keyring for the root by overlay", "keyring-unflagged", []string{
			"a.v1.json", `{"x-gdpr-overlay": {"#": {"x-gdpr-keyring": "health"}}, "properties": {"a": {"x-gdpr-sensitive": true}}}`}},
		{"a keyring for another file's root by overlay", "keyring-unflagged", []string{
			"a.v1.json", `{"x-gdpr-overlay": {"t.json": {"x-gdpr-keyring": "health"}}, "$ref": "t.json"}`,
			"t.json", `{"properties": {"a": {"x-gdpr-sensitive": true}}}`}},
		{"another file's root that names a keyring behind a flag", "keyring-conflict", []string{
			"a.v1.json", `{"properties": {"a": {"$ref": "t.json", "x-gdpr-sensitive": true}}}`,
			"t.json", `{"type": "string", "x-gdpr-keyring": "health"}`}},
		{"an id in a place that only a reference makes a schema", "id-misplaced", []string{
			"a.v1.json", `{"properties": {"p": {"$ref": "#/components/X"}, "q": {"$ref": "k.json"}}, "components": {"X": {"$id": "k.json", "type": "string"}}}`,
			"k.json", `{"x-gdpr-sensitive": true}`}},
		{"an anchor in such a place", "id-misplaced", []string{
			"a.v1.json", `{"properties": {"p": {"$ref": "#/components/X"}, "q": {"$ref": "#k"}}, "components": {"X": {"$anchor": "k"}}}`}},
		{"a dynamic anchor in such a place, which a dynamic reference was resolved without", "id-misplaced", []string{
			"a.v1.json", `{"x-gdpr-undeclared": "clear",
			"properties": {"a": {"$ref": "#/$defs/tree/properties/child"}, "s": {"$ref": "#/$defs/secret"}, "z": {"properties": {"e": {"$ref": "#/components/X"}}}},
			"$defs": {"base": {"$dynamicAnchor": "n", "type": "object"}, "tree": {"properties": {"child": {"$dynamicRef": "#n"}}}, "secret": {"properties": {"ssn": {"x-gdpr-sensitive": true}}}},
			"components": {"X": {"$id": "x.json", "$dynamicAnchor": "n", "$ref": "a.v1.json#/$defs/secret", "properties": {"kid": {"$ref": "a.v1.json#/$defs/tree"}}}}}`}},
		{"many Cyrillic letters in a flag", "word-unknown", []string{"a.v1.json", `{"properties": {"a": {"х-gdрr-sеnsitivе": true}}}`}},
		{"full-width letters", "word-unknown", []string{"a.v1.json", `{"properties": {"a": {"ｘ－ｇｄｐｒ－ｓｅｎｓｉｔｉｖｅ": true}}}`}},
		{"invisible characters", "word-unknown", []string{"a.v1.json", "{\"properties\": {\"a\": {\"x-g\u200bd\u200bp\u200br-sensitive\": true}}}"}},
		{"a flag with underscores among the names of members", "word-misplaced", []string{"a.v1.json", `{"properties": {"x_gdpr_sensitive": true, "z": {"type": "string"}}}`}},
		{"a flag without x among the names of members", "word-misplaced", []string{"a.v1.json", `{"properties": {"gdprSensitive": true}}`}},
		{"a flagged root with a keyring, and another flag of its file", "keyring-conflict", []string{
			"a.v1.json", `{"properties": {"x": {"$ref": "t.json#/definitions/x"}}}`,
			"t.json", `{"x-gdpr-sensitive": true, "x-gdpr-keyring": "health", "definitions": {"x": {"x-gdpr-sensitive": true}}}`}},
		{"a file that seals undeclared members under a keyring of its own", "keyring-conflict", []string{
			"a.v1.json", `{"properties": {"x": {"$ref": "t.json"}}}`,
			"t.json", `{"x-gdpr-undeclared": "seal", "x-gdpr-keyring": "health", "properties": {"i": {}}}`}},
		{"an overlay entry that says nothing", "word-type", []string{"a.v1.json", `{"properties": {"a": {}}, "x-gdpr-overlay": {"#/properties/a": {}}}`}},
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

func TestAStricterReferencedPolicyHoldsBelowAClearArea(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"seal": "sealed", "reject": "refused"} {
		reg := load(t,
			"a.v1.json", `{"x-gdpr-undeclared": "clear", "properties": {"deep": {"properties": {"customer": {"$ref": "customer.json"}, "any": {"$ref": "customer.json#/$defs/any"}}}}}`,
			"customer.json", `{"x-gdpr-undeclared": "`+policy+`", "properties": {"id": {"type": "string"}}, "$defs": {"any": true}}`)
		p := plan(t, reg, "a")
		if at(p, "deep").Clear() {
			t.Errorf("%s: a walker may skip what holds a stricter policy", policy)
		}
		fates(t, p, "deep other: open\ndeep customer email: "+want)
		if got := fate(p, "deep", "any", "x"); policy == "reject" && got != "refused" {
			t.Errorf("below a boolean schema: %s", got)
		}
		if policy == "seal" && fate(p, "deep", "any") != "object" {
			t.Error("an object at a boolean schema under the policy seal is sealed whole")
		}
	}
}

func TestOverlaysOnBooleanSchemas(t *testing.T) {
	t.Parallel()
	reg := load(t,
		"a.v1.json", `{"$ref": "t.json", "x-gdpr-undeclared": "clear", "x-gdpr-overlay": {"t.json#/properties/z": {"x-gdpr-sensitive": true},
			"t.json#/properties/l/items": {"x-gdpr-sensitive": true}, "t.json#/properties/m/additionalProperties": {"x-gdpr-sensitive": true}}}`,
		"t.json", `{"properties": {"z": true, "l": {"items": true}, "m": {"additionalProperties": true}}}`)
	fates(t, plan(t, reg, "a"), "z: sealed\nl #0: sealed\nm x: sealed")
}

func TestAPlaceThatAReferenceMakesASchemaDoesNotReplaceOne(t *testing.T) {
	t.Parallel()
	reg := load(t,
		"a.v1.json", `{"x-gdpr-overlay": {"t.json#/properties/items": {"x-gdpr-sensitive": true}}, "properties": {"x": {"$ref": "t.json"}, "y": {"$ref": "t.json#/properties"}, "z": {"$ref": "t.json#/properties/items"}}}`,
		"t.json", `{"type": "object", "properties": {"items": {"type": "string"}}}`)
	fates(t, plan(t, reg, "a"), "z: sealed\nx items: sealed")
}

func TestOverlayAndTextTogetherMakeAFlag(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"x-gdpr-overlay": {"#/properties/a": {"x-gdpr-keyring": "health"}}, "properties": {"a": {"x-gdpr-sensitive": true}}}`)
	if k := at(plan(t, reg, "a"), "a").Keyring(); k != "health" {
		t.Errorf("keyring %s", k)
	}
}

func TestNamesStayClearIsSeenThroughReferences(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"properties": {"m": {"additionalProperties": {"$ref": "#/$defs/s"}}}, "$defs": {"s": {"type": "string", "x-gdpr-sensitive": true}}}`)
	for _, f := range reg.Findings() {
		if f.Rule == "names-stay-clear" && f.Location == "/properties/m" {
			return
		}
	}
	t.Errorf("findings %v", reg.Findings())
}

// A payload that multiplies the validator's work is refused after a bounded number of steps, and others of that schema still pass.
func TestValidationWorkIsBounded(t *testing.T) {
	t.Parallel()
	reg := load(t, "invoice.v1.json", `{"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "oneOf": [
		{"properties": {"k": {"const": "a"}, "c": {"$ref": "#/$defs/n"}}, "required": ["k"]},
		{"properties": {"k": {"const": "b"}, "c": {"$ref": "#/$defs/n"}}, "required": ["k"]}]}}}`)
	nested := func(n int) string { return strings.Repeat(`{"k":"a","c":`, n) + `{"k":"b"}` + strings.Repeat("}", n) }
	if vs := violations(t, reg, nested(40)); len(vs) != 1 || vs[0].Keyword != "limit" {
		t.Errorf("violations %v", vs)
	}
	if vs := violations(t, reg, nested(4)); vs != nil {
		t.Errorf("violations %v", vs)
	}
}

// Schemas that recur one below the other multiply by the depth, those without recursion by themselves, and a value by its size.
func TestOtherWaysToMultiplyAreBounded(t *testing.T) {
	t.Parallel()
	var chain, shared strings.Builder
	for i := range 8 {
		fmt.Fprintf(&chain, `"a%d": {"allOf": [{"$ref": "#/$defs/a%d"}], "properties": {"c": {"$ref": "#/$defs/a%d"}}}, `, i, i+1, i)
	}
	for i := range 40 {
		fmt.Fprintf(&shared, `"t%d": {"allOf": [{"$ref": "#/$defs/t%d"}, {"$ref": "#/$defs/t%d"}]}, `, i, i+1, i+1)
	}
	deep := func(n int, leaf string) string { return strings.Repeat(`{"c":`, n) + leaf + strings.Repeat("}", n) }
	twice := `{"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"properties": {"c": {"$ref": "#/$defs/n"}}}, {"properties": {"c": {"$ref": "#/$defs/n"}}}], %s}}}`
	for _, c := range []struct{ name, schema, payload string }{
		{"a chain of recursions", `{"$ref": "#/$defs/a0", "$defs": {` + chain.String() + `"a8": {}}}`, deep(150, "{}")},
		{"a shared schema", `{"$ref": "#/$defs/t0", "$defs": {` + shared.String() + `"t40": {}}}`, `{}`},
		{"a long text and a pattern", fmt.Sprintf(twice, `"pattern": "(a|ab)*c$"`), deep(14, `"`+strings.Repeat("ab", 50_000)+`"`)},
		{"a long array of unique items", fmt.Sprintf(twice, `"uniqueItems": true`), deep(14, `[[`+strings.Repeat("0,", 50_000)+`0]]`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if vs := violations(t, load(t, "invoice.v1.json", c.schema), c.payload); len(vs) != 1 || vs[0].Keyword != "limit" {
				t.Errorf("violations %.300v", vs)
			}
		})
	}
}

// Work grows with the payload: a large one on a schema that recurs is no attack.
func TestLargePayloadsPassOnASchemaThatRecurs(t *testing.T) {
	t.Parallel()
	reg := load(t, "invoice.v1.json", `{"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}, "v": {"items": {"type": "number"}}}}}}`)
	if vs := violations(t, reg, `{"l":{"v":[`+strings.Repeat("1,", 400_000)+`1]}}`); vs != nil {
		t.Errorf("violations %v", vs)
	}
}

func TestAnOverlayOnFalse(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"x-gdpr-overlay": {"#/anyOf/0/properties/z": {"x-gdpr-sensitive": true}}, "anyOf": [{"properties": {"z": false}}, {"properties": {"z": {}}}]}`)
	fates(t, plan(t, reg, "a"), "z: sealed")
}

func TestViolationsAreCapped(t *testing.T) {
	t.Parallel()
	reg := load(t, "invoice.v1.json", `{"properties": {"w": {"items": {"type": "string"}}}}`)
	payload := `{"w":[` + strings.Repeat("1,", 20_000) + `1]}`
	first := violations(t, reg, payload)
	if len(first) != 100 {
		t.Fatalf("%d violations", len(first))
	}
	if again := violations(t, reg, payload); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Error("which violations are listed differs from run to run")
	}
}

// Schemas whose states or types multiply load in a time that is not their product.
func TestHostileSchemasLoad(t *testing.T) {
	t.Parallel()
	var shared strings.Builder
	for i := range 200 {
		fmt.Fprintf(&shared, `"t%d": {"allOf": [{"$ref": "#/$defs/t%d"}, {"$ref": "#/$defs/t%d"}]}, `, i, i+1, i+1)
	}
	load(t, "a.v1.json", `{"properties": {"a": {"$ref": "#/$defs/t0", "x-gdpr-sensitive": true, "x-blind-index": true, "type": "string"}}, "$defs": {`+shared.String()+`"t200": {"minLength": 1}}}`)
	var bits strings.Builder
	for i := range 11 {
		fmt.Fprintf(&bits, `{"properties": {"a": {"$ref": "#/$defs/s%d"}, "b": {"$ref": "#/$defs/s%d"}}},`, (i+1)%11, (i*7+3)%11)
	}
	var defs strings.Builder
	for i := range 11 {
		fmt.Fprintf(&defs, `"s%d": {"x-gdpr-sensitive": true, "properties": {"a": {"$ref": "#/$defs/s%d"}, "b": {"anyOf": [{"$ref": "#/$defs/s%d"}, {"$ref": "#/$defs/s%d"}]}}},`, i, (i+1)%11, (i*7+3)%11, (i*5+1)%11)
	}
	load(t, "a.v1.json", `{"x-gdpr-sensitive": true, "allOf": [`+strings.TrimSuffix(bits.String(), ",")+`], "$defs": {`+strings.TrimSuffix(defs.String(), ",")+`}}`)
}

func TestLoadFollowsALinkToADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "real", "a.v1.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	reg, err := schema.Load(filepath.Join(dir, "link"))
	if err != nil {
		t.Fatal(err)
	}
	if len(reg.Events()) != 1 {
		t.Errorf("%d events", len(reg.Events()))
	}
}
