package keyring_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// plain is no encryption: these tests look at what would be encrypted.
func plain(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// backedUp backs a keyring up and reads it back.
func backedUp(t testing.TB, m *keyring.Manager) (*keyring.Backup, []byte) {
	t.Helper()
	var text bytes.Buffer
	made, err := m.Backup(ctx, &text, plain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	read, err := keyring.ReadBackup(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(read.Close)
	if read.Digest() != made.Digest() {
		t.Fatalf("made %s, read %s", made.Digest(), read.Digest())
	}
	return read, text.Bytes()
}

func restore(t testing.TB, m *keyring.Manager, b *keyring.Backup, opts keyring.RestoreOptions) (*keyring.RestorePlan, *keyring.Description, error) {
	t.Helper()
	plan, err := m.PlanRestore(ctx, b, opts)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(plan.Close)
	d, err := m.Restore(ctx, plan)
	return plan, d, err
}

func derived(t testing.TB, ring *keyring.Keyring, p keyring.Purpose, id keyring.KeyID) [32]byte {
	t.Helper()
	key, err := ring.Key(ctx, p, id)
	if err != nil {
		t.Fatal(err)
	}
	out, err := key.Derive([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func actions(plan *keyring.RestorePlan) map[keyring.KeyID]keyring.RestoreAction {
	all := map[keyring.KeyID]keyring.RestoreAction{}
	for _, k := range plan.Keys {
		all[k.ID] = k.Action
	}
	return all
}

func TestALostKeyringIsRestoredAboveWhatWasSeenAndRunningProcessesTakeIt(t *testing.T) {
	t.Parallel()
	clock := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{Now: clock.Now})
	first, _ := ring.Keyring.Primary(keyring.Seal)
	want := derived(t, ring.Keyring, keyring.Seal, first.ID())
	staged := ring.Stage(keyring.Seal)
	backup, _ := backedUp(t, ring.Manager)
	// After the backup the keyring goes on, and a process sees it.
	clock.Advance(time.Hour)
	ring.Stage(keyring.Index)
	ring.Refresh()
	seen := ring.Keyring.Revision()
	ring.Store.Put(nil)

	m := newManager(t, "default", ring.Store, ring.KEK, clock)
	plan, d, err := restore(t, m, backup, keyring.RestoreOptions{AboveRevision: seen})
	if err != nil {
		t.Fatal(err)
	}
	if d.Revision() != seen+1 || plan.Revision != seen+1 || plan.Present != nil {
		t.Errorf("restored as revision %d, want %d", d.Revision(), seen+1)
	}
	if p, _ := d.Primary(keyring.Seal); p.ID != first.ID() {
		t.Errorf("the primary is %s, want %s", p.ID, first.ID())
	}
	if k, _ := d.Key(keyring.Seal, staged); k.State != keyring.Staged || !k.Since.Equal(clock.Now()) {
		t.Errorf("the staged key is %+v: its waiting must start anew", k)
	}
	ring.Refresh()
	if got := derived(t, ring.Keyring, keyring.Seal, first.ID()); got != want {
		t.Error("the running process derives something else")
	}
}

func TestARestoreBelowWhatAProcessHasSeenIsRefusedByIt(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	backup, _ := backedUp(t, ring.Manager)
	for range 3 {
		ring.Stage(keyring.Seal)
	}
	ring.Refresh()
	ring.Store.Put(nil)
	m := newManager(t, "default", ring.Store, ring.KEK, clockAt(noon))
	if _, _, err := restore(t, m, backup, keyring.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	var rollback *keyring.RollbackError
	if err := ring.Keyring.Refresh(ctx); !errors.As(err, &rollback) {
		t.Fatalf("got %v", err)
	}
	hinted(t, rollback)
}

func TestARestoreIntoAKeyringAddsWhatItLacksAndKeepsItsPrimaries(t *testing.T) {
	t.Parallel()
	old, disabled, gone := keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Seal, keyring.Disabled), keyringtest.NewKey(keyring.Seal, keyring.Destroyed)
	index := keyringtest.NewKey(keyring.Index, keyring.Primary)
	from := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{old, disabled, gone, index}})
	backup, _ := backedUp(t, from.Manager)

	primary := keyringtest.NewKey(keyring.Seal, keyring.Primary)
	into := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{primary, index}})
	plan, d, err := restore(t, newManager(t, "default", into.Store, into.KEK, clockAt(noon)), backup, keyring.RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[keyring.KeyID]keyring.RestoreAction{
		old.ID: keyring.RestoreAdd, disabled.ID: keyring.RestoreAdd, gone.ID: keyring.RestoreDestroyed, index.ID: keyring.RestorePresent,
	}
	if got := actions(plan); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("planned %v, want %v", got, want)
	}
	for id, state := range map[keyring.KeyID]keyring.State{old.ID: keyring.Active, disabled.ID: keyring.Disabled, primary.ID: keyring.Primary} {
		if k, _ := d.Key(keyring.Seal, id); k.State != state {
			t.Errorf("key %s is %q, want %s", id, k.State, state)
		}
	}
	if _, ok := d.Key(keyring.Seal, gone.ID); ok || d.Revision() != 2 {
		t.Errorf("revision %d, destroyed key there: %t", d.Revision(), ok)
	}
	into.Refresh()
	if derived(t, into.Keyring, keyring.Seal, old.ID) != derived(t, from.Keyring, keyring.Seal, old.ID) {
		t.Error("the restored key derives something else")
	}
	// Once more there is nothing to do, and nothing is written.
	again, d, err := restore(t, newManager(t, "default", into.Store, into.KEK, clockAt(noon)), backup, keyring.RestoreOptions{})
	if err != nil || again.Revision != 0 || d.Revision() != 2 {
		t.Errorf("a second restore: revision %d, %v", d.Revision(), err)
	}
}

func TestADestroyedKeyIsNotBroughtBack(t *testing.T) {
	t.Parallel()
	doomed := keyringtest.NewKey(keyring.Seal, keyring.Active)
	ring := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{
		keyringtest.NewKey(keyring.Seal, keyring.Primary), doomed, keyringtest.NewKey(keyring.Index, keyring.Primary),
	}})
	backup, _ := backedUp(t, ring.Manager)
	ring.SetState(keyring.Seal, doomed.ID, keyring.Destroyed)
	plan, d, err := restore(t, newManager(t, "default", ring.Store, ring.KEK, clockAt(noon)), backup, keyring.RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if k, _ := d.Key(keyring.Seal, doomed.ID); k.State != keyring.Destroyed || actions(plan)[doomed.ID] != keyring.RestoreDestroyed {
		t.Errorf("key %s is %s, planned %s", doomed.ID, k.State, actions(plan)[doomed.ID])
	}
}

