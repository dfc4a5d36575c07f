package backendtest_test

import (
	"path/filepath"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/backendtest"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func TestMemoryPasses(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t testing.TB) backendtest.Backend {
		kek, err := keyringtest.NewKEK()
		if err != nil {
			t.Fatal(err)
		}
		store := &keyringtest.Store{}
		return backendtest.Backend{Open: func(testing.TB) (keyring.Store, keyring.KEK) { return store, kek }}
	})
}

func TestFilePasses(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t testing.TB) backendtest.Backend {
		path := filepath.Join(t.TempDir(), "default.keyring")
		return backendtest.Backend{Open: func(t testing.TB) (keyring.Store, keyring.KEK) {
			file, err := filekeyring.New(path, filekeyring.Options{
				// The least that is allowed: many are derived here.
				Argon2id:   filekeyring.Argon2id{Time: 1, MemoryKiB: 8 << 10, Threads: 1},
				Passphrase: filekeyring.Passphrase([]byte("a passphrase for tests")),
			})
			if err != nil {
				t.Fatal(err)
			}
			return file, file
		}}
	})
}
