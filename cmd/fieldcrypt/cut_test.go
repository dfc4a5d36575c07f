package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/cutproxy"
)

var committed = regexp.MustCompile(`^error: (?:open the outbox: .*|.*; (\d+) events? (?:was|were) committed before that(, and perhaps the batch after them)?)\nhint: .+\n$`)

// Wherever the connection to Postgres ends, write says truly how many events are committed, and the same command again writes the rest and nothing twice.
func TestAWriteThatIsCutOffAnywhereSaysTrulyWhatIsCommitted(t *testing.T) {
	t.Parallel()
	project := newProjectOn(t, onServers(t), 0)
	project.mustCall("migrate")
	outbox := project.on.names["OUTBOX"]
	proxy := cutproxy.New(t, outbox)
	far := project.with(map[string]string{"FIELDCRYPT_OUTBOX": proxy.URL(t, outbox)})

	const events, batch = 4, 2
	var lines strings.Builder
	for i := range events {
		fmt.Fprintf(&lines, `{"id":"0193aaaa-0000-7000-8000-%012d","type":"invoice.issued","aggregate_id":"%d","payload":{"number":1,"customer":{"name":"Wqxzil Vbkjqp"}}}`+"\n", i+1, i)
	}
	write := func() result { return far.callWith(lines.String(), "write", "--batch", strconv.Itoa(batch)) }
	count := func() int {
		rows, err := project.rows()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}

	proxy.Open()
	if r := write(); r.code != failure.Done {
		t.Fatalf("%+v", r)
	}
	messages := proxy.Count()
	between, perhaps := 0, 0
	for n := range messages {
		proxy.Open()
		if _, err := execPostgres(t.Context(), outbox, "DELETE FROM outbox_events"); err != nil {
			t.Fatal(err)
		}
		proxy.Cut(n)
		r := write()
		// A commit that the client does not wait for any more may still be under way: whoever wants the table for himself waits for it.
		if _, err := execPostgres(t.Context(), outbox, "BEGIN; LOCK TABLE outbox_events; COMMIT"); err != nil {
			t.Fatal(err)
		}
		rows := count()
		if rows > 0 && rows < events {
			between++
		}
		if r.code != failure.Done {
			said := committed.FindStringSubmatch(r.stderr)
			if r.code != failure.Broken || said == nil {
				t.Fatalf("cut after %d of %d messages: %+v", n, messages, r)
			}
			sure, _ := strconv.Atoi(said[1]) // 0 where there was no connection yet
			if said[2] != "" {
				perhaps++
			}
			if rows != sure && (said[2] == "" || rows != sure+batch) {
				t.Errorf("cut after %d of %d messages: %d rows are committed, and it said\n%s", n, messages, rows, r.stderr)
			}
		} else if rows != events {
			t.Errorf("cut after %d of %d messages: exit 0 with %d of %d rows", n, messages, rows, events)
		}
		proxy.Open()
		if again := write(); again.code != failure.Done || count() != events {
			t.Errorf("cut after %d of %d messages, run again: %d rows, %+v", n, messages, count(), again)
		}
	}
	t.Logf("cut after each of %d messages; %d times with one of two batches committed, %d times in a commit", messages, between, perhaps)
	if between == 0 || perhaps == 0 {
		t.Error("no cut met the second batch, or none met a commit: the test does not reach what it claims")
	}
}
