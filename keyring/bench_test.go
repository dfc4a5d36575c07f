package keyring_test

import (
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func BenchmarkDerive(b *testing.B) {
	key, err := keyringtest.New(b).Primary(keyring.Seal)
	if err != nil {
		b.Fatal(err)
	}
	info := make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := key.Derive(info); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	ring := keyringtest.New(b)
	key, err := ring.Primary(keyring.Seal)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ring.Key(ctx, keyring.Seal, key.ID()); err != nil {
			b.Fatal(err)
		}
	}
}
