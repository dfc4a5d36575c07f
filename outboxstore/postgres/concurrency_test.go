package postgres_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
)

// waiting waits until a session of the database waits for a lock.
func (f *fixture) waiting() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for {
		var n int
		err := f.store.Pool().QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		f.must(err)
		if n > 0 {
			return
		}
	}
}

// overtaken writes an event in one transaction, then another one in a second transaction, which has to wait, and ends the
// first. It gives what the second one got.
func (f *fixture) overtaken(level pgx.TxIsoLevel, first, second envelope.Event, end func(pgx.Tx) error) (results []outboxstore.Result, err, commitErr error) {
	f.t.Helper()
	ctx := f.t.Context()
	tx1, err := f.store.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	f.must(err)
	defer tx1.Rollback(context.Background())
	_, err = f.store.Write(ctx, tx1, f.seal(first))
	f.must(err)
	tx2, err := f.store.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	f.must(err)
	defer tx2.Rollback(context.Background())
	_, err = tx2.Exec(ctx, "INSERT INTO public.business VALUES (1)") // takes its snapshot
	f.must(err)
	sealed := f.seal(second)
	var wg sync.WaitGroup
	wg.Go(func() {
		results, err = f.store.Write(ctx, tx2, f.seal(note(50, "before")), sealed)
	})
	f.waiting()
	f.must(end(tx1))
	wg.Wait()
	if _, useErr := tx2.Exec(ctx, "SELECT 1"); useErr != nil {
		f.t.Errorf("the transaction is not usable any more: %v", useErr)
	}
	return results, err, tx2.Commit(ctx)
}

func TestASecondWriterWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	commit := func(tx pgx.Tx) error { return tx.Commit(context.Background()) }
	back := func(tx pgx.Tx) error { return tx.Rollback(context.Background()) }
	taken := note(2, "hello")
	taken.AggregateVersion = note(1, "").AggregateVersion
	for name, c := range map[string]struct {
		level    pgx.TxIsoLevel
		second   envelope.Event
		end      func(pgx.Tx) error
		want     outboxstore.Result
		conflict outboxstore.Conflict
		fault    outboxstore.DatabaseFault
	}{
		"read committed, same event, committed":      {pgx.ReadCommitted, note(1, "hello"), commit, outboxstore.Duplicate, "", ""},
		"read committed, same event, rolled back":    {pgx.ReadCommitted, note(1, "hello"), back, outboxstore.Inserted, "", ""},
		"read committed, other content, committed":   {pgx.ReadCommitted, note(1, "other"), commit, 0, outboxstore.ConflictContent, ""},
		"read committed, other content, rolled back": {pgx.ReadCommitted, note(1, "other"), back, outboxstore.Inserted, "", ""},
		"read committed, taken version, committed":   {pgx.ReadCommitted, taken, commit, 0, outboxstore.ConflictAggregateVersion, ""},
		"read committed, taken version, rolled back": {pgx.ReadCommitted, taken, back, outboxstore.Inserted, "", ""},
		"repeatable read, same event, committed":     {pgx.RepeatableRead, note(1, "hello"), commit, 0, "", outboxstore.FaultSerialization},
		"repeatable read, taken version, committed":  {pgx.RepeatableRead, taken, commit, 0, "", outboxstore.FaultSerialization},
		"repeatable read, same event, rolled back":   {pgx.RepeatableRead, note(1, "hello"), back, outboxstore.Inserted, "", ""},
		"serializable, same event, committed":        {pgx.Serializable, note(1, "hello"), commit, 0, "", outboxstore.FaultSerialization},
		"serializable, same event, rolled back":      {pgx.Serializable, note(1, "hello"), back, outboxstore.Inserted, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			results, err, commitErr := f.overtaken(c.level, note(1, "hello"), c.second, c.end)
			switch {
			case c.fault != "":
				e := expectFault(t, err, c.fault)
				var pg *pgconn.PgError
				if !e.Retryable() || !errors.As(err, &pg) || pg.Code != "40001" {
					t.Errorf("a retry loop does not see it: %v", err)
				}
			case c.conflict != "":
				if e := as[*outboxstore.ConflictError](t, err); e.Conflict != c.conflict || e.StoredID != noteID(1) {
					t.Errorf("conflict is %+v", e)
				}
			case err != nil || !slices.Equal(results, []outboxstore.Result{outboxstore.Inserted, c.want}):
				t.Errorf("results %v, error %v", results, err)
			}
			if c.level != pgx.Serializable {
				f.must(commitErr)
			}
			if c.want == 0 { // nothing of the refused call is left
				f.expect("SELECT count(*) FROM public.outbox_events WHERE id = '"+noteID(50)+"'", "0")
			}
		})
	}
}

