package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

const (
	killEvents = 120
	killBatch  = 7 // does not divide killEvents: the last batch is a short one
	kills      = 100
)

// killer runs the program on a project and kills it at a random moment of its life, which it measures first.
type killer struct {
	project string
	args    []string
	whole   time.Duration // of a run that nobody kills
	killed  int
	done    int // runs that were over before the kill
}

func (k *killer) command(t *testing.T) *exec.Cmd {
	program, err := exec.LookPath("fieldcrypt") // testscript's: this test binary
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, k.args...)
	cmd.Dir = k.project
	return cmd
}

// run lets one run come to its end.
func (k *killer) run(t *testing.T) {
	t.Helper()
	start := time.Now()
	if out, err := k.command(t).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", k.args, err, out)
	}
	k.whole = time.Since(start)
}

// kill starts one run and ends it with SIGKILL.
func (k *killer) kill(t *testing.T) {
	t.Helper()
	cmd := k.command(t)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	select {
	case <-time.After(rand.N(k.whole)):
		if cmd.Process.Kill() == nil {
			k.killed++
		}
		<-exited
	case err := <-exited:
		if err != nil {
			t.Fatalf("%v failed by itself: %v\n%s", k.args, err, out.String())
		}
		k.done++
	}
}

// check verifies the outbox with its keys: every row opens, matches its schema and its indexes. It gives the number of rows.
func (k *killer) check(t *testing.T, more ...string) int {
	t.Helper()
	r := call(t.Context(), k.project, append([]string{"verify", "--output", "json"}, more...)...)
	if r.code != failure.Done {
		t.Fatalf("verify after a kill: %+v", r)
	}
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	var summary struct {
		Rows     int `json:"rows"`
		Findings int `json:"findings"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil || summary.Findings != 0 {
		t.Fatalf("verify says %s: %v", lines[len(lines)-1], err)
	}
	return summary.Rows
}

// killProject makes a project with a file of events and an empty outbox.
func killProject(t *testing.T) string {
	t.Helper()
	project := newProject(t, 0)
	var events strings.Builder
	for i := range killEvents {
		fmt.Fprintf(&events, `{"id":"0193aaaa-0000-7000-8000-%012d","type":"invoice.issued","aggregate_id":"%d","aggregate_version":1,"payload":{"number":%d,"customer":{"name":"Wqxzil Vbkjqp","tax_id":"%010d","email":"u%d@example.com"}}}`+"\n", i+1, i, i, i, i)
	}
	if err := os.WriteFile(filepath.Join(project, "events.ndjson"), []byte(events.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	emptyOutbox(t, project)
	return project
}

func emptyOutbox(t *testing.T, project string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(project, "outbox.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	if r := call(t.Context(), project, "migrate"); r.code != failure.Done {
		t.Fatalf("%+v", r)
	}
}

func TestWritesKilledAtRandomMomentsLeaveWholeBatches(t *testing.T) {
	t.Parallel()
	project := killProject(t)
	k := &killer{project: project, args: []string{"write", "--batch", fmt.Sprint(killBatch), "events.ndjson"}}
	k.run(t)
	if rows := k.check(t); rows != killEvents {
		t.Fatalf("%d rows", rows)
	}
	emptyOutbox(t, project)
	between := 0
	for k.killed < kills {
		before := k.check(t)
		k.kill(t)
		rows := k.check(t)
		if rows != killEvents && rows%killBatch != 0 || rows < before {
			t.Fatalf("%d rows after a kill, %d before it: a part of a batch of %d was committed, or rows were lost", rows, before, killBatch)
		}
		if rows > 0 && rows < killEvents {
			between++
		}
		if rows == killEvents {
			emptyOutbox(t, project)
		}
	}
	k.run(t)
	if rows := k.check(t, "--strict"); rows != killEvents {
		t.Errorf("%d rows after the last run, want %d", rows, killEvents)
	}
	t.Logf("%d runs of write killed, %d ended before the kill, %d times with a part of the events committed", k.killed, k.done, between)
	if between == 0 {
		t.Error("no kill met a write in the middle: the test does not reach what it claims")
	}
}

func TestRotationsKilledAtRandomMomentsLoseNoKeyAndNoRow(t *testing.T) {
	t.Parallel()
	project := killProject(t)
	if r := call(t.Context(), project, "write", filepath.Join(project, "events.ndjson")); r.code != failure.Done {
		t.Fatalf("%+v", r)
	}
	k := &killer{project: project, args: []string{"rotate", "--now", "--re-encrypt", "--purpose", "all"}}
	k.run(t)
	between := 0
	for k.killed < kills {
		k.kill(t)
		if rows := k.check(t); rows != killEvents {
			t.Fatalf("%d rows after a kill, want %d", rows, killEvents)
		}
		if r := call(t.Context(), project, "verify", "--strict", "--keyless"); r.code == failure.Refused {
			between++ // warnings: rows under more than the primary key
		}
	}
	k.run(t)
	if rows := k.check(t, "--strict"); rows != killEvents {
		t.Errorf("%d rows after the last run, want %d, all under the primary keys", rows, killEvents)
	}
	t.Logf("%d rotations killed, %d ended before the kill, %d times with rows under an older key", k.killed, k.done, between)
	if between == 0 {
		t.Error("no kill met a re-encryption before its end: the test does not reach what it claims")
	}
	if got := states(t, project, "seal"); got["primary"] != 1 {
		t.Errorf("seal keys: %v", got)
	}
}
