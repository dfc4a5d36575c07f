// Package shop sets up what the example programs find in a real deployment: a keyring file under a passphrase, a migrated
// SQLite database, and the schemas. It is for their tests.
package shop

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Shop is one deployment, which ends with its test.
type Shop struct {
	// Schemas, Keyring, PassphraseFile and Outbox are what the programs' settings take.
	Schemas, Keyring, PassphraseFile, Outbox string

	// Store is the outbox.
	Store *sqlite.Store
	// Manager changes the keyring.
	Manager *keyring.Manager

	file     *filekeyring.File
	registry *schema.Registry
}

// New makes a shop in a directory of the test.
func New(t *testing.T) *Shop {
	t.Helper()
	dir := t.TempDir()
	s := &Shop{
		Schemas:        filepath.Join(examples(t), "schemas"),
		Keyring:        filepath.Join(dir, "default.keyring"),
		PassphraseFile: filepath.Join(dir, "passphrase"),
		Outbox:         "sqlite:" + filepath.Join(dir, "shop.db"),
	}
	if err := os.WriteFile(s.PassphraseFile, []byte(rand.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.file, err = filekeyring.New(s.Keyring, filekeyring.Options{
		Argon2id:   filekeyring.Argon2id{MemoryKiB: 64, Threads: 1, Time: 1}, // fast: it protects nothing
		Passphrase: filekeyring.PassphraseFile(s.PassphraseFile),
	}); err != nil {
		t.Fatal(err)
	}
	if s.Manager, err = keyring.NewManager("default", s.file, s.file, keyring.ManagerOptions{Actor: "shop"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Manager.Create(t.Context(), keyring.CreateOptions{Propagation: -1}); err != nil {
		t.Fatal(err)
	}
	if s.registry, err = schema.Load(s.Schemas); err != nil {
		t.Fatal(err)
	}
	if s.Store, err = sqlite.Open(t.Context(), s.Outbox, sqlite.Options{Create: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Store.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Store.Migrate(t.Context(), s.registry.Indexes()); err != nil {
		t.Fatal(err)
	}
	return s
}

// examples is the directory of the example programs.
func examples(t *testing.T) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no caller")
	}
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Seal seals an event under the keyring as it is now.
func (s *Shop) Seal(t *testing.T, e envelope.Event) envelope.Sealed {
	t.Helper()
	ring, err := keyring.Open(t.Context(), "default", s.file, s.file, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	rings, err := keyring.NewSet(ring)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := envelope.NewSealer(s.registry, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealer.Seal(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// Write seals invoices and writes their events.
func (s *Shop) Write(t *testing.T, invoices ...string) {
	t.Helper()
	for _, text := range invoices {
		e := envelope.Event{Type: "invoice.issued", AggregateID: "invoice", Payload: []byte(text)}
		if _, err := s.Store.WriteBatch(t.Context(), s.Seal(t, e)); err != nil {
			t.Fatal(err)
		}
	}
}

// Count counts the rows of a query.
func (s *Shop) Count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	if err := s.Store.DB().QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Exec changes the database behind everybody's back.
func (s *Shop) Exec(t *testing.T, query string, args ...any) sql.Result {
	t.Helper()
	result, err := s.Store.DB().ExecContext(context.WithoutCancel(t.Context()), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}
