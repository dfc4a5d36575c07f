package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// fates checks paths against a plan, one "path: fate" a line.
func fates(t *testing.T, p *schema.Plan, lines string) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		path, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if path == "/" {
			path = ""
		}
		if got := fate(p, strings.Fields(path)...); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

func TestFlagsBesideRefCountInEveryDraft(t *testing.T) {
	t.Parallel()
	for _, d := range []struct{ metaschema, defs string }{
		{"http://json-schema.org/draft-04/schema#", "definitions"}, {"http://json-schema.org/draft-06/schema#", "definitions"},
		{"http://json-schema.org/draft-07/schema#", "definitions"}, {"https://json-schema.org/draft/2019-09/schema", "$defs"},
		{"https://json-schema.org/draft/2020-12/schema", "$defs"},
	} {
		reg := load(t, "a.v1.json", fmt.Sprintf(`{"$schema": %q, "properties": {"a": {"$ref": "#/%s/s", "x-gdpr-sensitive": true}, "b": {"$ref": "#/%s/f"}, "c": {"$ref": "#/%s/s"}},
			"%s": {"s": {"type": "string"}, "f": {"allOf": [{"x-gdpr-sensitive": true}]}}}`, d.metaschema, d.defs, d.defs, d.defs, d.defs))
		fates(t, plan(t, reg, "a"), "a: sealed\nb: sealed\nc: open")
	}
}

func TestTupleItemsOfOlderDrafts(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"items": [{}, {"x-gdpr-sensitive": true}]}, "b": {"items": {"x-gdpr-sensitive": true}}}}`)
	fates(t, plan(t, reg, "a"), "a #0: open\na #1: sealed\na #2: open\nb #0: sealed\nb #9: sealed")
}

func TestReferencesAcrossFiles(t *testing.T) {
	t.Parallel()
	reg := load(t,
		"events/a.v1.json", `{"properties": {"p": {"$ref": "../common/person.json"}, "m": {"$ref": "https://example.com/mail.json#mail"}, "n": {"$ref": "https://example.com/mail.json#/$defs/n"}}}`,
		"common/person.json", `{"properties": {"name": {"x-gdpr-sensitive": true}, "home": {"$ref": "address.json#/$defs/address"}}}`,
		"common/address.json", `{"$defs": {"address": {"properties": {"street": {"x-gdpr-sensitive": true}, "country": {"type": "string"}}}}}`,
		"ids/mail.json", `{"$id": "https://example.com/mail.json", "$defs": {"m": {"$anchor": "mail", "x-gdpr-sensitive": true}, "n": {"$ref": "other.json"}}}`,
		"ids/x.json", `{"$id": "https://example.com/other.json", "x-gdpr-sensitive": true}`,
	)
	fates(t, plan(t, reg, "a"), "p name: sealed\np home street: sealed\np home country: open\nm: sealed\nn: sealed")
	if fs := reg.Findings(); len(fs) != 0 {
		t.Errorf("findings: %v", fs)
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	const body = `"properties": {"known": {"type": "string"}, "any": true, "obj": {"type": "object"}, "list": {"type": "array"}, "flag": {"x-gdpr-sensitive": true},
		"map": {"additionalProperties": {"type": "string"}}, "open": {"additionalProperties": true, "properties": {"x": {}}}, "note": {"additionalProperties": {"description": "says nothing"}}}}`
	for _, c := range []struct{ policy, want string }{
		{"", `/: open
			known: open
			other: refused
			any: open
			any x: refused
			obj x: refused
			list #0: open
			list #0 x: refused
			flag: sealed
			flag x: open
			map x: open
			open x: open
			open y: refused
			note x: refused`},
		{`"x-gdpr-undeclared": "seal",`, `/: open
			known: object
			other: sealed
			any: object
			obj: object
			list: object
			list #0: object
			flag: sealed
			map: open
			map x: object
			open: open
			open y: sealed
			note: object`},
		{`"x-gdpr-undeclared": "clear",`, `/: open
			known: open
			other: open
			any x y: open
			list #0 x: open
			flag: sealed
			flag x: open
			open y: open`},
	} {
		reg := load(t, "a.v1.json", "{"+c.policy+body)
		fates(t, plan(t, reg, "a"), c.want)
	}
}

func TestIfNeverDeclares(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}},
		"not": {"properties": {"d": {}}}, "propertyNames": {"pattern": "."}, "dependentSchemas": {"b": {"properties": {"e": {}}}}, "properties": {"l": {"contains": {"properties": {"f": {}}}}}}`)
	fates(t, plan(t, reg, "a"), "a: refused\nb: open\nc: open\nd: refused\ne: open\nl #0 f: refused")
}

