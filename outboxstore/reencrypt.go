package outboxstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/metric"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Resealer brings an event under today's primary keys; *envelope.Resealer is one.
type Resealer interface {
	Reseal(ctx context.Context, e envelope.Received, storedIndexes map[string][][]byte) (s envelope.Sealed, changed bool, err error)
}

// ErrRowBusy says that a row was changed by others each time it was about to be replaced.
var ErrRowBusy = errors.New("changed by others at each try: run the re-encryption again")

// ReencryptOptions say how Reencrypt goes about it.
type ReencryptOptions struct {
	// After is the key after which to begin. Defaults to the first row.
	After string
	// BatchSize is the number of rows in a transaction; one of large payloads ends earlier. Defaults to 100.
	BatchSize int
	// Fresh are the key ids ("seal:KID", "index:KID") of today's primaries. With them, rows whose key_ids name no other key are left out unread,
	// which makes short work of the rest of a run that was broken off. Nothing authenticates key_ids: what they say wrongly is neither found
	// nor repaired, and previous versions of indexes are not settled. Defaults to none: every row is read and opened.
	Fresh []string
	// Indexes are the schemas' blind indexes (schema.Registry.Indexes). With them, Reencrypt refuses a table that holds other
	// versions of an index than they declare, and when it has gone over every row without a failure it writes down that none
	// holds a previous version any more. Defaults to none.
	Indexes []*schema.Index
	// Logger tells of failed rows (ids and reasons, never values). Defaults to silence.
	Logger *slog.Logger
	// MaxFailedIDs bounds ReencryptResult.FailedIDs. Defaults to 1000; -1 for no bound.
	MaxFailedIDs int
	// MaxRate is the number of rows taken up in a second, rewritten or not, that spares the database's other users. Defaults to no bound.
	MaxRate float64
	// MeterProvider receives the metric fieldcrypt.reencrypt.rows, a counter by outcome. Defaults to a no-op provider.
	MeterProvider metric.MeterProvider
	// OnFailure is called for each row that failed, one call at a time, with an id that may be shown. Defaults to nothing.
	OnFailure func(id string, err error)
	// Progress is called after each transaction, one call at a time. Defaults to nothing.
	Progress func(ReencryptResult)
	// Workers is the number of batches opened, sealed and written at once. Defaults to 1.
	Workers int
}

// ReencryptResult counts rows. Rows without any token are skipped too.
type ReencryptResult struct {
	Rotated   int64
	Skipped   int64
	Failed    int64
	FailedIDs []string // the first ones by key order, as they may be shown; in Progress, in no order
}

// Rows is the number of rows that are done.
func (r ReencryptResult) Rows() int64 { return r.Rotated + r.Skipped + r.Failed }

const (
	defaultBatchSize    = 100
	defaultMaxFailedIDs = 1000
	// maxTries is for one row that others keep changing.
	maxTries = 5
	// batchesRead is how many batches are read at once: fewer statements, and still little that is stale when its turn comes.
	batchesRead = 4
	// maxLeft bounds the ids of rows that are put off.
	maxLeft = 10_000
)

// Reencrypt brings every stored row, its ciphertexts and its blind indexes, under the primary keys. It works in small
// transactions, changes a row only if it still is what was read, and runs beside writers, relays and other resealers: a row
// that somebody else holds is put off until the end, and several processes that go over one table share it in this way. It
// can be stopped at any point: run again, it skips what is done. A fresh row is opened and left as it is. A row that does
// not open is left as it is and counted as failed. An error means that the run could not go on; the result tells how far
// it came.
func Reencrypt(ctx context.Context, store Store, resealer Resealer, opts ReencryptOptions) (ReencryptResult, error) {
	metrics, err := newReencryptMetrics(opts.MeterProvider)
	if err != nil {
		return ReencryptResult{}, err
	}
	r := &reencryption{store: store, resealer: resealer, opts: opts.withDefaults(), metrics: metrics}
	if err := CheckIndexes(ctx, store, opts.Indexes); err != nil {
		return r.result, err
	}
	err = r.all(ctx)
	slices.Sort(r.result.FailedIDs)
	if err != nil {
		return r.result, err
	}
	return r.result, r.settle(ctx)
}

