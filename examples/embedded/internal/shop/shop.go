// Package shop sets up what the example programs work with: a project as `fieldcrypt init` makes it, with its schema, a
// keyring file under a passphrase and a migrated SQLite database. It is for their tests.
package shop

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
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

// Shop is one project, which ends with its test.
type Shop struct {
	// Dir is the project's directory.
	Dir string
	// Store is its outbox.
	Store *sqlite.Store
	// Manager changes its keyring.
	Manager *keyring.Manager

	file     *filekeyring.File
	registry *schema.Registry
}

// New makes a shop in a directory of the test.
func New(t *testing.T) *Shop {
	t.Helper()
	s := &Shop{Dir: t.TempDir()}
	schemas := filepath.Join(s.Dir, "schemas")
	if err := os.CopyFS(schemas, os.DirFS(initSchemas(t))); err != nil {
		t.Fatal(err)
	}
	passphrase := filepath.Join(s.Dir, "passphrase")
	if err := os.WriteFile(passphrase, []byte(rand.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.file, err = filekeyring.New(filepath.Join(s.Dir, "keyring.json"), filekeyring.Options{
		Argon2id:   filekeyring.Argon2id{MemoryKiB: 64, Threads: 1, Time: 1}, // fast: it protects nothing
		Passphrase: filekeyring.PassphraseFile(passphrase),
	}); err != nil {
		t.Fatal(err)
	}
	if s.Manager, err = keyring.NewManager("default", s.file, s.file, keyring.ManagerOptions{Actor: "shop"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Manager.Create(t.Context(), keyring.CreateOptions{Propagation: -1}); err != nil {
		t.Fatal(err)
	}
	if s.registry, err = schema.Load(schemas); err != nil {
		t.Fatal(err)
	}
	if s.Store, err = sqlite.Open(t.Context(), filepath.Join(s.Dir, "outbox.db"), sqlite.Options{Create: true}); err != nil {
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

// initSchemas is the directory of the schemas that `fieldcrypt init` writes.
func initSchemas(t *testing.T) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no caller")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "..", "cmd", "fieldcrypt", "internal", "initialize", "example", "schemas")
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

// Invoice is the payload of an invoice. Its total is 120.50.
func Invoice(number, name, email, taxID string) string {
	return fmt.Sprintf(`{"number":%q,"issued_on":"2026-11-30","customer":{"name":%q,"email":%q,"tax_id":%q},"lines":[{"text":"Support plan","quantity":1,"price":120.50}],"total":120.50}`,
		number, name, email, taxID)
}

// Ada is Ada Lovelace's invoice, and Grace is Grace Hopper's.
func Ada() string   { return Invoice("2026-2001", "Ada Lovelace", "ada@example.com", "1112223334") }
func Grace() string { return Invoice("2026-2002", "Grace Hopper", "grace@example.com", "4445556667") }

// Write seals invoices and writes their events.
func (s *Shop) Write(t *testing.T, invoices ...string) {
	t.Helper()
	for _, text := range invoices {
		e := envelope.Event{Type: "invoice.issued", AggregateID: "an invoice", Payload: []byte(text)}
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
