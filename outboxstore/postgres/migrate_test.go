package postgres_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func statements(done []outboxstore.Statement) string {
	var all []string
	for _, s := range done {
		all = append(all, s.SQL)
	}
	return strings.Join(all, "\n")
}

// A table that others use is never locked for long: its column comes in an instant, its indexes CONCURRENTLY, while rows are
// written.
func TestMigrationBesideWriters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 50)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			for n := 1000 * (i + 1); ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := f.store.WriteBatch(t.Context(), f.seal(note(n, "hello"))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	more := append(f.reg.Indexes(), other, &schema.Index{Name: "many", Bits: 128, Multi: true})
	done, err := f.store.Migrate(t.Context(), more)
	close(stop)
	wg.Wait()
	f.must(err)
	want := `ALTER TABLE "public"."outbox_events"
  ADD COLUMN "bidx_other" bytea,
  ADD COLUMN "bidx_many" bytea[]
INSERT INTO "public"."fieldcrypt_indexes" (outbox, name, normalizer, bits) VALUES
  ('outbox_events', 'other', 'raw.1', 128),
  ('outbox_events', 'many', 'raw.1', 128)
CREATE INDEX CONCURRENTLY "ix_outbox_events_bidx_other" ON "public"."outbox_events" USING btree ("bidx_other") WHERE "bidx_other" IS NOT NULL
CREATE INDEX CONCURRENTLY "ix_outbox_events_bidx_many" ON "public"."outbox_events" USING gin ("bidx_many") WHERE "bidx_many" IS NOT NULL`
	if got := statements(done); got != want {
		t.Errorf("done:\n%s\nwant:\n%s", got, want)
	}
	f.expect("SELECT bool_and(indisvalid) FROM pg_catalog.pg_index WHERE indrelid = 'public.outbox_events'::regclass", "true")
}

// A column that is added must not rewrite the table.
func TestAddingAColumnIsInstant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 3)
	const file = "SELECT pg_relation_filenode('public.outbox_events')"
	before := f.text(file)
	_, err := f.store.Migrate(t.Context(), append(f.reg.Indexes(), other))
	f.must(err)
	f.expect(file, before)
}

func TestLockTimeout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 3)
	tx, err := f.store.Pool().Begin(t.Context())
	f.must(err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM public.outbox_events LIMIT 1") // a long transaction
	f.must(err)
	hasty := f.open(f.url, postgres.Options{LockTimeout: 100 * time.Millisecond})
	_, took := soon(t, 10*time.Second)
	done, err := hasty.Migrate(t.Context(), append(f.reg.Indexes(), other))
	took()
	t.Log(err)
	if e := expectFault(t, err, outboxstore.FaultLocked); !e.Retryable() {
		t.Error("not retryable")
	}
	if len(done) != 3 || done[0].Done || done[1].Done || done[2].Done {
		t.Errorf("done %+v", done)
	}
	f.must(tx.Commit(t.Context()))
	done, err = hasty.Migrate(t.Context(), append(f.reg.Indexes(), other))
	f.must(err)
	if len(done) != 3 || !done[2].Done {
		t.Errorf("done %+v", done)
	}
}

// To ask what an index is made of waits for whoever has the table for himself: that has the same end.
func TestLockTimeoutHoldsWhilePlanning(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tx, err := f.store.Pool().Begin(t.Context())
	f.must(err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "LOCK TABLE public.outbox_events IN ACCESS EXCLUSIVE MODE")
	f.must(err)
	hasty := f.open(f.url, postgres.Options{LockTimeout: 100 * time.Millisecond})
	ctx, took := soon(t, 10*time.Second)
	_, err = hasty.Migrate(ctx, f.reg.Indexes())
	took()
	expectFault(t, err, outboxstore.FaultLocked)
}

