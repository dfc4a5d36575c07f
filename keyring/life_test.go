package keyring_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// rotated is a keyring with an active seal key that ceased to be primary long ago.
func rotated(t testing.TB) (ring *keyringtest.Ring, m *keyring.Manager, c *clock, former keyring.KeyID) {
	t.Helper()
	c = clockAt(noon)
	ring = keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
	first, err := ring.Keyring.Primary(keyring.Seal)
	if err != nil {
		t.Fatal(err)
	}
	m = newManager(t, "default", ring.Store, ring.KEK, c)
	ring.Stage(keyring.Seal)
	c.Advance(time.Hour)
	if _, err := m.Promote(ctx, keyring.Seal, keyring.PromoteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Hour)
	return ring, m, c, first.ID()
}

func uses(n int64) keyring.Ask {
	return func(context.Context, keyring.DataStore, keyring.KeyInfo) (keyring.Uses, error) {
		return keyring.Uses{Rows: n}, nil
	}
}

var sqliteStore = keyring.DataStore{URL: "sqlite:outbox.db"}

func listed(t testing.TB, m *keyring.Manager, s keyring.DataStore) {
	t.Helper()
	if _, err := m.AddStore(ctx, s); err != nil {
		t.Fatal(err)
	}
}

// refused wants an error of a type, with a hint, and nothing written.
func refused[E interface {
	error
	Hint() string
}](t *testing.T, m *keyring.Manager, what string, do func() error) (e E) {
	t.Helper()
	before, err := m.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(); !errors.As(err, &e) {
		t.Errorf("%s: got %v, want a %T", what, err, e)
		return e
	}
	hinted(t, e)
	if after, err := m.Describe(ctx); err != nil || after.Digest() != before.Digest() {
		t.Errorf("%s: the keyring was changed, %v", what, err)
	}
	return e
}

func TestAKeyIsDisabledOnlyWhenNothingNeedsIt(t *testing.T) {
	t.Parallel()
	_, m, c, id := rotated(t)
	disable := func(ask keyring.Ask, key keyring.KeyID) func() error {
		return func() error {
			_, err := m.Disable(ctx, keyring.Seal, key, keyring.DisableOptions{Ask: ask})
			return err
		}
	}
	refused[*keyring.UnlistedError](t, m, "no store listed", disable(uses(0), id))
	listed(t, m, sqliteStore)
	d, _ := m.Describe(ctx)
	primary, _ := d.Primary(keyring.Seal)
	refused[*keyring.PrimaryError](t, m, "the primary", disable(uses(0), primary.ID))
	refused[*keyring.StoreError](t, m, "nothing to ask with", disable(nil, id))
	away := errors.New("away")
	if e := refused[*keyring.StoreError](t, m, "a store that is away", disable(func(context.Context, keyring.DataStore, keyring.KeyInfo) (keyring.Uses, error) {
		return keyring.Uses{}, away
	}, id)); !errors.Is(e, away) || e.Store != sqliteStore {
		t.Errorf("it does not name the store: %v", e)
	}
	if e := refused[*keyring.KeyInUseError](t, m, "rows that need it", disable(uses(3), id)); e.Uses.Rows != 3 || !strings.Contains(e.Error(), "3 rows of sqlite:outbox.db") {
		t.Error(e)
	}
	if _, err := m.Hold(ctx, keyring.Seal, id, keyring.HoldOptions{Until: c.Now().Add(time.Hour), Reason: "the topic keeps 1 h"}); err != nil {
		t.Fatal(err)
	}
	if e := refused[*keyring.HeldError](t, m, "a hold", disable(uses(0), id)); e.Hold.Reason != "the topic keeps 1 h" {
		t.Error(e)
	}
	c.Advance(2 * time.Hour)
	changed, err := m.Disable(ctx, keyring.Seal, id, keyring.DisableOptions{Ask: uses(0)})
	if err != nil || changed.Key.State != keyring.Disabled || changed.Unchanged {
		t.Fatalf("%+v, %v", changed, err)
	}
	if again, err := m.Disable(ctx, keyring.Seal, id, keyring.DisableOptions{Ask: uses(0)}); err != nil || !again.Unchanged {
		t.Errorf("once more: %+v, %v", again, err)
	}
	refused[*keyring.UnknownKeyError](t, m, "a key that is not there", disable(uses(0), id^1))
}

