package keyringtest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Options for New and NewRing. The zero value is useful.
type Options struct {
	// Keys are the keyring's keys; one key of each purpose must be primary.
	// Defaults to one random primary key of each purpose.
	Keys []Key
	// Logger is the keyring's logger. Defaults to one that discards.
	Logger *slog.Logger
	// Name is the keyring's name. Defaults to "default".
	Name string
	// Now is the clock of the keyring and of its life cycle. Defaults to
	// time.Now.
	Now func() time.Time
}

// New opens a keyring in memory and closes it with the test. It takes at most
// one Options.
func New(t testing.TB, opts ...Options) *keyring.Keyring {
	t.Helper()
	switch len(opts) {
	case 0:
		return NewRing(t, Options{}).Keyring
	case 1:
		return NewRing(t, opts[0]).Keyring
	default:
		t.Fatal("keyringtest.New takes at most one Options")
		return nil
	}
}

// NewSet opens one keyring in memory for each name, "default" if there is none.
func NewSet(t testing.TB, names ...string) *keyring.Set {
	t.Helper()
	if len(names) == 0 {
		names = []string{""}
	}
	var rings []*keyring.Keyring
	for _, name := range names {
		rings = append(rings, New(t, Options{Name: name}))
	}
	set, err := keyring.NewSet(rings...)
	if err != nil {
		t.Fatalf("making a set of keyrings: %v", err)
	}
	return set
}

// Ring is a keyring in memory with its store, its KEK and its life cycle.
// Changes are stored at once, and loaded by Refresh, as by another process.
type Ring struct {
	// Keyring is the loaded keyring.
	Keyring *keyring.Keyring
	// Manager changes the stored one.
	Manager *keyring.Manager
	Store   *Store
	KEK     *KEK

	t    testing.TB
	opts Options
}

// NewRing makes a keyring in memory and closes it with the test.
func NewRing(t testing.TB, opts Options) *Ring {
	t.Helper()
	if opts.Name == "" {
		opts.Name = "default"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Keys == nil {
		opts.Keys = []Key{NewKey(keyring.Seal, keyring.Primary), NewKey(keyring.Index, keyring.Primary)}
	}
	kek, err := NewKEK()
	if err != nil {
		t.Fatalf("making a key-encryption key: %v", err)
	}
	r := &Ring{Store: &Store{}, KEK: kek, t: t, opts: opts}
	doc, err := NewDocument(opts.Name, kek.URI(), opts.Now(), opts.Keys)
	if err != nil {
		t.Fatalf("making a keyring document: %v", err)
	}
	r.Put(doc)
	r.Manager, err = keyring.NewManager(opts.Name, r.Store, kek, keyring.ManagerOptions{Actor: author, Logger: opts.Logger, Now: opts.Now})
	if err != nil {
		t.Fatalf("making a manager of keyring %s: %v", opts.Name, err)
	}
	r.Keyring = r.Open()
	return r
}

// NewKey makes a key with random bytes and a random id.
func NewKey(p keyring.Purpose, s keyring.State) Key {
	k := Key{Purpose: p, State: s}
	rand.Read(k.Bytes[:])
	for k.ID == 0 {
		var id [4]byte
		rand.Read(id[:])
		k.ID = keyring.KeyID(binary.BigEndian.Uint32(id[:]))
	}
	return k
}

// Open loads the stored keyring once more, as another process would, and closes
// it with the test.
func (r *Ring) Open() *keyring.Keyring {
	r.t.Helper()
	k, err := keyring.Open(context.Background(), r.opts.Name, r.Store, r.KEK, keyring.Options{Logger: r.opts.Logger, Now: r.opts.Now})
	if err != nil {
		r.t.Fatalf("opening keyring %s: %v", r.opts.Name, err)
	}
	r.t.Cleanup(k.Close)
	return k
}

// Refresh makes Keyring load what is stored.
func (r *Ring) Refresh() {
	r.t.Helper()
	if err := r.Keyring.Refresh(context.Background()); err != nil {
		r.t.Fatalf("refreshing keyring %s: %v", r.opts.Name, err)
	}
}

// Stage stores a new staged key.
func (r *Ring) Stage(p keyring.Purpose) keyring.KeyID {
	r.t.Helper()
	c, err := r.Manager.Stage(context.Background(), p, keyring.StageOptions{})
	if err != nil {
		r.t.Fatalf("staging a %s key: %v", p, err)
	}
	return c.Key.ID
}

// Promote stores the key that was staged first as the primary, without waiting.
func (r *Ring) Promote(p keyring.Purpose) keyring.KeyID {
	r.t.Helper()
	c, err := r.Manager.Promote(context.Background(), p, keyring.PromoteOptions{SkipWait: true})
	if err != nil {
		r.t.Fatalf("promoting a %s key: %v", p, err)
	}
	return c.Key.ID
}

// Rotate stages a key, promotes it and loads it.
func (r *Ring) Rotate(p keyring.Purpose) keyring.KeyID {
	r.t.Helper()
	id := r.Stage(p)
	r.Promote(p)
	r.Refresh()
	return id
}

// SetState stores a key in a state, also in one that the life cycle does not
// lead to from here, such as disabled or destroyed.
func (r *Ring) SetState(p keyring.Purpose, id keyring.KeyID, s keyring.State) {
	r.t.Helper()
	doc := r.Document()
	doc.Clear.Revision++
	if err := doc.SetState(p, id, s, r.opts.Now()); err != nil {
		r.t.Fatalf("setting the state of a key: %v", err)
	}
	r.Put(doc)
}

// Document reads the stored document for editing.
func (r *Ring) Document() *Document {
	r.t.Helper()
	raw, _, err := r.Store.Load(context.Background())
	if err != nil {
		r.t.Fatalf("loading keyring %s: %v", r.opts.Name, err)
	}
	doc, err := OpenDocument(raw, r.KEK)
	if err != nil {
		r.t.Fatalf("opening the document of keyring %s: %v", r.opts.Name, err)
	}
	return doc
}

// Put seals and stores a document, whatever it holds.
func (r *Ring) Put(doc *Document) {
	r.t.Helper()
	raw, err := doc.Seal(r.KEK)
	if err != nil {
		r.t.Fatalf("sealing the document of keyring %s: %v", r.opts.Name, err)
	}
	r.Store.Put(raw)
}