// An index that could not be built to its end is there and not valid: the next run drops it and builds it anew.
func TestInvalidIndexIsBuiltAnew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 3)
	indexes := append(f.reg.Indexes(), other)
	hasty := f.open(f.url, postgres.Options{LockTimeout: 100 * time.Millisecond})
	// A writer that has not ended lets the column come, since it holds no lock on the table any more … unless it wrote
	// there: so the column first, then the index under a writer.
	f.exec("ALTER TABLE public.outbox_events ADD COLUMN bidx_other bytea")
	tx, err := f.store.Pool().Begin(t.Context())
	f.must(err)
	defer tx.Rollback(context.Background())
	_, err = f.store.Write(t.Context(), tx, f.seal(note(9, "hello")))
	f.must(err)
	_, err = hasty.Migrate(t.Context(), indexes)
	expectFault(t, err, outboxstore.FaultLocked)
	f.expect("SELECT indisvalid FROM pg_catalog.pg_index WHERE indexrelid = 'public.ix_outbox_events_bidx_other'::regclass", "false")
	f.must(tx.Commit(t.Context()))
	pending, err := f.store.Pending(t.Context(), indexes)
	f.must(err)
	want := `DROP INDEX CONCURRENTLY "public"."ix_outbox_events_bidx_other"
CREATE INDEX CONCURRENTLY "ix_outbox_events_bidx_other" ON "public"."outbox_events" USING btree ("bidx_other") WHERE "bidx_other" IS NOT NULL`
	if got := statements(pending); got != want {
		t.Errorf("pending:\n%s", got)
	}
	_, err = f.store.Migrate(t.Context(), indexes)
	f.must(err)
	f.expect("SELECT indisvalid FROM pg_catalog.pg_index WHERE indexrelid = 'public.ix_outbox_events_bidx_other'::regclass", "true")
}

// The own indexes are looked after as those of the schemas are.
func TestLostOwnIndexesAreMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("DROP INDEX public.ix_outbox_events_pending, public.ix_outbox_events_key_ids")
	done, err := f.store.Migrate(t.Context(), nil)
	f.must(err)
	want := `CREATE INDEX CONCURRENTLY "ix_outbox_events_pending" ON "public"."outbox_events" USING btree (created_at, id) WHERE published_at IS NULL
CREATE INDEX CONCURRENTLY "ix_outbox_events_key_ids" ON "public"."outbox_events" USING gin (key_ids)`
	if got := statements(done); got != want {
		t.Errorf("done:\n%s", got)
	}
	f.exec("DROP INDEX public.ix_outbox_events_pending")
	f.exec("CREATE INDEX ix_outbox_events_pending ON public.outbox_events (created_at)")
	_, err = f.store.Pending(t.Context(), nil)
	as[*outboxstore.ShapeError](t, err)
}

func TestAMigrationWaitsForAnotherOnlySoLong(t *testing.T) {
	t.Parallel()
	f := newEmpty(t)
	tx, err := f.store.Pool().Begin(t.Context())
	f.must(err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(7379540980638380665)")
	f.must(err)
	f.expect("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())", "1")
	hasty := f.open(f.url, postgres.Options{MigrationWait: 100 * time.Millisecond})
	_, err = hasty.Migrate(t.Context(), nil)
	if e := as[*postgres.MigratingError](t, err); e.Hint() == "" {
		t.Error("no hint")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := f.store.Migrate(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	f.must(tx.Commit(t.Context()))
	_, err = hasty.Migrate(t.Context(), nil)
	f.must(err)
}

// Many at once on a table that is there: their CREATE INDEX CONCURRENTLY must not wait for each other's snapshots.
func TestManyMigrateATableThatIsThereAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 20)
	indexes := f.reg.Indexes()
	for _, name := range []string{"a", "b", "c", "d"} {
		indexes = append(indexes, &schema.Index{Name: name, Bits: 128})
	}
	ctx, took := soon(t, patience)
	defer took()
	var wg sync.WaitGroup
	counts := make([]int, 5)
	for i := range counts {
		store := f.open(f.url, postgres.Options{})
		wg.Go(func() {
			done, err := store.Migrate(ctx, indexes)
			if err != nil {
				t.Error(err)
			}
			counts[i] = len(done)
		})
	}
	wg.Wait()
	slices.Sort(counts)
	if !slices.Equal(counts, []int{0, 0, 0, 0, 6}) {
		t.Errorf("statements: %v", counts)
	}
}

func TestOwnSchemaAndTable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	own := f.open(with(f.url, "table", "billing.invoices_outbox"), postgres.Options{})
	_, err := own.WriteBatch(t.Context(), f.notes(1, 1)...)
	if e := as[*outboxstore.MissingError](t, err); e.Table != "billing.invoices_outbox" || !strings.HasSuffix(err.Error(), ": run fieldcrypt migrate") {
		t.Errorf("missing %+v: %v", e, err)
	}
	_, err = own.Migrate(t.Context(), f.reg.Indexes())
	f.must(err)
	_, err = own.WriteBatch(t.Context(), f.notes(1, 2)...)
	f.must(err)
	f.write(1, 1)
	f.expect("SELECT (SELECT count(*) FROM billing.invoices_outbox)::text || (SELECT count(*) FROM public.outbox_events)", "21")
	f.expect("SELECT count(*) FROM billing.fieldcrypt_migrations", "1")
}

