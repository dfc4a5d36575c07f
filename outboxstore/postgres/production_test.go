package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

const (
	productionRows    = 200_000
	productionWorkers = 2
	productionBatch   = 100 // outboxstore.Reencrypt's default
	productionPayload = 900 // bytes of a wire form, about

	// What operations are to reach, as shares of the rate of what a program does without fieldcrypt. They are reported beside what was measured
	// and fail nothing: with the database on the same cores, a machine that others use moves the ratios by half.
	reencryptGoal = 0.5
	keylessGoal   = 0.5
	keyedGoal     = 0.6
)

const productionSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "additionalProperties": false, "required": ["number", "customer", "lines"],
  "properties": {
    "number": {"type": "string", "pattern": "^[0-9]{4}-[0-9]+$"},
    "currency": {"enum": ["EUR", "TRY", "USD"]},
    "customer": {
      "type": "object", "additionalProperties": false, "required": ["name", "tax_id"],
      "properties": {
        "name": {"type": "string", "minLength": 1, "x-gdpr-sensitive": true},
        "tax_id": {"type": "string", "minLength": 1, "x-gdpr-sensitive": true, "x-blind-index": {"name": "tax_id"}},
        "email": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "email", "normalize": ["email"]}}
      }
    },
    "lines": {"type": "array", "items": {
      "type": "object", "additionalProperties": false, "required": ["sku", "quantity"],
      "properties": {"sku": {"type": "string"}, "text": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}, "price": {"type": "number"}}
    }}
  }
}`

// production is a table as large as those of production.
type production struct {
	store *postgres.Store
	reg   *schema.Registry
	ring  *keyringtest.Ring
	rings *keyring.Set
	rows  int

	keysWritten int
}

func productionID(n int) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], 0x0190aaaa_0000_7000+uint64(n)<<16)
	binary.BigEndian.PutUint64(id[8:], 0x8000_000000000000|uint64(n))
	return id.String()
}

func productionEvent(n int) envelope.Event {
	version := int64(n + 1)
	var lines []string
	for i := range 7 {
		lines = append(lines, fmt.Sprintf(`{"sku":"SKU-%06d","text":"a part of some machine","quantity":%d,"price":%d.95}`, (n*7+i)%1000000, i+1, n%1000))
	}
	return envelope.Event{
		ID: productionID(n), Type: "invoice.issued", AggregateID: fmt.Sprint("inv-", n), AggregateVersion: &version,
		OccurredAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Headers: map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		Payload: fmt.Appendf(nil, `{"number":"2026-%d","currency":"TRY","customer":{"name":"Müşteri Sayın %06d","tax_id":"TR%010d","email":"customer.%06d@example.org"},"lines":[%s]}`,
			n, n, n, n, strings.Join(lines, ",")),
	}
}

func newProduction(t testing.TB, rows int) *production {
	t.Helper()
	start := time.Now()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	p := &production{rows: rows}
	var err error
	p.reg, err = schema.LoadFS(fstest.MapFS{"invoice.issued.v1.json": {Data: []byte(productionSchema)}})
	must(err)
	p.ring = keyringtest.NewRing(t, keyringtest.Options{})
	p.rings, err = keyring.NewSet(p.ring.Keyring)
	must(err)
	sealer, err := envelope.NewSealer(p.reg, p.rings, envelope.Options{})
	must(err)
	p.store, err = postgres.Open(ctx, testenv.Postgres(t), postgres.Options{})
	must(err)
	t.Cleanup(func() { must(p.store.Close()) })
	_, err = p.store.Migrate(ctx, p.reg.Indexes())
	must(err)
	const batch = 1000
	size := 0
	for n := 0; n < rows; {
		var sealed []envelope.Sealed
		for ; n < rows && len(sealed) < batch; n++ {
			s, err := sealer.Seal(ctx, productionEvent(n))
			must(err)
			size += len(s.Wire().Payload)
			sealed = append(sealed, s)
		}
		_, err := p.store.WriteBatch(ctx, sealed...)
		must(err)
	}
	p.exec(t, "UPDATE public.outbox_events SET published_at = now() WHERE aggregate_version % 10 <> 0")
	p.exec(t, "VACUUM (ANALYZE) public.outbox_events")
	t.Logf("%d rows with payloads of %d bytes, set up in %v", rows, size/rows, time.Since(start).Round(time.Second))
	return p
}

func (p *production) exec(t testing.TB, sql string) {
	t.Helper()
	if _, err := p.store.Pool().Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// read reads the rows as a program without fieldcrypt does: page by page, the columns that an event is made of.
func (p *production) read(ctx context.Context, each func(ids, payloads []string) error) error {
	after := "00000000-0000-0000-0000-000000000000"
	for {
		rows, err := p.store.Pool().Query(ctx, `SELECT e.id::text, aggregate_type, aggregate_id, aggregate_version, event_type, event_version, payload::text, headers::text,
       occurred_at, created_at, published_at, key_ids, bidx_tax_id, bidx_email FROM public.outbox_events e WHERE e.id > $1 ORDER BY e.id LIMIT 1000`, after)
		if err != nil {
			return err
		}
		var ids, payloads []string
		var r struct {
			id, aggregateType, aggregateID, eventType, payload, headers string
			aggregateVersion                                            *int64
			eventVersion                                                int
			occurredAt, createdAt                                       time.Time
			publishedAt                                                 *time.Time
			keyIDs                                                      []string
			taxID, email                                                []byte
		}
		into := []any{&r.id, &r.aggregateType, &r.aggregateID, &r.aggregateVersion, &r.eventType, &r.eventVersion, &r.payload, &r.headers, &r.occurredAt, &r.createdAt, &r.publishedAt, &r.keyIDs, &r.taxID, &r.email}
		_, err = pgx.ForEachRow(rows, into, func() error {
			ids, payloads = append(ids, r.id), append(payloads, r.payload)
			return nil
		})
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return nil
		}
		if err := each(ids, payloads); err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
}

// rewrite is the plain UPDATE: of the payloads alone, in batches, by as many workers as there are.
func (p *production) rewrite(ctx context.Context) (time.Duration, error) {
	return p.update(ctx, "payload = u.payload::json")
}

// rewriteKeys is what a plain UPDATE costs that writes what a rotation changes: key_ids too, which has an index.
func (p *production) rewriteKeys(ctx context.Context) (time.Duration, error) {
	p.keysWritten++
	return p.update(ctx, fmt.Sprintf("payload = u.payload::json, key_ids = ARRAY['index:00000001', 'seal:%08x']", p.keysWritten))
}

func (p *production) update(ctx context.Context, set string) (time.Duration, error) {
	type batch struct{ ids, payloads []string }
	var all []batch // the reading is not timed
	err := p.read(ctx, func(ids, payloads []string) error {
		for at := 0; at < len(ids); at += productionBatch {
			end := min(at+productionBatch, len(ids))
			all = append(all, batch{ids[at:end], payloads[at:end]})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = inParallel(all, func(b batch) error {
		tag, err := p.store.Pool().Exec(ctx, `UPDATE public.outbox_events e SET `+set+` FROM unnest($1::uuid[], $2::text[]) AS u(id, payload) WHERE e.id = u.id`, b.ids, b.payloads)
		if err == nil && int(tag.RowsAffected()) != len(b.ids) {
			err = fmt.Errorf("%d rows updated of %d", tag.RowsAffected(), len(b.ids))
		}
		return err
	})
	return time.Since(start), err
}

// inParallel does all with as many workers as there are.
func inParallel[T any](all []T, each func(T) error) error {
	next := make(chan T)
	failed := make(chan error, productionWorkers)
	var workers sync.WaitGroup
	for range productionWorkers {
		workers.Go(func() {
			for one := range next {
				if err := each(one); err != nil {
					failed <- err
					for range next {
					}
					return
				}
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	workers.Wait()
	close(failed)
	return <-failed
}

// openAndValidate reads, opens, decodes and validates each row, as a program would that has no verify. Decoding and validation are Validate's, which is
// encoding/json's with UseNumber and jsonschema/v5's time (see envelope's BenchmarkRatio).
func (p *production) openAndValidate(ctx context.Context) (time.Duration, error) {
	compiled, err := p.reg.Event("invoice.issued", 1)
	if err != nil {
		return 0, err
	}
	opener, err := envelope.NewOpener(p.reg, p.rings, envelope.Options{})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	type page struct{ ids, payloads []string }
	pages := make(chan page)
	failed := make(chan error, productionWorkers+1)
	var workers sync.WaitGroup
	n := 0
	for range productionWorkers {
		workers.Go(func() {
			for page := range pages {
				for i, id := range page.ids {
					if err := openAndValidateOne(ctx, opener, compiled, id, page.payloads[i]); err != nil {
						failed <- err
						for range pages {
						}
						return
					}
				}
			}
		})
	}
	err = p.read(ctx, func(ids, payloads []string) error {
		n += len(ids)
		pages <- page{ids, payloads}
		return nil
	})
	close(pages)
	workers.Wait()
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	select {
	case err := <-failed:
		return 0, err
	default:
	}
	if n != p.rows {
		return 0, fmt.Errorf("%d rows of %d", n, p.rows)
	}
	return took, nil
}

func openAndValidateOne(ctx context.Context, opener *envelope.Opener, compiled *schema.EventSchema, id, payload string) error {
	received, err := envelope.Parse(envelope.Wire{ID: id, Type: "invoice.issued", Version: 1, AggregateID: "a", OccurredAt: time.Unix(0, 0), Payload: []byte(payload)}, envelope.Limits{})
	if err != nil {
		return err
	}
	opened, err := opener.Open(ctx, received, envelope.OpenOptions{})
	if err != nil {
		return err
	}
	return compiled.Validate(opened.Event.Payload)
}

func (p *production) reencrypt(ctx context.Context) (time.Duration, error) {
	p.ring.Rotate(keyring.Seal)
	resealer, err := envelope.NewResealer(p.reg, p.rings, envelope.Options{})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	r, err := outboxstore.Reencrypt(ctx, p.store, resealer, outboxstore.ReencryptOptions{Workers: productionWorkers, BatchSize: productionBatch})
	if err == nil && r.Rotated != int64(p.rows) {
		err = fmt.Errorf("%+v", r)
	}
	return time.Since(start), err
}

func (p *production) verify(ctx context.Context, opts envelope.VerifierOptions) (time.Duration, error) {
	verifier, err := envelope.NewVerifier(p.reg, opts)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	r, err := outboxstore.Verify(ctx, p.store, verifier, outboxstore.VerifyOptions{Workers: productionWorkers})
	if err == nil && (r.Rows != int64(p.rows) || r.Findings != 0) {
		err = fmt.Errorf("%+v", r)
	}
	return time.Since(start), err
}

func (p *production) keyless() envelope.VerifierOptions {
	return envelope.VerifierOptions{KeyStates: envelope.KeyInfos{p.ring.Keyring.Name(): p.ring.Keyring.Keys()}}
}

func (p *production) keyed() envelope.VerifierOptions {
	return envelope.VerifierOptions{Keyrings: p.rings}
}

// readAlone reads the rows as verify does, through the store, and looks at none.
func (p *production) readAlone(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	n := 0
	for _, err := range p.store.Scan(ctx, outboxstore.ScanOptions{}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	if n != p.rows {
		return 0, fmt.Errorf("%d rows of %d", n, p.rows)
	}
	return time.Since(start), nil
}

// readColumns reads the rows past the store: nothing is parsed or checked.
func (p *production) readColumns(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	n := 0
	err := p.read(ctx, func(ids, _ []string) error { n += len(ids); return nil })
	if err == nil && n != p.rows {
		err = fmt.Errorf("%d rows of %d", n, p.rows)
	}
	return time.Since(start), err
}

// BenchmarkProduction holds re-encryption and verify, on rows of 900 bytes, against what a program without fieldcrypt would do with the same rows,
// in turns: a plain UPDATE of the same payloads in the same batches, reading alone, and reading, opening and validating. ratio is against the first
// of these, and is to be the goal; the others show what bounds it. peak-MiB is how much the heap grew meanwhile: the same for ten times the rows.
func BenchmarkProduction(b *testing.B) {
	for _, rows := range []int{productionRows / 10, productionRows} {
		b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) {
			p := newProduction(b, rows)
			p.compare(b, "reencrypt", reencryptGoal, p.reencrypt, peer{"update", p.rewrite}, peer{"update-keys", p.rewriteKeys})
			p.compare(b, "keyless", keylessGoal, func(ctx context.Context) (time.Duration, error) { return p.verify(ctx, p.keyless()) },
				peer{"read", p.readAlone}, peer{"read-columns", p.readColumns})
			p.compare(b, "keyed", keyedGoal, func(ctx context.Context) (time.Duration, error) { return p.verify(ctx, p.keyed()) }, peer{"validate", p.openAndValidate})
		})
	}
}

// peer is what something of ours is held against.
type peer struct {
	name string
	run  func(context.Context) (time.Duration, error)
}

// compare times ours and its peers by turns, and vacuums between them, so that none finds a table that another has left bloated.
func (p *production) compare(b *testing.B, name string, goal float64, ours func(context.Context) (time.Duration, error), peers ...peer) {
	b.Run(name, func(b *testing.B) {
		var mine time.Duration
		theirs := make([]time.Duration, len(peers))
		turn := func(into *time.Duration, f func(context.Context) (time.Duration, error)) {
			p.exec(b, "VACUUM public.outbox_events")
			p.exec(b, "CHECKPOINT")
			took, err := f(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			*into += took
		}
		rounds, peak := 0, uint64(0)
		for b.Loop() {
			for i, peer := range peers {
				turn(&theirs[i], peer.run)
			}
			stop := watchHeap()
			turn(&mine, ours)
			peak = max(peak, stop())
			rounds++
		}
		rows := float64(rounds * p.rows)
		b.ReportMetric(rows/mine.Seconds(), "rows/s")
		for i, peer := range peers {
			b.ReportMetric(rows/theirs[i].Seconds(), peer.name+"-rows/s")
		}
		b.ReportMetric(theirs[0].Seconds()/mine.Seconds(), "ratio")
		b.ReportMetric(0, "ns/op") // of all together
		b.ReportMetric(goal, "goal")
		b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	})
}

// watchHeap looks at the heap every few milliseconds until it is stopped, and then says how much larger it was at most than in the beginning.
func watchHeap() (stop func() uint64) {
	size := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before := size()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := before
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, size())
			case <-done:
				peak <- most - before
				return
			}
		}
	}()
	return func() uint64 { close(done); return <-peak }
}

// A relay that holds a row keeps nobody from the others; the row is done in the end, when it is free.
func TestReencryptPutsOffARowThatSomebodyHolds(t *testing.T) {
	t.Parallel()
	const rows = 40
	p := newProduction(t, rows)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tx, err := p.store.Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "SELECT FROM public.outbox_events WHERE id = $1 FOR UPDATE", productionID(3)); err != nil {
		t.Fatal(err)
	}
	p.ring.Rotate(keyring.Seal)
	resealer, err := envelope.NewResealer(p.reg, p.rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	released := false
	r, err := outboxstore.Reencrypt(ctx, p.store, resealer, outboxstore.ReencryptOptions{BatchSize: 4, Progress: func(r outboxstore.ReencryptResult) {
		if r.Rotated == rows-1 && !released { // all others, while it is held
			released = true
			if err := tx.Commit(ctx); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil || !released || r.Rotated != rows || r.Failed != 0 {
		t.Errorf("%+v, released %v, error %v", r, released, err)
	}
}

// Neither re-encryption nor verify keeps anything of a row that is done: with five times the rows as much of the heap is alive.
func TestReencryptAndVerifyTakeNoMoreMemoryForMoreRows(t *testing.T) {
	// Not parallel: the heap is everybody's.
	few, many := heapOf(t, 4_000), heapOf(t, 20_000)
	t.Logf("alive at 4,000 rows: %v; at 20,000 rows: %v", few, many)
	const slack = 3 << 20 // what the pages at hand make of difference; half of 16,000 rows more would be 8 MiB of payloads alone
	for step, bytes := range many {
		if bytes > few[step]+slack {
			t.Errorf("%s: %d KiB alive at 20,000 rows, %d KiB at 4,000", step, bytes>>10, few[step]>>10)
		}
	}
}

// heapOf is how much more of the heap is alive after collections on the way than before, the median, by step.
func heapOf(t *testing.T, rows int) map[string]uint64 {
	t.Helper()
	p := newProduction(t, rows)
	live := func() uint64 {
		runtime.GC()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := live()
	var alive []uint64
	every := func(n, done int64) {
		if done%n == 0 {
			alive = append(alive, max(live(), before)-before)
		}
	}
	heap := map[string]uint64{}
	for step, run := range map[string]func() error{
		"keyless": func() error { return p.verifyTelling(t.Context(), p.keyless(), func(n int64) { every(500, n) }) },
		"keyed":   func() error { return p.verifyTelling(t.Context(), p.keyed(), func(n int64) { every(500, n) }) },
		"reencrypt": func() error {
			p.ring.Rotate(keyring.Seal)
			resealer, err := envelope.NewResealer(p.reg, p.rings, envelope.Options{})
			if err != nil {
				return err
			}
			_, err = outboxstore.Reencrypt(t.Context(), p.store, resealer, outboxstore.ReencryptOptions{
				Workers: productionWorkers, Progress: func(r outboxstore.ReencryptResult) { every(500, r.Rows()) }})
			return err
		},
	} {
		alive = nil
		if err := run(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(alive)
		heap[step] = alive[len(alive)/2]
	}
	return heap
}

func (p *production) verifyTelling(ctx context.Context, opts envelope.VerifierOptions, progress func(int64)) error {
	verifier, err := envelope.NewVerifier(p.reg, opts)
	if err != nil {
		return err
	}
	_, err = outboxstore.Verify(ctx, p.store, verifier, outboxstore.VerifyOptions{Workers: productionWorkers, Progress: progress})
	return err
}
