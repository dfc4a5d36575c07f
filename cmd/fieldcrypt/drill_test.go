package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// service is a producer that runs: it seals and writes, on and on.
type service struct {
	t      *testing.T
	ring   *keyring.Keyring
	sealer *envelope.Sealer
	store  outboxstore.Store

	mu      sync.Mutex
	written int
}

func startService(t *testing.T, p *project, ring *keyring.Keyring, store outboxstore.Store) *service {
	t.Helper()
	reg, err := schema.Load(filepath.Join(p.dir, "schemas"))
	if err != nil {
		t.Fatal(err)
	}
	rings, err := keyring.NewSet(ring)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, ring: ring, store: store}
	if s.sealer, err = envelope.NewSealer(reg, rings, envelope.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s.write(ctx)
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return s
}

func (s *service) write(ctx context.Context) {
	n := s.count()
	sealed, err := s.sealer.Seal(ctx, envelope.Event{Type: "invoice.issued", AggregateID: fmt.Sprint(n), Payload: fmt.Appendf(nil, `{"number":%d,"customer":{"name":"Wqxzil Vbkjqp","tax_id":"8675309867"}}`, n)})
	if err == nil {
		_, err = s.store.WriteBatch(ctx, sealed)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.t.Errorf("the producer that runs: %v", err)
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.written++
	}
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// goesOn waits for more events.
func (s *service) goesOn(p *project, when string) {
	s.t.Helper()
	before := s.count()
	p.await("the producer writes "+when, func() (bool, error) { return s.count() >= before+3, nil })
}

// The drill of docs/operations.md: the keyring is lost, a producer goes on, a restore brings it back, everything opens, and the producer takes it.
func TestALostKeyringIsRestoredWhileAProducerGoesOn(t *testing.T) {
	t.Parallel()
	t.Run("in Vault", func(t *testing.T) {
		t.Parallel()
		vault, database := testenv.Vault(t), testenv.Postgres(t)
		p := newProjectOn(t, serverBackend(t, vault, database), time.Second)
		p.mustCall("migrate")
		place := vaultPlace(t, p, vault)
		store, err := postgres.Open(t.Context(), database, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		drill(t, p, place, store, func() { vault.Must(http.MethodDelete, vault.KV+"/metadata/team/default", nil) })
	})
	t.Run("in a file", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, time.Second)
		p.mustCall("migrate")
		path := filepath.Join(p.dir, "keyring.json")
		place, err := filekeyring.New(path, filekeyring.Options{Passphrase: filekeyring.Passphrase([]byte(passphrase))})
		if err != nil {
			t.Fatal(err)
		}
		store, err := sqlite.Open(t.Context(), filepath.Join(p.dir, "outbox.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		drill(t, p, place, store, func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func vaultPlace(t *testing.T, p *project, vault *testenv.VaultServer) *vaultkeyring.Vault {
	t.Helper()
	where, err := vaultkeyring.ParseURL(p.on.names["KEYRING"])
	if err != nil {
		t.Fatal(err)
	}
	place, err := vaultkeyring.New(where, vaultkeyring.Options{Client: testenv.VaultClient(t, vault.Address, vault.RootToken)})
	if err != nil {
		t.Fatal(err)
	}
	return place
}

type keyringPlace interface {
	keyring.Store
	keyring.KEK
}

func drill(t *testing.T, p *project, place keyringPlace, store outboxstore.Store, lose func()) {
	ring, err := keyring.Open(t.Context(), "default", place, place, keyring.Options{RefreshInterval: 100 * time.Millisecond, Memory: store.KeyringMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ring.Close)
	s := startService(t, p, ring, store)
	s.goesOn(p, "at first")

	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(p.dir, "identity")
	if err := os.WriteFile(secret, []byte(identity.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(p.dir, "keyring.age")
	p.mustCall("keys", "backup", "--recipient", identity.Recipient().String(), "--to", backup)
	// The keyring goes on after the backup, and the producer sees it.
	p.mustCall("keys", "add", "--purpose", "index")
	p.await("the producer sees the change", func() (bool, error) { return ring.Revision() == 2, nil })

	lose()
	s.goesOn(p, "without a keyring")
	if r := p.call("verify"); r.code != failure.Broken {
		t.Errorf("verify without a keyring: %+v", r)
	}
	if err := ring.Refresh(t.Context()); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("a refresh without a keyring: %v", err)
	}

	p.mustCall("keys", "restore", "--identity-file", secret, "--yes", backup)
	p.await("the producer takes the restored keyring", func() (bool, error) { return ring.Revision() == 3, nil })
	s.goesOn(p, "with the restored keyring")
	p.mustCall("verify", "--strict")
}

// A replayed old document is refused by a process that runs and by one that starts anew.
func TestAReplayedOldKeyringIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("in Vault", func(t *testing.T) {
		t.Parallel()
		vault, database := testenv.Vault(t), testenv.Postgres(t)
		p := newProjectOn(t, serverBackend(t, vault, database), time.Second)
		place := vaultPlace(t, p, vault)
		old, _, err := place.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.mustCall("migrate")
		replay(t, p, place, func() {
			// vault kv rollback writes an old version anew.
			vault.Must(http.MethodPost, vault.KV+"/data/team/default", testenv.Body{"data": testenv.Body{"document": string(old)}})
		})
	})
	t.Run("in a file", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, time.Second)
		path := filepath.Join(p.dir, "keyring.json")
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p.mustCall("migrate")
		place, err := filekeyring.New(path, filekeyring.Options{Passphrase: filekeyring.Passphrase([]byte(passphrase))})
		if err != nil {
			t.Fatal(err)
		}
		replay(t, p, place, func() {
			if err := os.WriteFile(path, old, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func replay(t *testing.T, p *project, place keyringPlace, rollBack func()) {
	p.mustCall("keys", "add", "--purpose", "seal")
	// What was seen is remembered by the command that opens keyring and outbox.
	if r := p.callWith(oneEvent, "write"); r.code != failure.Done {
		t.Fatalf("%+v", r)
	}
	running, err := keyring.Open(t.Context(), "default", place, place, keyring.Options{RefreshInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Close)
	rollBack()
	var back *keyring.RollbackError
	if err := running.Refresh(t.Context()); !errors.As(err, &back) || back.Seen != 2 || back.Found != 1 {
		t.Errorf("a process that runs: %v", err)
	}
	for _, c := range []asked{{args: []string{"write"}, stdin: oneEvent}, {args: []string{"verify"}}, {args: []string{"rotate"}}, {args: []string{"keys", "list"}}} {
		p.fails(c, loaded, "keyring default: the store went back to revision 1 after 2 was seen", "put the newest document back")
	}
}
