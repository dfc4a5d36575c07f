package keyring_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

var ctx = context.Background()

func TestOpenSaysWhyThereIsNoKeyring(t *testing.T) {
	t.Parallel()
	kek, err := keyringtest.NewKEK()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Open(ctx, "default", &keyringtest.Store{}, kek, keyring.Options{}); !errors.Is(err, keyring.ErrNotFound) {
		t.Fatalf("got %v, want ErrNotFound", err)
	}
	for _, name := range []string{"", "Default", "1a", "-a", "a.b", "a/b", "ä", strings.Repeat("a", 64)} {
		var form *keyring.NameFormError
		if _, err := keyring.Open(ctx, name, &keyringtest.Store{}, kek, keyring.Options{}); !errors.As(err, &form) {
			t.Errorf("name %q: got %v, want a *NameFormError", name, err)
		}
	}
}

func TestKeyIDsAreEightLowerCaseHexDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]keyring.KeyID{"0f3a9c01": 0x0f3a9c01, "00000000": 0, "ffffffff": 0xffffffff} {
		if got, err := keyring.ParseKeyID(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0f3a9c0", "0f3a9c011", "0F3A9C01", "0x3a9c01", "0f3a 9c1", "0f3a9cö"} {
		var form *keyring.KeyIDError
		if _, err := keyring.ParseKeyID(text); !errors.As(err, &form) {
			t.Errorf("%q: got %v, want a *KeyIDError", text, err)
		}
	}
}

func TestARunningKeyringRefusesToGoBack(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	old, _, err := ring.Store.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	id := ring.Rotate(keyring.Seal)
	ring.Store.Put(old)
	var back *keyring.RollbackError
	if err := ring.Keyring.Refresh(ctx); !errors.As(err, &back) || back.Seen != 3 || back.Found != 1 {
		t.Fatalf("got %v, want a *RollbackError from 3 to 1", err)
	}
	hinted(t, back)
	if p, err := ring.Keyring.Primary(keyring.Seal); err != nil || p.ID() != id {
		t.Fatalf("primary is %v, %v: the keyring must go on with what it has", p, err)
	}
	if _, err := ring.Manager.Stage(ctx, keyring.Seal, keyring.StageOptions{}); !errors.As(err, &back) {
		t.Fatalf("a manager staged on top of an old document: %v", err)
	}
}

func TestARunningKeyringRefusesAnotherDocumentOfTheSameRevision(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	ring.Put(ring.Document()) // sealed anew: other nonces, other digest
	var back *keyring.RollbackError
	if err := ring.Keyring.Refresh(ctx); !errors.As(err, &back) || back.Seen != 1 || back.Found != 1 || back.SeenDigest == back.FoundDigest {
		t.Fatalf("got %v, want a *RollbackError with two digests", err)
	}
}

func TestTheSameIDWithOtherBytesIsRefused(t *testing.T) {
	t.Parallel()
	a, b := keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)
	ring := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{a, b}})
	a.Bytes[0] ^= 1
	doc, err := keyringtest.NewDocument("default", ring.KEK.URI(), noon, []keyringtest.Key{a, b})
	if err != nil {
		t.Fatal(err)
	}
	doc.Clear.Revision = 2
	ring.Put(doc)
	var fault *keyring.DocumentError
	if err := ring.Keyring.Refresh(ctx); !errors.As(err, &fault) || fault.Rule != keyring.RuleKeyChanged {
		t.Fatalf("got %v, want rule %s", err, keyring.RuleKeyChanged)
	}
	// The refused document does not count as seen.
	a.Bytes[0] ^= 1
	good, err := keyringtest.NewDocument("default", ring.KEK.URI(), noon, []keyringtest.Key{a, b})
	if err != nil {
		t.Fatal(err)
	}
	good.Clear.Revision = 2
	ring.Put(good)
	if err := ring.Keyring.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestAKeyThatVanishedIsLoggedAndStopsDeriving(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	a, b, c := keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary), keyringtest.NewKey(keyring.Seal, keyring.Active)
	ring := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{a, b, c}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	held, err := ring.Keyring.Key(ctx, keyring.Seal, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := keyringtest.NewDocument("default", ring.KEK.URI(), noon, []keyringtest.Key{a, b})
	if err != nil {
		t.Fatal(err)
	}
	doc.Clear.Revision = 2
	ring.Put(doc)
	ring.Refresh()
	var unknown *keyring.UnknownKeyError
	if _, err := held.Derive(nil); !errors.As(err, &unknown) || unknown.ID != c.ID {
		t.Fatalf("got %v, want an *UnknownKeyError", err)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, c.ID.String()) {
		t.Fatalf("no warning names key %s: %s", c.ID, text)
	}
}

