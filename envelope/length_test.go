package envelope_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// tokenLength seals one value at /a and gives the length of its token.
func tokenLength(t *testing.T, sealer *envelope.Sealer, value string) int {
	t.Helper()
	sealed, err := sealer.Seal(context.Background(), envelope.Event{ID: lawID, Type: "long.a", AggregateID: "1", Payload: []byte(`{"a":` + value + `}`)})
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	token := lawToken.FindString(string(sealed.Wire().Payload))
	if token == "" || string(sealed.Wire().Payload) != `{"a":`+token+`}` {
		t.Fatalf("%s is not sealed", value)
	}
	return len(token)
}

func lengthSealer(t *testing.T, schema string) *envelope.Sealer {
	t.Helper()
	rings, err := keyring.NewSet(keyringtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	sealer, _ := forgeServices(t, `{"properties":{"a":`+schema+`}}`, rings, "long.a.v1")
	return sealer
}

// The length of a token says nothing about a value whose JSON text has 1 to 16 bytes.
func TestLawValuesOfOneToSixteenBytesHaveTokensOfOneLength(t *testing.T) {
	t.Parallel()
	sealer := lengthSealer(t, `{"x-gdpr-sensitive":true}`)
	want := tokenLength(t, sealer, "1")
	values := []string{"true", "false", "null", `""`, "{}", "[]", `{"a":1}`, `[1,[2,{}]]`, `"\u00fc\u00fc"`, `[ ]`, "-0", "1e400"}
	for n := 1; n <= 16; n++ {
		values = append(values, strings.Repeat("1", n))
		if n >= 2 {
			values = append(values, `"`+strings.Repeat("x", n-2)+`"`)
		}
		if n >= 3 {
			values = append(values, "["+strings.Repeat("1", n-2)+"]", "-"+strings.Repeat("7", n-1), `"`+strings.Repeat("x", n-3)+`/"`)
		}
	}
	for _, value := range values {
		if got := tokenLength(t, sealer, value); got != want {
			t.Errorf("%s has a token of %d bytes, 1 one of %d", value, got, want)
		}
	}
	if got := tokenLength(t, sealer, strings.Repeat("1", 17)); got == want {
		t.Error("17 bytes have a token of the same length: the test measures nothing")
	}
}

// The length of a token does not tell the members of an enum apart, wherever the schema says it, nor true from false.
func TestLawMembersOfAnEnumHaveTokensOfOneLength(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	differ := 0
	for range 3000 / lawScale {
		var members []any
		for range 2 + r.IntN(6) {
			switch r.IntN(6) {
			case 0:
				members = append(members, r.IntN(2) == 0)
			case 1:
				members = append(members, nil)
			case 2:
				members = append(members, r.Uint64()>>r.IntN(60))
			default:
				members = append(members, fmt.Sprint(r.Uint64(), strings.Repeat("é", r.IntN(1+1<<r.IntN(9)))))
			}
		}
		enum, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		form := []string{
			`{"x-gdpr-sensitive":true,"enum":%s}`, `{"x-gdpr-sensitive":true,"allOf":[{"enum":%s}]}`, `{"allOf":[{"x-gdpr-sensitive":true},{"anyOf":[{"enum":%s}]}]}`,
			`{"x-gdpr-sensitive":true,"$ref":"#/properties/a/$defs/e","$defs":{"e":{"enum":%s}}}`,
		}[r.IntN(4)]
		text := fmt.Sprintf(form, enum)
		sealer := lengthSealer(t, text)
		lengths, plain := map[int]bool{}, map[int]bool{}
		for _, m := range members {
			value, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			lengths[tokenLength(t, sealer, string(value))] = true
			plain[(len(value)+15)/16] = true
		}
		if len(lengths) != 1 {
			t.Errorf("%s: tokens of lengths %v", text, lengths)
		}
		if len(plain) > 1 {
			differ++
		}
	}
	if differ < 1000/lawScale {
		t.Errorf("only %d enums had members of different lengths", differ)
	}
	for _, text := range []string{`{"type":"boolean","x-gdpr-sensitive":true}`, `{"x-gdpr-sensitive":true}`} {
		sealer := lengthSealer(t, text)
		if a, b := tokenLength(t, sealer, "true"), tokenLength(t, sealer, "false"); a != b {
			t.Errorf("%s: true has a token of %d bytes, false of %d", text, a, b)
		}
	}
}
