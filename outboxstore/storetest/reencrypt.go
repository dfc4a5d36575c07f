package storetest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

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

	run(t, d, "of rows whose key ids are fresh nothing is read, if they are believed", func(s *suite[Tx]) {
		s.invoices(1, 6)
		s.writePings(7, 8)
		s.rotate()
		s.expectReplaced(s.get(eventID(2)), s.reseal(eventID(2)), true)
		s.expectReplaced(s.get(eventID(5)), s.reseal(eventID(5)), true)
		primaries := s.primaries()
		s.expectIDs(s.scan(outboxstore.ScanOptions{NotOnly: primaries}), []string{eventID(1), eventID(3), eventID(4), eventID(6)})
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{Fresh: primaries, Workers: 2, BatchSize: 1}), 4, 0, 0)
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{Fresh: primaries}), 0, 0, 0)
		s.expectOnlyPrimaries()
		// What key_ids say wrongly is found only by who reads the row.
		s.rotate()
		s.must(s.db.SetKeyIDs(s.ctx, eventID(3), s.primaries()))
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{Fresh: s.primaries()}), 5, 0, 0)
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{}), 1, 7, 0)
		s.expectOnlyPrimaries()
	})

	run(t, d, "published rows are brought up too, and what a relay writes is kept", func(s *suite[Tx]) {
		s.invoices(1, 4)
		s.exec("UPDATE outbox_events SET published_at = '2026-11-30T12:00:00.000000Z', attempts = 3 WHERE aggregate_version <= 2")
		s.rotate()
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{}), 4, 0, 0)
		s.expectOnlyPrimaries()
		s.expectOpens(1, 4)
		if got := s.query("SELECT count(*) FROM outbox_events WHERE attempts = 3 AND published_at IS NOT NULL"); got[0] != "2" {
			s.t.Errorf("%s rows are as the relay left them, want 2", got[0])
		}
	})

	run(t, d, "a row that a relay marks in between is brought up all the same", func(s *suite[Tx]) {
		s.invoices(1, 3)
		s.rotate()
		meddler := &meddlingStore{Store: s.store, before: map[string]func(){
			eventID(2): func() { s.exec("UPDATE outbox_events SET attempts = 7 WHERE aggregate_version = 2") },
		}}
		result, err := outboxstore.Reencrypt(s.ctx, meddler, s.resealer, outboxstore.ReencryptOptions{})
		s.must(err)
		expectResult(s, result, 3, 0, 0)
		s.expectOnlyPrimaries()
		if got := s.query("SELECT attempts FROM outbox_events WHERE aggregate_version = 2"); got[0] != "7" {
			s.t.Errorf("attempts are %s", got[0])
		}
	})

	run(t, d, "no forged plaintext and no swapped token becomes authentic", func(s *suite[Tx]) {
		s.invoices(1, 7)
		payload := func(n int) string { return string(s.get(eventID(n)).Wire().Payload) }
		token := func(n int, member string) string {
			found := regexp.MustCompile(`"` + member + `":("fc1:[^"]+")`).FindStringSubmatch(payload(n))
			if found == nil {
				s.t.Fatalf("row %d has no token at %s", n, member)
			}
			return found[1]
		}
		s.set(eventID(1), "payload", strings.Replace(payload(1), token(1, "name"), `"Mallory Forged"`, 1))          // a plaintext
		s.set(eventID(2), "payload", strings.Replace(payload(2), token(2, "name"), token(3, "name"), 1))            // of another event
		s.set(eventID(4), "payload", strings.Replace(payload(4), token(4, "name"), token(4, "tax_id"), 1))          // of another place
		s.set(eventID(5), "aggregate_id", "inv-666")                                                                // bound by nothing: stays what it is, and opens
		s.set(eventID(6), "payload", strings.Replace(payload(6), token(6, "score"), `{"fc1":"Mallory Forged"}`, 1)) // an object
		forged := []string{eventID(1), eventID(2), eventID(4), eventID(6)}
		var before string
		for _, id := range forged {
			before += s.raw(id)
		}
		for range 2 { // under a second rotation too
			s.rotate()
			result := s.reencrypt(outboxstore.ReencryptOptions{Workers: 2, BatchSize: 2})
			expectResult(s, result, 3, 0, 4)
			if !slices.Equal(result.FailedIDs, forged) {
				s.t.Errorf("failed %v, want %v", result.FailedIDs, forged)
			}
		}
		var after string
		for _, id := range forged {
			after += s.raw(id)
			if _, err := s.opener.Open(s.ctx, s.get(id).Received, envelope.OpenOptions{}); err == nil {
				s.t.Errorf("row %s opens", id)
			}
		}
		if after != before {
			s.t.Errorf("forged rows are\n%s\nand were\n%s", after, before)
		}
	})

	run(t, d, "metrics and logs count every row once", func(s *suite[Tx]) {
		s.invoices(1, 7)
		s.writePings(8, 9)
		s.rotate()
		s.set(eventID(3), "payload", breakToken(string(s.get(eventID(3)).Wire().Payload)))
		reader := metric.NewManualReader()
		provider := metric.NewMeterProvider(metric.WithReader(reader))
		expectResult(s, s.reencrypt(outboxstore.ReencryptOptions{MeterProvider: provider, Workers: 3, BatchSize: 2}), 6, 2, 1)
		verifier := s.verifier(true)
		_, err := outboxstore.Verify(s.ctx, s.store, verifier, outboxstore.VerifyOptions{MeterProvider: provider, Workers: 2})
		s.must(err)
		want := map[string]int64{
			"fieldcrypt.reencrypt.rows outcome=rotated": 6, "fieldcrypt.reencrypt.rows outcome=skipped": 2, "fieldcrypt.reencrypt.rows outcome=failed": 1,
			"fieldcrypt.verify.rows ":                                          9,
			"fieldcrypt.verify.findings kind=unopenable,severity=finding":      1,
			"fieldcrypt.verify.findings kind=key-stale,severity=warning":       5,
			"fieldcrypt.verify.findings kind=index-key-stale,severity=warning": 3,
		}
		if got := counters(s, reader); !maps.Equal(got, want) {
			s.t.Errorf("metrics %v, want %v", got, want)
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

// counters are the sums of all counters, by name and attributes.
func counters[Tx any](s *suite[Tx], reader *metric.ManualReader) map[string]int64 {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	s.must(reader.Collect(s.ctx, &all))
	sums := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
				sums[m.Name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] += point.Value
			}
		}
	}
	return sums
}