func TestAnUnknownIDCausesOneRefreshAndIsThenRememberedForAMinute(t *testing.T) {
	t.Parallel()
	c := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
	unknownAfter := func(loads int) {
		t.Helper()
		before := ring.Store.Loads()
		_, err := ring.Keyring.Key(ctx, keyring.Seal, 0xdeadbeef)
		var unknown *keyring.UnknownKeyError
		if !errors.As(err, &unknown) || unknown.Keyring != "default" || unknown.Purpose != keyring.Seal || unknown.ID != 0xdeadbeef || !unknown.Retryable() || unknown.Err != nil {
			t.Fatalf("got %#v, want an *UnknownKeyError", err)
		}
		if got := ring.Store.Loads() - before; got != loads {
			t.Fatalf("%d loads, want %d", got, loads)
		}
	}
	unknownAfter(1)
	unknownAfter(0)
	c.Advance(time.Minute - 1)
	unknownAfter(0)
	c.Advance(1)
	unknownAfter(1)
}

func TestAKeyThatAnotherProcessStagedIsFoundByItsID(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	for _, p := range keyring.Purposes() {
		id := ring.Stage(p)
		key, err := ring.Keyring.Key(ctx, p, id)
		if err != nil || key.ID() != id || key.Purpose() != p || key.State() != keyring.Staged {
			t.Fatalf("got %v, %v", key, err)
		}
	}
}

func TestAnIDOfTheOtherPurposeIsUnknown(t *testing.T) {
	t.Parallel()
	ring := keyringtest.New(t)
	index, err := ring.Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	var unknown *keyring.UnknownKeyError
	if _, err := ring.Key(ctx, keyring.Seal, index.ID()); !errors.As(err, &unknown) {
		t.Fatalf("got %v, want an *UnknownKeyError", err)
	}
}

func TestMadeUpIDsSpendABudgetOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
	before := ring.Store.Loads()
	for id := range keyring.KeyID(5000) {
		if _, err := ring.Keyring.Key(ctx, keyring.Seal, id+1); err == nil {
			t.Fatal("found a key that was made up")
		}
	}
	if got := ring.Store.Loads() - before; got != 10 {
		t.Fatalf("5,000 made-up ids caused %d loads, want 10", got)
	}
	id := ring.Stage(keyring.Seal)
	ring.Refresh() // not bound by that budget
	if _, err := ring.Keyring.Key(ctx, keyring.Seal, id); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Minute)
	id = ring.Stage(keyring.Seal)
	if _, err := ring.Keyring.Key(ctx, keyring.Seal, id); err != nil {
		t.Fatalf("the budget did not come back: %v", err)
	}
}

// gate holds loads until it is opened.
type gate struct {
	keyring.Store
	held    atomic.Bool
	entered chan struct{}
	open    chan struct{}
}

func (g *gate) Load(ctx context.Context) ([]byte, string, error) {
	if g.held.Load() {
		g.entered <- struct{}{}
		select {
		case <-g.open:
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
	}
	return g.Store.Load(ctx)
}

func gated(t *testing.T, opts keyring.Options) (*keyring.Keyring, *keyringtest.Ring, *gate) {
	t.Helper()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	g := &gate{Store: ring.Store, entered: make(chan struct{}, 100), open: make(chan struct{})}
	k, err := keyring.Open(ctx, "default", g, ring.KEK, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	g.held.Store(true)
	return k, ring, g
}

func TestLookupsOfUnknownIDsShareOneRefresh(t *testing.T) {
	t.Parallel()
	k, ring, g := gated(t, keyring.Options{})
	id := ring.Stage(keyring.Seal)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if key, err := k.Key(ctx, keyring.Seal, id); err != nil || key.ID() != id {
				t.Errorf("got %v, %v", key, err)
			}
		})
	}
	<-g.entered
	close(g.open)
	wg.Wait()
	if n := len(g.entered); n != 0 {
		t.Fatalf("%d loads more than one", n)
	}
}

