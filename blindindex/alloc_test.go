//go:build !race

package blindindex_test

import (
	"testing"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// Not parallel, and not under -race: allocations are counted over the whole process, and the race detector drops what pools keep.
func TestNothingIsAllocatedForAPlainValue(t *testing.T) {
	key, err := keyringtest.New(t).Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	ix, err := blindindex.New("x", []string{"trim", "casefold"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, memory := []byte(`"Ada.Lovelace@example.org"`), make([]byte, 0, 256)
	if n := testing.AllocsPerRun(1000, func() {
		message, done := ix.AppendMessage(memory, text)
		if !done {
			t.Fatal("the long way")
		}
		if _, err := ix.AppendValue(message[len(message):], key, message); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}
