package keyring_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// inMemory is a Memory of one test. The real ones are the outbox stores'.
type inMemory struct {
	mu   sync.Mutex
	seen map[string]keyring.Seen // by KEK
	err  error
}

func (m *inMemory) Recall(context.Context, string) ([]keyring.Seen, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []keyring.Seen
	for _, s := range m.seen {
		all = append(all, s)
	}
	return all, m.err
}

func (m *inMemory) Record(_ context.Context, _ string, s keyring.Seen) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.seen == nil {
		m.seen = map[string]keyring.Seen{}
	}
	if m.seen[s.KEK].Revision < s.Revision {
		m.seen[s.KEK] = s
	}
	return nil
}

func (m *inMemory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func TestAProcessThatStartsAnewNoticesThatTheStoreWentBack(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	memory := &inMemory{}
	old, _, _ := ring.Store.Load(ctx)
	ring.Stage(keyring.Seal)
	opened(t, ring, keyring.Options{Memory: memory})
	ring.Store.Put(old)
	var back *keyring.RollbackError
	if _, err := keyring.Open(ctx, "default", ring.Store, ring.KEK, keyring.Options{Memory: memory}); !errors.As(err, &back) || back.Seen != 2 || back.Found != 1 {
		t.Errorf("opening: %v", err)
	}
	m, err := keyring.NewManager("default", ring.Store, ring.KEK, keyring.ManagerOptions{Actor: "a test", Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{}); !errors.As(err, &back) {
		t.Errorf("changing: %v", err)
	}
}

func TestTwoDocumentsOfOneRevisionAreNoticedAcrossProcesses(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	memory := &inMemory{}
	old, _, _ := ring.Store.Load(ctx)
	ring.Stage(keyring.Seal)
	opened(t, ring, keyring.Options{Memory: memory})
	ring.Store.Put(old)
	// The other half of a split store.
	if _, err := newManager(t, "default", ring.Store, ring.KEK, clockAt(noon)).Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	var back *keyring.RollbackError
	if _, err := keyring.Open(ctx, "default", ring.Store, ring.KEK, keyring.Options{Memory: memory}); !errors.As(err, &back) || back.Seen != back.Found {
		t.Errorf("got %v", err)
	}
}

func TestAMemoryThatIsAwayStopsAStartAndNoRunningProcess(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	memory := &inMemory{}
	running := opened(t, ring, keyring.Options{Memory: memory, RefreshInterval: -1})
	away := errors.New("away")
	memory.fail(away)
	ring.Stage(keyring.Seal)
	if err := running.Refresh(ctx); err != nil || running.Revision() != 2 {
		t.Errorf("a running process: revision %d, %v", running.Revision(), err)
	}
	var unknown *keyring.MemoryError
	if _, err := keyring.Open(ctx, "default", ring.Store, ring.KEK, keyring.Options{Memory: memory}); !errors.As(err, &unknown) || !errors.Is(err, away) {
		t.Errorf("a start: %v", err)
	} else {
		hinted(t, unknown)
	}
}

func TestADocumentThatDoesNotOpenIsNotRemembered(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	memory := &inMemory{}
	opened(t, ring, keyring.Options{Memory: memory})
	good, _, _ := ring.Store.Load(ctx)
	forged := ring.Document()
	forged.Clear.Revision = 1000
	raw, err := forged.Seal(newKEK(t))
	if err != nil {
		t.Fatal(err)
	}
	ring.Store.Put(raw)
	if _, err := keyring.Open(ctx, "default", ring.Store, ring.KEK, keyring.Options{Memory: memory}); err == nil {
		t.Fatal("a forged document opens")
	}
	ring.Store.Put(good)
	opened(t, ring, keyring.Options{Memory: memory})
}

func TestARestoreGoesAboveWhatIsRemembered(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	backup, _ := backedUp(t, ring.Manager)
	memory := &inMemory{}
	for range 6 {
		ring.Stage(keyring.Seal)
	}
	running := opened(t, ring, keyring.Options{Memory: memory, RefreshInterval: -1})
	ring.Store.Put(nil)
	m, err := keyring.NewManager("default", ring.Store, ring.KEK, keyring.ManagerOptions{Actor: "a test", Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	if _, d, err := restore(t, m, backup, keyring.RestoreOptions{}); err != nil || d.Revision() != 8 {
		t.Fatal(err)
	}
	if err := running.Refresh(ctx); err != nil {
		t.Error(err)
	}
}

// Between a process's load of the document and its look at the memory another process may write a newer one: that is no store that went back.
func TestANewerDocumentThatIsWrittenMeanwhileIsNoRollback(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	memory := &inMemory{}
	other, err := keyring.NewManager("default", ring.Store, ring.KEK, keyring.ManagerOptions{Actor: "another", Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	stage := func() {
		if _, err := other.Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
			t.Error(err)
		}
	}
	store := &afterLoad{Store: ring.Store, do: stage}
	k, err := keyring.Open(ctx, "default", store, ring.KEK, keyring.Options{Memory: memory, RefreshInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	store.do = stage
	if err := k.Refresh(ctx); err != nil {
		t.Error(err)
	}
	m, err := keyring.NewManager("default", store, ring.KEK, keyring.ManagerOptions{Actor: "a test", Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	store.do = stage
	if _, err := m.Describe(ctx); err != nil {
		t.Error(err)
	}
}

// afterLoad does something once, right after a document was read.
type afterLoad struct {
	keyring.Store
	do func()
}

func (s *afterLoad) Load(ctx context.Context) ([]byte, string, error) {
	document, version, err := s.Store.Load(ctx)
	if do := s.do; do != nil {
		s.do = nil
		do()
	}
	return document, version, err
}

func TestALostKeyringIsNotSucceededByANewOne(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	memory := &inMemory{}
	ring.Stage(keyring.Seal)
	opened(t, ring, keyring.Options{Memory: memory})
	ring.Store.Put(nil)
	create := func(kek keyring.KEK) error {
		m, err := keyring.NewManager("default", ring.Store, kek, keyring.ManagerOptions{Actor: "a test", Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Create(ctx, keyring.CreateOptions{})
		return err
	}
	var lost *keyring.LostError
	if err := create(ring.KEK); !errors.As(err, &lost) || lost.Revision != 2 {
		t.Fatal(err)
	}
	hinted(t, lost)
	if _, _, err := ring.Store.Load(ctx); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("something was stored: %v", err)
	}
	if err := create(newKEK(t)); err != nil {
		t.Errorf("under another KEK: %v", err)
	}
}

// managerWith is a manager with a memory.
func managerWith(t testing.TB, store keyring.Store, kek keyring.KEK, memory keyring.Memory) *keyring.Manager {
	t.Helper()
	m, err := keyring.NewManager("default", store, kek, keyring.ManagerOptions{Actor: "a test", Now: clockAt(noon).Now, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A file that is restored has a new salt, and so another KEK: what was seen of the lost one counts all the same.
func TestAKeyringRestoredUnderAnotherKEKTakesThePlaceOfTheLostOne(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	backup, _ := backedUp(t, ring.Manager)
	memory := &inMemory{}
	for range 3 {
		ring.Stage(keyring.Seal)
	}
	lost, _, _ := ring.Store.Load(ctx)
	opened(t, ring, keyring.Options{Memory: memory})
	store, kek := &keyringtest.Store{}, newKEK(t)
	plan, restored, err := restore(t, managerWith(t, store, kek, memory), backup, keyring.RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Formerly != ring.KEK.URI() || plan.Newer != 4 || restored.Revision() != 5 {
		t.Errorf("formerly %q, newer %d, revision %d", plan.Formerly, plan.Newer, restored.Revision())
	}
	start := func(store keyring.Store, kek keyring.KEK) error {
		k, err := keyring.Open(ctx, "default", store, kek, keyring.Options{Memory: memory, RefreshInterval: -1})
		if err == nil {
			k.Close()
		}
		return err
	}
	if err := start(store, kek); err != nil {
		t.Errorf("the restored keyring: %v", err)
	}
	// The lost one is found again, and put back.
	ring.Store.Put(lost)
	var back *keyring.RollbackError
	if err := start(ring.Store, ring.KEK); !errors.As(err, &back) || back.Seen != 5 || back.Found != 4 {
		t.Errorf("the lost keyring: %v", err)
	}
	// The restored one lives on, and its changes count for both.
	if _, err := managerWith(t, store, kek, memory).Stage(ctx, keyring.Index, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := start(ring.Store, ring.KEK); !errors.As(err, &back) || back.Seen != 6 {
		t.Errorf("the lost keyring, later: %v", err)
	}
}

func TestAnOldBackupRestoredWithoutTheMemoryIsRefusedByIt(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	backup, _ := backedUp(t, ring.Manager)
	for range 5 {
		ring.Stage(keyring.Seal)
	}
	memory := &inMemory{}
	opened(t, ring, keyring.Options{Memory: memory})
	store, kek := &keyringtest.Store{}, newKEK(t)
	if _, d, err := restore(t, managerWith(t, store, kek, nil), backup, keyring.RestoreOptions{}); err != nil || d.Revision() != 2 {
		t.Fatal(err)
	}
	var back *keyring.RollbackError
	if _, err := keyring.Open(ctx, "default", store, kek, keyring.Options{Memory: memory}); !errors.As(err, &back) || back.Seen != 6 || back.Found != 2 {
		t.Fatalf("a start: %v", err)
	}
	// As the hint says: a restore with the memory at hand writes a revision above, although no key is missing.
	plan, d, err := restore(t, managerWith(t, store, kek, memory), backup, keyring.RestoreOptions{})
	if err != nil || d.Revision() != 7 || plan.Newer != 6 {
		t.Fatalf("revision %d, newer %d, %v", d.Revision(), plan.Newer, err)
	}
	k, err := keyring.Open(ctx, "default", store, kek, keyring.Options{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	k.Close()
}

// A store that went back to a document with all of the backup's keys: nothing is missing, and processes refuse it.
func TestARestoreMakesAStoreThatWentBackUsableAgain(t *testing.T) {
	t.Parallel()
	for name, recalls := range map[string]bool{"with the memory": true, "by --above-revision": false} {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		backup, _ := backedUp(t, ring.Manager)
		old, _, _ := ring.Store.Load(ctx)
		memory := &inMemory{}
		ring.Stage(keyring.Seal)
		running := opened(t, ring, keyring.Options{Memory: memory, RefreshInterval: -1})
		ring.Store.Put(old)
		if err := running.Refresh(ctx); err == nil {
			t.Fatal("it went back unnoticed")
		}
		m, opts := managerWith(t, ring.Store, ring.KEK, nil), keyring.RestoreOptions{AboveRevision: 2}
		if recalls {
			m, opts = managerWith(t, ring.Store, ring.KEK, memory), keyring.RestoreOptions{}
		}
		plan, d, err := restore(t, m, backup, opts)
		if err != nil || d.Revision() != 3 || plan.Newer != 2 {
			t.Errorf("%s: revision %d, newer %d, %v", name, d.Revision(), plan.Newer, err)
		}
		if err := running.Refresh(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again, _, err := restore(t, m, backup, opts); err != nil || again.Revision != 0 {
			t.Errorf("%s: a second restore: %v", name, err)
		}
	}
}
