package vaultkeyring_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// place is where a keyring is, and what seals it there.
type place interface {
	keyring.Store
	keyring.KEK
	keyring.KEKFounder
}

var errKilled = errors.New("killed")

// life is how many calls a process makes to both places before it is killed: before the next one, or before the answer to its last.
type life struct {
	left  int
	after bool
}

func (l *life) call(do func() error) error {
	l.left--
	if l.left < 0 || l.left == 0 && !l.after {
		return errKilled
	}
	err := do()
	if l.left == 0 {
		return errKilled
	}
	return err
}

// mortal is a place as one process sees it.
type mortal struct {
	place
	*life
}

func (m mortal) Load(ctx context.Context) (document []byte, version string, err error) {
	dead := m.call(func() error { document, version, err = m.place.Load(ctx); return nil })
	return document, version, errors.Join(dead, err)
}

func (m mortal) Save(ctx context.Context, document []byte, version string) error {
	return m.call(func() error { return m.place.Save(ctx, document, version) })
}

func (m mortal) EncryptWithContext(ctx context.Context, pt, ad []byte) (ct []byte, err error) {
	dead := m.call(func() error { ct, err = m.place.EncryptWithContext(ctx, pt, ad); return nil })
	return ct, errors.Join(dead, err)
}

func (m mortal) DecryptWithContext(ctx context.Context, ct, ad []byte) (pt []byte, err error) {
	dead := m.call(func() error { pt, err = m.place.DecryptWithContext(ctx, ct, ad); return nil })
	return pt, errors.Join(dead, err)
}

// inVault makes no KEK: a Transit key is there.
type inVault struct{ *vaultkeyring.Vault }

func (inVault) Found([]byte) {}

// fingerprint is what a place's primary keys derive, and the revision.
func fingerprint(t *testing.T, p place) string {
	t.Helper()
	ring, err := keyring.Open(t.Context(), ringName, p, p, keyring.Options{RefreshInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	text := ""
	for _, purpose := range keyring.Purposes() {
		key, err := ring.Primary(purpose)
		if err != nil {
			t.Fatal(err)
		}
		derived, err := key.Derive([]byte("a test"))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %x ", key.ID(), derived)
	}
	return text
}

func managerAt(t *testing.T, p place) *keyring.Manager {
	t.Helper()
	m, err := keyring.NewManager(ringName, p, p, keyring.ManagerOptions{Actor: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A move is killed at each of its calls to either place. The old place opens at every moment; the same command again does what is left to do, and the move can
// be taken back for as long as the new place is empty.
func TestAMoveThatIsKilledAtAnyCallIsEndedOrTakenBack(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	// A place is named, and opened anew by each process.
	file := func(name string) place {
		f, err := filekeyring.New(filepath.Join(t.TempDir(), name), filekeyring.Options{
			Argon2id: filekeyring.Argon2id{Time: 1, MemoryKiB: 8, Threads: 1}, Passphrase: filekeyring.Passphrase([]byte("hunter2hunter2")),
		})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	again := func(p place) place {
		if f, ok := p.(*filekeyring.File); ok {
			anew, err := filekeyring.New(f.Path(), filekeyring.Options{
				Argon2id: filekeyring.Argon2id{Time: 1, MemoryKiB: 8, Threads: 1}, Passphrase: filekeyring.Passphrase([]byte("hunter2hunter2")),
			})
			if err != nil {
				t.Fatal(err)
			}
			return anew
		}
		return p
	}
	client := newClient(t, v.Address, v.RootToken)
	vault := func(name string) place {
		l := location(v)
		l.Path = "moves/" + name
		p, err := vaultkeyring.New(l, vaultkeyring.Options{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		return inVault{p}
	}
	for _, direction := range []struct {
		name     string
		from, to func(string) place
	}{{"file to vault", file, vault}, {"vault to file", vault, file}} {
		frozen, finished := 0, 0
		for _, after := range []bool{false, true} {
			for calls := 1; ; calls++ {
				name := fmt.Sprintf("%s, killed at call %d, its answer lost: %t", direction.name, calls, after)
				id := fmt.Sprintf("%d-%d-%t", len(direction.name)+int(direction.name[0]), calls, after)
				from, to := direction.from("from-"+id), direction.to("to-"+id)
				if _, err := managerAt(t, from).Create(t.Context(), keyring.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				want := fingerprint(t, again(from))
				process := &life{left: calls, after: after}
				_, err := managerAt(t, mortal{again(from), process}).Move(t.Context(), managerAt(t, mortal{again(to), process}))
				if err == nil {
					break // it was over before
				}
				if !errors.Is(err, errKilled) {
					t.Fatalf("%s: %v", name, err)
				}
				if got := fingerprint(t, again(from)); got != want {
					t.Fatalf("%s: the old place opens to %s, want %s", name, got, want)
				}
				_, _, err = again(to).Load(t.Context())
				empty := errors.Is(err, keyring.ErrNotFound)
				old, err := managerAt(t, again(from)).Describe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if old.Revision() == 2 && empty {
					frozen++
				}
				if !empty {
					finished++
					if _, err := managerAt(t, again(from)).CancelMove(t.Context(), managerAt(t, again(to))); !errors.Is(err, keyring.ErrExists) {
						t.Errorf("%s: taking back what is done: %v", name, err)
					}
				} else if calls%2 == 0 { // taken back, and begun once more
					if _, err := managerAt(t, again(from)).CancelMove(t.Context(), managerAt(t, again(to))); err != nil {
						t.Errorf("%s: taking it back: %v", name, err)
					}
					if _, err := managerAt(t, again(from)).Stage(t.Context(), keyring.Seal, keyring.StageOptions{}); err != nil {
						t.Errorf("%s: a change after it was taken back: %v", name, err)
					}
				}
				if old, err := managerAt(t, again(from)).Describe(t.Context()); err != nil || old.MovedTo() != "" {
					var elsewhere *keyring.MovedError
					if _, err := managerAt(t, again(from)).Move(t.Context(), managerAt(t, file("third-"+id))); !errors.As(err, &elsewhere) {
						t.Errorf("%s: to a third place: %v", name, err)
					}
				}
				for range 2 { // and once more, in vain
					if _, err := managerAt(t, again(from)).Move(t.Context(), managerAt(t, again(to))); err != nil {
						t.Fatalf("%s: run again: %v", name, err)
					}
				}
				if got := fingerprint(t, again(to)); got != want {
					t.Errorf("%s: the new place opens to %s, want %s", name, got, want)
				}
				var moved *keyring.MovedError
				if _, err := managerAt(t, again(from)).Stage(t.Context(), keyring.Seal, keyring.StageOptions{}); !errors.As(err, &moved) {
					t.Errorf("%s: a change at the old place: %v", name, err)
				}
			}
		}
		if frozen < 4 || finished < 1 {
			t.Errorf("%s: %d runs were killed between freezing and copying, %d after copying", direction.name, frozen, finished)
		}
	}
}