func TestRefreshSeesWhatWasStoredBeforeTheCall(t *testing.T) {
	t.Parallel()
	k, ring, g := gated(t, keyring.Options{})
	first := make(chan error, 1)
	go func() { first <- k.Refresh(ctx) }()
	<-g.entered
	// This refresh may have read already; the next one must not join it.
	id := ring.Stage(keyring.Seal)
	second := make(chan error, 1)
	go func() { second <- k.Refresh(ctx) }()
	close(g.open)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	if _, ok := k.Describe().Key(keyring.Seal, id); !ok {
		t.Fatal("the second refresh returned without what was stored before it")
	}
}

func TestAWaitingLookupEndsWithItsContext(t *testing.T) {
	t.Parallel()
	k, _, g := gated(t, keyring.Options{})
	waiting, cancel := context.WithCancelCause(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := k.Key(waiting, keyring.Seal, 1)
		done <- err
	}()
	<-g.entered
	why := errors.New("enough")
	cancel(why)
	var unknown *keyring.UnknownKeyError
	if err := <-done; !errors.Is(err, why) || !errors.As(err, &unknown) {
		t.Fatalf("got %v, want an *UnknownKeyError that wraps the cause", err)
	}
	close(g.open)
}

func TestARefreshThatHangsEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	k, _, _ := gated(t, keyring.Options{RefreshTimeout: time.Millisecond})
	if err := k.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want a deadline", err)
	}
	if _, err := k.Primary(keyring.Seal); err != nil {
		t.Fatal(err)
	}
}

func TestWhileTheStoreIsAwayTheKeyringGoesOn(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	away := errors.New("connection refused")
	ring.Store.Fail(away)
	if err := ring.Keyring.Refresh(ctx); !errors.Is(err, away) {
		t.Fatalf("got %v, want %v", err, away)
	}
	var unknown *keyring.UnknownKeyError
	if _, err := ring.Keyring.Key(ctx, keyring.Seal, 1); !errors.As(err, &unknown) || !errors.Is(err, away) {
		t.Fatalf("got %v, want an *UnknownKeyError that says why", err)
	}
	key, err := ring.Keyring.Primary(keyring.Seal)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := key.Derive(nil); err != nil {
		t.Fatal(err)
	}
	ring.Store.Fail(nil)
	id := ring.Stage(keyring.Seal)
	if _, err := ring.Keyring.Key(ctx, keyring.Seal, id); err != nil {
		t.Fatalf("the store is back: %v", err)
	}
}

func TestAClosedKeyringGivesAndDerivesNothing(t *testing.T) {
	t.Parallel()
	ring := keyringtest.New(t)
	key, err := ring.Primary(keyring.Seal)
	if err != nil {
		t.Fatal(err)
	}
	ring.Close()
	ring.Close()
	if _, err := key.Derive(nil); !errors.Is(err, keyring.ErrClosed) {
		t.Errorf("Derive: got %v", err)
	}
	if _, err := ring.Primary(keyring.Seal); !errors.Is(err, keyring.ErrClosed) {
		t.Errorf("Primary: got %v", err)
	}
	if _, err := ring.Key(ctx, keyring.Seal, key.ID()); !errors.Is(err, keyring.ErrClosed) {
		t.Errorf("Key: got %v", err)
	}
	if err := ring.Refresh(ctx); !errors.Is(err, keyring.ErrClosed) {
		t.Errorf("Refresh: got %v", err)
	}
	if got := ring.Usable(keyring.Seal); len(got) != 0 {
		t.Errorf("Usable: got %v", got)
	}
}

