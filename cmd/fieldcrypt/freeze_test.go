package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/cutproxy"
)

// freezer runs the program against a Postgres that answers no more after the n-th message, and kills it there, for every n.
type freezer struct {
	*project
	far    *project
	proxy  *cutproxy.Proxy
	outbox string
	// kills are how many moments are chosen. Defaults to all there are.
	kills int
	// shown is what the last run has written to its standard output.
	shown string
}

func newFreezer(t *testing.T) *freezer {
	t.Helper()
	project := newProjectOn(t, onServers(t), 0)
	outbox := project.on.names["OUTBOX"]
	proxy := cutproxy.New(t, outbox)
	return &freezer{project: project, far: project.with(map[string]string{"FIELDCRYPT_OUTBOX": proxy.URL(t, outbox)}), proxy: proxy, outbox: outbox}
}

func (f *freezer) exec(statement string) {
	f.t.Helper()
	if _, err := execPostgres(f.t.Context(), f.outbox, statement); err != nil {
		f.t.Fatal(err)
	}
}

// everywhere counts the messages of a whole run, and then kills a run after each of them, or at some of these moments. before puts things as they were, after looks
// what the killed run left and does it again.
func (f *freezer) everywhere(before, after func(), args ...string) {
	f.t.Helper()
	before()
	f.proxy.Open()
	f.shown = f.far.mustCall(args...).stdout
	messages := f.proxy.Count()
	after()
	moments := f.moments(messages)
	for _, n := range moments {
		before()
		f.proxy.Freeze(n)
		run := f.far.start("", args...)
		f.awaitMessages(n, run)
		if err := run.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			f.t.Fatal(err)
		}
		<-run.done
		f.shown = run.stdout.String()
		f.clean(result{failure.Broken, f.shown, run.stderr.String()})
		f.proxy.Open()
		after()
		if f.t.Failed() {
			f.t.Fatalf("killed after %d of %d messages", n, messages)
		}
	}
	f.t.Logf("%v: killed at %d moments of %d messages", args, len(moments), messages)
}

// moments are the numbers of messages after which a run is killed, the last one always among them.
func (f *freezer) moments(messages int) (all []int) {
	stride := 1
	if f.kills > 0 {
		stride = max(messages/f.kills, 1)
	}
	for n := rand.IntN(stride); n < messages-1; n += stride {
		all = append(all, n)
	}
	return append(all, messages-1)
}

// awaitMessages waits until the proxy has passed n messages, and holds the next one back.
func (f *freezer) awaitMessages(n int, run *running) {
	f.t.Helper()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	over := time.NewTimer(hangs)
	defer over.Stop()
	for f.proxy.Count() < n {
		select {
		case err := <-run.done:
			run.done <- err
			return // it needed fewer messages this time, and is over
		case <-again.C:
		case <-over.C:
			f.t.Fatalf("%d of %d messages came; it said\n%s", f.proxy.Count(), n, run.stderr.String())
		}
	}
}

func (f *freezer) writeFewEvents(count int) {
	f.t.Helper()
	var events strings.Builder
	for i := range count {
		fmt.Fprintf(&events, `{"id":"0193aaaa-0000-7000-8000-%012d","type":"invoice.issued","aggregate_id":"%d","payload":{"number":1,"customer":{"name":"Wqxzil Vbkjqp"}}}`+"\n", i+1, i)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "few.ndjson"), []byte(events.String()), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *freezer) mustHold(rows int) {
	f.t.Helper()
	if got, err := f.rows(); err != nil || got != rows {
		f.t.Errorf("%d rows, want %d: %v", got, rows, err)
	}
	f.mustCall("verify")
}

func TestAMigrationKilledAfterEachMessageIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	f := newFreezer(t)
	f.everywhere(func() {
		f.exec("DROP TABLE IF EXISTS outbox_events, fieldcrypt_migrations, fieldcrypt_indexes, fieldcrypt_keyrings, fieldcrypt_audit CASCADE")
	}, func() {
		f.mustCall("migrate")
	}, "migrate")
	f.mustCall("migrate", "--check")
}

func TestAWriteKilledAfterEachMessageIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	f := newFreezer(t)
	f.mustCall("migrate")
	const events = 2
	f.writeFewEvents(events)
	f.everywhere(func() {
		f.exec("DELETE FROM outbox_events")
	}, func() {
		f.exec("BEGIN; LOCK TABLE outbox_events; COMMIT") // a commit may still be under way
		if rows, err := f.rows(); err != nil || rows != 0 && rows != events {
			t.Errorf("%d rows of one batch of %d: %v", rows, events, err)
		}
		f.mustCall("write", "few.ndjson")
		f.mustHold(events)
	}, "write", "few.ndjson")
}

func TestAReencryptionKilledAfterEachMessageLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFreezer(t)
	f.mustCall("migrate")
	const events = 1
	f.writeFewEvents(events)
	f.mustCall("write", "few.ndjson")
	f.everywhere(func() {
		f.mustCall("rotate", "--now")
	}, func() {
		f.mustHold(events)
		f.mustCall("rotate", "--re-encrypt-only")
	}, "rotate", "--re-encrypt-only")
	f.mustCall("verify", "--strict")
}

// Wherever an operation is killed between its process and the database: what was done was begun in the trail before, and the trail is whole.
func TestLawNothingIsDoneWithoutAnEntryBefore(t *testing.T) {
	t.Parallel()
	f := newFreezer(t)
	f.auditInTable()
	f.kills = 40 / lawScale
	f.mustCall("migrate")
	// More than the program keeps before it writes, so that something is shown before all is done.
	const taxID = "8675309867"
	event := `{"type":"invoice.issued","aggregate_id":"1","payload":{"number":1,"note":"` + strings.Repeat("x", 4000) + `","customer":{"name":"Wqxzil Vbkjqp","tax_id":"` + taxID + `"}}}` + "\n"
	if err := os.WriteFile(filepath.Join(f.dir, "events.ndjson"), []byte(strings.Repeat(event, 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.mustCall("write", "events.ndjson")
	sealed := f.mustCall("seal", "events.ndjson").stdout
	if err := os.WriteFile(filepath.Join(f.dir, "sealed.ndjson"), []byte(sealed), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := func() []audittrail.Entry {
		f.mustCall("audit", "trail", "--check")
		return f.trail()
	}
	for operation, args := range map[string][]string{"open": {"open", "sealed.ndjson"}, "find": {"find", "--index", "tax_id", "--open", taxID}} {
		shown := 0
		f.everywhere(func() {}, func() {
			if strings.Contains(f.shown, taxID) {
				shown++
			}
			if n := begun(whole(), operation); n < shown {
				t.Errorf("%s has shown a value %d times, and was begun %d times", operation, shown, n)
			}
		}, args...)
		if shown < 2 {
			t.Errorf("%s has shown a value %d times", operation, shown)
		}
	}
	f.everywhere(func() {}, func() { f.expectKeysTold(whole()) }, "rotate", "--now", "--purpose", "all")
}
