// Package backendtest is the conformance suite of the places where a keyring
// can be kept: whatever is a [keyring.Store] and a [keyring.KEK] passes it.
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, func(t testing.TB) backendtest.Backend { … })
//	}
package backendtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Backend is one empty place for a keyring.
type Backend struct {
	// Open returns a store and a KEK over the place, as a process of its own
	// would have them: nothing is shared with what another call returned.
	Open func(t testing.TB) (keyring.Store, keyring.KEK)
}

// Make makes an empty place that no other test uses.
type Make func(t testing.TB) Backend

const name = "default"

// Run runs the suite.
func Run(t *testing.T, open Make) {
	for title, law := range map[string]func(*testing.T, Backend){
		"an empty place is not found":                             emptyIsNotFound,
		"what was saved is loaded byte for byte, elsewhere too":   savedIsLoaded,
		"an empty version saves only where nothing is":            emptyVersionOnlyOnce,
		"a version that was replaced saves nothing":               staleVersionLoses,
		"of many savers of one version one wins":                  oneOfManySaversWins,
		"of many creators one wins":                               oneOfManyCreatorsWins,
		"of many rotators each change is kept or refused":         rotatorsLoseNothing,
		"the KEK opens what it sealed, and never the same twice":  kekRoundTrip,
		"the KEK binds the associated data and every byte":        kekBinds,
		"a keyring lives: create, open, stage, promote, refresh":  life,
		"the KEK's URI stays, fits into a document, and is clean": uriStays,
		"a context that has ended ends a call":                    endedContext,
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			law(t, open(t))
		})
	}
}

func emptyIsNotFound(t *testing.T, b Backend) {
	store, _ := b.Open(t)
	document, version, err := store.Load(t.Context())
	if !errors.Is(err, keyring.ErrNotFound) || document != nil || version != "" {
		t.Errorf("got %d bytes, version %q, %v; want keyring.ErrNotFound alone", len(document), version, err)
	}
}

func savedIsLoaded(t *testing.T, b Backend) {
	writer, kek := b.Open(t)
	kek.URI() // a file chooses its salt here
	for _, document := range []string{
		`{}`,
		`{"clear":"{\"name\":\"İı\\u0000 \\ud83d\\ude00\"}","n":1.10,"b":2,"a":1} `,
		"{\"long\":\"" + strings.Repeat("0123456789abcdef", 16<<10) + "\"}",
	} {
		_, version, err := writer.Load(t.Context())
		if err != nil && !errors.Is(err, keyring.ErrNotFound) {
			t.Fatal(err)
		}
		if err := writer.Save(t.Context(), []byte(document), version); err != nil {
			t.Fatal(err)
		}
		reader, _ := b.Open(t)
		for what, store := range map[string]keyring.Store{"the writer": writer, "another": reader} {
			got, version, err := store.Load(t.Context())
			if err != nil || string(got) != document || version == "" {
				t.Errorf("%s loads %d bytes, version %q, %v; want the %d that were saved", what, len(got), version, err, len(document))
			}
		}
	}
}

func emptyVersionOnlyOnce(t *testing.T, b Backend) {
	store, _ := b.Open(t)
	save(t, store, "{}", "")
	if err := store.Save(t.Context(), []byte(`{"second":true}`), ""); !errors.Is(err, keyring.ErrChanged) {
		t.Errorf("saving over a document that is there: %v, want keyring.ErrChanged", err)
	}
	expect(t, store, "{}")
}

func staleVersionLoses(t *testing.T, b Backend) {
	store, _ := b.Open(t)
	save(t, store, `{"n":1}`, "")
	first := expect(t, store, `{"n":1}`)
	save(t, store, `{"n":2}`, first)
	if err := store.Save(t.Context(), []byte(`{"n":3}`), first); !errors.Is(err, keyring.ErrChanged) {
		t.Errorf("saving over a newer document: %v, want keyring.ErrChanged", err)
	}
	second := expect(t, store, `{"n":2}`)
	if first == second {
		t.Errorf("both documents have the version %q", first)
	}
	save(t, store, `{"n":1}`, second) // the same bytes as at first
	if err := store.Save(t.Context(), []byte(`{"n":4}`), second); !errors.Is(err, keyring.ErrChanged) {
		t.Errorf("saving over a newer document: %v, want keyring.ErrChanged", err)
	}
	expect(t, store, `{"n":1}`)
}

// crowd is how many try the same at once.
const crowd = 8

