package schema

import (
	"fmt"
	"math/rand/v2"
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

// Whatever order members come in, and whatever a caller hands in as the place, a step is Member's, and its number is the name's.
func TestAStepOfASequenceIsMembersInAnyOrder(t *testing.T) {
	t.Parallel()
	names := []string{"z", "a", "m", "b", "if", "c", "only", "p1", "other", "", "zz", "A"}
	reg, err := LoadFS(fstest.MapFS{"x.v1.json": {Data: []byte(sequenceSchema)}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := reg.Event("x", 1)
	if err != nil {
		t.Fatal(err)
	}
	root := e.Plan().Root()
	rapid.Check(t, func(t *rapid.T) {
		q := root.Sequence()
		at, numbers := rapid.IntRange(-3, 20).Draw(t, "at"), map[string]int{}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 30).Draw(t, "names") {
			child, number := q.Step(at, []byte(name))
			want, exact := root.Member([]byte(name))
			if exact != (number >= 0) || exact && child != want {
				t.Fatalf("%s at %d: %p, number %d; Member says %p %v", name, at, child, number, want, exact)
			}
			if before, met := numbers[name]; met && before != number {
				t.Fatalf("%s at %d: number %d, and %d before", name, at, number, before)
			}
			for other, n := range numbers {
				if exact && n == number && other != name {
					t.Fatalf("%s and %s have the number %d", name, other, n)
				}
			}
			numbers[name], at = number, number+1
		}
	})
}

func TestASequenceIsInTheOrderOfDeclaration(t *testing.T) {
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
	q := e.Plan().Root().Sequence()
	for i, name := range names {
		if _, number := q.Step(i, []byte(name)); number != i {
			t.Fatalf("%s is number %d, want %d", name, number, i)
		}
	}
}
