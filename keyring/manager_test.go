package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func newKEK(t testing.TB) *keyringtest.KEK {
	t.Helper()
	kek, err := keyringtest.NewKEK()
	if err != nil {
		t.Fatal(err)
	}
	return kek
}

func TestCreateStoresAPrimaryOfEachPurpose(t *testing.T) {
	t.Parallel()
	store, kek := &keyringtest.Store{}, newKEK(t)
	d, err := newManager(t, "default", store, kek, clockAt(noon)).Create(ctx, keyring.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.Open(ctx, "default", store, kek, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	if ring.Describe().Digest() != d.Digest() || d.Revision() != 1 || d.Propagation() != 10*time.Minute || d.KEKURI() != kek.URI() {
		t.Fatalf("stored %s, told %s (revision %d, propagation %s)", ring.Describe().Digest(), d.Digest(), d.Revision(), d.Propagation())
	}
	for _, p := range keyring.Purposes() {
		info, ok := d.Primary(p)
		if !ok || info.State != keyring.Primary || info.Author != "ops@example.com" || !info.Since.Equal(noon) || info.ID == 0 {
			t.Errorf("%s: got %+v", p, info)
		}
		if h := d.History(p, info.ID); len(h) != 1 {
			t.Errorf("%s: history is %v", p, h)
		}
	}
}

func TestCreateNeverTouchesAKeyringThatExists(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	before, _, _ := ring.Store.Load(ctx)
	var exists *keyring.ExistsError
	if _, err := ring.Manager.Create(ctx, keyring.CreateOptions{}); !errors.Is(err, keyring.ErrExists) || !errors.As(err, &exists) || exists.Revision != 1 || exists.Author != "keyringtest" {
		t.Fatalf("got %v, want an *ExistsError", err)
	}
	hinted(t, exists)
	ring.Store.Put([]byte("not a keyring"))
	if _, err := ring.Manager.Create(ctx, keyring.CreateOptions{}); !errors.Is(err, keyring.ErrExists) {
		t.Fatalf("a damaged document was to be overwritten: %v", err)
	}
	ring.Store.Put(before)
	if after, _, _ := ring.Store.Load(ctx); string(after) != string(before) {
		t.Fatal("the document changed")
	}
}

func TestOfTwoCreatesOneWinsAndTheOtherIsTold(t *testing.T) {
	t.Parallel()
	store, kek := &keyringtest.Store{}, newKEK(t)
	winner := managerOf(t, "default", store, kek, clockAt(noon), "first@example.com")
	loser := managerOf(t, "default", &firstAnother{Store: store, do: func() {
		if _, err := winner.Create(ctx, keyring.CreateOptions{}); err != nil {
			t.Error(err)
		}
	}}, kek, clockAt(noon), "second@example.com")
	var exists *keyring.ExistsError
	if _, err := loser.Create(ctx, keyring.CreateOptions{}); !errors.As(err, &exists) || exists.Author != "first@example.com" {
		t.Fatalf("got %v, want an *ExistsError by first@example.com", err)
	}
}

// firstAnother lets another writer be first: do runs before the first save.
type firstAnother struct {
	keyring.Store
	once sync.Once
	do   func()
}

func (s *firstAnother) Save(ctx context.Context, document []byte, version string) error {
	s.once.Do(s.do)
	return s.Store.Save(ctx, document, version)
}

// deafKEK ignores associated data, as old servers do.
type deafKEK struct{ *keyringtest.KEK }

func (k deafKEK) EncryptWithContext(ctx context.Context, pt, _ []byte) ([]byte, error) {
	return k.KEK.EncryptWithContext(ctx, pt, nil)
}

func (k deafKEK) DecryptWithContext(ctx context.Context, ct, _ []byte) ([]byte, error) {
	return k.KEK.DecryptWithContext(ctx, ct, nil)
}

func TestCreateRefusesAKEKThatIgnoresAssociatedData(t *testing.T) {
	t.Parallel()
	store := &keyringtest.Store{}
	var unbound *keyring.KEKUnboundError
	if _, err := newManager(t, "default", store, deafKEK{newKEK(t)}, clockAt(noon)).Create(ctx, keyring.CreateOptions{}); !errors.As(err, &unbound) {
		t.Fatalf("got %v, want a *KEKUnboundError", err)
	}
	hinted(t, unbound)
	if _, _, err := store.Load(ctx); !errors.Is(err, keyring.ErrNotFound) {
		t.Fatalf("something was stored: %v", err)
	}
}

// brokenKEK fails at its n-th call.
type brokenKEK struct {
	*keyringtest.KEK
	calls *int
	at    int
}

var errKEK = errors.New("the KEK is away")

func (k brokenKEK) fails() bool {
	*k.calls++
	return *k.calls == k.at
}

func (k brokenKEK) EncryptWithContext(ctx context.Context, pt, ad []byte) ([]byte, error) {
	if k.fails() {
		return nil, errKEK
	}
	return k.KEK.EncryptWithContext(ctx, pt, ad)
}

func (k brokenKEK) DecryptWithContext(ctx context.Context, ct, ad []byte) ([]byte, error) {
	if k.fails() {
		return nil, errKEK
	}
	return k.KEK.DecryptWithContext(ctx, ct, ad)
}

// A KEK that fails at any single call leaves either nothing or a whole keyring,
// and the caller is told of the failure.
func TestAKEKThatFailsAtAnyCallLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	failed := 0
	for at := 1; ; at++ {
		store, calls := &keyringtest.Store{}, 0
		kek := newKEK(t)
		_, err := newManager(t, "default", store, brokenKEK{kek, &calls, at}, clockAt(noon)).Create(ctx, keyring.CreateOptions{})
		if calls < at {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if err != nil {
			failed++
			if !errors.Is(err, errKEK) {
				t.Errorf("call %d: got %v, want %v", at, err, errKEK)
			}
			if _, _, err := store.Load(ctx); !errors.Is(err, keyring.ErrNotFound) {
				t.Errorf("call %d: something was stored: %v", at, err)
			}
			continue
		}
		// A failing decrypt under other data, or one that succeeded when asked
		// again, is none; then the keyring must be whole.
		if _, err := keyring.Open(ctx, "default", store, kek, keyring.Options{}); err != nil {
			t.Errorf("call %d: %v", at, err)
		}
	}
	if failed < 5 {
		t.Fatalf("only %d calls failed", failed)
	}
}

func TestCreateRefusesTheKEKOfAnotherKeyring(t *testing.T) {
	t.Parallel()
	other := keyringtest.NewRing(t, keyringtest.Options{Name: "health"})
	m := newManager(t, "default", &keyringtest.Store{}, other.KEK, clockAt(noon))
	var inUse *keyring.KEKInUseError
	if _, err := m.Create(ctx, keyring.CreateOptions{Others: []*keyring.Description{other.Keyring.Describe()}}); !errors.As(err, &inUse) || inUse.Other != "health" {
		t.Fatalf("got %v, want a *KEKInUseError", err)
	}
	hinted(t, inUse)
}

func TestPropagationIsStoredAndBounded(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]time.Duration{0: 10 * time.Minute, -1: 0, time.Hour: time.Hour, 1500 * time.Millisecond: 1500 * time.Millisecond} {
		d, err := newManager(t, "default", &keyringtest.Store{}, newKEK(t), clockAt(noon)).Create(ctx, keyring.CreateOptions{Propagation: given})
		if err != nil || d.Propagation() != want {
			t.Errorf("%s: got %v, %v", given, d, err)
		}
	}
	for _, given := range []time.Duration{-2, -time.Hour, 366 * 24 * time.Hour} {
		var bounds *keyring.PropagationError
		if _, err := newManager(t, "default", &keyringtest.Store{}, newKEK(t), clockAt(noon)).Create(ctx, keyring.CreateOptions{Propagation: given}); !errors.As(err, &bounds) {
			t.Errorf("%s: got %v, want a *PropagationError", given, err)
		}
	}
}

func TestAChangeNeedsAnActorThatCanBeShown(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	for _, actor := range []string{"", "a\nb", "\x1b[31m", "a\u202eb", "\xff", strings.Repeat("a", 257)} {
		m := managerOf(t, "default", ring.Store, ring.KEK, clockAt(noon), actor)
		var wrong *keyring.ActorError
		if _, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{}); !errors.As(err, &wrong) {
			t.Errorf("%q: Stage: got %v, want an *ActorError", actor, err)
		}
		if _, err := managerOf(t, "default", &keyringtest.Store{}, ring.KEK, clockAt(noon), actor).Create(ctx, keyring.CreateOptions{}); !errors.As(err, &wrong) {
			t.Errorf("%q: Create: got %v, want an *ActorError", actor, err)
		}
	}
}

