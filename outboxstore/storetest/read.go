package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

func testRead[Tx any](t *testing.T, d Dialect[Tx]) {
	run(t, d, "a scan gives every row once, by key order, whatever the page", func(s *suite[Tx]) {
		s.invoices(4, 7)
		s.invoices(1, 3)
		for _, size := range []int{0, 1, 2, 3, 6, 7, 8} {
			s.expectIDs(s.scan(outboxstore.ScanOptions{PageSize: size}), ids(1, 7))
		}
	})

	run(t, d, "after and limit", func(s *suite[Tx]) {
		s.invoices(1, 7)
		s.expectIDs(s.scan(outboxstore.ScanOptions{After: eventID(2), Limit: 3, PageSize: 2}), ids(3, 5))
		s.expectIDs(s.scan(outboxstore.ScanOptions{After: eventID(6), Limit: 3}), ids(7, 7))
		s.expectIDs(s.scan(outboxstore.ScanOptions{After: eventID(7)}), nil)
		s.expectIDs(s.scan(outboxstore.ScanOptions{Limit: 2, Snapshot: true}), ids(1, 2))
	})

	run(t, d, "since is by the time of creation", func(s *suite[Tx]) {
		s.invoices(1, 4)
		s.set(eventID(1), "created_at", "2026-01-01T00:00:00.000000Z")
		s.set(eventID(3), "created_at", "2026-03-01T00:00:00.000000Z")
		since := time.Date(2026, 3, 1, 3, 0, 0, 0, time.FixedZone("", 3*60*60))
		s.expectIDs(s.scan(outboxstore.ScanOptions{Since: since}), ids(2, 4))
		s.expectIDs(s.scan(outboxstore.ScanOptions{Since: since.Add(time.Microsecond)}), []string{eventID(2), eventID(4)})
	})

	run(t, d, "a sample is of distinct rows, in order", func(s *suite[Tx]) {
		s.invoices(1, 40)
		seen := map[string]bool{}
		for range 30 {
			got := s.scan(outboxstore.ScanOptions{Sample: 10})
			if len(got) != 10 || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != 10 {
				s.t.Fatalf("sample %v", got)
			}
			for _, id := range got {
				seen[id] = true
			}
		}
		// Each row is missed by 30 samples of a quarter with probability 0.75^30 = 0.0002: 40 rows are all seen in all but
		// 1 of 140 runs, 35 of them always.
		if len(seen) < 35 {
			s.t.Errorf("300 random rows were %d different ones of 40", len(seen))
		}
		s.expectIDs(s.scan(outboxstore.ScanOptions{Sample: 100}), ids(1, 40))
		s.expectIDs(s.scan(outboxstore.ScanOptions{Sample: 100, Since: time.Now().Add(time.Hour)}), nil)
	})

	run(t, d, "a snapshot sees the table as it was, and writers go on", func(s *suite[Tx]) {
		s.invoices(1, 4)
		var got []string
		for row, err := range s.store.Scan(s.ctx, outboxstore.ScanOptions{Snapshot: true, PageSize: 1}) {
			s.must(err)
			if len(got) == 0 {
				s.invoices(5, 6)
			}
			got = append(got, row.ID)
		}
		s.expectIDs(got, ids(1, 4))
	})

	run(t, d, "without a snapshot, rows may be written and replaced while a scan goes on", func(s *suite[Tx]) {
		s.invoices(1, 4)
		var got []string
		for row, err := range s.store.Scan(s.ctx, outboxstore.ScanOptions{PageSize: 1}) {
			s.must(err)
			if len(got) == 0 {
				s.invoices(5, 6)
			}
			got = append(got, row.ID)
		}
		s.expectIDs(got, ids(1, 6))
	})

	run(t, d, "a scan can be left, and ends with its context", func(s *suite[Tx]) {
		s.invoices(1, 4)
		for range s.store.Scan(s.ctx, outboxstore.ScanOptions{Snapshot: true}) {
			break
		}
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		var got []string
		var last error
		for row, err := range s.store.Scan(ctx, outboxstore.ScanOptions{PageSize: 2}) {
			if last = err; err != nil {
				continue
			}
			got = append(got, row.ID)
			if len(got) == 2 {
				cancel()
			}
		}
		if s.expectIDs(got, ids(1, 2)); !errors.Is(last, context.Canceled) {
			s.t.Errorf("error is %v", last)
		}
		s.invoices(5, 5) // no lock is left
	})

	run(t, d, "a row that is no event does not stop a scan", func(s *suite[Tx]) {
		s.invoices(1, 5)
		s.set(eventID(2), "event_type", "no/type")
		s.set(eventID(3), "headers", `["secret value"]`)
		s.set(eventID(4), "event_version", 0)
		for row, err := range s.store.Scan(s.ctx, outboxstore.ScanOptions{}) {
			s.must(err)
			damaged := row.ID != eventID(1) && row.ID != eventID(5)
			if (row.Err != nil) != damaged {
				s.t.Errorf("row %s: %v", row.ID, row.Err)
			}
			if damaged {
				if e := as[*outboxstore.RowError](s.t, row.Err); e.ID != row.ID {
					s.t.Errorf("error of row %s is about %s", row.ID, e.ID)
				}
			}
		}
	})

	run(t, d, "no row is a typed error", func(s *suite[Tx]) {
		if _, err := s.store.Get(s.ctx, randomUUID()); !errors.Is(err, outboxstore.ErrNoRow) {
			s.t.Errorf("error is %v", err)
		}
	})

	run(t, d, "a deleted row takes its key ids and indexes along", func(s *suite[Tx]) {
		s.invoices(1, 2)
		s.exec("DELETE FROM outbox_events WHERE id = '" + eventID(1) + "'")
		counts, err := s.store.KeyCounts(s.ctx)
		s.must(err)
		for id, n := range counts {
			if n != 1 {
				s.t.Errorf("key %s is counted %d times", id, n)
			}
		}
		s.expectIDs(s.find(s.match("email", personOf(1).emails[0])), nil)
		s.invoices(1, 1)
		s.expectIDs(s.find(s.match("email", personOf(1).emails[0])), ids(1, 1))
	})
}