// all goes over all rows, then over those that were put off.
func (r *reencryption) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := make(chan []*Row)
	var workers sync.WaitGroup
	for range r.opts.Workers {
		workers.Go(func() {
			w := &reencryptWorker{reencryption: r}
			for batch := range batches {
				if err := w.batch(ctx, batch); err != nil {
					cancel(err)
				}
			}
			if err := w.leftovers(ctx); err != nil {
				cancel(err)
			}
		})
	}
	if err := r.read(ctx, batches); err != nil {
		cancel(err)
	}
	close(batches)
	workers.Wait()
	return context.Cause(ctx)
}

// read hands the rows on in batches, no faster than it may.
func (r *reencryption) read(ctx context.Context, batches chan<- []*Row) error {
	pace := pacer{rate: r.opts.MaxRate}
	var batch []*Row
	hand := func() error {
		if len(batch) == 0 {
			return ctx.Err()
		}
		if err := pace.wait(ctx, len(batch)); err != nil {
			return err
		}
		select {
		case batches <- batch:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	size := 0
	for row, err := range r.store.Scan(ctx, ScanOptions{After: r.opts.After, PageSize: batchesRead * r.opts.BatchSize, NotOnly: r.opts.Fresh}) {
		if err != nil {
			return err
		}
		batch, size = append(batch, row), size+row.Size()
		if len(batch) < r.opts.BatchSize && size < MaxPageBytes {
			continue
		}
		if err := hand(); err != nil {
			return err
		}
		batch, size = make([]*Row, 0, r.opts.BatchSize), 0
	}
	return hand()
}

// settle writes down that every row holds the current version of its indexes, if that is so. It asks first what is written
// down, so that a role that may only read it can re-encrypt where nothing was rebuilt.
func (r *reencryption) settle(ctx context.Context) error {
	if len(r.opts.Indexes) == 0 || r.opts.After != "" || len(r.opts.Fresh) > 0 || r.result.Failed > 0 {
		return nil
	}
	recorded, err := r.store.IndexVersions(ctx)
	if err != nil {
		return err
	}
	rebuilt, err := recorded.rebuilt(r.opts.Indexes)
	if err != nil || len(rebuilt) == 0 {
		return err
	}
	return r.store.SettleIndexes(ctx, rebuilt)
}

func (o ReencryptOptions) withDefaults() ReencryptOptions {
	if o.BatchSize <= 0 {
		o.BatchSize = defaultBatchSize
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxFailedIDs == 0 {
		o.MaxFailedIDs = defaultMaxFailedIDs
	}
	if o.OnFailure == nil {
		o.OnFailure = func(string, error) {}
	}
	if o.Progress == nil {
		o.Progress = func(ReencryptResult) {}
	}
	if o.Workers <= 0 {
		o.Workers = 1
	}
	return o
}

type reencryption struct {
	store    Store
	resealer Resealer
	opts     ReencryptOptions
	metrics  *reencryptMetrics

	mu     sync.Mutex
	result ReencryptResult
	left   []string // ids of rows that others held or had changed
}

// putOff keeps a row for later. What it returns is more than is kept, to be done now.
func (r *reencryption) putOff(id string) (now []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, id)
	if len(r.left) < maxLeft {
		return nil
	}
	now, r.left = r.left, nil
	return now
}

func (r *reencryption) takeLeft() (id string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 {
		return "", false
	}
	id = r.left[len(r.left)-1]
	r.left = r.left[:len(r.left)-1]
	return id, true
}

// done counts rows, and tells how far it is.
func (r *reencryption) done(ctx context.Context, rotated, skipped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.opts.Progress(r.result) }()
	r.result.Rotated += int64(rotated)
	r.result.Skipped += int64(skipped)
	r.metrics.add(ctx, outcomeRotated, rotated)
	r.metrics.add(ctx, outcomeSkipped, skipped)
}

// reencryptWorker does one batch after the other, in memory of its own.
type reencryptWorker struct {
	*reencryption
	buffer       envelope.Buffer
	replacements []Replacement
}

// bufferedResealer is a Resealer that uses the caller's memory; *envelope.Resealer is one.
type bufferedResealer interface {
	AppendReseal(ctx context.Context, b *envelope.Buffer, e envelope.Received, storedIndexes map[string][][]byte) (s envelope.Sealed, changed bool, err error)
}

// resealed is what became of one row before anything is written.
type resealed struct {
	sealed  envelope.Sealed
	changed bool
	err     error
}

func (w *reencryptWorker) batch(ctx context.Context, rows []*Row) error {
	w.buffer.Reset() // what was sealed into it is written, or put off
	w.replacements = w.replacements[:0]
	skipped := 0
	for _, row := range rows {
		n := w.reseal(ctx, row, true)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case n.err != nil:
			w.fail(ctx, row, n.err)
		case !n.changed:
			skipped++
		default:
			w.replacements = append(w.replacements, Replacement{Row: row, Sealed: n.sealed})
		}
	}
	rotated, err := w.replace(ctx, w.replacements)
	clear(w.replacements)
	w.done(ctx, rotated, skipped)
	return err
}

