package blindindex_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func TestAppendMessageGivesWhatMessagesGives(t *testing.T) {
	t.Parallel()
	steps := [][]string{nil, {"trim"}, {"casefold"}, {"casefold-tr"}, {"nfkc", "casefold"}, {"trim", "nfkc", "casefold", "digits"}, {"digits"},
		{"email"}, {"alnum"}, {"alnum", "casefold"}, {"last4"}, {"digits", "last4"}, {"email", "last4", "alnum"}, {"phone(TR)"}, {"casefold", "argon2id(1,1024)"}}
	taken := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		ix, err := blindindex.New("x", rapid.SampledFrom(steps).Draw(t, "steps"), 0)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) string {
				s := rapid.StringOfN(rapid.RuneFrom([]rune(" \t\"\\/AIZaiz09@.-~\x7f"+"ıİß\u00a0\u0665é")), 0, 20, -1).Draw(t, "string")
				encoded, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				return string(encoded)
			}),
			rapid.StringMatching(`"[ -!#-\[\]-~]{0,30}"`),
			rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][+-]?[0-9])?`),
			rapid.SampledFrom([]string{"null", "true", "false", "[]", "{}", `["a"]`, "-0", "0", "-1", `""`, `" "`, strings.Repeat("7", 1000), strings.Repeat("7", 1001)}),
		).Draw(t, "text")
		want, err := ix.Messages([]byte(text))
		got, done := ix.AppendMessage([]byte("before"), []byte(text))
		taken[done]++
		if !bytes.HasPrefix(got, []byte("before")) || !done && len(got) != len("before") {
			t.Fatalf("%s: %q, %v", text, got, done)
		}
		got = got[len("before"):]
		switch {
		case !done:
		case err != nil:
			t.Fatalf("%s: %q where Messages refuses: %v", text, got, err)
		case len(want) == 0 && len(got) > 0, len(want) == 1 && !bytes.Equal(got, want[0]), len(want) > 1:
			t.Fatalf("%s: %q, want %q", text, got, want)
		}
	})
	if taken[true] < 20 || taken[false] < 20 {
		t.Errorf("short and long way were taken %v times", taken)
	}
}

func TestAppendMessageLeavesNothingOfWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	ix, err := blindindex.New("x", []string{"casefold-tr"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, 64)
	if _, done := ix.AppendMessage(memory[:0], []byte(`"ISTANBUL"`)); done {
		t.Fatal("taken")
	}
	if bytes.Contains(memory, []byte("STANBUL")) {
		t.Errorf("%q", memory)
	}
	if ix, err = blindindex.New("x", []string{"digits"}, 0); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{`"ISTANBUL 34"`: "s34", `"ISTANBUL"`: ""} {
		memory := make([]byte, 64)
		out, done := ix.AppendMessage(memory[:0], []byte(text))
		if !done || string(out) != want || bytes.Contains(memory, []byte("STANBUL")) {
			t.Errorf("%s: %q, %v, in %q", text, out, done, memory)
		}
	}
}

func TestAppendValueAppendsWhatValueGives(t *testing.T) {
	t.Parallel()
	ring := keyringtest.New(t)
	key, err := ring.Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	for _, bits := range []int{8, 9, 127, 128, 256} {
		ix, err := blindindex.New("x", nil, bits)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ix.Value(key, []byte("smessage"))
		if err != nil {
			t.Fatal(err)
		}
		for _, room := range []int{0, 100} {
			got, err := ix.AppendValue(append(make([]byte, 0, room), "ab"...), key, []byte("smessage"))
			if err != nil || string(got) != "ab"+string(want) {
				t.Errorf("%d bits: %x, want %x (%v)", bits, got, want, err)
			}
		}
	}
}
