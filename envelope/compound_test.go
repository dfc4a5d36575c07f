package envelope

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

const personSchema = `{
  "x-blind-indexes": {
    "name_birth": {"fields": ["/name", "/passport/birth_date"], "normalize": [["trim", "casefold"], []], "bits": 64},
    "name_number": {"fields": ["/passport/number", "/name"]}
  },
  "type": "object",
  "properties": {
    "name": {"type": ["string", "null"], "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["casefold"]}},
    "passport": {
      "type": "object", "x-gdpr-sensitive": true,
      "properties": {
        "birth_date": {"type": "string", "x-gdpr-sensitive": true},
        "number": {"type": ["integer", "string"], "x-gdpr-sensitive": true}
      }
    }
  }
}`

// people is a bench over one schema of persons.
type people struct {
	reg    *schema.Registry
	ring   *keyringtest.Ring
	rings  *keyring.Set
	sealer *Sealer
	made   map[string]*blindindex.Index
}

func newPeople(t *testing.T, ring *keyringtest.Ring, text string) *people {
	t.Helper()
	p := &people{ring: ring, rings: setOf(t, ring.Keyring)}
	var err error
	if p.reg, err = loadText("person.created.v1.json", text); err != nil {
		t.Fatal(err)
	}
	if p.sealer, err = NewSealer(p.reg, p.rings, Options{}); err != nil {
		t.Fatal(err)
	}
	p.made = map[string]*blindindex.Index{}
	for _, declared := range p.reg.Indexes() {
		if p.made[declared.Name], err = BlindIndex(declared); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *people) seal(t *testing.T, payload string) Sealed {
	t.Helper()
	s, err := p.sealer.Seal(context.Background(), event("person.created", payload))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *people) verify(t *testing.T, w Wire, stored map[string][][]byte) []string {
	t.Helper()
	v, err := NewVerifier(p.reg, VerifierOptions{Keyrings: p.rings})
	if err != nil {
		t.Fatal(err)
	}
	report, err := v.Verify(context.Background(), w, StoredIndexes{Values: stored})
	if err != nil {
		t.Fatal(err)
	}
	return told(report)
}

func text(s string) blindindex.Asked {
	return blindindex.Asked{Text: s, String: true, Integer: true}
}

func TestCompoundIndexIsFoundByAllItsParts(t *testing.T) {
	t.Parallel()
	p := newPeople(t, keyringtest.NewRing(t, keyringtest.Options{}), personSchema)
	sealed := p.seal(t, `{"name":" Ada ","passport":{"birth_date":"1815-12-10","number":7}}`)
	stored := sealed.BlindIndexes()
	if len(stored) != 3 || len(stored["name_birth"]) != 1 || len(stored["name_birth"][0]) != 4+8 || len(stored["name_number"]) != 1 {
		t.Fatalf("indexes %v", stored)
	}
	opener, err := NewOpener(p.reg, p.rings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		index string
		asked []blindindex.Asked
		found bool
	}{
		{"name_birth", []blindindex.Asked{text("ADA"), text("1815-12-10")}, true},
		{"name_birth", []blindindex.Asked{text("ada"), text("1815-12-11")}, false},
		{"name_birth", []blindindex.Asked{text("adah"), text("1815-12-10")}, false},
		{"name_birth", []blindindex.Asked{text("1815-12-10"), text("ada")}, false},
		{"name_number", []blindindex.Asked{text("7"), text(" Ada ")}, true},
		{"name_number", []blindindex.Asked{{Text: "7", String: true}, text(" Ada ")}, false},
	} {
		search, err := p.made[c.index].Search(c.asked...)
		if err != nil {
			t.Fatal(err)
		}
		candidates, err := search.Candidates(p.ring.Keyring.Usable(keyring.Index))
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(candidates, func(b []byte) bool { return bytes.Equal(b, stored[c.index][0]) })
		holds, err := opener.Holds(context.Background(), received(t, sealed.Wire()), c.index, search.Messages())
		if err != nil || found != c.found || holds != c.found {
			t.Errorf("%s %v: found %v, holds %v, want %v; %v", c.index, c.asked, found, holds, c.found, err)
		}
	}
	if got := p.verify(t, sealed.Wire(), stored); len(got) != 0 {
		t.Errorf("verify: %v", got)
	}
}

func TestCompoundIndexNeedsAllItsParts(t *testing.T) {
	t.Parallel()
	p := newPeople(t, keyringtest.NewRing(t, keyringtest.Options{}), personSchema)
	for payload, want := range map[string]string{
		`{"name":"Ada"}`:                               "[name]",
		`{"name":null,"passport":{"number":1}}`:        "[]",
		`{"name":" ","passport":{"birth_date":"x"}}`:   "[name]", // the simple index does not trim
		`{"passport":{"birth_date":"x","number":1}}`:   "[]",
		`{"name":"Ada","passport":{"number":"1"}}`:     "[name name_number]",
		`{"passport":{"birth_date":"x"},"name":"Ada"}`: "[name name_birth]",
	} {
		sealed := p.seal(t, payload)
		names := []string{}
		for name := range sealed.BlindIndexes() {
			names = append(names, name)
		}
		slices.Sort(names)
		if got := fmt.Sprint(names); got != want {
			t.Errorf("%s has the indexes %v, want %v", payload, got, want)
		}
		if got := p.verify(t, sealed.Wire(), sealed.BlindIndexes()); len(got) != 0 {
			t.Errorf("verify %s: %v", payload, got)
		}
	}
	for _, payload := range []string{`{"name":"Ada","passport":{"number":1.5}}`, `{"name":"Ada","passport":{"number":true}}`} {
		if _, err := p.sealer.Seal(context.Background(), event("person.created", payload)); err == nil {
			t.Errorf("%s is sealed", payload)
		}
	}
}

func TestVerifyJudgesCompoundIndexes(t *testing.T) {
	t.Parallel()
	p := newPeople(t, keyringtest.NewRing(t, keyringtest.Options{}), personSchema)
	sealed := p.seal(t, `{"name":"Ada","passport":{"birth_date":"1815-12-10"}}`)
	other := p.seal(t, `{"name":"Ada","passport":{"birth_date":"1815-12-11"}}`)
	stored := sealed.BlindIndexes()
	stored["name_birth"] = other.BlindIndexes()["name_birth"]
	if got, want := p.verify(t, sealed.Wire(), stored), []string{"index-mismatch index name_birth"}; !slices.Equal(got, want) {
		t.Errorf("another event's: %v, want %v", got, want)
	}
	delete(stored, "name_birth")
	if got, want := p.verify(t, sealed.Wire(), stored), []string{"index-missing index name_birth"}; !slices.Equal(got, want) {
		t.Errorf("none: %v, want %v", got, want)
	}
	alone := p.seal(t, `{"name":"Ada"}`)
	stored = alone.BlindIndexes()
	stored["name_birth"] = other.BlindIndexes()["name_birth"]
	if got, want := p.verify(t, alone.Wire(), stored), []string{"index-orphan index name_birth"}; !slices.Equal(got, want) {
		t.Errorf("without one of its tokens: %v, want %v", got, want)
	}
}

func TestEarlierVersionsAreFoundAndRebuilt(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	const head = `{"x-blind-indexes": {"both": {"fields": ["/a", "/b"]`
	const tail = `}}, "properties": {"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "one"`
	const end = `}}, "b": {"type": "integer", "x-gdpr-sensitive": true}}}`
	old := newPeople(t, ring, head+tail+end)
	now := newPeople(t, ring, head+`, "normalize": [["casefold"], []], "bits": 40, "previous": [{}]`+tail+`, "normalize": ["casefold"], "previous": [{"bits": 64}, {"bits": 128}]`+end)
	sealed := old.seal(t, `{"a":"Ada","b":7}`)
	stored := sealed.BlindIndexes()
	for name, asked := range map[string][]blindindex.Asked{"one": {text("Ada")}, "both": {text("Ada"), text("7.0")}} {
		search, err := now.made[name].Search(asked...)
		if err != nil {
			t.Fatal(err)
		}
		candidates, err := search.Candidates(ring.Keyring.Usable(keyring.Index))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(candidates, func(b []byte) bool { return bytes.Equal(b, stored[name][0]) }) {
			t.Errorf("%s: the row is missed before it is rebuilt", name)
		}
	}
	got := now.verify(t, sealed.Wire(), stored)
	if want := []string{"(index-stale) index both", "(index-stale) index one"}; !slices.Equal(got, want) {
		t.Errorf("verify: %v, want %v", got, want)
	}
	resealer, err := NewResealer(now.reg, now.rings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rebuilt, changed, err := resealer.Reseal(context.Background(), received(t, sealed.Wire()), stored)
	if err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	want := now.seal(t, `{"a":"Ada","b":7}`).BlindIndexes()
	if got := rebuilt.BlindIndexes(); !bytes.Equal(got["one"][0], want["one"][0]) || !bytes.Equal(got["both"][0], want["both"][0]) {
		t.Errorf("rebuilt %x, want %x", got, want)
	}
	if got := now.verify(t, rebuilt.Wire(), rebuilt.BlindIndexes()); len(got) != 0 {
		t.Errorf("verify after the rebuild: %v", got)
	}
	if _, changed, err = resealer.Reseal(context.Background(), received(t, rebuilt.Wire()), rebuilt.BlindIndexes()); err != nil || changed {
		t.Errorf("rebuilt twice: %v, %v", changed, err)
	}
}

// Whatever the order of members, their spelling and which of them are there: a compound index is that of the array of its parts' values, and there
// is none where a part is absent or has no message. Opening, verifying and sealing again agree.
func TestCompoundIndexIsThatOfItsParts(t *testing.T) {
	t.Parallel()
	p := newPeople(t, keyringtest.NewRing(t, keyringtest.Options{}), personSchema)
	key, err := p.ring.Keyring.Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := NewVerifier(p.reg, VerifierOptions{Keyrings: p.rings})
	if err != nil {
		t.Fatal(err)
	}
	resealer, err := NewResealer(p.reg, p.rings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string][]string{"name_birth": {"name", "birth_date"}, "name_number": {"number", "name"}}
	with, without := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		value := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
		values := map[string]string{
			"name":       value("name", "", "null", `"Ada"`, `" ADA "`, `"\u0041da"`, `"I\u0130\u0131"`, `""`, `" "`),
			"birth_date": value("birth_date", "", `"1815-12-10"`, `""`, `"\ud83d\ude00"`),
			"number":     value("number", "", "7", "7.0", `"7"`, `"\u0037"`, "-0", "1e3", `""`),
		}
		member := func(name string) string {
			if values[name] == "" {
				return ""
			}
			return rapid.SampledFrom([]string{`"`, ` "`}).Draw(t, "space") + name + `":` + rapid.SampledFrom([]string{"", " "}).Draw(t, "space") + values[name]
		}
		object := func(members ...string) string {
			members = slices.DeleteFunc(rapid.Permutation(members).Draw(t, "order"), func(m string) bool { return m == "" })
			return "{" + strings.Join(members, ",") + "}"
		}
		passport := `"passport":` + object(member("birth_date"), member("number"))
		payload := object(member("name"), passport)
		sealed, err := p.sealer.Seal(context.Background(), event("person.created", payload))
		if err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		stored := sealed.BlindIndexes()
		for name, of := range fields {
			var want [][]byte
			if values[of[0]] != "" && values[of[1]] != "" {
				ix := p.made[name]
				messages, err := ix.Messages([]byte("[" + values[of[0]] + "," + values[of[1]] + "]"))
				if err != nil {
					t.Fatal(err)
				}
				if want, err = ix.Values(key, messages); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.EqualFunc(stored[name], want, bytes.Equal) {
				t.Fatalf("%s: %s is %x, want %x", payload, name, stored[name], want)
			}
			if len(want) > 0 {
				with++
			} else {
				without++
			}
		}
		report, err := verifier.Verify(context.Background(), sealed.Wire(), StoredIndexes{Values: stored})
		if err != nil || len(report.Findings) > 0 {
			t.Fatalf("%s: %v, %v", payload, report.Findings, err)
		}
		received, err := Parse(sealed.Wire(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, changed, err := resealer.Reseal(context.Background(), received, stored); err != nil || changed {
			t.Fatalf("%s: sealed again: %v, %v", payload, changed, err)
		}
	})
	if with < 10 || without < 20 { // about 62 and 138
		t.Errorf("%d events with a compound index, %d without", with, without)
	}
}

// The schema refuses at load what package blindindex refuses to compute, and nothing else: two lists of the same words.
func TestSchemasAndBlindIndexesKnowTheSameSteps(t *testing.T) {
	t.Parallel()
	steps := []string{"raw", "trim", "nfkc", "casefold", "casefold-tr", "digits", "alnum", "last4", "email", "phone", "argon2id", "soundex", "email.1", "phone()", "argon2id(2,19456",
		"argon2id(1,1024)", "argon2id(1,1023)", "argon2id(16,65536)", "argon2id(16,65537)", "argon2id(17,1024)", "argon2id(4,262144)", "argon2id(1,262145)", "argon2id(01,1024)", "argon2id(1,2147483648)"}
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			steps = append(steps, fmt.Sprintf("phone(%c%c)", a, b))
		}
	}
	lists := [][]string{{"raw", "trim"}, {"argon2id(1,1024)", "trim"}, {"trim", "argon2id(1,1024)"}, {"argon2id(1,1024)", "argon2id(1,1024)"}}
	for _, step := range steps {
		lists = append(lists, []string{step})
	}
	accepted := 0
	for _, list := range lists {
		_, computed := blindindex.ParseNormalizer(list)
		_, loaded := loadText("a.v1.json", fmt.Sprintf(`{"properties": {"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": %q}}}}`, list))
		if len(list) == 2 {
			_, loaded = loadText("a.v1.json", fmt.Sprintf(`{"properties": {"a": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": [%q, %q]}}}}`, list[0], list[1]))
		}
		if (computed == nil) != (loaded == nil) {
			t.Errorf("%v: computing says %v, loading says %v", list, computed, loaded)
		}
		var refused *schema.LoadError
		if loaded != nil && (!errors.As(loaded, &refused) || refused.Findings[0].Rule != "index-normalize") {
			t.Errorf("%v: %v", list, loaded)
		}
		if computed == nil {
			accepted++
		}
	}
	if accepted < 245+9 {
		t.Errorf("only %d lists are accepted", accepted)
	}
}