func TestAStagedKeyBecomesPrimaryAfterThePropagationTimeAndNotBefore(t *testing.T) {
	t.Parallel()
	c := clockAt(noon)
	store, kek := &keyringtest.Store{}, newKEK(t)
	m := newManager(t, "default", store, kek, c)
	created, err := m.Create(ctx, keyring.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old, _ := created.Primary(keyring.Seal)
	var nothing *keyring.NothingStagedError
	if _, err := m.Promote(ctx, keyring.Seal, keyring.PromoteOptions{}); !errors.As(err, &nothing) {
		t.Fatalf("got %v, want a *NothingStagedError", err)
	}
	hinted(t, nothing)
	c.Advance(time.Hour)
	staged, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if staged.Key.State != keyring.Staged || !staged.Key.Since.Equal(noon.Add(time.Hour)) || staged.Keyring.Revision() != 2 {
		t.Fatalf("got %+v", staged)
	}
	possible := noon.Add(time.Hour + 10*time.Minute)
	c.Advance(10*time.Minute - time.Microsecond)
	var early *keyring.TooEarlyError
	if _, err := m.Promote(ctx, keyring.Seal, keyring.PromoteOptions{}); !errors.As(err, &early) || !early.Possible.Equal(possible) || early.ID != staged.Key.ID {
		t.Fatalf("got %v, want a *TooEarlyError with %s", err, possible)
	}
	hinted(t, early)
	if d, err := m.Describe(ctx); err != nil || d.Revision() != 2 {
		t.Fatalf("a refused promotion wrote: %v, %v", d.Revision(), err)
	}
	c.Advance(time.Microsecond)
	promoted, err := m.Promote(ctx, keyring.Seal, keyring.PromoteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if promoted.Key.ID != staged.Key.ID || promoted.Key.State != keyring.Primary || promoted.Former.ID != old.ID || promoted.Former.State != keyring.Active || !promoted.Former.Since.Equal(possible) || promoted.Keyring.Revision() != 3 {
		t.Fatalf("got %+v", promoted)
	}
	if h := promoted.Keyring.History(keyring.Seal, staged.Key.ID); len(h) != 2 || h[0].State != keyring.Staged || h[1].State != keyring.Primary {
		t.Fatalf("history is %v", h)
	}
	index, _ := promoted.Keyring.Primary(keyring.Index)
	if was, _ := created.Primary(keyring.Index); was != index {
		t.Fatalf("the index key changed from %+v to %+v", was, index)
	}
}

func TestPromoteMaySkipTheWait(t *testing.T) {
	t.Parallel()
	c := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
	first, second := ring.Stage(keyring.Index), ring.Stage(keyring.Index)
	changed, err := ring.Manager.Promote(ctx, keyring.Index, keyring.PromoteOptions{SkipWait: true})
	if err != nil || changed.Key.ID != first {
		t.Fatalf("promoted %+v, %v, want the key that was staged first, %s", changed, err, first)
	}
	changed, err = ring.Manager.Promote(ctx, keyring.Index, keyring.PromoteOptions{SkipWait: true, ID: second})
	if err != nil || changed.Key.ID != second || changed.Former.ID != first {
		t.Fatalf("got %+v, %v", changed, err)
	}
}

func TestPromotingAKeyThatIsNotStagedAnyMoreSaysWhoWasFirst(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	id := ring.Stage(keyring.Seal)
	first := managerOf(t, "default", ring.Store, ring.KEK, clockAt(noon), "first@example.com")
	if _, err := first.Promote(ctx, keyring.Seal, keyring.PromoteOptions{ID: id, SkipWait: true}); err != nil {
		t.Fatal(err)
	}
	var changed *keyring.ChangedError
	if _, err := ring.Manager.Promote(ctx, keyring.Seal, keyring.PromoteOptions{ID: id, SkipWait: true}); !errors.As(err, &changed) || changed.Author != "first@example.com" || changed.Revision != 3 {
		t.Fatalf("got %v, want a *ChangedError", err)
	}
	var unknown *keyring.UnknownKeyError
	if _, err := ring.Manager.Promote(ctx, keyring.Index, keyring.PromoteOptions{ID: id, SkipWait: true}); !errors.As(err, &unknown) {
		t.Fatalf("a seal key was promoted among the index keys: %v", err)
	}
}

func TestALostCheckAndSetChangesNothingAndNamesTheWinner(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *keyring.Manager) error{
		"Stage": func(m *keyring.Manager) error {
			_, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{})
			return err
		},
		"Promote": func(m *keyring.Manager) error {
			_, err := m.Promote(ctx, keyring.Seal, keyring.PromoteOptions{SkipWait: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ring := keyringtest.NewRing(t, keyringtest.Options{})
			ring.Stage(keyring.Seal)
			// The winner's clock is behind: its change is not the latest by time.
			winner := managerOf(t, "default", ring.Store, ring.KEK, clockAt(noon.AddDate(-5, 0, 0)), "winner@example.com")
			var won []byte
			loser := managerOf(t, "default", &firstAnother{Store: ring.Store, do: func() {
				if _, err := winner.Stage(ctx, keyring.Index, keyring.StageOptions{}); err != nil {
					t.Error(err)
				}
				won, _, _ = ring.Store.Load(ctx)
			}}, ring.KEK, clockAt(noon), "loser@example.com")
			err := change(loser)
			var lost *keyring.ChangedError
			if !errors.Is(err, keyring.ErrChanged) || !errors.As(err, &lost) || lost.Revision != 3 || lost.Author != "winner@example.com" {
				t.Fatalf("got %v, want a *ChangedError with revision 3 by winner@example.com", err)
			}
			hinted(t, err)
			if now, _, _ := ring.Store.Load(ctx); string(now) != string(won) {
				t.Fatal("the loser changed the document")
			}
		})
	}
}

func TestIfRevisionStopsAChangeThatWasDecidedOnAnOlderDocument(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	plan, err := ring.Keyring.Describe().Plan(keyring.Seal, keyring.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ring.Stage(keyring.Seal)
	var changed *keyring.ChangedError
	if _, err := ring.Manager.Stage(ctx, keyring.Seal, keyring.StageOptions{IfRevision: plan.Revision}); !errors.As(err, &changed) || changed.Revision != 2 {
		t.Fatalf("got %v, want a *ChangedError", err)
	}
	if _, err := ring.Manager.Promote(ctx, keyring.Seal, keyring.PromoteOptions{IfRevision: plan.Revision, SkipWait: true}); !errors.As(err, &changed) {
		t.Fatalf("got %v, want a *ChangedError", err)
	}
	if _, err := ring.Manager.Stage(ctx, keyring.Seal, keyring.StageOptions{IfRevision: 2}); err != nil {
		t.Fatal(err)
	}
}

func TestConcurrentStagesLoseNoKey(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	const writers, each = 8, 5
	ids := make(chan keyring.KeyID, writers*each)
	var wg sync.WaitGroup
	for i := range writers {
		m := managerOf(t, "default", ring.Store, ring.KEK, clockAt(noon), fmt.Sprintf("writer %d", i))
		wg.Go(func() {
			for staged := 0; staged < each; {
				changed, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{})
				switch {
				case errors.Is(err, keyring.ErrChanged):
				case err != nil:
					t.Error(err)
					return
				default:
					ids <- changed.Key.ID
					staged++
				}
			}
		})
	}
	wg.Wait()
	close(ids)
	ring.Refresh()
	n := 0
	for id := range ids {
		n++
		if key, err := ring.Keyring.Key(ctx, keyring.Seal, id); err != nil || key.State() != keyring.Staged {
			t.Errorf("key %s was lost: %v", id, err)
		}
	}
	if n != writers*each || ring.Keyring.Revision() != 1+writers*each {
		t.Fatalf("%d keys were staged, revision is %d", n, ring.Keyring.Revision())
	}
}

// The laws of the life cycle over any sequence of changes: no key is lost, each
// keeps its bytes, each purpose has one primary, the revision counts writes.
func TestAnyLifeKeepsEveryKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := clockAt(noon)
		ring := keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
		derived := map[keyring.KeyID][32]byte{}
		writes := uint64(1)
		note := func() {
			ring.Refresh()
			for _, p := range keyring.Purposes() {
				for _, k := range ring.Keyring.Usable(p) {
					got, err := k.Derive([]byte("law"))
					if err != nil {
						rt.Fatal(err)
					}
					if was, known := derived[k.ID()]; known && was != got {
						rt.Fatalf("key %s changed its bytes", k.ID())
					}
					derived[k.ID()] = got
				}
			}
		}
		note()
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"stage", "promote", "promote too early", "wait", "disable", "enable", "destroy"}), 1, 8).Draw(rt, "steps")
		for _, step := range steps {
			p := rapid.SampledFrom(keyring.Purposes()).Draw(rt, "purpose")
			d := ring.Keyring.Describe()
			of := func(s keyring.State) (keyring.KeyInfo, bool) {
				i := slices.IndexFunc(d.Keys(), func(k keyring.KeyInfo) bool { return k.Purpose == p && k.State == s })
				if i < 0 {
					return keyring.KeyInfo{}, false
				}
				return d.Keys()[i], true
			}
			set := func(from, to keyring.State) {
				if k, ok := of(from); ok {
					ring.SetState(p, k.ID, to)
					writes++
					if to == keyring.Destroyed {
						delete(derived, k.ID)
					}
				}
			}
			switch step {
			case "stage":
				ring.Stage(p)
				writes++
			case "promote":
				if len(d.Staged(p)) > 0 {
					ring.Promote(p)
					writes++
				}
			case "promote too early":
				_, err := ring.Manager.Promote(ctx, p, keyring.PromoteOptions{})
				var early *keyring.TooEarlyError
				var nothing *keyring.NothingStagedError
				switch {
				case err == nil:
					writes++
				case !errors.As(err, &early) && !errors.As(err, &nothing):
					rt.Fatal(err)
				}
			case "wait":
				c.Advance(time.Duration(rapid.IntRange(0, 20).Draw(rt, "minutes")) * time.Minute)
			case "disable":
				set(keyring.Active, keyring.Disabled)
			case "enable":
				set(keyring.Disabled, keyring.Active)
			case "destroy":
				set(keyring.Disabled, keyring.Destroyed)
			}
			before := len(d.Keys())
			note()
			now := ring.Keyring.Describe()
			if len(now.Keys()) < before || now.Revision() != writes {
				rt.Fatalf("after %s: %d keys of %d, revision %d, want %d", step, len(now.Keys()), before, now.Revision(), writes)
			}
			for _, p := range keyring.Purposes() {
				primaries := 0
				for _, k := range now.Keys() {
					if k.Purpose == p && k.State == keyring.Primary {
						primaries++
					}
				}
				if usable := ring.Keyring.Usable(p); primaries != 1 || usable[0].State() != keyring.Primary {
					rt.Fatalf("after %s: %d primary %s keys, the first usable is %v", step, primaries, p, usable[0])
				}
			}
		}
		// What was disabled in between still has its bytes.
		for _, k := range ring.Keyring.Keys() {
			if k.State == keyring.Disabled {
				ring.SetState(k.Purpose, k.ID, keyring.Active)
			}
		}
		note()
	})
}
