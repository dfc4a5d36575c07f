package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The law of the wire schema with the Sealer's own tokens: what it seals matches, and nothing does in which one token is its plaintext again.
// Package schema asks it of 20,000 generated pairs and of another validator too.
func TestWhatTheSealerSealsMatchesTheWireSchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	back := 0
	rapid.Check(t, func(rt *rapid.T) {
		typ := rapid.SampledFrom([]string{customer, sealPolicy, health, wholeRoot}).Draw(rt, "type")
		payload := map[string]func(*rapid.T) string{customer: wireCustomer, sealPolicy: wireAnything, health: wireHealth, wholeRoot: wireAnything}[typ](rt)
		sealed, err := b.sealer.Seal(t.Context(), Event{Type: typ, Version: 1, AggregateID: "1", Payload: []byte(payload)})
		if err != nil {
			rt.Fatalf("%s: %v", payload, err)
		}
		es, err := b.reg.Event(typ, 1)
		if err != nil {
			rt.Fatal(err)
		}
		wire := sealed.Wire().Payload
		if err := es.ValidateWire(wire); err != nil {
			rt.Fatalf("%s: %v", wire, err)
		}
		for _, token := range oneToken.FindAll(wire, -1) {
			plain := plaintextAt(rt, wire, []byte(payload), token)
			back++
			if spoilt := bytes.Replace(wire, token, plain, 1); es.ValidateWire(spoilt) == nil {
				rt.Fatalf("accepts %s", spoilt)
			}
		}
	})
	if back < 40 { // about 180
		t.Errorf("only %d tokens were put back", back)
	}
}

func wireCustomer(t *rapid.T) string {
	members := map[string]string{
		"id": `"1"`, "email": rapid.SampledFrom([]string{"null", `"ada@b.example"`}).Draw(t, "email"), "age": rapid.SampledFrom([]string{"1", "null"}).Draw(t, "age"),
		"vip": "true", "tier": `"gold"`, "secret": anyText(t, 2, func(*rapid.T) string { return `"s"` }), "person": `{"tax_id":"1","rest":[]}`,
		"phones": `["1","2"]`, "tags": `[{"of":"x","kind":"y"},{"kind":"z"}]`, "rest": `{"any":1}`,
	}
	var list []string
	for _, name := range []string{"id", "email", "age", "vip", "tier", "secret", "person", "phones", "tags", "rest"} {
		if rapid.Bool().Draw(t, name) {
			list = append(list, fmt.Sprintf("%q:%s", name, members[name]))
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

func wireHealth(t *rapid.T) string {
	return rapid.SampledFrom([]string{`{}`, `{"email":"a@b.example"}`, `{"email":"a@b.example","blood":"0+"}`}).Draw(t, "payload")
}

func wireAnything(t *rapid.T) string {
	list := []string{`"id":"1"`}
	for _, name := range []string{"any", "list", "other"} {
		if !rapid.Bool().Draw(t, name) {
			continue
		}
		value := anyText(t, 2, func(*rapid.T) string { return `"s"` })
		if name == "list" {
			value = "[" + value + "]"
		}
		list = append(list, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(list, ",") + "}"
}

// plaintextAt finds the plaintext that stands in the payload where the token stands in the wire form.
func plaintextAt(t *rapid.T, wire, payload, token []byte) []byte {
	var sealedTree, plainTree any
	for text, into := range map[string]any{string(wire): &sealedTree, string(payload): &plainTree} {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	var want string
	if err := json.Unmarshal(token, &want); err != nil {
		t.Fatal(err)
	}
	var found any
	var walk func(a, b any) bool
	walk = func(a, b any) bool {
		switch a := a.(type) {
		case string:
			found = b
			return a == want
		case map[string]any:
			for name := range a {
				if walk(a[name], b.(map[string]any)[name]) {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(slices.Collect(indexes(len(a))), func(i int) bool { return walk(a[i], b.([]any)[i]) })
		}
		return false
	}
	if !walk(sealedTree, plainTree) {
		t.Fatalf("%s is nowhere in %s", token, wire)
	}
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func indexes(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func TestVerifyFindsWhatTheWireSchemaRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	keyless, _, keyed := b.verifiers(t)
	good := string(b.seal(t, customer, `{"id":"1","email":"ada@b.example"}`).Wire().Payload)
	for name, c := range map[string]struct {
		payload        string
		keyless, keyed []string
		unchecked      bool
	}{
		"a clear value of another type": {strings.Replace(good, `"id":"1"`, `"id":8675309`, 1), []string{"schema-mismatch /id"}, []string{"invalid /id", "schema-mismatch /id"}, false},
		"an array that is none":         {`{"phones":7}`, []string{"schema-mismatch /phones"}, []string{"invalid /phones", "schema-mismatch /phones"}, false},
		"beside another fault":          {`{"id":8675309,"vip":true}`, []string{"plaintext /vip"}, []string{"plaintext /vip", "invalid /id"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for form, v := range map[string]*Verifier{"keyless": keyless, "keyed": keyed} {
				report, err := v.Verify(t.Context(), wireOf(customer, c.payload), StoredIndexes{Unknown: true})
				want := c.keyless
				if form == "keyed" {
					want = c.keyed
				}
				if got := told(report); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %q, %v", form, got, err)
				}
				unchecked := slices.ContainsFunc(report.NotChecked, func(n NotChecked) bool { return n.Kind == KindSchemaMismatch })
				if unchecked != c.unchecked || strings.Contains(fmt.Sprintf("%+v", report), "8675309") {
					t.Errorf("%s: %+v", form, report)
				}
			}
		})
	}
}
