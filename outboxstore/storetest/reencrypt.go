package storetest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

func testReencrypt[Tx any](t *testing.T, d Dialect[Tx]) {
	run(t, d, "every row comes under today's keys and opens to the same bytes", func(s *suite[Tx]) {
		s.invoices(1, 25)
		s.writePings(101, 103)
		s.rotate()
		var progress []int64
		result := s.reencrypt(outboxstore.ReencryptOptions{BatchSize: 4, Workers: 3, Progress: func(r outboxstore.ReencryptResult) {
			progress = append(progress, r.Rotated+r.Skipped+r.Failed)
		}})
		expectResult(s, result, 25, 3, 0)
		if want := []int64{4, 8, 12, 16, 20, 24, 28}; !slices.Equal(progress, want) {
			s.t.Errorf("progress %v, want %v", progress, want)
		}
		s.expectOnlyPrimaries()
		s.exec("DELETE FROM outbox_events WHERE event_type = 'ping'")
		s.expectOpens(1, 25)
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{}), 0, 25, 0)
	})

	run(t, d, "a stale index alone is brought up too", func(s *suite[Tx]) {
		s.invoices(1, 3)
		payload := s.get(eventID(2)).Wire().Payload
		s.ring.Rotate(keyring.Index)
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{}), 3, 0, 0)
		s.expectOnlyPrimaries()
		if !bytes.Equal(s.get(eventID(2)).Wire().Payload, payload) {
			s.t.Error("ciphertexts that were not stale were changed")
		}
	})

	run(t, d, "wrong key ids are repaired", func(s *suite[Tx]) {
		s.invoices(1, 2)
		want := s.get(eventID(1)).KeyIDs
		s.must(s.db.SetKeyIDs(s.ctx, eventID(1), []string{"seal:00000001"}))
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{}), 1, 1, 0)
		if got := s.get(eventID(1)).KeyIDs; !slices.Equal(got, want) {
			s.t.Errorf("key ids %v, want %v", got, want)
		}
	})

	run(t, d, "a row that does not open is left as it is and counted", func(s *suite[Tx]) {
		s.invoices(1, 6)
		secret := personOf(4).name
		s.set(eventID(2), "payload", breakToken(string(s.get(eventID(2)).Wire().Payload)))
		s.set(eventID(4), "payload", `{"number":"1","customer":{"name":"`+secret+`"}}`)
		s.set(eventID(5), "headers", `"no object"`)
		before := s.raw(eventID(2)) + s.raw(eventID(4)) + s.raw(eventID(5))
		s.rotate()
		var log bytes.Buffer
		var failures []string
		result := s.reencrypt(outboxstore.ReencryptOptions{
			BatchSize: 2,
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
			OnFailure: func(id string, err error) { failures = append(failures, id+" "+err.Error()) },
		})
		expectResult(s, result, 3, 0, 3)
		want := []string{eventID(2), eventID(4), eventID(5)}
		if !slices.Equal(result.FailedIDs, want) || len(failures) != 3 || strings.Count(log.String(), "\n") != 3 {
			s.t.Errorf("failed %v, told of %v, logged %s", result.FailedIDs, failures, &log)
		}
		s.expectNoSecrets(log.String()+strings.Join(failures, " "), personOf(2), personOf(4), personOf(5))
		if after := s.raw(eventID(2)) + s.raw(eventID(4)) + s.raw(eventID(5)); after != before {
			s.t.Errorf("failed rows are\n%s\nand were\n%s", after, before)
		}
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{MaxFailedIDs: 2}), 0, 3, 3)
	})

	run(t, d, "a row moved from another event is not laundered", func(s *suite[Tx]) {
		s.invoices(1, 2)
		s.set(eventID(1), "payload", string(s.get(eventID(2)).Wire().Payload))
		before := s.raw(eventID(1))
		s.rotate()
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{}), 1, 0, 1)
		if after := s.raw(eventID(1)); after != before {
			s.t.Errorf("row is\n%s\nand was\n%s", after, before)
		}
	})

	run(t, d, "beside writers and another resealer, no row is lost and none is changed twice", func(s *suite[Tx]) {
		s.invoices(1, 60)
		s.rotate()
		var wg sync.WaitGroup
		results := make([]outboxstore.ReencryptResult, 2)
		for i := range results {
			store := s.open("")
			wg.Go(func() {
				var err error
				results[i], err = outboxstore.Reencrypt(s.ctx, store, s.resealer, outboxstore.ReencryptOptions{BatchSize: 3, Workers: 2})
				if err != nil {
					s.t.Error(err)
				}
			})
		}
		var batches [][]envelope.Sealed
		for n := 61; n <= 90; n += 2 {
			batches = append(batches, []envelope.Sealed{s.seal(invoice(n)), s.seal(invoice(n + 1)), s.seal(invoice(n - 60))})
		}
		writer := s.open("")
		wg.Go(func() {
			for _, batch := range batches {
				r, err := writer.WriteBatch(s.ctx, batch...)
				if err != nil || r[2] != outboxstore.Duplicate {
					s.t.Errorf("results %v, error %v", r, err)
				}
			}
		})
		wg.Wait()
		if rotated, failed := results[0].Rotated+results[1].Rotated, results[0].Failed+results[1].Failed; rotated != 60 || failed != 0 {
			s.t.Errorf("%d rows rotated, %d failed: %+v", rotated, failed, results)
		}
		s.expectOnlyPrimaries()
		s.expectOpens(1, 90)
	})

	run(t, d, "stopped, it goes on where it was", func(s *suite[Tx]) {
		s.invoices(1, 20)
		s.rotate()
		ctx, cancel := context.WithCancel(s.ctx)
		first, err := outboxstore.Reencrypt(ctx, s.store, s.resealer, outboxstore.ReencryptOptions{
			BatchSize: 3,
			Progress: func(r outboxstore.ReencryptResult) {
				if r.Rotated >= 6 {
					cancel()
				}
			},
		})
		if !errors.Is(err, context.Canceled) || first.Rotated != 6 {
			s.t.Fatalf("%+v, error %v", first, err)
		}
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{}), 14, 6, 0)
		s.expectOpens(1, 20)
	})

	run(t, d, "it can begin after a key", func(s *suite[Tx]) {
		s.invoices(1, 5)
		s.rotate()
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{After: eventID(3)}), 2, 0, 0)
	})

	run(t, d, "a row changed in between is read again", func(s *suite[Tx]) {
		s.invoices(1, 4)
		s.rotate()
		meddler := &meddlingStore{Store: s.store, before: map[string]func(){
			eventID(2): func() { s.must(s.db.SetIndex(s.ctx, eventID(2), "tax_id", false, nil)) },
			eventID(3): func() { s.exec("DELETE FROM outbox_events WHERE id = '" + eventID(3) + "'") },
			eventID(4): func() { s.expectReplaced(s.get(eventID(4)), s.seal(invoice(4)), true) },
		}}
		result, err := outboxstore.Reencrypt(s.ctx, meddler, s.resealer, outboxstore.ReencryptOptions{})
		s.must(err)
		expectResult(s, result, 2, 2, 0)
		s.expectOnlyPrimaries()
	})

	run(t, d, "a row that others change all the time fails by itself", func(s *suite[Tx]) {
		s.invoices(1, 3)
		s.rotate()
		key := 0
		meddler := &meddlingStore{Store: s.store, again: true, before: map[string]func(){
			eventID(2): func() {
				key++
				s.must(s.db.SetKeyIDs(s.ctx, eventID(2), []string{"seal:" + keyring.KeyID(key).String()}))
			},
		}}
		var reason error
		result, err := outboxstore.Reencrypt(s.ctx, meddler, s.resealer, outboxstore.ReencryptOptions{OnFailure: func(_ string, err error) { reason = err }})
		s.must(err)
		expectResult(s, result, 2, 0, 1)
		if !errors.Is(reason, outboxstore.ErrRowBusy) {
			s.t.Errorf("reason is %v", reason)
		}
	})

	run(t, d, "a database that is gone stops it", func(s *suite[Tx]) {
		s.invoices(1, 4)
		s.rotate()
		meddler := &meddlingStore{Store: s.store, before: map[string]func(){
			eventID(2): func() { s.exec("ALTER TABLE outbox_events RENAME TO gone") },
		}}
		result, err := outboxstore.Reencrypt(s.ctx, meddler, s.resealer, outboxstore.ReencryptOptions{BatchSize: 1})
		as[*outboxstore.MissingError](s.t, err)
		expectResult(s, result, 1, 0, 0)
	})
}