func TestARestoreRefusesAnIDThatNamesAnotherKey(t *testing.T) {
	t.Parallel()
	mine, index := keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)
	ring := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{mine, index}})
	m := newManager(t, "default", ring.Store, ring.KEK, clockAt(noon))
	theirs := keyringtest.NewKey(keyring.Seal, keyring.Primary)
	theirs.ID = mine.ID
	swapped := keyringtest.NewKey(keyring.Index, keyring.Active)
	swapped.ID = mine.ID
	for name, keys := range map[string][]keyringtest.Key{
		"other bytes":   {theirs, index},
		"other purpose": {keyringtest.NewKey(keyring.Seal, keyring.Primary), index, swapped},
	} {
		backup, _ := backedUp(t, keyringtest.NewRing(t, keyringtest.Options{Keys: keys}).Manager)
		var conflict *keyring.RestoreConflictError
		if _, _, err := restore(t, m, backup, keyring.RestoreOptions{}); !errors.As(err, &conflict) || conflict.ID != mine.ID {
			t.Errorf("%s: %v", name, err)
			continue
		}
		hinted(t, conflict)
	}
	if ring.Open().Revision() != 1 {
		t.Error("something was written")
	}
}

func TestARestoreRefusesIDsAndKEKsOfOtherKeyrings(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	backup, _ := backedUp(t, ring.Manager)
	twin := keyringtest.NewRing(t, keyringtest.Options{Name: "twin", Keys: []keyringtest.Key{
		{ID: ring.Keyring.Keys()[0].ID, Purpose: keyring.Seal, State: keyring.Primary}, keyringtest.NewKey(keyring.Index, keyring.Primary),
	}})
	ring.Store.Put(nil)
	m := newManager(t, "default", ring.Store, ring.KEK, clockAt(noon))
	var conflict *keyring.RestoreConflictError
	if _, err := m.PlanRestore(ctx, backup, keyring.RestoreOptions{Others: []*keyring.Description{twin.Keyring.Describe()}}); !errors.As(err, &conflict) || !conflict.Elsewhere {
		t.Errorf("an id of another keyring: %v", err)
	}
	shared := newManager(t, "default", ring.Store, twin.KEK, clockAt(noon))
	var inUse *keyring.KEKInUseError
	if _, err := shared.PlanRestore(ctx, backup, keyring.RestoreOptions{Others: []*keyring.Description{twin.Keyring.Describe()}}); !errors.As(err, &inUse) {
		t.Errorf("a KEK of another keyring: %v", err)
	}
}

