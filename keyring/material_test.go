package keyring

import (
	"bytes"
	"errors"
	"testing"
)

func TestWipingZeroesTheBytesThatWereHeld(t *testing.T) {
	t.Parallel()
	m, err := newMaterial(bytes.Repeat([]byte{7}, keyBytes))
	if err != nil {
		t.Fatal(err)
	}
	held := m.prk
	if bytes.Count(held, []byte{0}) == len(held) {
		t.Fatal("the extract is zero from the start")
	}
	first, second := errors.New("first"), errors.New("second")
	m.wipe(first)
	m.wipe(second)
	if !bytes.Equal(held, make([]byte, len(held))) {
		t.Fatalf("still holds %d bytes that are not zero", len(held)-bytes.Count(held, []byte{0}))
	}
	if _, err := m.derive(nil); !errors.Is(err, first) {
		t.Fatalf("got %v, want the first reason", err)
	}
}

func TestSecretsAreZeroedByWipe(t *testing.T) {
	t.Parallel()
	b := bytes.Repeat([]byte{7}, keyBytes)
	secrets{1: b}.wipe()
	if !bytes.Equal(b, make([]byte, keyBytes)) {
		t.Fatal("still holds bytes")
	}
}
