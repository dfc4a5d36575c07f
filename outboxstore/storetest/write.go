package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

func testWrite[Tx any](t *testing.T, d Dialect[Tx]) {
	run(t, d, "a row holds everything of the event", func(s *suite[Tx]) {
		e := invoice(1)
		sealed := s.seal(e)
		before := time.Now().Add(-time.Second)
		s.inTx(func(tx Tx) {
			results, err := s.store.Write(s.ctx, tx, sealed)
			s.must(err)
			s.expectResults(results, outboxstore.Inserted)
		})
		row := s.get(e.ID)
		got, want := row.Received.Wire(), sealed.Wire()
		if got.ID != want.ID || got.Type != want.Type || got.Version != want.Version || got.AggregateType != want.AggregateType ||
			got.AggregateID != want.AggregateID || *got.AggregateVersion != *want.AggregateVersion ||
			!got.OccurredAt.Equal(want.OccurredAt.Truncate(time.Microsecond)) || !maps.Equal(got.Headers, want.Headers) {
			s.t.Errorf("stored\n%+v\nwritten\n%+v", got, want)
		}
		if !bytes.Equal(got.Payload, want.Payload) {
			s.t.Errorf("payload was changed:\n%s\n%s", got.Payload, want.Payload)
		}
		if !slices.Equal(row.KeyIDs, sealed.KeyIDs()) || len(row.KeyIDs) != 2 {
			s.t.Errorf("key ids %v, written %v", row.KeyIDs, sealed.KeyIDs())
		}
		if !maps.EqualFunc(row.Indexes, sealed.BlindIndexes(), sameSet) || len(row.Indexes) != 3 || len(row.Indexes["email"]) != 2 {
			s.t.Errorf("indexes %v, written %v", row.Indexes, sealed.BlindIndexes())
		}
		if after := time.Now().Add(time.Second); row.CreatedAt.Before(before) || row.CreatedAt.After(after) || !row.PublishedAt.IsZero() {
			s.t.Errorf("created at %v, published at %v", row.CreatedAt, row.PublishedAt)
		}
		s.expectNoSecrets(s.raw(e.ID), personOf(1))
		s.expectOpens(1, 1)
	})

	run(t, d, "an event without flags needs no key", func(s *suite[Tx]) {
		_, err := s.store.WriteBatch(s.ctx, s.seal(ping(1)))
		s.must(err)
		if row := s.get(eventID(1)); len(row.KeyIDs) != 0 || len(row.Indexes) != 0 || string(row.Wire().Payload) != `{"n":1}` {
			s.t.Errorf("stored %s, keys %v, indexes %v", row.Wire().Payload, row.KeyIDs, row.Indexes)
		}
	})

	run(t, d, "events share the fate of the business rows", func(s *suite[Tx]) {
		tx, err := s.db.Begin(s.ctx)
		s.must(err)
		s.must(s.db.ExecTx(s.ctx, tx, "INSERT INTO business VALUES (1)"))
		_, err = s.store.Write(s.ctx, tx, s.seal(invoice(1)))
		s.must(err)
		s.must(s.db.Rollback(s.ctx, tx))
		s.expectCounts(0, 0)
		s.inTx(func(tx Tx) {
			s.must(s.db.ExecTx(s.ctx, tx, "INSERT INTO business VALUES (1)"))
			_, err := s.store.Write(s.ctx, tx, s.seal(invoice(1)))
			s.must(err)
		})
		s.expectCounts(1, 1)
	})

	run(t, d, "nothing to write is no error", func(s *suite[Tx]) {
		s.inTx(func(tx Tx) {
			results, err := s.store.Write(s.ctx, tx)
			s.must(err)
			s.expectResults(results)
		})
	})

	run(t, d, "the same event again is a duplicate and changes nothing", func(s *suite[Tx]) {
		s.invoices(1, 1)
		before := s.raw(eventID(1))
		again := s.seal(invoice(1)) // other nonces
		e := invoice(1)
		e.OccurredAt = e.OccurredAt.Add(time.Hour) // not what makes an event another one
		e.Headers = nil
		results, err := s.store.WriteBatch(s.ctx, again, s.seal(invoice(2)), s.seal(e))
		s.must(err)
		s.expectResults(results, outboxstore.Duplicate, outboxstore.Inserted, outboxstore.Duplicate)
		if after := s.raw(eventID(1)); after != before {
			s.t.Errorf("a duplicate changed the row from\n%s\nto\n%s", before, after)
		}
	})

	run(t, d, "the same event sealed under a new key is a duplicate", func(s *suite[Tx]) {
		s.invoices(1, 1)
		s.ring.Rotate(keyring.Seal)
		s.ring.Rotate(keyring.Index)
		results, err := s.store.WriteBatch(s.ctx, s.seal(invoice(1)))
		s.must(err)
		s.expectResults(results, outboxstore.Duplicate)
	})

	run(t, d, "duplicates and conflicts inside one call", func(s *suite[Tx]) {
		results, err := s.store.WriteBatch(s.ctx, s.seal(invoice(1)), s.seal(invoice(1)), s.seal(invoice(2)), s.seal(invoice(1)))
		s.must(err)
		s.expectResults(results, outboxstore.Inserted, outboxstore.Duplicate, outboxstore.Inserted, outboxstore.Duplicate)
		other := invoice(3)
		other.Payload = personOf(4).payload("x")
		_, err = s.store.WriteBatch(s.ctx, s.seal(invoice(3)), s.seal(other))
		if e := as[*outboxstore.EventError](s.t, err); e.Position != 1 || e.EventID != eventID(3) {
			s.t.Errorf("refused event is %d, %s", e.Position, e.EventID)
		}
		s.expectCounts(0, 2)
	})

	run(t, d, "several events of an aggregate need no version", func(s *suite[Tx]) {
		a, b := invoice(1), invoice(2)
		a.AggregateVersion, b.AggregateVersion = nil, nil
		results, err := s.store.WriteBatch(s.ctx, s.seal(a), s.seal(b), s.seal(a))
		s.must(err)
		s.expectResults(results, outboxstore.Inserted, outboxstore.Inserted, outboxstore.Duplicate)
		if row := s.get(eventID(1)); row.Wire().AggregateVersion != nil {
			s.t.Errorf("aggregate version is %d", *row.Wire().AggregateVersion)
		}
	})

	for name, change := range otherContent {
		run(t, d, "a known id with another "+name+" is a conflict", func(s *suite[Tx]) {
			s.invoices(1, 1)
			e := invoice(1)
			change(&e)
			s.expectRefused(s.seal(e), func(err error) {
				c := as[*outboxstore.ConflictError](s.t, err)
				if c.Conflict != outboxstore.ConflictContent || c.EventID != eventID(1) || c.StoredID != eventID(1) {
					s.t.Errorf("conflict is %+v", c)
				}
			})
		})
	}

	run(t, d, "a taken aggregate version is a conflict", func(s *suite[Tx]) {
		s.invoices(1, 1)
		e := invoice(5)
		e.AggregateVersion = invoice(1).AggregateVersion
		s.expectRefused(s.seal(e), func(err error) {
			c := as[*outboxstore.ConflictError](s.t, err)
			if c.Conflict != outboxstore.ConflictAggregateVersion || c.EventID != eventID(5) || c.StoredID != eventID(1) ||
				c.AggregateType != "invoice" || *c.AggregateVersion != 1 {
				s.t.Errorf("conflict is %+v", c)
			}
			if strings.Contains(err.Error(), "inv-7") {
				s.t.Errorf("the aggregate id, which may be personal, stands in: %v", err)
			}
		})
	})

	run(t, d, "the zero Sealed is refused", func(s *suite[Tx]) {
		s.expectRefused(envelope.Sealed{}, func(err error) {
			if !errors.Is(err, outboxstore.ErrZeroSealed) {
				s.t.Errorf("error is %v", err)
			}
		})
	})

	run(t, d, "a stored row that does not open is an error and no duplicate", func(s *suite[Tx]) {
		s.invoices(1, 1)
		payload := string(s.get(eventID(1)).Wire().Payload)
		s.set(eventID(1), "payload", breakToken(payload))
		s.expectRefused(s.seal(invoice(1)), func(err error) {
			if e := as[*outboxstore.RowError](s.t, err); e.ID != eventID(1) {
				s.t.Errorf("row is %s", e.ID)
			}
			as[*envelope.OpenError](s.t, err)
		})
	})

	run(t, d, "a stored row that is no event is an error and no duplicate", func(s *suite[Tx]) {
		s.invoices(1, 1)
		s.set(eventID(1), "headers", `{"a":null}`)
		s.expectRefused(s.seal(invoice(1)), func(err error) {
			if e := as[*outboxstore.ColumnError](s.t, err); e.Column != "headers" {
				s.t.Errorf("column is %s", e.Column)
			}
		})
	})

	for name, c := range map[string]struct{ sql, table, column string }{
		"table":              {"ALTER TABLE outbox_events RENAME TO gone", "outbox_events", ""},
		"column":             {"ALTER TABLE outbox_events RENAME COLUMN headers TO gone", "outbox_events", "headers"},
		"index column":       {"ALTER TABLE outbox_events RENAME COLUMN bidx_tax_id TO gone", "outbox_events", "bidx_tax_id"},
		"other index column": {"ALTER TABLE outbox_events RENAME COLUMN bidx_name TO bidx_former_name", "outbox_events", "bidx_name"},
	} {
		run(t, d, "a missing "+name+" is named", func(s *suite[Tx]) {
			s.exec(c.sql)
			s.inTx(func(tx Tx) {
				_, err := s.store.Write(s.ctx, tx, s.seal(ping(9)), s.seal(invoice(1)))
				e := as[*outboxstore.MissingError](s.t, err)
				if e.Table != c.table || e.Column != c.column {
					s.t.Errorf("missing is %+v", e)
				}
				if !strings.Contains(err.Error(), "run fieldcrypt migrate") {
					s.t.Errorf("error does not say what to do: %v", err)
				}
				s.must(s.db.ExecTx(s.ctx, tx, "INSERT INTO business VALUES (1)"))
			})
			if got := s.count("business"); got != "1" {
				s.t.Errorf("%s business rows", got)
			}
		})
	}

	run(t, d, "a context that has ended writes nothing and leaves the transaction", func(s *suite[Tx]) {
		ended, cancel := context.WithCancel(s.ctx)
		cancel()
		s.inTx(func(tx Tx) {
			if _, err := s.store.Write(ended, tx, s.seal(invoice(1))); !errors.Is(err, context.Canceled) {
				s.t.Errorf("error is %v", err)
			}
			s.must(s.db.ExecTx(s.ctx, tx, "INSERT INTO business VALUES (1)"))
		})
		s.expectCounts(1, 0)
	})

	run(t, d, "one event written by many at once is inserted once", func(s *suite[Tx]) {
		const writers = 6
		results := make([]outboxstore.Result, writers)
		var wg sync.WaitGroup
		for i := range writers {
			sealed, store := s.seal(invoice(1)), s.open("")
			wg.Go(func() {
				r, err := store.WriteBatch(s.ctx, sealed)
				if err != nil {
					s.t.Error(err)
					return
				}
				results[i] = r[0]
			})
		}
		wg.Wait()
		slices.Sort(results)
		if results[0] != outboxstore.Inserted || results[1] != outboxstore.Duplicate || results[writers-1] != outboxstore.Duplicate {
			s.t.Errorf("results %v", results)
		}
	})

	run(t, d, "WriteEach leaves out what is refused", func(s *suite[Tx]) {
		s.invoices(1, 1)
		taken, other := invoice(7), invoice(1)
		taken.AggregateVersion = invoice(1).AggregateVersion
		other.AggregateID = "another"
		outcomes, err := s.store.WriteEach(s.ctx, s.seal(invoice(2)), envelope.Sealed{}, s.seal(other), s.seal(invoice(1)), s.seal(taken), s.seal(invoice(3)))
		s.must(err)
		var got []string
		for i, o := range outcomes {
			if (o.Err == nil) == (o.Result == 0) {
				s.t.Errorf("outcome %d is %+v", i, o)
			}
			if o.Err != nil {
				if e := as[*outboxstore.EventError](s.t, o.Err); e.Position != i {
					s.t.Errorf("position of %d is %d", i, e.Position)
				}
				got = append(got, "refused")
				continue
			}
			got = append(got, o.Result.String())
		}
		if want := "inserted refused refused duplicate refused inserted"; strings.Join(got, " ") != want {
			s.t.Errorf("outcomes %v, want %s", got, want)
		}
		s.expectCounts(0, 3)
	})

	run(t, d, "an own table beside the default one", func(s *suite[Tx]) {
		own := s.open("billing_outbox")
		_, err := own.Migrate(s.ctx, s.registry.Indexes())
		s.must(err)
		_, err = own.WriteBatch(s.ctx, s.seal(invoice(1)), s.seal(invoice(2)))
		s.must(err)
		s.invoices(1, 1)
		if a, b := s.count("billing_outbox"), s.count("outbox_events"); a != "2" || b != "1" {
			s.t.Errorf("%s rows in the own table, %s in the default", a, b)
		}
		counts, err := own.KeyCounts(s.ctx)
		s.must(err)
		for id, n := range counts {
			if n != 2 {
				s.t.Errorf("key %s counts %d", id, n)
			}
		}
	})

	run(t, d, "a table's name that is no plain identifier is refused", func(s *suite[Tx]) {
		for _, name := range []string{`x"; DROP TABLE business; --`, "Outbox", "a b", "ä", "1a", "sqlite_x", "pg_x", "x_bidx_y", "x_key_ids", strings.Repeat("a", 42)} {
			_, err := s.db.Store(s.ctx, name)
			as[*outboxstore.TableNameError](s.t, err)
		}
	})
}