func TestARestoreUnderAnotherNameIsRefused(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	backup, _ := backedUp(t, ring.Manager)
	m := newManager(t, "health", &keyringtest.Store{}, newKEK(t), clockAt(noon))
	var name *keyring.NameError
	if _, err := m.PlanRestore(ctx, backup, keyring.RestoreOptions{}); !errors.As(err, &name) {
		t.Error(err)
	}
}

func TestAKeyringThatDoesNotOpenIsReplacedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	ring.Stage(keyring.Seal)
	backup, _ := backedUp(t, ring.Manager)
	for range 5 {
		ring.Stage(keyring.Index)
	}
	// The KEK is lost; a new one is configured.
	m := newManager(t, "default", ring.Store, newKEK(t), clockAt(noon))
	var unreadable *keyring.UnreadableError
	if _, err := m.PlanRestore(ctx, backup, keyring.RestoreOptions{}); !errors.As(err, &unreadable) {
		t.Fatal(err)
	}
	hinted(t, unreadable)
	plan, d, err := restore(t, m, backup, keyring.RestoreOptions{ReplaceUnreadable: true})
	if err != nil {
		t.Fatal(err)
	}
	if d.Revision() != 8 {
		t.Errorf("revision %d, want one above the 7 of the document that did not open", d.Revision())
	}
	if plan.Replaced == nil || plan.Newer != 7 {
		t.Errorf("the plan does not say what is replaced: %v, newer %d", plan.Replaced, plan.Newer)
	}
}

func TestAnOutageIsNoReasonToReplaceAKeyring(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	backup, _ := backedUp(t, ring.Manager)
	only := ring.Stage(keyring.Seal) // the stored document alone holds it
	for _, why := range []error{retryable{}, context.DeadlineExceeded} {
		away := newManager(t, "default", ring.Store, awayKEK{ring.KEK, why}, clockAt(noon))
		var unreadable *keyring.UnreadableError
		if _, err := away.PlanRestore(ctx, backup, keyring.RestoreOptions{ReplaceUnreadable: true}); !errors.Is(err, why) || errors.As(err, &unreadable) {
			t.Errorf("%v: %v", why, err)
		}
	}
	ring.Refresh()
	if _, err := ring.Keyring.Key(ctx, keyring.Seal, only); err != nil {
		t.Error(err)
	}
}

// retryable is an outage as a KEK tells of it.
type retryable struct{}

func (retryable) Error() string   { return "sealed" }
func (retryable) Retryable() bool { return true }

// awayKEK decrypts nothing for the moment.
type awayKEK struct {
	*keyringtest.KEK
	why error
}

func (k awayKEK) DecryptWithContext(context.Context, []byte, []byte) ([]byte, error) {
	return nil, k.why
}

