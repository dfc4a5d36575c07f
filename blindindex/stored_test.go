package blindindex

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTextOfAStoredValue(t *testing.T) {
	t.Parallel()
	stored := []byte{0x0f, 0x3a, 0x9c, 0x01, 0xff, 0xfe}
	const text = "bi1:0f3a9c01:__4"
	if got := Text(stored); got != text {
		t.Errorf("got %s", got)
	}
	parsed, err := ParseText(text)
	if err != nil || !bytes.Equal(parsed, stored) {
		t.Errorf("%x, %v", parsed, err)
	}
	kid, err := KeyID(stored)
	if err != nil || kid != 0x0f3a9c01 {
		t.Errorf("%v, %v", kid, err)
	}
}

func TestEveryStoredValueHasOneText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stored := rapid.SliceOfN(rapid.Byte(), minStored, maxStored).Draw(t, "stored")
		parsed, err := ParseText(Text(stored))
		if err != nil || !bytes.Equal(parsed, stored) {
			t.Fatalf("%x: %x, %v", stored, parsed, err)
		}
	})
}

func TestWhatIsNoStoredValueIsRefused(t *testing.T) {
	t.Parallel()
	for _, stored := range [][]byte{nil, {}, {1, 2, 3, 4}, make([]byte, 37), make([]byte, 1000)} {
		var storedError *StoredError
		if _, err := KeyID(stored); !errors.As(err, &storedError) {
			t.Errorf("%d bytes: %v", len(stored), err)
		}
		if text := Text(stored); text != "" {
			t.Errorf("%d bytes have the text %q", len(stored), text)
		}
	}
}

// What an index computes has its form, and with one bit more, less, or set behind the last has not.
func TestOnlyTheFormOfAnIndexIsItsForm(t *testing.T) {
	t.Parallel()
	for bits := MinBits; bits <= MaxBits; bits++ {
		stored := truncate(bytes.Repeat([]byte{0xff}, maxStored), bits)
		if err := CheckStored(stored, bits); err != nil {
			t.Errorf("%d bits: %v", bits, err)
		}
		wrong := map[string][]byte{
			"a byte less": stored[:len(stored)-1], "a byte more": append(bytes.Clone(stored), 0), "no key": append(make([]byte, kidSize), stored[kidSize:]...), "nothing": nil,
		}
		for over := range (8 - bits%8) % 8 {
			set := bytes.Clone(stored)
			set[len(set)-1] |= 1 << over
			wrong[fmt.Sprint("bit ", over)] = set
		}
		for what, stored := range wrong {
			if err := CheckStored(stored, bits); !errors.As(err, new(*StoredError)) {
				t.Errorf("%d bits, %s: %v", bits, what, err)
			}
		}
	}
}

func TestOtherTextsAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":                       "",
		"another prefix":                "bi2:0f3a9c01:__4",
		"an upper-case prefix":          "BI1:0f3a9c01:__4",
		"white space in front":          " bi1:0f3a9c01:__4",
		"an upper-case key id":          "bi1:0F3A9C01:__4",
		"a short key id":                "bi1:f3a9c01:__4",
		"a long key id":                 "bi1:00f3a9c01:__4",
		"a key id that is not hex":      "bi1:0f3a9c0g:__4",
		"a signed key id":               "bi1:+f3a9c01:__4",
		"no value":                      "bi1:0f3a9c01:",
		"no colon":                      "bi1:0f3a9c01__4",
		"a newline at the end":          "bi1:0f3a9c01:__4\n",
		"a newline in the value":        "bi1:0f3a9c01:_\n_4",
		"a carriage return":             "bi1:0f3a9c01:_\r_4",
		"padding":                       "bi1:0f3a9c01:__4=",
		"the other alphabet":            "bi1:0f3a9c01://4",
		"unused bits that are not zero": "bi1:0f3a9c01:__5",
		"a length no value has":         "bi1:0f3a9c01:__4AA",
		"a value of 33 bytes":           "bi1:0f3a9c01:" + strings.Repeat("A", 44),
		"a third colon":                 "bi1:0f3a9c01:__4:",
		"a non-ASCII byte":              "bi1:0f3a9c01:__4\u00e9",
	} {
		stored, err := ParseText(text)
		var storedError *StoredError
		if stored != nil || !errors.As(err, &storedError) {
			t.Errorf("%s: %x, %v", name, stored, err)
		}
	}
}

// FuzzParseText: what is accepted is exactly what Text writes.
func FuzzParseText(f *testing.F) {
	for _, seed := range []string{"", "bi1:0f3a9c01:__4", "bi1:0f3a9c01:__5", "bi1:0f3a9c01:_\n_4", "bi1:0F3A9C01:AA", "bi1:00000000:AA", "bi1:0f3a9c01:" + strings.Repeat("A", 43)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stored, err := ParseText(text)
		if err != nil {
			var storedError *StoredError
			if stored != nil || !errors.As(err, &storedError) {
				t.Fatalf("%q: %x, %v", text, stored, err)
			}
			return
		}
		if again := Text(stored); again != text {
			t.Fatalf("%q is read and written %q", text, again)
		}
	})
}
