package keyring

import (
	"bytes"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"
)

func TestAssociatedDataKnownAnswer(t *testing.T) {
	t.Parallel()
	// Written by hand from the format: LP(label) ‖ LP(purpose) ‖ LP(name) ‖
	// uint64(revision) ‖ LP(SHA-256("abc")), the last from FIPS 180-2, B.1.
	const want = "00000015" + "6669656c6463727970742f76312f6b657972696e67" +
		"00000005" + "696e646578" +
		"00000003" + "612d31" +
		"0000000100000002" +
		"00000020" + "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	got := hex.EncodeToString(associatedData(Index, "a-1", 1<<32|2, "abc"))
	if got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestAssociatedDataIsInjective(t *testing.T) {
	t.Parallel()
	type tuple struct {
		purpose  Purpose
		name     string
		revision uint64
		clear    string
	}
	// A small alphabet, and lengths as bytes, so that shifted borders collide if
	// they can.
	text := rapid.StringOf(rapid.SampledFrom([]rune{'a', 'b', 0, 1, 4}))
	gen := rapid.Custom(func(t *rapid.T) tuple {
		return tuple{Purpose(text.Draw(t, "purpose")), text.Draw(t, "name"), rapid.Uint64Range(0, 3).Draw(t, "revision"), text.Draw(t, "clear")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		same := bytes.Equal(associatedData(a.purpose, a.name, a.revision, a.clear), associatedData(b.purpose, b.name, b.revision, b.clear))
		if same != (a == b) {
			t.Fatalf("%+v and %+v: equal encodings: %v", a, b, same)
		}
	})
}