// What stood in the way is deleted before it can be looked at: the event is written after all.
func TestRowDeletedAfterItStoodInTheWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 1)
	// The trigger deletes the row of the id that is being inserted, after the insertion met it: it runs for the statement.
	f.exec(`CREATE FUNCTION public.prune() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN DELETE FROM public.outbox_events WHERE id = '` + noteID(1) + `' AND created_at < now(); RETURN NULL; END$$`)
	f.exec("CREATE TRIGGER prune AFTER INSERT ON public.outbox_events FOR EACH STATEMENT EXECUTE FUNCTION public.prune()")
	results, err := f.store.WriteBatch(t.Context(), f.notes(1, 1)...)
	if err != nil || results[0] != outboxstore.Inserted {
		t.Errorf("results %v, error %v", results, err)
	}
	f.expectSound(1)
}

// Two batches in opposite order wait for each other: Postgres ends one, and the store runs it again.
func TestDeadlockOfBatchesIsRunAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	forth := f.notes(1, 40)
	var wg sync.WaitGroup
	for round := range 6 {
		batch := slices.Clone(forth)
		if round%2 == 1 {
			slices.Reverse(batch)
		}
		wg.Go(func() {
			if _, err := f.store.WriteBatch(t.Context(), batch...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.expectSound(40)
}

// The same with certainty: each of two transactions holds what the other one wants.
func TestDeadlockIsTypedAndRetryable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	begin := func(n int) pgx.Tx {
		tx, err := f.store.Pool().Begin(ctx)
		f.must(err)
		_, err = tx.Exec(ctx, "SET LOCAL deadlock_timeout = '50ms'")
		f.must(err)
		_, err = f.store.Write(ctx, tx, f.seal(note(n, "hello")))
		f.must(err)
		return tx
	}
	tx1, tx2 := begin(1), begin(2)
	defer tx1.Rollback(context.Background())
	defer tx2.Rollback(context.Background())
	errs := make([]error, 2)
	one, two := f.seal(note(1, "hello")), f.seal(note(2, "hello"))
	var wg sync.WaitGroup
	wg.Go(func() { _, errs[0] = f.store.Write(ctx, tx1, two); _ = tx1.Rollback(ctx) })
	wg.Go(func() { _, errs[1] = f.store.Write(ctx, tx2, one); _ = tx2.Rollback(ctx) })
	wg.Wait()
	victim := errs[0]
	if victim == nil {
		victim = errs[1]
	}
	if e := expectFault(t, victim, outboxstore.FaultSerialization); !e.Retryable() || e.Code != "40P01" {
		t.Errorf("error is %v", victim)
	}
}

// Two resealers and a relay on the same rows: nothing is lost, and they do not wait for each other for ever.
func TestReplaceBesideARelay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 30)
	var rows []*outboxstore.Row
	for row, err := range f.store.Scan(t.Context(), outboxstore.ScanOptions{}) {
		f.must(err)
		rows = append(rows, row)
	}
	var replacements []outboxstore.Replacement
	for i, row := range rows {
		replacements = append(replacements, outboxstore.Replacement{Row: row, Sealed: f.seal(note(i+1, "hello"))})
	}
	backwards := slices.Clone(replacements)
	slices.Reverse(backwards)
	changed := make([][]bool, 2)
	var wg sync.WaitGroup
	for i, list := range [][]outboxstore.Replacement{replacements, backwards} {
		wg.Go(func() {
			var err error
			if changed[i], err = f.store.Replace(t.Context(), list...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		_, err := f.store.Pool().Exec(t.Context(), `UPDATE public.outbox_events SET attempts = attempts + 1, published_at = now()
			WHERE id IN (SELECT id FROM public.outbox_events WHERE published_at IS NULL ORDER BY created_at, id LIMIT 20 FOR UPDATE SKIP LOCKED)`)
		if err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	for i := range rows {
		if changed[0][i] == changed[1][len(rows)-1-i] {
			t.Errorf("row %d was changed by both or by none", i)
		}
	}
	f.expectSound(30)
}

func TestARowTwiceInOneReplaceIsChangedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 1)
	row, err := f.store.Get(t.Context(), noteID(1))
	f.must(err)
	again := outboxstore.Replacement{Row: row, Sealed: f.seal(note(1, "hello"))}
	changed, err := f.store.Replace(t.Context(), again, again)
	if err != nil || !slices.Equal(changed, []bool{true, false}) {
		t.Errorf("%v, %v", changed, err)
	}
}

// Rows are found again by their places, and a place is one of a single table: a table that inherits from the outbox, an archive say, has rows in the same
// places, and is updated with it.
func TestReplaceChangesNoRowOfATableThatInherits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 2)
	f.exec("CREATE TABLE public.outbox_archive (LIKE public.outbox_events INCLUDING ALL) INHERITS (public.outbox_events)")
	// The second row becomes the archive's first.
	f.exec("WITH gone AS (DELETE FROM ONLY public.outbox_events WHERE ctid = '(0,2)' RETURNING *) INSERT INTO public.outbox_archive SELECT * FROM gone")
	f.expect("SELECT string_agg(ctid::text, ' ') FROM public.outbox_events", "(0,1) (0,1)")
	n := 1
	if f.text("SELECT id FROM ONLY public.outbox_events") == noteID(2) {
		n = 2
	}
	row, err := f.store.Get(t.Context(), noteID(n))
	f.must(err)
	changed, err := f.store.TryReplace(t.Context(), outboxstore.Replacement{Row: row, Sealed: f.seal(note(n, "hello"))})
	if err != nil || !slices.Equal(changed, []bool{true}) {
		t.Errorf("%v, %v", changed, err)
	}
	f.expectSound(2)
}

