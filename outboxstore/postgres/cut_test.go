package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/cutproxy"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
)

// fewestMessages is less than any of these operations needs: a test that ends earlier has not met what it is to meet.
const fewestMessages = 40

// eachCut does the same again and again, over a connection that ends after 0, 1, 2 … messages, until it is not cut off any
// more. after looks at what is there, and does it again by the direct way.
func eachCut(t *testing.T, f *fixture, do func(ctx context.Context, url string, n int) error, after func(n int, err error)) {
	t.Helper()
	proxy := cutproxy.New(t, f.url)
	url := proxy.URL(t, f.url)
	for n := 0; ; n++ {
		proxy.Cut(n)
		ctx, took := soon(t, patience)
		err := do(ctx, url, n)
		took()
		if err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("cut after %d messages, it hangs: %v", n, err)
		}
		expectClean(t, err)
		after(n, err)
		if t.Failed() {
			t.Fatalf("after %d messages: %v", n, err)
		}
		if err == nil {
			t.Logf("met %d cuts", n)
			if n < fewestMessages {
				t.Errorf("%d messages were enough", n)
			}
			return
		}
	}
}

// expectPair checks that the n-th business row and the n-th event are both there or both not, seen at one moment, and that
// writing both again completes them. They are written in the order of who was cut off: the database may still be at that,
// and two orders could deadlock.
func expectPair(f *fixture, n int, err error, writeBoth func(ctx context.Context, tx pgx.Tx) error) {
	f.t.Helper()
	pair := fmt.Sprintf("SELECT (SELECT count(*) FROM public.business WHERE n = %d)::text || (SELECT count(*) FROM public.outbox_events WHERE id = '%s')", n+1, noteID(n+1))
	if got := f.text(pair); got != "00" && got != "11" || err == nil && got != "11" {
		f.t.Fatalf("business rows and events: %s; error %v", got, err)
	}
	ctx, took := soon(f.t, patience)
	defer took()
	f.must(pgx.BeginFunc(ctx, f.store.Pool(), func(tx pgx.Tx) error { return writeBoth(ctx, tx) }))
	f.expect(pair, "11")
}

func TestWriteCutOffAnywhereIsWholeOrNot(t *testing.T) {
	t.Parallel()
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		eachCut(t, f, func(ctx context.Context, url string, n int) error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			writer, err := postgres.NewWriter(postgres.Options{})
			f.must(err)
			return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO public.business VALUES ($1)", n+1); err != nil {
					return err
				}
				_, err := writer.Write(ctx, tx, f.seal(note(n+1, "hello")))
				return err
			})
		}, func(n int, err error) {
			expectPair(f, n, err, func(ctx context.Context, tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO public.business VALUES ($1) ON CONFLICT DO NOTHING", n+1); err != nil {
					return err
				}
				_, err := f.store.Write(ctx, tx, f.seal(note(n+1, "hello")))
				return err
			})
		})
		f.expectSound(mustInt(f.text("SELECT count(*) FROM public.business")))
	})
	t.Run("database/sql", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		eachCut(t, f, func(ctx context.Context, url string, n int) error {
			db := f.sqlDB(url)
			defer db.Close()
			writer, err := postgres.NewWriter(postgres.Options{})
			f.must(err)
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := writer.WriteSQL(ctx, tx, f.seal(note(n+1, "hello"))); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO public.business VALUES ($1)", n+1); err != nil {
				return err
			}
			return tx.Commit()
		}, func(n int, err error) {
			expectPair(f, n, err, func(ctx context.Context, tx pgx.Tx) error {
				if _, err := f.store.Write(ctx, tx, f.seal(note(n+1, "hello"))); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, "INSERT INTO public.business VALUES ($1) ON CONFLICT DO NOTHING", n+1)
				return err
			})
		})
		f.expectSound(mustInt(f.text("SELECT count(*) FROM public.business")))
	})
}

func mustInt(text string) (n int64) {
	if _, err := fmt.Sscan(text, &n); err != nil {
		panic(err)
	}
	return n
}