// meddlingStore changes rows at the worst moment: after Reencrypt has read them, before it replaces them.
type meddlingStore struct {
	outboxstore.Store
	before map[string]func()
	again  bool // at each try
}

func (m *meddlingStore) Replace(ctx context.Context, replacements ...outboxstore.Replacement) ([]bool, error) {
	for _, r := range replacements {
		if meddle := m.before[r.Row.ID]; meddle != nil {
			if !m.again {
				delete(m.before, r.Row.ID)
			}
			meddle()
		}
	}
	return m.Store.Replace(ctx, replacements...)
}

func (s *suite[Tx]) writePings(first, last int) {
	s.t.Helper()
	for n := first; n <= last; n++ {
		_, err := s.store.WriteBatch(s.ctx, s.seal(ping(n)))
		s.must(err)
	}
}

// rotate gives the keyring new primaries of both purposes.
func (s *suite[Tx]) rotate() {
	s.t.Helper()
	s.ring.Rotate(keyring.Seal)
	s.ring.Rotate(keyring.Index)
}

func (s *suite[Tx]) reencrypt(opts outboxstore.ReencryptOptions) outboxstore.ReencryptResult {
	s.t.Helper()
	result, err := outboxstore.Reencrypt(s.ctx, s.store, s.resealer, opts)
	s.must(err)
	return result
}

func expectResult[Tx any](s *suite[Tx], r outboxstore.ReencryptResult, rotated, skipped, failed int64) {
	s.t.Helper()
	if r.Rotated != rotated || r.Skipped != skipped || r.Failed != failed {
		s.t.Errorf("rotated %d, skipped %d, failed %d (%v); want %d, %d, %d", r.Rotated, r.Skipped, r.Failed, r.FailedIDs, rotated, skipped, failed)
	}
}

// expectOnlyPrimaries checks that no row needs any other key.
func (s *suite[Tx]) expectOnlyPrimaries() {
	s.t.Helper()
	want := map[string]bool{}
	for _, purpose := range []keyring.Purpose{keyring.Seal, keyring.Index} {
		key, err := s.ring.Keyring.Primary(purpose)
		s.must(err)
		want[string(purpose)+":"+key.ID().String()] = true
	}
	counts, err := s.store.KeyCounts(s.ctx)
	s.must(err)
	for id := range counts {
		if !want[id] {
			s.t.Errorf("rows need key %s: %v", id, counts)
		}
	}
	result := s.verify(outboxstore.VerifyOptions{})
	if result.Findings != 0 || result.Warnings != 0 {
		s.t.Errorf("verify: %+v", result)
	}
}