func TestAKeyThatWasPrimaryAMomentAgoIsNotDisabled(t *testing.T) {
	t.Parallel()
	c := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
	first, _ := ring.Keyring.Primary(keyring.Seal)
	m := newManager(t, "default", ring.Store, ring.KEK, c)
	listed(t, m, sqliteStore)
	ring.Stage(keyring.Seal)
	c.Advance(time.Hour)
	if _, err := m.Promote(ctx, keyring.Seal, keyring.PromoteOptions{}); err != nil {
		t.Fatal(err)
	}
	e := refused[*keyring.TooEarlyError](t, m, "within the propagation time", func() error {
		_, err := m.Disable(ctx, keyring.Seal, first.ID(), keyring.DisableOptions{Ask: uses(0)})
		return err
	})
	if want := c.Now().Add(10 * time.Minute); !e.Possible.Equal(want) {
		t.Errorf("possible at %s, want %s", e.Possible, want)
	}
	e = refused[*keyring.TooEarlyError](t, m, "an age that was asked for", func() error {
		_, err := m.Disable(ctx, keyring.Seal, first.ID(), keyring.DisableOptions{Ask: uses(0), NotPrimaryFor: 30 * 24 * time.Hour})
		return err
	})
	if want := c.Now().Add(30 * 24 * time.Hour); !e.Possible.Equal(want) {
		t.Errorf("possible at %s, want %s", e.Possible, want)
	}
}

func TestADisabledKeyIsEnabledAndOpensAgain(t *testing.T) {
	t.Parallel()
	ring, m, _, id := rotated(t)
	want := derived(t, ring.Keyring, keyring.Seal, id)
	if _, err := m.Disable(ctx, keyring.Seal, id, keyring.DisableOptions{AssumeUnused: true}); err != nil {
		t.Fatal(err)
	}
	ring.Refresh()
	var disabled *keyring.KeyStateError
	if _, err := ring.Keyring.Key(ctx, keyring.Seal, id); !errors.As(err, &disabled) {
		t.Fatal(err)
	}
	if changed, err := m.Enable(ctx, keyring.Seal, id); err != nil || changed.Key.State != keyring.Active {
		t.Fatalf("%+v, %v", changed, err)
	}
	if changed, err := m.Enable(ctx, keyring.Seal, id); err != nil || !changed.Unchanged {
		t.Fatalf("%+v, %v", changed, err)
	}
	ring.Refresh()
	if derived(t, ring.Keyring, keyring.Seal, id) != want {
		t.Error("it derives something else")
	}
}