// Postgres cuts names off at 63 bytes: two long ones must not become one.
func TestLongNames(t *testing.T) {
	t.Parallel()
	f := newEmpty(t)
	long := strings.Repeat("n", 40)
	indexes := []*schema.Index{{Name: long + "a", Bits: 128}, {Name: long + "b", Bits: 128, Multi: true}}
	store := f.open(f.url, postgres.Options{Table: strings.Repeat("s", 63) + "." + strings.Repeat("t", 41)})
	_, err := store.Migrate(t.Context(), indexes)
	f.must(err)
	pending, err := store.Pending(t.Context(), indexes)
	f.must(err)
	if len(pending) != 0 {
		t.Errorf("pending %+v", pending)
	}
	f.expect("SELECT count(DISTINCT relname) FROM pg_class WHERE relname LIKE 'ix\\_ttt%'", "4")
	_, err = store.WriteBatch(t.Context(), f.seal(note(1, "hello")))
	as[*outboxstore.MissingError](t, err)
}

// A table that looks right and would change payloads in silence.
func TestJSONBInPlaceOfJSONIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("ALTER TABLE public.outbox_events ALTER COLUMN payload TYPE jsonb")
	_, err := f.store.WriteBatch(t.Context(), f.notes(1, 1)...)
	if e := as[*outboxstore.ShapeError](t, err); e.Column != "payload" {
		t.Errorf("error is %v", err)
	}
	_, err = f.store.Migrate(t.Context(), f.reg.Indexes())
	as[*outboxstore.ShapeError](t, err)
}

func TestOtherEncodingsAreRefused(t *testing.T) {
	t.Parallel()
	f := newEmpty(t)
	name := "latin_" + strings.ReplaceAll(randomID(), "-", "")
	f.exec("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
	t.Cleanup(func() { _, _ = f.store.Pool().Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") })
	latin := f.open(databaseOf(t, f.url, name), postgres.Options{})
	defer latin.Close()
	_, err := latin.Migrate(t.Context(), nil)
	if e := as[*postgres.EncodingError](t, err); e.Have != "LATIN1" || e.Hint() == "" {
		t.Errorf("error is %v", err)
	}
}

// A writer keeps what it knows of the table only as long as the database agrees.
func TestWriterSeesAMigration(t *testing.T) {
	t.Parallel()
	f := newEmpty(t)
	_, err := f.store.Migrate(t.Context(), nil)
	f.must(err)
	_, err = f.store.WriteBatch(t.Context(), f.notes(1, 1)...)
	if e := as[*outboxstore.MissingError](t, err); e.Column == "" {
		t.Errorf("error is %v", err)
	}
	f.migrate()
	f.write(1, 1)
	f.exec("ALTER TABLE public.outbox_events RENAME COLUMN bidx_who TO bidx_former")
	_, err = f.store.WriteBatch(t.Context(), f.notes(2, 3)...)
	if e := as[*outboxstore.MissingError](t, err); e.Column != "bidx_who" {
		t.Errorf("error is %v", err)
	}
	f.exec("DROP INDEX public.ix_outbox_events_bidx_who")
	f.migrate()
	f.write(2, 3)
	f.exec("ALTER TABLE public.outbox_events RENAME TO gone")
	_, err = f.store.WriteBatch(t.Context(), f.notes(4, 4)...)
	if e := as[*outboxstore.MissingError](t, err); e.Column != "" {
		t.Errorf("error is %v", err)
	}
}
