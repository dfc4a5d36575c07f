package storetest

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func testMigrate[Tx any](t *testing.T, d Dialect[Tx]) {
	runEmpty(t, d, "what is pending is what is then done, once", func(s *suite[Tx]) {
		pending, err := s.store.Pending(s.ctx, s.registry.Indexes())
		s.must(err)
		if len(pending) == 0 || slices.ContainsFunc(pending, func(p outboxstore.Statement) bool { return p.Done || p.SQL == "" }) {
			s.t.Fatalf("pending %+v", pending)
		}
		again, err := s.store.Pending(s.ctx, s.registry.Indexes())
		s.must(err)
		if !slices.Equal(pending, again) {
			s.t.Error("asking what is pending changed it")
		}
		done, err := s.store.Migrate(s.ctx, s.registry.Indexes())
		s.must(err)
		if len(done) != len(pending) {
			s.t.Fatalf("%d statements pending, %d done", len(pending), len(done))
		}
		for i := range done {
			if !done[i].Done || done[i].SQL != pending[i].SQL {
				s.t.Errorf("pending %q, done %+v", pending[i].SQL, done[i])
			}
		}
		s.expectNothingPending(s.registry.Indexes())
		done, err = s.store.Migrate(s.ctx, s.registry.Indexes())
		s.must(err)
		if len(done) != 0 {
			s.t.Errorf("the second run did %+v", done)
		}
	})

	runEmpty(t, d, "the printed statements make the tables", func(s *suite[Tx]) {
		pending, err := s.store.Pending(s.ctx, s.registry.Indexes())
		s.must(err)
		for _, p := range pending {
			s.exec(p.SQL)
		}
		s.expectNothingPending(s.registry.Indexes())
		s.invoices(1, 3)
		s.expectOpens(1, 3)
	})

	runEmpty(t, d, "a new index adds its column and leaves the rows", func(s *suite[Tx]) {
		_, err := s.store.Migrate(s.ctx, nil)
		s.must(err)
		_, err = s.store.WriteBatch(s.ctx, s.seal(ping(1)))
		s.must(err)
		before := s.raw(eventID(1))
		done, err := s.store.Migrate(s.ctx, s.registry.Indexes())
		s.must(err)
		for _, statement := range done {
			if strings.Contains(statement.SQL, "aggregate_id") {
				s.t.Errorf("the outbox table was made again: %s", statement.SQL)
			}
		}
		s.expectNothingPending(s.registry.Indexes())
		s.invoices(2, 3)
		if after := s.raw(eventID(1)); after != before {
			s.t.Errorf("row was\n%s\nand is\n%s", before, after)
		}
	})

	run(t, d, "an index that the schemas have no more keeps its column", func(s *suite[Tx]) {
		s.invoices(1, 1)
		s.expectNothingPending(nil)
		s.expectOpens(1, 1)
	})

	run(t, d, "a lost index of the database is made again", func(s *suite[Tx]) {
		s.exec("DROP INDEX ix_outbox_events_bidx_tax_id")
		pending, err := s.store.Pending(s.ctx, s.registry.Indexes())
		s.must(err)
		if len(pending) != 1 || !strings.Contains(pending[0].SQL, "ix_outbox_events_bidx_tax_id") {
			s.t.Fatalf("pending %+v", pending)
		}
		s.migrate()
		s.expectNothingPending(s.registry.Indexes())
	})

	run(t, d, "an index column of another shape is refused", func(s *suite[Tx]) {
		s.exec("ALTER TABLE outbox_events ADD COLUMN bidx_late TEXT")
		s.expectShapeError([]*schema.Index{{Name: "late", Bits: 128}}, "outbox_events", "bidx_late")
	})

	run(t, d, "an index that becomes multi is refused, and the other way round", func(s *suite[Tx]) {
		s.expectShapeError([]*schema.Index{{Name: "tax_id", Bits: 128, Multi: true}}, "outbox_events", "bidx_tax_id")
		_, err := s.store.Pending(s.ctx, []*schema.Index{{Name: "email", Bits: 128}})
		as[*outboxstore.ShapeError](s.t, err)
	})

	run(t, d, "an own column of another shape is refused", func(s *suite[Tx]) {
		s.exec("ALTER TABLE outbox_events RENAME COLUMN payload TO gone")
		s.exec("ALTER TABLE outbox_events ADD COLUMN payload INTEGER")
		s.expectShapeError(nil, "outbox_events", "payload")
	})

	run(t, d, "an own column that is gone is refused", func(s *suite[Tx]) {
		s.exec("ALTER TABLE outbox_events RENAME COLUMN lease_owner TO gone")
		s.expectShapeError(nil, "outbox_events", "lease_owner")
	})

	runEmpty(t, d, "a table of that name that is not fieldcrypt's is refused", func(s *suite[Tx]) {
		s.exec("CREATE TABLE outbox_events (id TEXT)")
		s.expectShapeError(nil, "outbox_events", "")
		if got := s.query("SELECT count(*) FROM outbox_events"); got[0] != "0" {
			s.t.Errorf("the table was touched: %v", got)
		}
	})

	run(t, d, "a database that a later fieldcrypt migrated is refused", func(s *suite[Tx]) {
		s.exec("INSERT INTO fieldcrypt_migrations (outbox, version) VALUES ('outbox_events', 999)")
		_, err := s.store.Migrate(s.ctx, s.registry.Indexes())
		if e := as[*outboxstore.NewerError](s.t, err); e.Version != 999 {
			s.t.Errorf("version is %d", e.Version)
		}
	})

	runEmpty(t, d, "an index name that no schema can declare is refused", func(s *suite[Tx]) {
		for _, name := range []string{"", "A", `x" BLOB; --`, strings.Repeat("a", 42)} {
			if _, err := s.store.Pending(s.ctx, []*schema.Index{{Name: name}}); err == nil {
				s.t.Errorf("index name %q passes", name)
			}
		}
	})

	runEmpty(t, d, "several at once: one migrates, the others find it done", func(s *suite[Tx]) {
		var wg sync.WaitGroup
		for range 6 {
			store := s.open("")
			wg.Go(func() {
				if _, err := store.Migrate(s.ctx, s.registry.Indexes()); err != nil {
					s.t.Error(err)
				}
			})
		}
		wg.Wait()
		s.expectNothingPending(s.registry.Indexes())
		if got := s.count("fieldcrypt_migrations"); got != "1" {
			s.t.Errorf("%s migrations recorded", got)
		}
	})

	runEmpty(t, d, "without the tables every call says so", func(s *suite[Tx]) {
		calls := map[string]error{}
		_, calls["WriteBatch"] = s.store.WriteBatch(s.ctx, s.seal(ping(1)))
		_, calls["WriteEach"] = s.store.WriteEach(s.ctx, s.seal(ping(1)))
		_, calls["Get"] = s.store.Get(s.ctx, eventID(1))
		_, calls["KeyCounts"] = s.store.KeyCounts(s.ctx)
		for _, err := range s.store.Scan(s.ctx, outboxstore.ScanOptions{}) {
			calls["Scan"] = err
		}
		for _, err := range s.store.Scan(s.ctx, outboxstore.ScanOptions{Sample: 3, Snapshot: true}) {
			calls["Scan of a sample"] = err
		}
		for _, err := range s.store.Find(s.ctx, []outboxstore.Match{{Index: "name", Candidates: [][]byte{{1}}}}, outboxstore.FindOptions{}) {
			calls["Find"] = err
		}
		if len(calls) != 7 {
			s.t.Errorf("not every call gave an error: %v", calls)
		}
		for name, err := range calls {
			if e := as[*outboxstore.MissingError](s.t, err); e.Table != "outbox_events" || e.Column != "" {
				s.t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func (s *suite[Tx]) expectNothingPending(indexes []*schema.Index) {
	s.t.Helper()
	pending, err := s.store.Pending(s.ctx, indexes)
	s.must(err)
	if len(pending) != 0 {
		s.t.Errorf("still pending: %+v", pending)
	}
}

// expectShapeError asks all three ways of migrating, and that nothing was changed.
func (s *suite[Tx]) expectShapeError(indexes []*schema.Index, table, column string) {
	s.t.Helper()
	_, err := s.store.Pending(s.ctx, indexes)
	if e := as[*outboxstore.ShapeError](s.t, err); e.Table != table || e.Column != column || e.Have == e.Want {
		s.t.Errorf("shape error is %+v", e)
	}
	statements, err := s.store.Migrate(s.ctx, append(slices.Clone(indexes), &schema.Index{Name: "never", Bits: 128}))
	as[*outboxstore.ShapeError](s.t, err)
	if slices.ContainsFunc(statements, func(p outboxstore.Statement) bool { return p.Done }) {
		s.t.Errorf("done beside an error: %+v", statements)
	}
}
