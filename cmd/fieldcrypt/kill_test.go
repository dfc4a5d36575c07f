package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
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
	// killsOnServers are fewer: each run there takes several times as long.
	killsOnServers = 30
)

// killer runs the program on a project and kills it at a random moment of its life, which it measures first, and whenever one ends by itself.
type killer struct {
	*project
	args    []string
	kills   int           // how many it makes
	whole   time.Duration // of a run that nobody kills
	killed  int
	done    int // runs that were over before the kill
	between int // kills that left something half done
}

// more reports that there are kills to make: all of them, and then some if none has met what the test is about.
func (k *killer) more() bool {
	return k.killed < k.kills || k.between == 0 && k.killed < 3*k.kills
}

// judge notes whether the run that was killed, or ended, left something half done. As long as none does, the next has more time: the machine may be
// much slower now than when the whole run was measured.
func (k *killer) judge(between bool) {
	if between {
		k.between++
	}
	if k.between == 0 {
		k.whole += k.whole / 10
	}
}

// run lets one run come to its end.
func (k *killer) run(t *testing.T) {
	t.Helper()
	start := time.Now()
	if out, err := k.command(k.args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", k.args, err, out)
	}
	k.whole = time.Since(start)
}

// kill starts one run and ends it with SIGKILL.
func (k *killer) kill(t *testing.T) {
	t.Helper()
	cmd := k.command(k.args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
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
		k.whole = time.Since(start)
	}
}

// check verifies the outbox with its keys: every row opens, matches its schema and its indexes. It gives the number of rows.
func (k *killer) check(t *testing.T, more ...string) int {
	t.Helper()
	r := k.call(append([]string{"verify", "--output", "json"}, more...)...)
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

// writeEvents makes a file of events.
func (p *project) writeEvents() {
	p.t.Helper()
	var events strings.Builder
	for i := range killEvents {
		fmt.Fprintf(&events, `{"id":"0193aaaa-0000-7000-8000-%012d","type":"invoice.issued","aggregate_id":"%d","aggregate_version":1,"payload":{"number":%d,"customer":{"name":"Wqxzil Vbkjqp","tax_id":"%010d","email":"u%d@example.com"}}}`+"\n", i+1, i, i, i, i)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "events.ndjson"), []byte(events.String()), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// emptyOutbox makes the tables if they are not there, and takes all rows out.
func (p *project) emptyOutbox() {
	p.t.Helper()
	p.mustCall("migrate")
	var err error
	if p.on.inFiles() {
		if _, err = execSQLite(filepath.Join(p.dir, "outbox.db"), "DELETE FROM outbox_events_key_ids"); err == nil {
			_, err = execSQLite(filepath.Join(p.dir, "outbox.db"), "DELETE FROM outbox_events")
		}
	} else {
		_, err = execPostgres(p.t.Context(), p.on.names["OUTBOX"], "DELETE FROM outbox_events")
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func TestWritesKilledAtRandomMomentsLeaveWholeBatches(t *testing.T) {
	t.Parallel()
	killWrites(t, newProject(t, 0), kills)
}

func TestWritesKilledAtRandomMomentsLeaveWholeBatchesOnPostgresAndVault(t *testing.T) {
	t.Parallel()
	killWrites(t, newProjectOn(t, onServers(t), 0), killsOnServers)
}

func killWrites(t *testing.T, project *project, kills int) {
	project.writeEvents()
	project.emptyOutbox()
	k := &killer{project: project, kills: kills, args: []string{"write", "--batch", fmt.Sprint(killBatch), "events.ndjson"}}
	k.run(t)
	if rows := k.check(t); rows != killEvents {
		t.Fatalf("%d rows", rows)
	}
	project.emptyOutbox()
	before := 0
	for k.more() {
		k.kill(t)
		rows := k.check(t)
		if rows != killEvents && rows%killBatch != 0 || rows < before {
			t.Fatalf("%d rows after a kill, %d before it: a part of a batch of %d was committed, or rows were lost", rows, before, killBatch)
		}
		k.judge(rows > 0 && rows < killEvents)
		if before = rows; rows == killEvents {
			project.emptyOutbox()
			before = 0
		}
	}
	k.run(t)
	if rows := k.check(t, "--strict"); rows != killEvents {
		t.Errorf("%d rows after the last run, want %d", rows, killEvents)
	}
	t.Logf("%d runs of write killed, %d ended before the kill, %d times with a part of the events committed", k.killed, k.done, k.between)
	if k.between == 0 {
		t.Error("no kill met a write in the middle: the test does not reach what it claims")
	}
}

func TestRotationsKilledAtRandomMomentsLoseNoKeyAndNoRow(t *testing.T) {
	t.Parallel()
	killRotations(t, newProject(t, 0), kills)
}

func TestRotationsKilledAtRandomMomentsLoseNoKeyAndNoRowOnPostgresAndVault(t *testing.T) {
	t.Parallel()
	killRotations(t, newProjectOn(t, onServers(t), 0), killsOnServers)
}

func killRotations(t *testing.T, project *project, kills int) {
	project.writeEvents()
	project.emptyOutbox()
	if !project.on.inFiles() { // where the trail is in a file, too
		project.auditInTable()
	}
	project.mustCall("write", filepath.Join(project.dir, "events.ndjson"))
	k := &killer{project: project, kills: kills, args: []string{"rotate", "--now", "--re-encrypt", "--purpose", "all"}}
	k.run(t)
	for k.more() {
		k.kill(t)
		if rows := k.check(t); rows != killEvents {
			t.Fatalf("%d rows after a kill, want %d", rows, killEvents)
		}
		// Refused are warnings alone: rows under more than the primary key.
		k.judge(project.call("verify", "--strict", "--keyless").code == failure.Refused)
	}
	k.run(t)
	if rows := k.check(t, "--strict"); rows != killEvents {
		t.Errorf("%d rows after the last run, want %d, all under the primary keys", rows, killEvents)
	}
	t.Logf("%d rotations killed, %d ended before the kill, %d times with rows under an older key", k.killed, k.done, k.between)
	if k.between == 0 {
		t.Error("no kill met a re-encryption before its end: the test does not reach what it claims")
	}
	if got := project.states("seal"); got["primary"] != 1 {
		t.Errorf("seal keys: %v", got)
	}
	project.mustCall("audit", "trail", "--check")
	project.expectKeysTold(project.trail())
}