func oneOfManySaversWins(t *testing.T, b Backend) {
	first, _ := b.Open(t)
	save(t, first, "{}", "")
	version := expect(t, first, "{}")
	errs := atOnce(t, b, func(i int, store keyring.Store, _ keyring.KEK) error {
		// Each must know the place as it stands.
		if _, _, err := store.Load(t.Context()); err != nil {
			return err
		}
		return store.Save(t.Context(), fmt.Appendf(nil, `{"n":%d}`, i), version)
	})
	winner := onlyWinner(t, errs, keyring.ErrChanged)
	expect(t, first, fmt.Sprintf(`{"n":%d}`, winner))
}

func oneOfManyCreatorsWins(t *testing.T, b Backend) {
	errs := atOnce(t, b, func(i int, store keyring.Store, kek keyring.KEK) error {
		_, err := manager(t, store, kek, i).Create(t.Context(), keyring.CreateOptions{})
		return err
	})
	winner := onlyWinner(t, errs, keyring.ErrExists)
	store, kek := b.Open(t)
	d, err := manager(t, store, kek, 0).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range d.Keys() {
		if k.Author != actor(winner) {
			t.Errorf("key %s is of %s, want all of %s", k.ID, k.Author, actor(winner))
		}
	}
}

// rotatorsLoseNothing lets every rotator stage keys until it was first once.
func rotatorsLoseNothing(t *testing.T, b Backend) {
	store, kek := b.Open(t)
	if _, err := manager(t, store, kek, crowd).Create(t.Context(), keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	staged := make([]keyring.KeyID, crowd)
	errs := atOnce(t, b, func(i int, store keyring.Store, kek keyring.KEK) error {
		m := manager(t, store, kek, i)
		for {
			c, err := m.Stage(t.Context(), keyring.Seal, keyring.StageOptions{})
			if errors.Is(err, keyring.ErrChanged) {
				continue
			}
			if err == nil {
				staged[i] = c.Key.ID
			}
			return err
		}
	})
	for i, err := range errs {
		if err != nil {
			t.Errorf("rotator %d: %v", i, err)
		}
	}
	ring := openRing(t, store, kek)
	if got, want := ring.Revision(), uint64(1+crowd); got != want {
		t.Errorf("revision %d after %d changes, want %d: a refused change was kept, or a kept one lost", got, crowd, want)
	}
	for i, id := range staged {
		if _, err := ring.Key(t.Context(), keyring.Seal, id); err != nil {
			t.Errorf("the key of rotator %d: %v", i, err)
		}
	}
}

func kekRoundTrip(t *testing.T, b Backend) {
	_, kek := b.Open(t)
	for _, size := range []int{1, 32, 4096} {
		plaintext := make([]byte, size)
		rand.Read(plaintext)
		one, err := kek.EncryptWithContext(t.Context(), plaintext, []byte("data"))
		if err != nil {
			t.Fatal(err)
		}
		other, err := kek.EncryptWithContext(t.Context(), plaintext, []byte("data"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(one, other) {
			t.Errorf("%d bytes sealed twice are the same", size)
		}
		if size >= 16 && bytes.Contains(one, plaintext) {
			t.Errorf("the ciphertext holds the plaintext")
		}
		got, err := kek.DecryptWithContext(t.Context(), one, []byte("data"))
		if err != nil || !bytes.Equal(got, plaintext) {
			t.Errorf("opening %d sealed bytes: %v", size, err)
		}
	}
}

func kekBinds(t *testing.T, b Backend) {
	_, kek := b.Open(t)
	data := []byte("associated data \x00\xff")
	sealed, err := kek.EncryptWithContext(t.Context(), []byte("secret"), data)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range [][]byte{nil, {}, data[:len(data)-1], append(bytes.Clone(data), 0), []byte("other")} {
		if _, err := kek.DecryptWithContext(t.Context(), sealed, other); err == nil {
			t.Errorf("it opens under the associated data %q, sealed under %q", other, data)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if got, err := kek.DecryptWithContext(t.Context(), changed, data); err == nil {
			t.Errorf("it opens with byte %d changed, to %q", i, got)
		}
	}
	for _, cut := range []int{0, 1, len(sealed) - 1} {
		if _, err := kek.DecryptWithContext(t.Context(), sealed[:cut], data); err == nil {
			t.Errorf("it opens although only %d of %d bytes are there", cut, len(sealed))
		}
	}
}

func life(t *testing.T, b Backend) {
	store, kek := b.Open(t)
	m := manager(t, store, kek, 0)
	if _, err := m.Create(t.Context(), keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	otherStore, otherKEK := b.Open(t)
	consumer := openRing(t, otherStore, otherKEK)
	before := derive(t, consumer, keyring.Seal)

	staged, err := m.Stage(t.Context(), keyring.Seal, keyring.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Promote(t.Context(), keyring.Seal, keyring.PromoteOptions{}); !isTooEarly(err) {
		t.Errorf("promoting at once: %v, want a *TooEarlyError", err)
	}
	if _, err := m.Promote(t.Context(), keyring.Seal, keyring.PromoteOptions{SkipWait: true}); err != nil {
		t.Fatal(err)
	}
	// An unknown id makes the other process load the keyring anew.
	if _, err := consumer.Key(t.Context(), keyring.Seal, staged.Key.ID); err != nil {
		t.Errorf("the new key in another process: %v", err)
	}
	primary, err := consumer.Primary(keyring.Seal)
	if err != nil || primary.ID() != staged.Key.ID {
		t.Errorf("the primary of the other process is %v (%v), want %s", primary, err, staged.Key.ID)
	}
	if after := derive(t, consumer, keyring.Seal); after == before {
		t.Error("the new primary derives what the former one did")
	}
	producer := openRing(t, store, kek)
	if derive(t, producer, keyring.Seal) != derive(t, consumer, keyring.Seal) || derive(t, producer, keyring.Index) != derive(t, consumer, keyring.Index) {
		t.Error("two processes derive different keys")
	}
}

func uriStays(t *testing.T, b Backend) {
	store, kek := b.Open(t)
	if _, err := manager(t, store, kek, 0).Create(t.Context(), keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	otherStore, otherKEK := b.Open(t)
	ring := openRing(t, otherStore, otherKEK)
	if ring.KEKURI() != kek.URI() || otherKEK.URI() != kek.URI() {
		t.Errorf("URIs %q, %q and %q of one KEK", ring.KEKURI(), kek.URI(), otherKEK.URI())
	}
	if strings.ContainsFunc(kek.URI(), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		t.Errorf("the URI %q holds a character that a log may not show", kek.URI())
	}
}

func endedContext(t *testing.T, b Backend) {
	store, _ := b.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := store.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("loading: %v, want context.Canceled", err)
	}
	if err := store.Save(ctx, []byte("{}"), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("saving: %v, want context.Canceled", err)
	}
	if _, _, err := store.Load(t.Context()); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("a save that was called with an ended context: %v, want keyring.ErrNotFound", err)
	}
}

// atOnce lets a crowd of processes go at the same moment.
func atOnce(t *testing.T, b Backend, do func(i int, store keyring.Store, kek keyring.KEK) error) []error {
	t.Helper()
	errs := make([]error, crowd)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range crowd {
		store, kek := b.Open(t)
		all.Go(func() {
			<-start
			errs[i] = do(i, store, kek)
		})
	}
	close(start)
	all.Wait()
	return errs
}

// onlyWinner returns who got no error; all others must have lost.
func onlyWinner(t *testing.T, errs []error, lost error) int {
	t.Helper()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("both %d and %d won", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, lost):
			t.Errorf("%d: %v, want %v", i, err, lost)
		}
	}
	if winner < 0 {
		t.Fatal("nobody won")
	}
	return winner
}

func actor(i int) string { return fmt.Sprintf("actor %d", i) }

func manager(t *testing.T, store keyring.Store, kek keyring.KEK, i int) *keyring.Manager {
	t.Helper()
	m, err := keyring.NewManager(name, store, kek, keyring.ManagerOptions{Actor: actor(i)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func openRing(t *testing.T, store keyring.Store, kek keyring.KEK) *keyring.Keyring {
	t.Helper()
	ring, err := keyring.Open(t.Context(), name, store, kek, keyring.Options{RefreshTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ring.Close)
	return ring
}

func derive(t *testing.T, ring *keyring.Keyring, p keyring.Purpose) [32]byte {
	t.Helper()
	k, err := ring.Primary(p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := k.Derive([]byte("backendtest"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func isTooEarly(err error) bool {
	_, ok := errors.AsType[*keyring.TooEarlyError](err)
	return ok
}

func save(t *testing.T, store keyring.Store, document, version string) {
	t.Helper()
	if err := store.Save(t.Context(), []byte(document), version); err != nil {
		t.Fatalf("saving: %v", err)
	}
}

// expect returns the version of the document that must be stored.
func expect(t *testing.T, store keyring.Store, document string) string {
	t.Helper()
	got, version, err := store.Load(t.Context())
	if err != nil || string(got) != document {
		t.Fatalf("stored is %.80q (%v), want %.80q", got, err, document)
	}
	return version
}