func TestAReferencedPolicyCanOnlyBeStricter(t *testing.T) {
	t.Parallel()
	reg := load(t,
		"a.v1.json", `{"x-gdpr-undeclared": "clear", "properties": {"strict": {"$ref": "strict.json"}, "mild": {"$ref": "mild.json"}, "none": {"$ref": "none.json"}}}`,
		"b.v1.json", `{"properties": {"mild": {"$ref": "mild.json"}}}`,
		"strict.json", `{"x-gdpr-undeclared": "reject", "properties": {"x": true}}`,
		"mild.json", `{"x-gdpr-undeclared": "clear", "properties": {"x": {}}}`,
		"none.json", `{"properties": {"x": {}}}`)
	fates(t, plan(t, reg, "a"), "other: open\nstrict x: open\nstrict y: refused\nstrict x z: refused\nmild y: open\nnone y: open")
	fates(t, plan(t, reg, "b"), "mild y: refused")
}

func TestOverlayFlagsAsIfWrittenThere(t *testing.T) {
	t.Parallel()
	const theirs = `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"user": {"properties": {"email": {"type": "string"}, "friends": {"items": {"$ref": "#/definitions/user"}}}}}}`
	reg := load(t,
		"theirs.json", theirs,
		"a.v1.json", `{"x-gdpr-overlay": {"theirs.json#/definitions/user/properties/email": {"x-gdpr-sensitive": true, "x-blind-index": {"multi": true}}}, "properties": {"u": {"$ref": "theirs.json#/definitions/user"}}}`,
		"b.v1.json", `{"properties": {"u": {"$ref": "theirs.json#/definitions/user"}}}`)
	fates(t, plan(t, reg, "a"), "u email: sealed\nu friends #0 friends #0 email: sealed")
	fates(t, plan(t, reg, "b"), "u email: open")
	ix := at(plan(t, reg, "a"), "u", "friends", "#0", "email").Index()
	if ix == nil || ix.Name != "email" || !ix.Multi || !ix.String || ix.Integer || ix.Bits != 128 {
		t.Errorf("index %+v", ix)
	}
}

func TestIndexNamesComeFromTheLastProperty(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"properties": {"buyerTaxId": {"$ref": "#/$defs/tax"}, "seller-tax": {"$ref": "#/$defs/tax"}, "phones": {"type": "array", "items": {"$ref": "#/$defs/phone"}},
		"n": {"type": ["integer", "null"], "x-gdpr-sensitive": true, "x-blind-index": {"bits": 32, "normalize": ["raw"]}},
		"tags": {"type": "array", "items": {"type": "string"}, "x-gdpr-sensitive": true, "x-blind-index": {"multi": true, "normalize": ["trim", "casefold"]}}},
		"$defs": {"tax": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}, "phone": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"multi": true}}}}`)
	p := plan(t, reg, "a")
	var got []string
	for _, ix := range p.Indexes() {
		got = append(got, fmt.Sprintf("%s %d %v %v %v %v %s", ix.Name, ix.Bits, ix.Normalize, ix.Multi, ix.String, ix.Integer, ix.Keyring))
	}
	want := []string{"buyer_tax_id 128 [] false true false default", "n 32 [] false false true default", "phones 128 [] true true false default", "seller_tax 128 [] false true false default", "tags 128 [trim casefold] true true false default"}
	if !slices.Equal(got, want) {
		t.Errorf("indexes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if at(p, "buyerTaxId").Index().Name != "buyer_tax_id" || at(p, "seller-tax").Index().Name != "seller_tax" {
		t.Error("one definition at two members must give two indexes")
	}
}

func TestIndexInsideASealedObject(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"properties": {"person": {"type": "object", "x-gdpr-sensitive": true, "properties": {"tax": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}}}}}`)
	s := at(plan(t, reg, "a"), "person", "tax")
	if s == nil || s.Index() == nil || s.Index().Name != "tax" {
		t.Error("no index below the sealed object")
	}
	if c := at(plan(t, reg, "a"), "person", "other"); c == nil || !c.Clear() {
		t.Error("nothing below a flagged location is undeclared")
	}
}

