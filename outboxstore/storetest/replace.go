package storetest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

func testReplace[Tx any](t *testing.T, d Dialect[Tx]) {
	run(t, d, "ciphertexts, indexes and key ids change, and nothing else", func(s *suite[Tx]) {
		s.invoices(1, 2)
		before := s.get(eventID(1))
		sealKey, indexKey := s.ring.Rotate(keyring.Seal), s.ring.Rotate(keyring.Index)
		sealed := s.seal(invoice(1))
		s.expectReplaced(before, sealed, true)
		after := s.get(eventID(1))
		if string(after.Wire().Payload) != string(sealed.Wire().Payload) || !maps.EqualFunc(after.Indexes, sealed.BlindIndexes(), sameSet) {
			s.t.Errorf("row is not what was written: %s", s.raw(eventID(1)))
		}
		if want := []string{"index:" + indexKey.String(), "seal:" + sealKey.String()}; !slices.Equal(after.KeyIDs, want) {
			s.t.Errorf("key ids %v, want %v", after.KeyIDs, want)
		}
		if !after.CreatedAt.Equal(before.CreatedAt) || !maps.Equal(after.Wire().Headers, before.Wire().Headers) || !after.Wire().OccurredAt.Equal(before.Wire().OccurredAt) {
			s.t.Errorf("more was changed: %+v, was %+v", after, before)
		}
		counts, err := s.store.KeyCounts(s.ctx)
		s.must(err)
		want := map[string]int64{after.KeyIDs[0]: 1, after.KeyIDs[1]: 1, before.KeyIDs[0]: 1, before.KeyIDs[1]: 1}
		if !maps.Equal(counts, want) {
			s.t.Errorf("key counts %v, want %v", counts, want)
		}
		s.expectIDs(s.find(s.match("email", personOf(1).emails[1])), ids(1, 1))
		s.expectOpens(1, 2)
	})

	for name, change := range map[string]func(s *suite[Tx], row *outboxstore.Row){
		"payload": func(s *suite[Tx], row *outboxstore.Row) {
			s.expectReplaced(s.get(row.ID), s.seal(invoice(1)), true) // by another resealer
		},
		"index": func(s *suite[Tx], row *outboxstore.Row) {
			s.must(s.db.SetIndex(s.ctx, row.ID, "tax_id", false, nil)) // erased
		},
		"multi index": func(s *suite[Tx], row *outboxstore.Row) {
			s.must(s.db.SetIndex(s.ctx, row.ID, "email", true, row.Indexes["email"][:1]))
		},
		"key id": func(s *suite[Tx], row *outboxstore.Row) {
			s.must(s.db.SetKeyIDs(s.ctx, row.ID, append(slices.Clone(row.KeyIDs), "seal:00000001")))
		},
		"aggregate id": func(s *suite[Tx], row *outboxstore.Row) {
			s.set(row.ID, "aggregate_id", "inv-9")
		},
		"header": func(s *suite[Tx], row *outboxstore.Row) {
			s.set(row.ID, "headers", "{}")
		},
	} {
		run(t, d, "a row whose "+name+" has changed is left alone", func(s *suite[Tx]) {
			s.invoices(1, 1)
			row := s.get(eventID(1))
			change(s, row)
			now := s.raw(row.ID)
			s.expectReplaced(row, s.seal(invoice(1)), false)
			if after := s.raw(row.ID); after != now {
				s.t.Errorf("row is\n%s\nand was\n%s", after, now)
			}
		})
	}

	run(t, d, "a row that a relay has marked is replaced", func(s *suite[Tx]) {
		s.invoices(1, 1)
		row := s.get(eventID(1))
		s.set(row.ID, "attempts", 3)
		s.set(row.ID, "published_at", "2026-11-30T12:00:00.000000Z")
		s.expectReplaced(row, s.seal(invoice(1)), true)
		if s.get(row.ID).PublishedAt.IsZero() {
			s.t.Error("the mark is lost")
		}
	})

	run(t, d, "a deleted row stays deleted", func(s *suite[Tx]) {
		s.invoices(1, 1)
		row := s.get(eventID(1))
		s.exec("DELETE FROM outbox_events WHERE id = '" + row.ID + "'")
		s.expectReplaced(row, s.seal(invoice(1)), false)
		if got := s.count("outbox_events"); got != "0" {
			s.t.Errorf("%s rows", got)
		}
	})

	run(t, d, "one call changes the rows that it can", func(s *suite[Tx]) {
		s.invoices(1, 3)
		rows := []*outboxstore.Row{s.get(eventID(1)), s.get(eventID(2)), s.get(eventID(3))}
		s.must(s.db.SetKeyIDs(s.ctx, eventID(2), nil))
		changed, err := s.store.Replace(s.ctx,
			outboxstore.Replacement{Row: rows[0], Sealed: s.seal(invoice(1))},
			outboxstore.Replacement{Row: rows[1], Sealed: s.seal(invoice(2))},
			outboxstore.Replacement{Row: rows[2], Sealed: s.seal(invoice(3))})
		s.must(err)
		if !slices.Equal(changed, []bool{true, false, true}) {
			s.t.Errorf("changed %v", changed)
		}
	})

	for name, other := range map[string]func() envelope.Event{
		"another id":        func() envelope.Event { e := invoice(1); e.ID = eventID(2); return e },
		"another payload":   func() envelope.Event { e := invoice(1); e.Payload = personOf(9).payload("2026-1"); return e },
		"another aggregate": func() envelope.Event { e := invoice(1); e.AggregateID = "inv-9"; return e },
	} {
		run(t, d, "an event with "+name+" is no replacement", func(s *suite[Tx]) {
			s.invoices(1, 1)
			s.invoices(3, 3)
			before := s.raw(eventID(1)) + s.raw(eventID(3))
			_, err := s.store.Replace(s.ctx,
				outboxstore.Replacement{Row: s.get(eventID(3)), Sealed: s.seal(invoice(3))},
				outboxstore.Replacement{Row: s.get(eventID(1)), Sealed: s.seal(other())})
			as[*outboxstore.ReplacementError](s.t, err)
			if after := s.raw(eventID(1)) + s.raw(eventID(3)); after != before {
				s.t.Errorf("rows are\n%s\nand were\n%s", after, before)
			}
		})
	}

	run(t, d, "the zero Sealed and a missing column are refused", func(s *suite[Tx]) {
		s.invoices(1, 1)
		row := s.get(eventID(1))
		if _, err := s.store.Replace(s.ctx, outboxstore.Replacement{Row: row}); !errors.Is(err, outboxstore.ErrZeroSealed) {
			s.t.Errorf("error is %v", err)
		}
		if _, err := s.store.Replace(s.ctx, outboxstore.Replacement{Sealed: s.seal(invoice(1))}); !errors.Is(err, outboxstore.ErrNoRow) {
			s.t.Errorf("error is %v", err)
		}
		s.exec("ALTER TABLE outbox_events RENAME COLUMN bidx_name TO gone")
		row = s.get(eventID(1))
		_, err := s.store.Replace(s.ctx, outboxstore.Replacement{Row: row, Sealed: s.seal(invoice(1))})
		if e := as[*outboxstore.MissingError](s.t, err); e.Column != "bidx_name" {
			s.t.Errorf("missing %+v", e)
		}
	})

	run(t, d, "a row that does not open is no replacement's", func(s *suite[Tx]) {
		s.invoices(1, 1)
		broken := breakToken(string(s.get(eventID(1)).Wire().Payload))
		s.set(eventID(1), "payload", broken)
		_, err := s.store.Replace(s.ctx, outboxstore.Replacement{Row: s.get(eventID(1)), Sealed: s.seal(invoice(1))})
		as[*envelope.OpenError](s.t, err)
		if now := string(s.get(eventID(1)).Wire().Payload); now != broken || !strings.Contains(err.Error(), eventID(1)) {
			s.t.Errorf("payload changed: %v; error %v", now != broken, err)
		}
	})
}

func (s *suite[Tx]) expectReplaced(row *outboxstore.Row, sealed envelope.Sealed, want bool) {
	s.t.Helper()
	changed, err := s.store.Replace(s.ctx, outboxstore.Replacement{Row: row, Sealed: sealed})
	s.must(err)
	if len(changed) != 1 || changed[0] != want {
		s.t.Errorf("changed %v, want %v", changed, want)
	}
}
