package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/root"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// result is what a run said.
type result struct {
	code           failure.Code
	stdout, stderr string
}

// call runs a command in this process, on a project elsewhere.
func call(ctx context.Context, project string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := callOn(ctx, project, &stdout, &stderr, args...)
	return result{code, stdout.String(), stderr.String()}
}

func callOn(ctx context.Context, project string, stdout, stderr io.Writer, args ...string) failure.Code {
	args = append(args,
		"--schemas", filepath.Join(project, "schemas"), "--keyring", "file:"+filepath.Join(project, "keyring.json"), "--outbox", "sqlite:"+filepath.Join(project, "outbox.db"))
	app := testApp(project, strings.NewReader(""), stdout, stderr)
	app.LookupEnv = func(name string) (string, bool) {
		if name == "FIELDCRYPT_PASSPHRASE_FILE" {
			return filepath.Join(project, "passphrase"), true
		}
		return "", false
	}
	return root.Run(ctx, app, args)
}

func newProject(t *testing.T, propagation time.Duration) string {
	t.Helper()
	dir := t.TempDir()
	if err := createProject(dir, propagation); err != nil {
		t.Fatal(err)
	}
	return dir
}

// states counts the keys of a purpose by state.
func states(t *testing.T, project string, purpose keyring.Purpose) map[string]int {
	t.Helper()
	r := call(t.Context(), project, "keys", "list", "--output", "json")
	if r.code != failure.Done {
		t.Fatalf("keys list: %+v", r)
	}
	count := map[string]int{}
	for line := range strings.Lines(r.stdout) {
		if strings.Contains(line, `"purpose":"`+string(purpose)+`"`) {
			_, rest, _ := strings.Cut(line, `"state":"`)
			state, _, _ := strings.Cut(rest, `"`)
			count[state]++
		}
	}
	return count
}

func TestOfTwoRotationsAtOnceOneWinsAndTheOtherSaysSo(t *testing.T) {
	t.Parallel()
	project := newProject(t, 2*time.Second)
	// Neither goes on to promote before the other has staged or continued a key too, or has lost already.
	const runs = 2
	var together sync.WaitGroup
	together.Add(runs)
	results := make([]result, runs)
	var wait sync.WaitGroup
	for i := range results {
		wait.Go(func() {
			arrive := sync.OnceFunc(together.Done)
			var stdout, stderr bytes.Buffer
			hold := &when{Writer: &stdout, text: `"step":"waiting"`, then: func() { arrive(); together.Wait() }}
			code := callOn(t.Context(), project, hold, &stderr, "rotate", "--output", "json")
			arrive()
			results[i] = result{code, stdout.String(), stderr.String()}
		})
	}
	wait.Wait()
	won, lost := results[0], results[1]
	if won.code != failure.Done {
		won, lost = lost, won
	}
	if won.code != failure.Done || !strings.Contains(won.stdout, `"step":"promoted"`) {
		t.Errorf("no run won: %+v and %+v", won, lost)
	}
	if lost.code != failure.Broken || !strings.Contains(lost.stderr, "error: keyring default: revision ") || !strings.Contains(lost.stderr, " was first; nothing was changed\nhint: ") {
		t.Errorf("the loser does not say which revision and actor won: %+v", lost)
	}
	if got := states(t, project, keyring.Seal); got["primary"] != 1 || got["active"] != 1 || got["staged"] != 0 {
		t.Errorf("seal keys after two rotations at once: %v; want the old one active, one new primary, none lost", got)
	}
}

func TestManyRotationsWithoutWaitingLoseNoKey(t *testing.T) {
	t.Parallel()
	project := newProject(t, 0)
	if r := call(t.Context(), project, "migrate"); r.code != failure.Done {
		t.Fatalf("migrate: %+v", r)
	}
	const runs = 6
	results := make([]result, runs)
	var wait sync.WaitGroup
	for i := range results {
		wait.Go(func() { results[i] = call(t.Context(), project, "rotate", "--now", "--re-encrypt", "--output", "json") })
	}
	wait.Wait()
	promoted, staged := 0, 0
	for _, r := range results {
		staged += strings.Count(r.stdout, `"step":"staged"`)
		promoted += strings.Count(r.stdout, `"step":"promoted"`)
		if r.code != failure.Done && (r.code != failure.Broken || !strings.Contains(r.stderr, " was first; nothing was changed")) {
			t.Errorf("neither won nor lost: %+v", r)
		}
	}
	got := states(t, project, keyring.Seal)
	if promoted == 0 || got["primary"] != 1 || got["primary"]+got["active"]+got["staged"] != 1+staged || got["active"] != promoted {
		t.Errorf("%d staged, %d promoted, but the keyring holds %v", staged, promoted, got)
	}
}

func TestARotationThatIsInterruptedCanBeRunAgain(t *testing.T) {
	t.Parallel()
	project := newProject(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	code := callOn(ctx, project, &when{Writer: &stdout, text: "waiting until ", then: cancel}, &stderr, "rotate")
	if code != failure.Broken || stderr.String() != "error: interrupted\n" {
		t.Errorf("code %d, %s%s", code, stdout.String(), stderr.String())
	}
	if got := states(t, project, keyring.Seal); got["staged"] != 1 || got["primary"] != 1 {
		t.Errorf("after the interrupt: %v", got)
	}
	if r := call(t.Context(), project, "rotate", "--now"); r.code != failure.Done || !strings.Contains(r.stdout, "continuing with seal key ") {
		t.Errorf("run again: %+v", r)
	}
	if got := states(t, project, keyring.Seal); got["staged"] != 0 || got["primary"] != 1 || got["active"] != 1 {
		t.Errorf("after the second run: %v", got)
	}
}

// when does something once a text has been written.
type when struct {
	io.Writer
	text string
	then func()
}

func (w *when) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if strings.Contains(string(p), w.text) {
		w.then()
	}
	return n, err
}

func TestALockedKeyringFileIsNamedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	project := newProject(t, 0)
	lock := flock.New(filepath.Join(project, "keyring.json.lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer lock.Close()
	r := call(t.Context(), project, "keys", "add", "--purpose", "seal")
	if r.code != failure.Broken || !strings.Contains(r.stderr, "keyring.json: locked by another writer") || !strings.Contains(r.stderr, "\nhint: another process is changing the keyring") {
		t.Errorf("%+v", r)
	}
	// Readers need no lock.
	if got := states(t, project, keyring.Seal); got["primary"] != 1 || got["staged"] != 0 {
		t.Errorf("%v", got)
	}
}