func TestKeyrings(t *testing.T) {
	t.Parallel()
	reg := load(t,
		"a.v1.json", `{"x-gdpr-keyring": "contact", "properties": {"mail": {"x-gdpr-sensitive": true}, "blood": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "health"}}}`,
		"b.v1.json", `{"properties": {"x": {}}}`,
		"c.v1.json", `{"x-gdpr-undeclared": "seal", "properties": {"x": {}}}`)
	p := plan(t, reg, "a")
	if k := at(p, "mail").Keyring(); k != "contact" {
		t.Errorf("mail: %s", k)
	}
	if k := at(p, "blood").Keyring(); k != "health" {
		t.Errorf("blood: %s", k)
	}
	for typ, want := range map[string]string{"a": "[contact health]", "b": "[]", "c": "[default]"} {
		if got := fmt.Sprint(plan(t, reg, typ).Keyrings()); got != want {
			t.Errorf("%s: %s, want %s", typ, got, want)
		}
	}
}

func TestPadToIsTheLongestThatIsAllowed(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"properties": {
		"b": {"type": "boolean", "x-gdpr-sensitive": true},
		"e": {"enum": ["a", "much longer than sixteen bytes", {"k": [1, 2]}], "x-gdpr-sensitive": true},
		"c": {"const": {"k" : [ 1 , "é" ] }, "x-gdpr-sensitive": true},
		"s": {"type": "string", "x-gdpr-sensitive": true}}}`)
	p := plan(t, reg, "a")
	for name, want := range map[string]int{"b": 5, "e": 32, "c": len(`{"k":[1,"é"]}`), "s": 0} {
		if got := at(p, name).PadTo(); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func TestNamesFromPayloadsAreNotSpelled(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"properties": {"known": {}}, "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": {"type": "integer"}}`)
	root := plan(t, reg, "a").Root()
	for name, want := range map[string]bool{"known": true, "x1": false, "ada@example.com": false} {
		if _, exact := root.Member([]byte(name)); exact != want {
			t.Errorf("%s: %v", name, exact)
		}
	}
}

func TestPatternCombinationsFoundLaterConflict(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"patternProperties": {"^[a-c]5$": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "one"}, "^[b-d][0-9]$": {"x-gdpr-sensitive": true, "x-gdpr-keyring": "two"}}}`)
	fates(t, plan(t, reg, "a"), "a5: sealed\nb0: sealed\nb5: conflict")
}

func TestPatternCombinationsThatAreFoundConflictAtOnce(t *testing.T) {
	t.Parallel()
	const one, two = `{"x-gdpr-sensitive": true, "x-gdpr-keyring": "one"}`, `{"x-gdpr-sensitive": true, "x-gdpr-keyring": "two"}`
	for _, patterns := range [][2]string{{"^a", "z$"}, {"a", "^ab+"}, {"^(x|y)[0-9]{2}", "[0-9]"}, {".*", "^b"}, {"z$", "^a{3}"}} {
		fs := refusals(t, "a.v1.json", fmt.Sprintf(`{"patternProperties": {%q: %s, %q: %s}}`, patterns[0], one, patterns[1], two))
		if len(fs) == 0 || fs[0].Rule != "keyring-conflict" {
			t.Errorf("%q: %v", patterns, fs)
		}
	}
	for _, patterns := range [][2]string{{"^a", "^b"}, {"^a$", "^aa$"}, {"a{2}$", "^b$"}, {"^[0-9]+$", "^[a-z]+$"}} {
		load(t, "a.v1.json", fmt.Sprintf(`{"patternProperties": {%q: %s, %q: %s}}`, patterns[0], one, patterns[1], two))
	}
}

// What one pattern always brings along is there when its schema is judged: the index of "^ab" is flagged by "^a".
func TestAPatternIsJudgedWithThoseThatItImplies(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"patternProperties": {"^ab": {"type": "string", "x-blind-index": {"name": "ab", "multi": true}}, "^a": {"x-gdpr-sensitive": true}}}`)
	if ix := at(plan(t, reg, "a"), "abc").Index(); ix == nil || ix.Name != "ab" {
		t.Errorf("index %v", ix)
	}
}

func TestPlanIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"patternProperties": {"^a": {"$ref": "#"}, "b": {"x-gdpr-sensitive": true}, "c$": {"$ref": "#"}}, "additionalProperties": {"type": "string"}}`)
	p := plan(t, reg, "a")
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 500 {
				s, _ := p.Root().Member(fmt.Appendf(nil, "a%dc", g*i))
				if s == nil || s.Sealed() {
					t.Error("a…c must be open")
					return
				}
				if s, _ = s.Member([]byte("xb")); s == nil || !s.Sealed() {
					t.Error("…b must be sealed")
				}
			}
		})
	}
	wg.Wait()
}

func TestRegistryFindings(t *testing.T) {
	t.Parallel()
	reg := load(t,
		"a.v1.json", `{"properties": {"m": {"format": "emial"}, "f": {"x-gdpr-sensitive": false}, "o": {"additionalProperties": {"type": "string", "x-gdpr-sensitive": true}},
			"p": {"x-gdpr-sensitive": true, "properties": {"q": {"x-gdpr-sensitive": true}}}}, "$defs": {"unused": {"x-gdpr-sensitive": true}}}`,
		"lonely.json", `{"type": "object"}`)
	got := map[string]bool{}
	for _, f := range reg.Findings() {
		got[f.Rule] = true
	}
	for _, rule := range []string{"format-unknown", "flag-without-effect", "names-stay-clear", "flag-unused", "file-unreferenced"} {
		if !got[rule] {
			t.Errorf("no finding %s in %v", rule, reg.Findings())
		}
	}
}

func TestLocationsAndFields(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", "{\"properties\": {\n\"name\": {\"type\": \"string\", \"x-gdpr-sensitive\": true},\n\"lines\": {\"items\": {\"properties\": {\"tax\": {\"type\": \"string\", \"x-gdpr-sensitive\": true, \"x-blind-index\": {\"multi\": true}}}}},\n\"next\": {\"$ref\": \"#\"}}}")
	p := plan(t, reg, "a")
	var got []string
	for _, l := range p.Locations() {
		got = append(got, fmt.Sprintf("%s sealed=%v undeclared=%s same=%s %v", l.Pointer, l.Sealed, l.Undeclared, l.SameAs, l.Sources))
	}
	want := []string{
		" sealed=false undeclared=reject same= []",
		"/lines/*/tax sealed=true undeclared= same= [a.v1.json:3:62]",
		"/name sealed=true undeclared= same= [a.v1.json:2:28]",
		"/next sealed=false undeclared= same=. []",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("locations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	got = nil
	for _, f := range p.Fields() {
		got = append(got, fmt.Sprintf("%s %s %v %d:%d", f.Name, f.Location, f.Sealed, f.Line, f.Column))
	}
	if fmt.Sprint(got) != "[name /properties/name true 2:9 lines /properties/lines false 3:10 tax /properties/lines/items/properties/tax true 3:43 next /properties/next false 4:9]" {
		t.Errorf("fields %v", got)
	}
}
