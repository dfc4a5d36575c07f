package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

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
			code := project.here(t.Context(), strings.NewReader(""), hold, &stderr, "rotate", "--output", "json")
			arrive()
			results[i] = result{code, stdout.String(), stderr.String()}
		})
	}
	wait.Wait()
	oneWon(t, project, results[0], results[1])
}

// On Vault two processes meet: each is stopped while it waits, until the other one waits too, or has lost already.
func TestOfTwoRotationsAtOnceOnVaultOneWinsAndTheOtherSaysSo(t *testing.T) {
	t.Parallel()
	project := newProjectOn(t, onServers(t), 2*time.Second)
	waiting := make(chan struct{})
	first := project.started(project.command("rotate", "--output", "json"), &when{Writer: io.Discard, text: `"step":"waiting"`, then: sync.OnceFunc(func() { close(waiting) })})
	select {
	case <-waiting:
	case <-time.After(hangs):
		t.Fatal("the first rotation never waits")
	}
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	goOn := sync.OnceFunc(func() {
		if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	second := project.started(project.command("rotate", "--output", "json"), &when{Writer: io.Discard, text: `"step":"`, then: goOn})
	lastly := second.wait()
	goOn()
	oneWon(t, project, first.wait(), lastly)
}

// oneWon checks that one of two rotations promoted a key, and the other one said who was first and changed nothing.
func oneWon(t *testing.T, project *project, won, lost result) {
	t.Helper()
	if won.code != failure.Done {
		won, lost = lost, won
	}
	if won.code != failure.Done || !strings.Contains(won.stdout, `"step":"promoted"`) {
		t.Errorf("no run won: %+v and %+v", won, lost)
	}
	if lost.code != failure.Broken || !strings.Contains(lost.stderr, "error: keyring default: revision ") || !strings.Contains(lost.stderr, " was first; nothing was changed\nhint: ") {
		t.Errorf("the loser does not say which revision and actor won: %+v", lost)
	}
	if got := project.states(keyring.Seal); got["primary"] != 1 || got["active"] != 1 || got["staged"] != 0 {
		t.Errorf("seal keys after two rotations at once: %v; want the old one active, one new primary, none lost", got)
	}
}

func TestManyRotationsWithoutWaitingLoseNoKey(t *testing.T) {
	t.Parallel()
	manyRotations(t, newProject(t, 0), 6)
}

func TestManyRotationsWithoutWaitingLoseNoKeyOnVault(t *testing.T) {
	t.Parallel()
	manyRotations(t, newProjectOn(t, onServers(t), 0), 4)
}

func manyRotations(t *testing.T, project *project, runs int) {
	project.mustCall("migrate")
	results := make([]result, runs)
	var wait sync.WaitGroup
	for i := range results {
		wait.Go(func() { results[i] = project.call("rotate", "--now", "--re-encrypt", "--output", "json") })
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
	got := project.states(keyring.Seal)
	if promoted == 0 || got["primary"] != 1 || got["primary"]+got["active"]+got["staged"] != 1+staged || got["active"] != promoted {
		t.Errorf("%d staged, %d promoted, but the keyring holds %v", staged, promoted, got)
	}
}

func TestOfCreatesAtOnceOnVaultOneWins(t *testing.T) {
	t.Parallel()
	project := newProjectOn(t, onServers(t), 0)
	another := []string{"--keyring", project.on.names["ANOTHER"]}
	results := make([]result, 3)
	var wait sync.WaitGroup
	for i := range results {
		wait.Go(func() { results[i] = project.call(append([]string{"keys", "create"}, another...)...) })
	}
	wait.Wait()
	won := ""
	for _, r := range results {
		switch {
		case r.code == failure.Done && won == "":
			won = r.stdout
		case r.code != failure.Broken || !strings.Contains(r.stderr, "error: keyring default exists already (revision 1 by ") || !strings.Contains(r.stderr, "\nhint: "):
			t.Errorf("%+v", r)
		}
	}
	if listed := project.mustCall(append([]string{"keys", "list"}, another...)...); won == "" || listed.stdout != won {
		t.Errorf("the winner made\n%sand the keyring holds\n%s", won, listed.stdout)
	}
}

func TestARotationThatIsInterruptedCanBeRunAgain(t *testing.T) {
	t.Parallel()
	project := newProject(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	code := project.here(ctx, strings.NewReader(""), &when{Writer: &stdout, text: "waiting until ", then: cancel}, &stderr, "rotate")
	if code != failure.Broken || stderr.String() != "error: interrupted\n" {
		t.Errorf("code %d, %s%s", code, stdout.String(), stderr.String())
	}
	if got := project.states(keyring.Seal); got["staged"] != 1 || got["primary"] != 1 {
		t.Errorf("after the interrupt: %v", got)
	}
	if r := project.call("rotate", "--now"); r.code != failure.Done || !strings.Contains(r.stdout, "continuing with seal key ") {
		t.Errorf("run again: %+v", r)
	}
	if got := project.states(keyring.Seal); got["staged"] != 0 || got["primary"] != 1 || got["active"] != 1 {
		t.Errorf("after the second run: %v", got)
	}
}

func TestALockedKeyringFileIsNamedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	project := newProject(t, 0)
	lock := flock.New(filepath.Join(project.dir, "keyring.json.lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer lock.Close()
	r := project.call("keys", "add", "--purpose", "seal")
	if r.code != failure.Broken || !strings.Contains(r.stderr, "keyring.json: locked by another writer") || !strings.Contains(r.stderr, "\nhint: another process is changing the keyring") {
		t.Errorf("%+v", r)
	}
	// Readers need no lock.
	if got := project.states(keyring.Seal); got["primary"] != 1 || got["staged"] != 0 {
		t.Errorf("%v", got)
	}
}
