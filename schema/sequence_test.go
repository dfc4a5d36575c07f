package schema

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

const sequenceSchema = `{
  "x-gdpr-undeclared": "clear",
  "properties": {"z": {"type": "string"}, "a": {"x-gdpr-sensitive": true}, "m": {"properties": {"n": true}}, "b": true, "if": {"const": 1}},
  "allOf": [{"properties": {"a": {"type": "string"}, "c": {"type": "string"}}}],
  "if": {"properties": {"only": {"const": 1}}},
  "patternProperties": {"^p": {"x-gdpr-sensitive": true}}
}`

// Whatever order members come in, and whatever a caller hands in as the place, a step is Member's.
func TestMemberAfterIsMemberInAnyOrder(t *testing.T) {
	t.Parallel()
	names := []string{"z", "a", "m", "b", "if", "c", "only", "p1", "other", "", "zz", "A"}
	rapid.Check(t, func(t *rapid.T) {
		reg, err := LoadFS(fstest.MapFS{"x.v1.json": {Data: []byte(sequenceSchema)}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := reg.Event("x", 1)
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(-3, 20).Draw(t, "at")
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 30).Draw(t, "names") {
			child, exact, next := e.Plan().Root().MemberAfter(at, []byte(name))
			want, wantExact := e.Plan().Root().Member([]byte(name))
			if child != want || exact != wantExact {
				t.Fatalf("%s after %d: %p %v, Member says %p %v", name, at, child, exact, want, wantExact)
			}
			at = next
		}
	})
}

func TestMembersAreLinedUpAsTheyAreDeclared(t *testing.T) {
	t.Parallel()
	text := `{"x-gdpr-undeclared":"clear","properties":{`
	var names []string
	for _, i := range rand.Perm(50) {
		names = append(names, fmt.Sprintf("n%d", i))
		text += fmt.Sprintf(`"n%d":{"type":"string","x-gdpr-sensitive":true},`, i)
	}
	reg, err := LoadFS(fstest.MapFS{"x.v1.json": {Data: []byte(text[:len(text)-1] + `}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := reg.Event("x", 1)
	if err != nil {
		t.Fatal(err)
	}
	root, at := e.Plan().Root(), 0
	root.MemberAfter(0, []byte("n0"))
	var got []string
	for _, step := range *root.sequence.Load() {
		got = append(got, step.name)
	}
	if !slices.Equal(got, names) {
		t.Fatalf("%v, want %v", got, names)
	}
	for i, name := range names {
		_, _, next := root.MemberAfter(at, []byte(name))
		if next != i+1 {
			t.Fatalf("%s, number %d, gives %d", name, i, next)
		}
		at = next
	}
}
