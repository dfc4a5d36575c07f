package filekeyring_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// The test binary is also the writer that the tests start as processes of their
// own and kill.
const (
	writerPath  = "FIELDCRYPT_TEST_WRITER_PATH"
	writerCount = "FIELDCRYPT_TEST_WRITER_COUNT"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerPath); path != "" {
		os.Exit(stageForever(path, os.Getenv(writerCount), os.Stdout))
	}
	os.Exit(m.Run())
}

// stageForever stages keys and prints the id of each that was stored, before it
// begins the next one; count 0 means until it is killed.
func stageForever(path, count string, out io.Writer) int {
	n, err := strconv.Atoi(count)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	t := &processT{}
	m := newManager(t, newFile(t, path, passphrase))
	for staged := 0; n == 0 || staged < n; {
		changed, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{})
		switch {
		case errors.Is(err, keyring.ErrChanged):
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			return 1
		default:
			staged++
			fmt.Fprintln(out, changed.Key.ID)
		}
	}
	return 0
}

// processT lets a process that is no test use the tests' helpers.
type processT struct{ testing.TB }

func (*processT) Helper() {}

func (*processT) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

type writer struct {
	cmd *exec.Cmd
	out *bufio.Scanner
	err *strings.Builder
}

func startWriter(t *testing.T, path string, count int) *writer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{cmd: exec.Command(self), err: &strings.Builder{}}
	w.cmd.Env = append(os.Environ(), writerPath+"="+path, writerCount+"="+strconv.Itoa(count))
	w.cmd.Stderr = w.err
	pipe, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewScanner(pipe)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.cmd.Process.Kill() })
	return w
}

func (w *writer) ids(t *testing.T) []keyring.KeyID {
	t.Helper()
	var ids []keyring.KeyID
	for w.out.Scan() {
		id, err := keyring.ParseKeyID(w.out.Text())
		if err != nil {
			t.Errorf("writer said %q: %v", w.out.Text(), err)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// holds fails unless the file opens and holds each of the keys.
func holds(t *testing.T, path string, ids []keyring.KeyID) *keyring.Keyring {
	t.Helper()
	ring, err := open(t, newFile(t, path, passphrase))
	if err != nil {
		t.Fatalf("the file does not open: %v", err)
	}
	for _, id := range ids {
		key, err := ring.Key(ctx, keyring.Seal, id)
		if err != nil {
			t.Fatalf("a key that was reported as stored is lost: %v", err)
		}
		if _, err := key.Derive(nil); err != nil {
			t.Fatal(err)
		}
	}
	return ring
}

func TestProcessesThatStageAtOnceLoseNoKey(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 6
	path := created(t)
	var mu sync.Mutex
	var all []keyring.KeyID
	var wg sync.WaitGroup
	for range writers {
		w := startWriter(t, path, each)
		wg.Go(func() {
			ids := w.ids(t)
			if err := w.cmd.Wait(); err != nil || len(ids) != each {
				t.Errorf("a writer staged %d keys of %d: %v, %s", len(ids), each, err, w.err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, ids...)
		})
	}
	wg.Wait()
	ring := holds(t, path, all)
	if got := ring.Revision(); got != 1+writers*each || len(all) != writers*each {
		t.Fatalf("revision %d after %d keys, want %d", got, len(all), 1+writers*each)
	}
}

func TestAWriterKilledAtAnyMomentLeavesAWholeFile(t *testing.T) {
	t.Parallel()
	const kills = 40
	path := created(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	var stored []keyring.KeyID
	for range kills {
		w := startWriter(t, path, 0)
		// After some number of keys, and then at a random moment of the next.
		for range random.IntN(4) {
			if !w.out.Scan() {
				t.Fatalf("the writer ended: %s", w.err)
			}
			id, err := keyring.ParseKeyID(w.out.Text())
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, id)
		}
		moment := time.NewTimer(time.Duration(random.IntN(4000)) * time.Microsecond)
		<-moment.C
		if err := w.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		stored = append(stored, w.ids(t)...)
		if err := w.cmd.Wait(); err == nil {
			t.Fatal("the writer was not killed")
		}
		ring := holds(t, path, stored)
		// At most the write that was under way is there without a report.
		if extra := int(ring.Revision()) - 1 - len(stored); extra < 0 || extra > kills {
			t.Fatalf("seed %d: revision %d after %d reported keys", seed, ring.Revision(), len(stored))
		}
		for _, k := range ring.Keys() {
			if k.State == keyring.Staged && k.Purpose == keyring.Seal && !contains(stored, k.ID) {
				stored = append(stored, k.ID)
			}
		}
		if ring.Revision() != uint64(1+len(stored)) {
			t.Fatalf("seed %d: revision %d with %d staged keys", seed, ring.Revision(), len(stored))
		}
	}
	// A rerun completes.
	w := startWriter(t, path, 1)
	stored = append(stored, w.ids(t)...)
	if err := w.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, w.err)
	}
	holds(t, path, stored)
	t.Logf("%d keys over %d kills", len(stored), kills)
}

func contains(ids []keyring.KeyID, id keyring.KeyID) bool {
	for _, x := range ids {
		if x == id {
			return true
		}
	}
	return false
}

func TestReadersSeeWholeFilesWhileAWriterReplacesThem(t *testing.T) {
	t.Parallel()
	path := created(t)
	w := startWriter(t, path, 30)
	f := newFile(t, path, passphrase)
	ring, err := open(t, f)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan []keyring.KeyID, 1)
	go func() { done <- w.ids(t) }()
	for refreshes := 0; ; refreshes++ {
		if err := ring.Refresh(ctx); err != nil {
			t.Fatalf("refresh %d: %v", refreshes, err)
		}
		select {
		case ids := <-done:
			if err := w.cmd.Wait(); err != nil || len(ids) != 30 {
				t.Fatalf("the writer staged %d keys: %v, %s", len(ids), err, w.err)
			}
			if err := ring.Refresh(ctx); err != nil {
				t.Fatal(err)
			}
			if got := len(ring.Usable(keyring.Seal)); got != 31 {
				t.Fatalf("%d usable keys, want 31", got)
			}
			return
		default:
		}
	}
}
