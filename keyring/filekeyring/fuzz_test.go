package filekeyring_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

// Whatever stands in the file, reading it is a typed error or a document, and
// never asks for more than the stated bounds.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"format":"fieldcrypt-keyring-file/1","argon2id":{"time":1,"memory_kib":8,"threads":1,"salt":"AAAAAAAAAAAAAAAAAAAAAA=="},"document":"{}"}`))
	f.Add([]byte(`{"format":"fieldcrypt-keyring-file/1","argon2id":{"time":64,"memory_kib":4294967295,"threads":255,"salt":""},"document":""}`))
	f.Add([]byte(`{"format":"fieldcrypt-keyring-file/1","format":""}`))
	f.Add([]byte(`{}`))
	path := filepath.Join(f.TempDir(), "k")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := filekeyring.New(path, filekeyring.Options{})
		if err != nil {
			t.Fatal(err)
		}
		document, version, err := file.Load(ctx)
		if err != nil {
			var e *filekeyring.FileError
			var format *filekeyring.FormatError
			if !errors.As(err, &e) || !errors.As(err, &format) || !errors.Is(err, filekeyring.ErrMalformed) {
				t.Fatalf("not a typed error: %v", err)
			}
			return
		}
		var part struct {
			Format   string
			Document string
			Argon2id struct {
				Time, Threads uint64
				MemoryKiB     uint64 `json:"memory_kib"`
				Salt          []byte
			}
		}
		if err := json.Unmarshal(content, &part); err != nil {
			t.Fatalf("took what is no JSON: %v", err)
		}
		a := part.Argon2id
		if string(document) != part.Document || len(document) == 0 || len(version) != 64 || a.Time < 1 || a.Time > 64 || a.Threads < 1 || a.Threads > 64 ||
			a.MemoryKiB < 8*a.Threads || a.MemoryKiB > 2<<20 || a.Time*a.MemoryKiB > 8<<20 || len(a.Salt) < 16 || len(a.Salt) > 64 {
			t.Fatalf("took %s with %+v", part.Format, a)
		}
		// Saved again without a change it reads the same.
		if err := file.Save(ctx, document, version); err != nil {
			t.Fatal(err)
		}
		again, _, err := file.Load(ctx)
		if err != nil || string(again) != string(document) {
			t.Fatalf("reads back as %q, %v", again, err)
		}
		if _, err := keyring.Open(ctx, "default", file, file, keyring.Options{}); err == nil {
			t.Fatal("opened without a passphrase")
		}
	})
}
