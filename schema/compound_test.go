package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// person has a name, a birth date, a number and a passport, whose number is flagged inside an object that is sealed whole.
const person = `"properties": {
	"name": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true},
	"birth_date": {"$ref": "#/$defs/date"},
	"death_date": {"$ref": "#/$defs/date"},
	"number": {"type": ["integer", "null"], "x-gdpr-sensitive": true},
	"passport": {"type": "object", "x-gdpr-sensitive": true, "properties": {"no": {"type": ["string", "integer"], "x-gdpr-sensitive": true}, "open": {"type": "string"}}},
	"health": {"type": "string", "x-gdpr-sensitive": true, "x-gdpr-keyring": "health"},
	"tags": {"type": "array", "items": {"type": "string", "x-gdpr-sensitive": true}},
	"pair": {"type": "array", "prefixItems": [{"type": "string", "x-gdpr-sensitive": true}]},
	"map": {"patternProperties": {"^x": {"type": "string", "x-gdpr-sensitive": true}}, "additionalProperties": {"type": "string", "x-gdpr-sensitive": true}},
	"boss": {"$ref": "#/$defs/boss"},
	"clear": {"type": "string"},
	"flag": {"type": "boolean", "x-gdpr-sensitive": true},
	"any": {"x-gdpr-sensitive": true}
}, "$defs": {
	"date": {"type": "string", "x-gdpr-sensitive": true},
	"boss": {"type": "object", "properties": {"boss": {"$ref": "#/$defs/boss"}, "name": {"type": "string", "x-gdpr-sensitive": true}}}
}`

func loadPerson(t *testing.T, indexes string) *schema.Plan {
	t.Helper()
	reg, err := schema.LoadFS(files("person.created.v1.json", `{"x-blind-indexes": `+indexes+`, `+person+`}`))
	if err != nil {
		t.Fatal(err)
	}
	es, err := reg.Event("person.created", 1)
	if err != nil {
		t.Fatal(err)
	}
	return es.Plan()
}

// stateAt steps to a pointer of member names.
func stateAt(t *testing.T, p *schema.Plan, pointer string) *schema.State {
	t.Helper()
	s := p.Root()
	for _, name := range strings.Split(pointer, "/")[1:] {
		if s, _ = s.Member([]byte(name)); s == nil {
			t.Fatalf("no state at %s", pointer)
		}
	}
	return s
}

