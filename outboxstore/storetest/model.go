package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// modelEvent is one of a few events that collide in every way: several contents for an id, several ids for an aggregate's
// version.
type modelEvent struct{ id, content, version int }

func (e modelEvent) event(base int) envelope.Event {
	event := invoice(base + e.id)
	event.AggregateID = fmt.Sprint("model-", base)
	event.Payload = personOf(e.content).payload("model")
	event.AggregateVersion = nil
	if e.version > 0 {
		version := int64(e.version)
		event.AggregateVersion = &version
	}
	return event
}

// model is what a table should hold.
type model map[int]modelEvent

// write is the law of Write: all or nothing, in order.
func (m model) write(events []modelEvent) (model, []outboxstore.Result, bool) {
	next := maps.Clone(m)
	var results []outboxstore.Result
	for _, e := range events {
		stored, known := next[e.id]
		taken := e.version > 0 && slices.ContainsFunc(slices.Collect(maps.Values(next)), func(o modelEvent) bool { return o.version == e.version })
		switch {
		case known && stored == e:
			results = append(results, outboxstore.Duplicate)
		case known || taken:
			return m, nil, false
		default:
			next[e.id] = e
			results = append(results, outboxstore.Inserted)
		}
	}
	return next, results, true
}

func testModel[Tx any](t *testing.T, d Dialect[Tx]) {
	run(t, d, "any sequence of writes, commits and rollbacks leaves what the model says", func(s *suite[Tx]) {
		event := rapid.Custom(func(rt *rapid.T) modelEvent {
			return modelEvent{rapid.IntRange(1, 4).Draw(rt, "id"), rapid.IntRange(1, 2).Draw(rt, "content"), rapid.IntRange(0, 3).Draw(rt, "version")}
		})
		base := 0
		rapid.Check(s.t, func(rt *rapid.T) {
			base += 10
			committed := model{}
			for range rapid.IntRange(1, 3).Draw(rt, "transactions") {
				committed = s.modelTransaction(rt, base, event, committed)
			}
			s.expectModel(rt, base, committed)
		})
	})
}

// modelTransaction gives what is committed after it. What rapid ends early ends it too.
func (s *suite[Tx]) modelTransaction(rt *rapid.T, base int, event *rapid.Generator[modelEvent], committed model) model {
	tx, err := s.db.Begin(s.ctx)
	s.must(err)
	ended := false
	defer func() {
		if !ended {
			_ = s.db.Rollback(s.ctx, tx)
		}
	}()
	now := committed
	for range rapid.IntRange(1, 3).Draw(rt, "calls") {
		events := rapid.SliceOfN(event, 1, 4).Draw(rt, "events")
		now = s.modelWrite(rt, tx, base, now, events)
	}
	commit := rapid.Bool().Draw(rt, "commit")
	ended = true
	if commit {
		s.must(s.db.Commit(s.ctx, tx))
		return now
	}
	s.must(s.db.Rollback(s.ctx, tx))
	return committed
}

func (s *suite[Tx]) modelWrite(rt *rapid.T, tx Tx, base int, now model, events []modelEvent) model {
	var sealed []envelope.Sealed
	for _, e := range events {
		sealed = append(sealed, s.seal(e.event(base)))
	}
	next, want, ok := now.write(events)
	got, err := s.store.Write(s.ctx, tx, sealed...)
	var conflict *outboxstore.ConflictError
	if ok && err != nil || !ok && !errors.As(err, &conflict) || !slices.Equal(got, want) {
		rt.Fatalf("wrote %+v over %+v: results %v, error %v; want %v, conflict %v", events, now, got, err, want, !ok)
	}
	return next
}

func (s *suite[Tx]) expectModel(rt *rapid.T, base int, want model) {
	got := map[string]string{}
	for row, err := range s.store.Scan(s.ctx, outboxstore.ScanOptions{After: eventID(base)}) {
		s.must(err)
		got[row.ID] = string(s.payload(row))
	}
	expected := map[string]string{}
	for _, e := range want {
		event := e.event(base)
		expected[event.ID] = string(event.Payload)
	}
	if !maps.Equal(got, expected) {
		rt.Fatalf("table holds %v, model %v", got, expected)
	}
}