// reseal seals into the worker's memory, or, where others of that memory's Sealed are not written yet by this worker, into memory of its own.
func (w *reencryptWorker) reseal(ctx context.Context, row *Row, buffered bool) resealed {
	if row.Err != nil {
		return resealed{err: row.Err}
	}
	var n resealed
	if b, ok := w.resealer.(bufferedResealer); ok && buffered {
		n.sealed, n.changed, n.err = b.AppendReseal(ctx, &w.buffer, row.Received, row.Indexes)
	} else {
		n.sealed, n.changed, n.err = w.resealer.Reseal(ctx, row.Received, row.Indexes)
	}
	if n.err == nil && !n.changed && !slices.Equal(n.sealed.KeyIDs(), row.KeyIDs) {
		n.changed = true // key_ids decide what may be retired: they are repaired as well
	}
	return n
}

// replace writes the batch in one transaction, and says how many rows that has changed. Where one row stands in the way of the others, each
// gets a transaction of its own.
func (w *reencryptWorker) replace(ctx context.Context, replacements []Replacement) (rotated int, err error) {
	if len(replacements) == 0 {
		return 0, nil
	}
	changed, err := w.store.TryReplace(ctx, replacements...)
	if err != nil && !isRowFault(err) {
		return 0, fmt.Errorf("re-encrypt: %w", err)
	}
	for i, replacement := range replacements {
		if err == nil && changed[i] {
			rotated++
			continue
		}
		id := replacement.Row.ID
		if err == nil {
			for _, id := range w.putOff(id) {
				if err := w.again(ctx, id); err != nil {
					return rotated, err
				}
			}
		} else if err := w.again(ctx, id); err != nil {
			return rotated, err
		}
	}
	return rotated, nil
}

// leftovers does the rows that were put off.
func (w *reencryptWorker) leftovers(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		id, ok := w.takeLeft()
		if !ok {
			return nil
		}
		if err := w.again(ctx, id); err != nil {
			return err
		}
	}
}

// again does one row from the start, and waits for who holds it: it was changed since it was read, or its batch failed.
func (w *reencryptWorker) again(ctx context.Context, id string) error {
	var row *Row
	for range maxTries {
		var err error
		if row, err = w.store.Get(ctx, id); errors.Is(err, ErrNoRow) {
			w.done(ctx, 0, 1) // deleted meanwhile
			return nil
		} else if err != nil {
			return fmt.Errorf("re-encrypt: %w", err)
		}
		n := w.reseal(ctx, row, false)
		if err := ctx.Err(); err != nil {
			return err
		}
		if n.err != nil {
			w.fail(ctx, row, n.err)
			return nil
		}
		if !n.changed { // another resealer was faster
			w.done(ctx, 0, 1)
			return nil
		}
		changed, err := w.store.Replace(ctx, Replacement{Row: row, Sealed: n.sealed})
		if isRowFault(err) {
			w.fail(ctx, row, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("re-encrypt: %w", err)
		}
		if changed[0] {
			w.done(ctx, 1, 0)
			return nil
		}
	}
	w.fail(ctx, row, ErrRowBusy)
	return nil
}

// isRowFault tells an error about one row from one that stops the run.
func isRowFault(err error) bool {
	var row *RowError
	var event *EventError
	var replacement *ReplacementError
	return errors.As(err, &row) || errors.As(err, &event) || errors.As(err, &replacement)
}

func (r *reencryption) fail(ctx context.Context, row *Row, err error) {
	id := DisplayID(row.ID)
	err = asRowError(row.ID, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Failed++
	r.metrics.add(ctx, outcomeFailed, 1)
	if r.opts.MaxFailedIDs < 0 || len(r.result.FailedIDs) < r.opts.MaxFailedIDs {
		r.result.FailedIDs = append(r.result.FailedIDs, id)
	}
	r.opts.Logger.WarnContext(ctx, "row not re-encrypted", "id", id, "error", err)
	r.opts.OnFailure(id, err)
}