func TestCompoundIndexes(t *testing.T) {
	t.Parallel()
	p := loadPerson(t, `{
		"name_birth": {"fields": ["/name", "/birth_date"], "normalize": [["trim", "casefold"], []], "bits": 64, "previous": [{"bits": 128}, {"normalize": [["trim"], ["trim"]], "bits": 64}]},
		"birth_no": {"fields": ["/birth_date", "/passport/no", "/number"]}
	}`)
	names := []string{}
	for _, ix := range p.Indexes() {
		names = append(names, ix.Name)
	}
	if !slices.Equal(names, []string{"birth_no", "name", "name_birth"}) {
		t.Fatalf("indexes %v", names)
	}
	want := `{Name:name_birth Normalize:[] Bits:64 Multi:false String:false Integer:false Keyring:default Previous:[{Normalize:[] PartNormalize:[[] []] Bits:128} {Normalize:[] PartNormalize:[[trim] [trim]] Bits:64}] Parts:[{Pointer:/name Normalize:[trim casefold] String:true Integer:false} {Pointer:/birth_date Normalize:[] String:true Integer:false}]}`
	if got := fmt.Sprintf("%+v", *p.Indexes()[2]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want = `[{Pointer:/birth_date Normalize:[] String:true Integer:false} {Pointer:/passport/no Normalize:[] String:true Integer:true} {Pointer:/number Normalize:[] String:false Integer:true}]`
	if got := fmt.Sprintf("%+v", p.Indexes()[0].Parts); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for pointer, want := range map[string]string{
		"/name":                "name_birth/0",
		"/birth_date":          "birth_no/0 name_birth/1",
		"/death_date":          "", // the same definition at another location
		"/passport":            "",
		"/passport/no":         "birth_no/1",
		"/passport/open":       "",
		"/number":              "birth_no/2",
		"/boss/boss/boss/name": "",
	} {
		got := []string{}
		for _, part := range stateAt(t, p, pointer).Parts() {
			got = append(got, fmt.Sprintf("%s/%d", part.Index.Name, part.Part))
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: parts %v, want %q", pointer, got, want)
		}
	}
	if ix := stateAt(t, p, "/name").Index(); ix == nil || ix.Name != "name" {
		t.Errorf("/name has lost its own index: %v", ix)
	}
	listed := 0
	for _, l := range p.Locations() {
		listed += len(l.Parts)
	}
	if listed != 5 {
		t.Errorf("%d parts in the plan's map, want 5", listed)
	}
}

func TestPreviousVersions(t *testing.T) {
	t.Parallel()
	reg, err := schema.LoadFS(files("a.v1.json", `{"properties": {"t": {"type": "string", "x-gdpr-sensitive": true,
		"x-blind-index": {"normalize": ["email"], "previous": [{"normalize": ["trim", "casefold"]}, {"bits": 64}, {}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{Normalize:[trim casefold] PartNormalize:[] Bits:128} {Normalize:[] PartNormalize:[] Bits:64} {Normalize:[] PartNormalize:[] Bits:128}]`
	if got := fmt.Sprintf("%+v", reg.Indexes()[0].Previous); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLoadRefusesCompoundIndexes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, rule, location, text string }{
		{"a list", "word-type", "/x-blind-indexes", `[]`},
		{"none", "word-type", "/x-blind-indexes", `{}`},
		{"an invalid name", "index-name", "/x-blind-indexes/A", `{"A": {"fields": ["/name", "/number"]}}`},
		{"true", "word-type", "/x-blind-indexes/a", `{"a": true}`},
		{"no fields", "word-type", "/x-blind-indexes/a", `{"a": {}}`},
		{"one field", "word-type", "/x-blind-indexes/a/fields", `{"a": {"fields": ["/name"]}}`},
		{"nine fields", "word-type", "/x-blind-indexes/a/fields", `{"a": {"fields": ["/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9"]}}`},
		{"no pointer", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "number"]}}`},
		{"a stray tilde", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/num~ber"]}}`},
		{"the root", "index-field", "/x-blind-indexes/a/fields/0", `{"a": {"fields": ["", "/number"]}}`},
		{"a field twice", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/name"]}}`},
		{"an unknown field", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/nmae"]}}`},
		{"a field below items", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/tags/0"]}}`},
		{"a field below prefixItems", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/pair/0"]}}`},
		{"a field below a pattern", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/map/x1"]}}`},
		{"a field in an open map", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/map/y"]}}`},
		{"a field below a recursion", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/number", "/boss/name"]}}`},
		{"a field in the second turn of a recursion", "index-field", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/number", "/boss/boss/name"]}}`},
		{"a field that is not flagged", "index-unflagged", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/clear"]}}`},
		{"a field inside a flagged object, itself without a flag", "index-unflagged", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/passport/open"]}}`},
		{"a boolean", "index-type", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/flag"]}}`},
		{"an object", "index-type", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/passport"]}}`},
		{"an array", "index-unflagged", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/tags"]}}`},
		{"no type", "index-type", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/any"]}}`},
		{"two keyrings", "keyring-conflict", "/x-blind-indexes/a/fields/1", `{"a": {"fields": ["/name", "/health"]}}`},
		{"the name of a simple index", "index-conflict", "/x-blind-indexes/name", `{"name": {"fields": ["/name", "/number"]}}`},
		{"multi", "word-unknown", "/x-blind-indexes/a/multi", `{"a": {"fields": ["/name", "/number"], "multi": true}}`},
		{"one list of steps for all", "word-type", "/x-blind-indexes/a/normalize", `{"a": {"fields": ["/name", "/number"], "normalize": ["trim"]}}`},
		{"a list of steps that is none", "word-type", "/x-blind-indexes/a/normalize/0", `{"a": {"fields": ["/name", "/number"], "normalize": ["trim", []]}}`},
		{"an unknown step", "index-normalize", "/x-blind-indexes/a/normalize/1/0", `{"a": {"fields": ["/name", "/number"], "normalize": [[], ["lower"]]}}`},
		{"4 bits", "word-type", "/x-blind-indexes/a/bits", `{"a": {"fields": ["/name", "/number"], "bits": 4}}`},
		{"an earlier version that is the current one", "index-previous", "/x-blind-indexes/a/previous/0", `{"a": {"fields": ["/name", "/number"], "previous": [{"bits": 128}]}}`},
		{"an earlier version with other parts", "word-type", "/x-blind-indexes/a/previous/0/normalize", `{"a": {"fields": ["/name", "/number"], "previous": [{"normalize": [["trim"]]}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs := refusals(t, "a.v1.json", `{"x-blind-indexes": `+c.text+`, `+person+`}`)
			if len(fs) != 1 || fs[0].Rule != c.rule || fs[0].Location != c.location || fs[0].Line != 1 || fs[0].Column < 20 {
				t.Errorf("findings %+v, want %s at %s", fs, c.rule, c.location)
			}
		})
	}
}

func TestLoadRefusesCompoundIndexesAmongFiles(t *testing.T) {
	t.Parallel()
	const a = `{"x-blind-indexes": {"i": {"fields": ["/name", "/number"]}}, ` + person + `}`
	if fs := refusals(t, "a.v1.json", a, "b.v1.json", strings.Replace(a, `"number"`, `"other"`, 1), "c.v1.json", strings.Replace(a, `"/number"`, `"/birth_date"`, 1)); len(fs) == 0 {
		t.Error("parts of other types load")
	}
	const moved = `{"x-blind-indexes": {"i": {"fields": ["/who/name", "/nr"]}}, "properties": {"who": {"properties": {"name": {"type": "string", "x-gdpr-sensitive": true}}}, "nr": {"type": "integer", "x-gdpr-sensitive": true}}}`
	if fs := refusals(t, "a.v1.json", a, "b.v1.json", moved); len(fs) != 0 {
		t.Errorf("one index with other pointers: %v", fs)
	}
	for name, pair := range map[string][2]string{
		"other bits":              {strings.Replace(a, `"/number"]`, `"/number"], "bits": 64`, 1), "index-conflict"},
		"other steps":             {strings.Replace(a, `"/number"]`, `"/number"], "normalize": [["trim"], []]`, 1), "index-conflict"},
		"another order":           {strings.Replace(a, `"/name", "/number"`, `"/number", "/name"`, 1), "index-conflict"},
		"other previous versions": {strings.Replace(a, `"/number"]`, `"/number"], "previous": [{"bits": 64}]`, 1), "index-conflict"},
		"a simple index":          {`{"properties": {"i": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}}}`, "index-conflict"},
	} {
		fs := refusals(t, "a.v1.json", a, "b.v1.json", pair[0])
		if len(fs) != 1 || fs[0].Rule != pair[1] {
			t.Errorf("%s: %v, want %s", name, fs, pair[1])
		}
	}
	if fs := refusals(t, "common.json", a); len(fs) != 1 || fs[0].Rule != "word-misplaced" {
		t.Errorf("in a file that is no event schema: %v", fs)
	}
	if fs := refusals(t, "a.v1.json", `{"properties": {"a": `+a+`}}`); len(fs) != 1 || fs[0].Rule != "word-misplaced" {
		t.Errorf("below the root: %v", fs)
	}
}

func TestLoadJudgesNormaliserSteps(t *testing.T) {
	t.Parallel()
	load := func(index string) []schema.Finding {
		return refusals(t, "a.v1.json", `{"properties": {"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {`+index+`}}}}`)
	}
	for _, steps := range []string{
		`[]`, `["raw"]`, `["trim", "nfkc", "casefold"]`, `["casefold-tr"]`, `["digits", "last4"]`, `["alnum"]`, `["email"]`, `["phone(TR)"]`,
		`["phone(US)", "last4"]`, `["argon2id(1,1024)"]`, `["digits", "argon2id(4,262144)"]`, `["argon2id(16,65536)"]`,
	} {
		if fs := load(`"normalize": ` + steps); len(fs) != 0 {
			t.Errorf("%s: %v", steps, fs)
		}
	}
	for _, steps := range []string{
		`["raw", "trim"]`, `["Trim"]`, `["phone"]`, `["phone()"]`, `["phone(tr)"]`, `["phone(QQ)"]`, `["phone(TR )"]`, `["phone(TR"]`, `["last5"]`, `["email.1"]`, `["trim()"]`,
		`["argon2id"]`, `["argon2id(0,65536)"]`, `["argon2id(17,1024)"]`, `["argon2id(1,1023)"]`, `["argon2id(1,262145)"]`, `["argon2id(5,262144)"]`, `["argon2id(1, 65536)"]`,
		`["argon2id(01,65536)"]`, `["argon2id(1,65536,1)"]`, `["argon2id(1,99999999999999999999)"]`, `["argon2id(1,65536)", "trim"]`,
	} {
		if fs := load(`"normalize": ` + steps); len(fs) != 1 || fs[0].Rule != "index-normalize" || fs[0].Hint == "" {
			t.Errorf("%s: %v", steps, fs)
		}
	}
	for _, index := range []string{
		`"multi": true, "normalize": ["argon2id(1,65536)"]`, `"multi": true, "previous": [{"normalize": ["argon2id(1,65536)"]}]`,
	} {
		if fs := load(index); len(fs) != 1 || fs[0].Rule != "index-normalize" {
			t.Errorf("%s: %v", index, fs)
		}
	}
	for _, c := range []struct{ index, rule string }{
		{`"previous": []`, "word-type"},
		{`"previous": {}`, "word-type"},
		{`"previous": [["trim"]]`, "word-type"},
		{`"previous": [{"normalise": []}]`, "word-unknown"},
		{`"previous": [{"bits": 7}]`, "word-type"},
		{`"previous": [{}]`, "index-previous"},
		{`"previous": [{"normalize": ["trim"]}, {"normalize": ["trim"], "bits": 128}]`, "index-previous"},
		{`"normalize": ["trim"], "previous": [{"bits": 128, "normalize": ["trim"]}]`, "index-previous"},
		{`"previous": [{"bits": 8}, {"bits": 9}, {"bits": 10}, {"bits": 11}, {"bits": 12}, {"bits": 13}, {"bits": 14}, {"bits": 15}, {"bits": 16}]`, "word-type"},
	} {
		if fs := load(c.index); len(fs) != 1 || fs[0].Rule != c.rule {
			t.Errorf("%s: %v, want %s", c.index, fs, c.rule)
		}
	}
}