// A store that has written before a migration compares rows by the columns that are there now.
func TestReplaceAfterAMigration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 2)
	_, err := f.open(f.url, postgres.Options{}).Migrate(t.Context(), append(f.reg.Indexes(), other))
	f.must(err)
	f.exec("UPDATE public.outbox_events SET bidx_other = '\\x00000001aa'")
	row, err := f.store.Get(t.Context(), noteID(1))
	f.must(err)
	changed, err := f.store.Replace(t.Context(), outboxstore.Replacement{Row: row, Sealed: f.seal(note(1, "hello"))})
	if err != nil || !changed[0] {
		t.Errorf("%v, %v", changed, err)
	}
	// The event has no such index: its key is not named in key_ids any more, so the value must not stay.
	f.expect("SELECT count(bidx_other) FROM public.outbox_events", "1")
}

// A statement that waits for a row lock does so within the statement timeout.
func TestReplaceBehindALockEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 1)
	store := f.store
	row, err := store.Get(t.Context(), noteID(1))
	f.must(err)
	tx, err := store.Pool().Begin(t.Context())
	f.must(err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM public.outbox_events FOR UPDATE")
	f.must(err)
	impatient := f.open(f.url, optionsWithTimeout(time.Second))
	_, took := soon(t, 10*time.Second)
	defer took()
	_, err = impatient.Replace(t.Context(), outboxstore.Replacement{Row: row, Sealed: f.seal(note(1, "hello"))})
	expectFault(t, err, outboxstore.FaultTimeout)
}