func TestARefreshUnderWayWhenTheKeyringIsClosedLeavesNoKeys(t *testing.T) {
	t.Parallel()
	k, ring, g := gated(t, keyring.Options{})
	ring.Stage(keyring.Seal)
	done := make(chan error, 1)
	go func() { done <- k.Refresh(ctx) }()
	<-g.entered
	k.Close()
	close(g.open)
	if err := <-done; !errors.Is(err, keyring.ErrClosed) {
		t.Fatalf("got %v, want ErrClosed", err)
	}
	if got := k.Usable(keyring.Seal); len(got) != 0 {
		t.Fatalf("got %v", got)
	}
}

func TestAnUnknownPurposeIsRefused(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	var purpose *keyring.PurposeError
	if _, err := ring.Keyring.Primary("sign"); !errors.As(err, &purpose) {
		t.Errorf("Primary: got %v", err)
	}
	if _, err := ring.Keyring.Key(ctx, "", 1); !errors.As(err, &purpose) {
		t.Errorf("Key: got %v", err)
	}
	if got := ring.Keyring.Usable("sign"); got != nil {
		t.Errorf("Usable: got %v", got)
	}
	if _, err := ring.Manager.Stage(ctx, "sign", keyring.StageOptions{}); !errors.As(err, &purpose) {
		t.Errorf("Stage: got %v", err)
	}
	if _, err := ring.Manager.Promote(ctx, "sign", keyring.PromoteOptions{}); !errors.As(err, &purpose) {
		t.Errorf("Promote: got %v", err)
	}
	if _, err := ring.Keyring.Describe().Plan("sign", keyring.PlanOptions{}); !errors.As(err, &purpose) {
		t.Errorf("Plan: got %v", err)
	}
}

func TestUsableIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	ring := keyringtest.New(t)
	usable := ring.Usable(keyring.Seal)
	usable[0] = nil
	if ring.Usable(keyring.Seal)[0] == nil {
		t.Fatal("a caller can change the keyring's list")
	}
}

// Readers derive while another goroutine rotates, disables and destroys: under
// -race this is the test of the atomic swap and of the wiping.
func TestReadersDeriveWhileTheKeyringRotates(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	stop := make(chan struct{})
	var derived atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var state *keyring.KeyStateError
			for {
				select {
				case <-stop:
					return
				default:
				}
				primary, err := ring.Keyring.Primary(keyring.Seal)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := primary.Derive([]byte("info")); err != nil && !errors.As(err, &state) {
					t.Error(err)
					return
				}
				for _, k := range ring.Keyring.Usable(keyring.Seal) {
					if _, err := k.Derive([]byte("info")); err != nil && !errors.As(err, &state) {
						t.Error(err)
						return
					}
					derived.Add(1)
				}
			}
		})
	}
	for range 25 {
		old, err := ring.Keyring.Primary(keyring.Seal)
		if err != nil {
			t.Fatal(err)
		}
		ring.Rotate(keyring.Seal)
		ring.SetState(keyring.Seal, old.ID(), keyring.Disabled)
		ring.Refresh()
		ring.SetState(keyring.Seal, old.ID(), keyring.Destroyed)
		ring.Refresh()
	}
	close(stop)
	wg.Wait()
	if got := len(ring.Keyring.Usable(keyring.Seal)); got != 1 || derived.Load() == 0 {
		t.Fatalf("%d usable keys, %d derivations", got, derived.Load())
	}
}

func TestAKeyDerivesTheSameBeforeAndAfterARotation(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	key, err := ring.Keyring.Primary(keyring.Seal)
	if err != nil {
		t.Fatal(err)
	}
	before, err := key.Derive([]byte("info"))
	if err != nil {
		t.Fatal(err)
	}
	ring.Rotate(keyring.Seal)
	again, err := ring.Open().Key(ctx, keyring.Seal, key.ID())
	if err != nil || again.State() != keyring.Active {
		t.Fatalf("got %v, %v", again, err)
	}
	for _, k := range []*keyring.Key{key, again} {
		if after, err := k.Derive([]byte("info")); err != nil || after != before {
			t.Fatalf("%v derives otherwise after the rotation, %v", k, err)
		}
	}
}