// otherContent are the changes that make an event another one.
var otherContent = map[string]func(*envelope.Event){
	"flagged value":     func(e *envelope.Event) { e.Payload = personOf(2).payload("2026-1") },
	"clear value":       func(e *envelope.Event) { e.Payload = personOf(1).payload("2026-2") },
	"white space":       func(e *envelope.Event) { e.Payload = append(e.Payload[:len(e.Payload):len(e.Payload)], ' ') },
	"type":              func(e *envelope.Event) { e.Type, e.Payload = pingType, []byte(`{"n":1}`) },
	"aggregate type":    func(e *envelope.Event) { e.AggregateType = "bill" },
	"aggregate id":      func(e *envelope.Event) { e.AggregateID = "inv-8" },
	"aggregate version": func(e *envelope.Event) { v := int64(77); e.AggregateVersion = &v },
}

// expectRefused writes an event between two good ones, which must not be written either, and then goes on in the same
// transaction.
func (s *suite[Tx]) expectRefused(bad envelope.Sealed, check func(error)) {
	s.t.Helper()
	before := s.count("outbox_events")
	keysBefore, err := s.store.KeyCounts(s.ctx)
	s.must(err)
	s.inTx(func(tx Tx) {
		s.must(s.db.ExecTx(s.ctx, tx, "INSERT INTO business VALUES (1)"))
		results, err := s.store.Write(s.ctx, tx, s.seal(invoice(100)), bad, s.seal(invoice(101)))
		if err == nil || results != nil {
			s.t.Fatalf("results %v, error %v", results, err)
		}
		if e := as[*outboxstore.EventError](s.t, err); e.Position != 1 {
			s.t.Errorf("position is %d", e.Position)
		}
		check(err)
		s.expectNoSecrets(err.Error(), personOf(1), personOf(2), personOf(5))
		s.must(s.db.ExecTx(s.ctx, tx, "INSERT INTO business VALUES (2)"))
	})
	keysAfter, err := s.store.KeyCounts(s.ctx)
	s.must(err)
	if after := s.count("outbox_events"); after != before || !maps.Equal(keysBefore, keysAfter) || s.count("business") != "2" {
		s.t.Errorf("%s events before, %s after; keys %v, %v; %s business rows", before, after, keysBefore, keysAfter, s.count("business"))
	}
	s.inTx(func(tx Tx) {
		results, err := s.store.Write(s.ctx, tx, s.seal(invoice(100)))
		s.must(err)
		s.expectResults(results, outboxstore.Inserted)
	})
}

func (s *suite[Tx]) expectResults(got []outboxstore.Result, want ...outboxstore.Result) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("results %v, want %v", got, want)
	}
}

func (s *suite[Tx]) expectCounts(business, events int) {
	s.t.Helper()
	if b, e := s.count("business"), s.count("outbox_events"); b != fmt.Sprint(business) || e != fmt.Sprint(events) {
		s.t.Errorf("%s business rows and %s events, want %d and %d", b, e, business, events)
	}
}

// breakToken changes the last whole character of the first token, so that its tag is wrong and its form is right.
func breakToken(payload string) string {
	start := strings.Index(payload, `"fc1:`)
	end := start + 1 + strings.IndexByte(payload[start+1:], '"')
	at := end - 10
	c := byte('A')
	if payload[at] == c {
		c = 'B'
	}
	return payload[:at] + string(c) + payload[at+1:]
}

func sameSet(a, b [][]byte) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, bytes.Compare)
	slices.SortFunc(b, bytes.Compare)
	return slices.EqualFunc(a, b, bytes.Equal)
}