// primaries are the ids of today's primary keys.
func (s *suite[Tx]) primaries() (ids []string) {
	s.t.Helper()
	for _, purpose := range keyring.Purposes() {
		key, err := s.ring.Keyring.Primary(purpose)
		s.must(err)
		ids = append(ids, string(purpose)+":"+key.ID().String())
	}
	return ids
}

// reseal is a stored event under today's primaries.
func (s *suite[Tx]) reseal(id string) envelope.Sealed {
	s.t.Helper()
	row := s.get(id)
	sealed, _, err := s.resealer.Reseal(s.ctx, row.Received, row.Indexes)
	s.must(err)
	return sealed
}

// meddlingStore changes rows at the worst moment: after Reencrypt has read them, before it replaces them.
type meddlingStore struct {
	outboxstore.Store
	before map[string]func()
	again  bool // at each try
}

func (m *meddlingStore) Replace(ctx context.Context, replacements ...outboxstore.Replacement) ([]bool, error) {
	m.meddle(replacements)
	return m.Store.Replace(ctx, replacements...)
}

func (m *meddlingStore) TryReplace(ctx context.Context, replacements ...outboxstore.Replacement) ([]bool, error) {
	m.meddle(replacements)
	return m.Store.TryReplace(ctx, replacements...)
}

func (m *meddlingStore) meddle(replacements []outboxstore.Replacement) {
	for _, r := range replacements {
		if meddle := m.before[r.Row.ID]; meddle != nil {
			if !m.again {
				delete(m.before, r.Row.ID)
			}
			meddle()
		}
	}
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