// A batch of the store's own, with a duplicate in it.
func TestBatchCutOffAnywhereIsWholeOrNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 1)
	id := func(n int) int { return 10*n + 10 }
	batch := func(n int) []envelope.Sealed { return append(f.notes(id(n), id(n)+2), f.notes(1, 1)...) }
	eachCut(t, f, func(ctx context.Context, url string, n int) error {
		store, err := postgres.Open(ctx, url, postgres.Options{})
		if err != nil {
			expectHinted(t, err)
			return err
		}
		defer store.Close()
		_, err = store.WriteBatch(ctx, batch(n)...)
		if err != nil {
			expectHinted(t, err)
		}
		return err
	}, func(n int, err error) {
		count := fmt.Sprintf("SELECT count(*) FROM public.outbox_events WHERE aggregate_version BETWEEN %d AND %d", id(n), id(n)+2)
		if got := f.text(count); got != "0" && got != "3" || err == nil && got != "3" {
			t.Fatalf("%s of 3 events; error %v", got, err)
		}
		_, err = f.store.WriteBatch(t.Context(), batch(n)...)
		f.must(err)
		f.expect(count, "3")
	})
	f.expectSound(mustInt(f.text("SELECT count(*) FROM public.outbox_events")))
}

func expectHinted(t *testing.T, err error) {
	t.Helper()
	if e := as[*outboxstore.DatabaseError](t, err); e.Hint() == "" || !e.Retryable() {
		t.Errorf("no hint, or not retryable: %v", err)
	}
}

func TestMigrationCutOffAnywhereIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	table := func(n int) string { return fmt.Sprintf("s%d.outbox", n) }
	complete := func(f *fixture, n int) {
		f.t.Helper()
		store, err := postgres.New(f.store.Pool(), postgres.Options{Table: table(n)})
		f.must(err)
		_, err = store.Migrate(f.t.Context(), f.reg.Indexes())
		f.must(err)
		pending, err := store.Pending(f.t.Context(), f.reg.Indexes())
		f.must(err)
		if len(pending) != 0 {
			f.t.Fatalf("still pending: %+v", pending)
		}
		results, err := store.WriteBatch(f.t.Context(), f.notes(1, 2)...)
		f.must(err)
		if results[1] != outboxstore.Inserted {
			f.t.Fatalf("results %v", results)
		}
	}
	migrate := func(f *fixture) func(ctx context.Context, url string, n int) error {
		return func(ctx context.Context, url string, n int) error {
			store, err := postgres.Open(ctx, url, postgres.Options{Table: table(n)})
			if err != nil {
				return err
			}
			defer store.Close()
			done, err := store.Migrate(ctx, f.reg.Indexes())
			for _, statement := range done {
				if err == nil && !statement.Done {
					t.Errorf("not done: %s", statement.SQL)
				}
			}
			return err
		}
	}
	t.Run("of a new table", func(t *testing.T) {
		t.Parallel()
		f := newEmpty(t)
		eachCut(t, f, migrate(f), func(n int, err error) { complete(f, n) })
	})
	t.Run("of a table that is there", func(t *testing.T) {
		t.Parallel()
		f := newEmpty(t)
		// Each number has a table of an earlier release of the schemas.
		eachCut(t, f, func(ctx context.Context, url string, n int) error {
			store, err := postgres.New(f.store.Pool(), postgres.Options{Table: table(n)})
			f.must(err)
			_, err = store.Migrate(ctx, nil)
			f.must(err)
			return migrate(f)(ctx, url, n)
		}, func(n int, err error) { complete(f, n) })
	})
}

func TestReencryptionCutOffAnywhereIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const rows = 5
	f.write(1, rows)
	eachCut(t, f, func(ctx context.Context, url string, n int) error {
		f.ring.Rotate([]keyring.Purpose{keyring.Seal, keyring.Index}[n%2]) // in turn, since the keyring grows
		store, err := postgres.Open(ctx, url, postgres.Options{})
		if err != nil {
			return err
		}
		defer store.Close()
		_, err = f.reencrypt(ctx, store)
		return err
	}, func(int, error) {
		f.expectSound(rows)
		r, err := f.reencrypt(t.Context(), f.store)
		f.must(err)
		if r.Rotated+r.Skipped != rows || r.Failed != 0 {
			t.Fatalf("%+v", r)
		}
		counts, err := f.store.KeyCounts(t.Context())
		f.must(err)
		if len(counts) != 2 {
			t.Fatalf("rows need %v", counts)
		}
		f.expectSound(rows)
	})
}