func TestARestoreThatSomebodyWasFasterThanWritesNothing(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	backup, _ := backedUp(t, ring.Manager)
	ring.Store.Put(nil)
	m := newManager(t, "default", ring.Store, ring.KEK, clockAt(noon))
	plan, err := m.PlanRestore(ctx, backup, keyring.RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if _, err := managerOf(t, "default", ring.Store, ring.KEK, clockAt(noon), "first@example.com").Create(ctx, keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Restore(ctx, plan); !errors.Is(err, keyring.ErrChanged) {
		t.Error(err)
	}
}

func TestABackupFailsAsAWholeIfItsEncryptionFails(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	full := errors.New("no space left")
	for name, encrypt := range map[string]keyring.Encrypter{
		"at once":  func(io.Writer) (io.WriteCloser, error) { return nil, full },
		"writing":  func(io.Writer) (io.WriteCloser, error) { return failing{write: full}, nil },
		"at close": func(io.Writer) (io.WriteCloser, error) { return failing{close: full}, nil },
	} {
		if b, err := ring.Manager.Backup(ctx, io.Discard, encrypt); !errors.Is(err, full) || b != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type failing struct{ write, close error }

func (f failing) Write(p []byte) (int, error) { return len(p), f.write }
func (f failing) Close() error                { return f.close }

func TestDamagedBackupsAreRefusedWithoutTheirContent(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	_, text := backedUp(t, ring.Manager)
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	secret := whole["keysets"].(map[string]any)["seal"].(string)
	for name, edited := range map[string]string{
		"empty":            "",
		"another format":   strings.Replace(string(text), "fieldcrypt-keyring-backup/1", "fieldcrypt-keyring-backup/2", 1),
		"a document":       strings.Replace(string(text), "fieldcrypt-keyring-backup/1", "fieldcrypt-keyring/1", 1),
		"a keyset gone":    strings.Replace(string(text), secret, "", 1),
		"a keyset cut":     strings.Replace(string(text), secret, secret[:len(secret)-8], 1),
		"a member more":    strings.Replace(string(text), `{`, `{"x":1,`, 1),
		"the other keyset": strings.Replace(string(text), whole["keysets"].(map[string]any)["index"].(string), secret, 1),
		"too long":         string(text) + strings.Repeat(" ", 2<<20),
	} {
		var bad *keyring.BackupError
		_, err := keyring.ReadBackup(strings.NewReader(edited))
		if !errors.As(err, &bad) || strings.Contains(err.Error(), secret[:16]) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		hinted(t, bad)
	}
}

func TestNoVerbPrintsABackupsKeys(t *testing.T) {
	t.Parallel()
	key := keyringtest.NewKey(keyring.Seal, keyring.Primary)
	for i := range key.Bytes {
		key.Bytes[i] = 'K'
	}
	ring := keyringtest.NewRing(t, keyringtest.Options{Keys: []keyringtest.Key{key, keyringtest.NewKey(keyring.Index, keyring.Primary)}})
	backup, _ := backedUp(t, ring.Manager)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "backup", backup)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		fmt.Fprintf(&log, verb+"\n", backup)
	}
	if s := log.String(); strings.Contains(s, "KKKK") || strings.Contains(s, "75 75") || strings.Contains(s, "4b4b") {
		t.Errorf("it is printed: %s", s)
	}
}

func TestAFingerprintTellsKeysApartAndGoesWithThem(t *testing.T) {
	t.Parallel()
	a, b := keyringtest.NewRing(t, keyringtest.Options{}), keyringtest.NewRing(t, keyringtest.Options{})
	one, _ := backedUp(t, a.Manager)
	same, _ := backedUp(t, a.Manager)
	two, _ := backedUp(t, b.Manager)
	id := a.Keyring.Keys()[0].ID
	if f := one.Fingerprint(id); len(f) != 16 || f != same.Fingerprint(id) || f == two.Fingerprint(b.Keyring.Keys()[0].ID) {
		t.Errorf("fingerprint %q", f)
	}
	if one.Fingerprint(id^1) != "" {
		t.Error("an id that is not there has one")
	}
}

// A key that was staged when it was backed up may have been primary since, in the document that was lost.
func TestARestoredStagedKeyIsTakenOutOfUseNoSoonerThanAFormerPrimary(t *testing.T) {
	t.Parallel()
	c := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
	before, _, _ := ring.Store.Load(ctx)
	staged := ring.Stage(keyring.Seal)
	backup, _ := backedUp(t, ring.Manager)
	c.Advance(time.Hour)
	if _, err := newManager(t, "default", ring.Store, ring.KEK, c).Promote(ctx, keyring.Seal, keyring.PromoteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Advance(48 * time.Hour)
	for name, stored := range map[string][]byte{"into the document of before": before, "where there is none": nil} {
		c := clockAt(c.Now())
		store := &keyringtest.Store{}
		if stored != nil {
			store.Put(stored)
		}
		m := newManager(t, "default", store, ring.KEK, c)
		if _, d, err := restore(t, m, backup, keyring.RestoreOptions{}); err != nil {
			t.Fatal(name, err)
		} else if k, _ := d.Key(keyring.Seal, staged); !k.Ceased.Equal(c.Now()) {
			t.Errorf("%s: it is %s and ceased to be primary %s, want %s", name, k.State, k.Ceased, c.Now())
		}
		early := func(what string, possible time.Duration, do func() error) {
			t.Helper()
			at := c.Now().Add(possible)
			if e := refused[*keyring.TooEarlyError](t, m, name+": "+what, do); e != nil && !e.Possible.Equal(at) {
				t.Errorf("%s: %s: possible from %s, want %s", name, what, e.Possible, at)
			}
		}
		disable := func() error {
			_, err := m.Disable(ctx, keyring.Seal, staged, keyring.DisableOptions{AssumeUnused: true})
			return err
		}
		destroy := func() error {
			_, err := m.Destroy(ctx, keyring.Seal, staged, keyring.DestroyOptions{AssumeUnused: true})
			return err
		}
		early("disable", 10*time.Minute, disable)
		c.Advance(10 * time.Minute)
		if err := disable(); err != nil {
			t.Fatal(name, err)
		}
		early("destroy", 24*time.Hour-10*time.Minute, destroy)
		c.Advance(24 * time.Hour)
		if err := destroy(); err != nil {
			t.Error(name, err)
		}
	}
}