// A process whose refreshes fail goes on writing under the former primary for its MaxStale.
func TestAKeyIsDestroyedOnlyWhenNoProcessCanWriteUnderItAnyMore(t *testing.T) {
	t.Parallel()
	ring, m, c, id := rotated(t)
	promoted := c.Now().Add(-time.Hour)
	if _, err := m.Disable(ctx, keyring.Seal, id, keyring.DisableOptions{AssumeUnused: true}); err != nil {
		t.Fatal(err)
	}
	e := refused[*keyring.TooEarlyError](t, m, "within the default MaxStale", func() error {
		_, err := m.Destroy(ctx, keyring.Seal, id, keyring.DestroyOptions{AssumeUnused: true})
		return err
	})
	if want := promoted.Add(24 * time.Hour); !e.Possible.Equal(want) || !e.Destroy {
		t.Errorf("possible at %s, want %s", e.Possible, want)
	}
	// Who knows that every process is aware does not wait.
	if _, err := m.Destroy(ctx, keyring.Seal, id, keyring.DestroyOptions{AssumeUnused: true, NotPrimaryFor: -1}); err != nil {
		t.Error(err)
	}
	// What was never primary is under no process's pen.
	staged := ring.Stage(keyring.Seal)
	if _, err := m.Disable(ctx, keyring.Seal, staged, keyring.DisableOptions{AssumeUnused: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Destroy(ctx, keyring.Seal, staged, keyring.DestroyOptions{AssumeUnused: true}); err != nil {
		t.Error(err)
	}
}

func TestOnlyADisabledKeyIsDestroyedAndNeverComesBack(t *testing.T) {
	t.Parallel()
	ring, m, c, id := rotated(t)
	listed(t, m, sqliteStore)
	destroy := func(ask keyring.Ask) func() error {
		return func() error {
			_, err := m.Destroy(ctx, keyring.Seal, id, keyring.DestroyOptions{Ask: ask})
			return err
		}
	}
	c.Advance(24 * time.Hour)
	refused[*keyring.KeyStateError](t, m, "an active key", destroy(uses(0)))
	if _, err := m.Disable(ctx, keyring.Seal, id, keyring.DisableOptions{Ask: uses(0)}); err != nil {
		t.Fatal(err)
	}
	refused[*keyring.KeyInUseError](t, m, "rows that need it", destroy(uses(1)))
	refused[*keyring.KeyStateError](t, m, "everywhere before here", func() error {
		_, err := m.DestroyedEverywhere(ctx, keyring.Seal, id)
		return err
	})
	c.Advance(time.Hour)
	for range 2 { // an interrupted call is made again
		changed, err := m.Destroy(ctx, keyring.Seal, id, keyring.DestroyOptions{Ask: uses(0)})
		if err != nil || changed.Key.State != keyring.Destroyed || !changed.Key.Since.Equal(c.Now()) || !changed.Key.Everywhere.IsZero() {
			t.Fatalf("%+v, %v", changed, err)
		}
	}
	for _, k := range ring.Document().Keysets[keyring.Seal].GetKey() {
		if k.GetKeyId() == uint32(id) {
			t.Error("its bytes are in the document")
		}
	}
	refused[*keyring.KeyStateError](t, m, "enabling it", func() error {
		_, err := m.Enable(ctx, keyring.Seal, id)
		return err
	})
	c.Advance(time.Hour)
	changed, err := m.DestroyedEverywhere(ctx, keyring.Seal, id)
	if err != nil || !changed.Key.Everywhere.Equal(c.Now()) {
		t.Fatalf("%+v, %v", changed, err)
	}
	reopened, _ := m.Describe(ctx)
	if k, _ := reopened.Key(keyring.Seal, id); !k.Everywhere.Equal(c.Now()) || k.State != keyring.Destroyed {
		t.Errorf("read back: %+v", k)
	}
}

func TestAHoldNeedsAReasonAndEnds(t *testing.T) {
	t.Parallel()
	_, m, c, id := rotated(t)
	var reason *keyring.HoldReasonError
	if _, err := m.Hold(ctx, keyring.Seal, id, keyring.HoldOptions{Until: c.Now().Add(time.Hour)}); !errors.As(err, &reason) {
		t.Error(err)
	}
	held, err := m.Hold(ctx, keyring.Seal, id, keyring.HoldOptions{Until: c.Now().Add(time.Hour), Reason: "an export"})
	if err != nil || held.Key.Hold == nil || held.Key.Hold.Author != "ops@example.com" || !held.Key.Hold.Until.Equal(c.Now().Add(time.Hour)) {
		t.Fatalf("%+v, %v", held, err)
	}
	if d, _ := m.Describe(ctx); d.Keys()[0].Hold == nil && d.Keys()[2].Hold == nil {
		t.Error("it does not stand in the document")
	}
	ended, err := m.Hold(ctx, keyring.Seal, id, keyring.HoldOptions{})
	if err != nil || ended.Key.Hold != nil || ended.Unchanged {
		t.Fatalf("%+v, %v", ended, err)
	}
	if again, err := m.Hold(ctx, keyring.Seal, id, keyring.HoldOptions{}); err != nil || !again.Unchanged {
		t.Fatalf("%+v, %v", again, err)
	}
}

func TestStoresAreListedWithoutTheirPasswords(t *testing.T) {
	t.Parallel()
	_, m, _, _ := rotated(t)
	for given, want := range map[string]string{
		"postgres://app:s3cret@db/outbox?sslmode=require": "postgres://app@db/outbox",
		"postgres://db/outbox?password=s3cret&table=a.b":  "postgres://db/outbox?table=a.b",
		"postgres://db/outbox?sslpassword=s3cret":         "postgres://db/outbox",
		"postgres://db?user=app&password=s3cret":          "postgres://db?user=app",
		"postgres:///?service=shop&password=s3cret":       "postgres:///?service=shop",
		"sqlite:/var/lib/app/outbox.db":                   "sqlite:/var/lib/app/outbox.db",
		"postgres://:s3cret@db/outbox":                    "postgres://db/outbox",
	} {
		d, err := m.AddStore(ctx, keyring.DataStore{URL: given})
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		stores := d.Stores()
		if last := stores[len(stores)-1]; last.URL != want || !d.Lists(given) || !d.Lists(want) || d.Lists(want+"x") {
			t.Errorf("listed as %q, want %q", last.URL, want)
		}
		again, err := m.AddStore(ctx, keyring.DataStore{URL: given})
		if err != nil || again.Revision() != d.Revision() {
			t.Errorf("%s: listed twice, %v", want, err)
		}
		if d, err = m.RemoveStore(ctx, keyring.DataStore{URL: given}); err != nil || d.Lists(want) {
			t.Errorf("%s: not removed, %v", want, err)
		}
	}
	same := keyring.DataStore{URL: "postgres://rotator@db/outbox?table=a.b"}
	for given, want := range map[string]bool{
		"postgres://app:s3cret@db/outbox?sslmode=require&table=a.b": true,
		"postgresql://db/outbox?table=a.b":                          true,
		"postgres://db/outbox":                                      false,
		"postgres://db2/outbox?table=a.b":                           false,
		"%%":                                                        false,
	} {
		if same.Is(given) != want {
			t.Errorf("%s is the same place: %t, want %t", given, !want, want)
		}
	}
	// Each names another database, and a key that one needs must not be looked for in the other.
	for a, b := range map[string]string{
		"postgres://alice@db":          "postgres://bob@db",
		"postgres://db?user=alice":     "postgres://db?user=bob",
		"postgres:///?service=shop":    "postgres:///?service=crm",
		"postgres:///app?service=shop": "postgres:///app?service=crm",
	} {
		if (keyring.DataStore{URL: a}).Is(b) {
			t.Errorf("%s and %s are said to be one place", a, b)
		}
	}
	for _, bad := range []string{"", "no scheme", "host=db password=s3cret", "postgres://a b:s3cret@db/", "sqlite:x@y:s3cret"} {
		var e *keyring.DataStoreError
		if _, err := m.AddStore(ctx, keyring.DataStore{URL: bad}); !errors.As(err, &e) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	refused[*keyring.UnlistedStoreError](t, m, "a store that is not listed", func() error {
		_, err := m.RemoveStore(ctx, keyring.DataStore{URL: "sqlite:other.db"})
		return err
	})
	own := keyring.DataStore{URL: "postgres://db/app", Query: "SELECT count(*) FROM customers WHERE $1 = ANY (key_ids)"}
	if d, err := m.AddStore(ctx, own); err != nil || d.Stores()[0] != own {
		t.Errorf("a query: %v", err)
	}
}

func TestAStoreIsListedOnceHoweverItIsSpelled(t *testing.T) {
	t.Parallel()
	for _, spellings := range [][]string{
		{"postgres://app@db/shop", "postgresql://app@db/shop", "postgres://app@db:5432/shop", "postgres://app@DB/shop", "postgres://app:s3cret@db/shop?sslmode=require",
			"postgres://app@/shop?host=db", "postgres://app@other/shop?host=db&port=5432", "postgres://app@db:1/?dbname=shop&port=5432", "postgres://app@db/%73hop"},
		{"postgres://app@db:6432/shop?table=a.b", "postgres://app@db/shop?port=6432&table=a.b"},
		{"postgres://[::1]/shop", "postgres://[::1]:5432/shop"},
		{"postgres://app@db", "postgres://app@db/", "postgres://app@db:5432/"},
	} {
		_, m, _, _ := rotated(t)
		for _, removed := range spellings {
			for _, added := range spellings {
				if d, err := m.AddStore(ctx, keyring.DataStore{URL: added}); err != nil || len(d.Stores()) != 1 || !d.Lists(removed) {
					t.Fatalf("%s: %v, %v", added, d.Stores(), err)
				}
			}
			if d, err := m.RemoveStore(ctx, keyring.DataStore{URL: removed}); err != nil || len(d.Stores()) != 0 {
				t.Fatalf("%s is not removed: %v", removed, err)
			}
		}
	}
	// What may be another place stays another one: both are asked.
	_, m, _, _ := rotated(t)
	different := []string{
		"postgres://app@db/shop", "postgres://rotator@db/shop", "postgres://app@db/shop/", "postgres://app@db/Shop", "postgres://app@db:6432/shop",
		"postgres://app@/shop?host=/var/run/postgresql", "postgres://app@/shop?host=/var/run/postgresql&port=5432", "postgres:///shop", "postgres:///shop?port=5432",
		"postgres://db:5432,db2:5432/shop", "postgres://db,db2/shop", "postgres:///shop?service=a", "postgres:///shop?port=5432&service=a",
		"postgres://localhost/shop", "postgres://127.0.0.1/shop", "postgres://app@db/shop?table=other", "sqlite:a.db", "sqlite:A.db",
	}
	for i, added := range different {
		if d, err := m.AddStore(ctx, keyring.DataStore{URL: added}); err != nil || len(d.Stores()) != i+1 {
			t.Errorf("%s: %v", added, err)
		}
	}
	query := keyring.DataStore{URL: "postgres://app@db:5432/shop", Query: "SELECT 1 WHERE $1 = ''"}
	if d, err := m.AddStore(ctx, query); err != nil || len(d.Stores()) != len(different)+1 {
		t.Errorf("a query at a listed place: %v", err)
	}
}

func TestAKeyringMovesToAnotherKEKWhileItIsRead(t *testing.T) {
	t.Parallel()
	ring, m, c, id := rotated(t)
	var log lockedText
	running := opened(t, ring, keyring.Options{RefreshInterval: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	want := derived(t, running, keyring.Seal, id)
	store, kek := &keyringtest.Store{}, newKEK(t)
	to := newManager(t, "default", store, kek, c)
	moved, err := m.Move(ctx, to)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Move(ctx, to); err != nil || again.Digest() != moved.Digest() {
		t.Errorf("once more: %v", err)
	}
	// The old place is read and refuses every change.
	if err := running.Refresh(ctx); err != nil || derived(t, running, keyring.Seal, id) != want {
		t.Errorf("a running process: %v", err)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "moved_to="+kek.URI()) {
		t.Errorf("a running process does not say that the keyring was moved: %s", text)
	}
	refused[*keyring.MovedError](t, m, "a change at the old place", func() error {
		_, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{})
		return err
	})
	there, err := keyring.Open(ctx, "default", store, kek, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(there.Close)
	if derived(t, there, keyring.Seal, id) != want || there.Revision() != moved.Revision() {
		t.Error("the new place derives something else")
	}
	if _, err := to.Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Errorf("a change at the new place: %v", err)
	}
	// To a third place it cannot go from the old one.
	refused[*keyring.MovedError](t, m, "a second move", func() error {
		_, err := m.Move(ctx, newManager(t, "default", &keyringtest.Store{}, newKEK(t), c))
		return err
	})
}

func TestAMoveThatWasKilledInItsMidstGoesOn(t *testing.T) {
	t.Parallel()
	ring, m, c, id := rotated(t)
	store, kek := &keyringtest.Store{}, newKEK(t)
	to := newManager(t, "default", &noSave{store}, kek, c)
	if _, err := m.Move(ctx, to); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	refused[*keyring.MovedError](t, m, "frozen", func() error {
		_, err := m.Enable(ctx, keyring.Seal, id)
		return err
	})
	moved, err := m.Move(ctx, newManager(t, "default", store, kek, c))
	if err != nil || moved.KEKURI() != kek.URI() {
		t.Fatal(err)
	}
	_ = ring
}

func TestAMovedKeyringThatWasLostIsNotCopiedOnceMore(t *testing.T) {
	t.Parallel()
	ring, _, _, _ := rotated(t)
	memory := &inMemory{}
	store, kek := &keyringtest.Store{}, newKEK(t)
	from, to := managerWith(t, ring.Store, ring.KEK, memory), managerWith(t, store, kek, memory)
	if _, err := from.Move(ctx, to); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	store.Put(nil)
	again := managerWith(t, store, kek, memory)
	refused[*keyring.LostError](t, from, "a copy of what has lived on", func() error {
		_, err := from.Move(ctx, again)
		return err
	})
	if _, _, err := store.Load(ctx); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("something was stored: %v", err)
	}
}

func TestAKeyringMovesBackToWhereItCameFrom(t *testing.T) {
	t.Parallel()
	ring, _, _, id := rotated(t)
	memory := &inMemory{}
	want := derived(t, ring.Keyring, keyring.Seal, id)
	store, kek := &keyringtest.Store{}, newKEK(t)
	from, to := managerWith(t, ring.Store, ring.KEK, memory), managerWith(t, store, kek, memory)
	if _, err := from.Move(ctx, to); err != nil {
		t.Fatal(err)
	}
	ring.Store.Put(nil) // the old place is removed
	if _, err := to.Move(ctx, managerWith(t, ring.Store, ring.KEK, memory)); err != nil {
		t.Fatal(err)
	}
	if back := opened(t, ring, keyring.Options{Memory: memory}); derived(t, back, keyring.Seal, id) != want {
		t.Error("it derives something else")
	}
}

func TestAMoveThatWasKilledInItsMidstIsTakenBackWhileTheNewPlaceIsEmpty(t *testing.T) {
	t.Parallel()
	ring, m, c, id := rotated(t)
	store, kek := &keyringtest.Store{}, newKEK(t)
	to := newManager(t, "default", store, kek, c)
	if d, err := m.CancelMove(ctx, to); err != nil || d.Revision() != 3 {
		t.Errorf("without a move: %v", err)
	}
	var half *keyring.HalfMovedError
	if _, err := m.Move(ctx, newManager(t, "default", &noSave{store}, kek, c)); !errors.As(err, &half) || half.To != kek.URI() {
		t.Fatal(err)
	}
	hinted(t, half)
	refused[*keyring.MovedError](t, m, "another place than the move's", func() error {
		_, err := m.CancelMove(ctx, newManager(t, "default", &keyringtest.Store{}, newKEK(t), c))
		return err
	})
	seen := &inMemory{}
	if err := seen.Record(ctx, "default", keyring.Seen{KEK: kek.URI(), Revision: 5}); err != nil {
		t.Fatal(err)
	}
	remembering, err := keyring.NewManager("default", ring.Store, ring.KEK, keyring.ManagerOptions{Actor: "a test", Memory: seen})
	if err != nil {
		t.Fatal(err)
	}
	refused[*keyring.LostError](t, m, "a new place where processes have seen it", func() error {
		_, err := remembering.CancelMove(ctx, to)
		return err
	})
	if _, err := m.CancelMove(ctx, to); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Hold(ctx, keyring.Seal, id, keyring.HoldOptions{Until: c.Now().Add(time.Hour), Reason: "it takes changes"}); err != nil {
		t.Error(err)
	}
	if _, err := m.Move(ctx, to); err != nil {
		t.Fatal(err)
	}
	refused[*keyring.ExistsError](t, m, "a move that went through", func() error {
		_, err := m.CancelMove(ctx, to)
		return err
	})
}

var errKilled = errors.New("killed")

// noSave is a store that is killed before it saves.
type noSave struct{ keyring.Store }

func (noSave) Save(context.Context, []byte, string) error { return errKilled }

func TestAMoveNeverOverwritesAnotherKeyring(t *testing.T) {
	t.Parallel()
	_, m, _, _ := rotated(t)
	other, to, _, _ := rotated(t)
	_ = other
	refused[*keyring.ExistsError](t, m, "a keyring at the new place", func() error {
		_, err := m.Move(ctx, to)
		return err
	})
}

func TestWhoWroteARevisionIsWrittenDown(t *testing.T) {
	t.Parallel()
	ring, m, c, _ := rotated(t)
	listed(t, m, sqliteStore)
	loser := managerOf(t, "default", &firstAnother{Store: ring.Store, do: func() {
		listed(t, managerOf(t, "default", ring.Store, ring.KEK, c, "first@example.com"), keyring.DataStore{URL: "sqlite:b.db"})
	}}, ring.KEK, c, "second@example.com")
	var lost *keyring.ChangedError
	if _, err := loser.AddStore(ctx, keyring.DataStore{URL: "sqlite:c.db"}); !errors.As(err, &lost) || lost.Author != "first@example.com" {
		t.Errorf("got %v", err)
	}
}
