package outboxstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

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
	// Indexes are the schemas' blind indexes (schema.Registry.Indexes). With them, Reencrypt refuses a table that holds other
	// versions of an index than they declare, and when it has gone over every row without a failure it writes down that none
	// holds a previous version any more. Defaults to none.
	Indexes []*schema.Index
	// Logger tells of failed rows (ids and reasons, never values). Defaults to silence.
	Logger *slog.Logger
	// MaxFailedIDs bounds ReencryptResult.FailedIDs. Defaults to 1000; -1 for no bound.
	MaxFailedIDs int
	// OnFailure is called for each row that failed, with an id that may be shown. Defaults to nothing.
	OnFailure func(id string, err error)
	// Progress is called after each transaction. Defaults to nothing.
	Progress func(ReencryptResult)
	// Workers is the number of rows opened and sealed at once. Defaults to 1.
	Workers int
}

// ReencryptResult counts rows. Rows without any token are skipped too.
type ReencryptResult struct {
	Rotated   int64
	Skipped   int64
	Failed    int64
	FailedIDs []string // the first ones, as they may be shown
}

const (
	defaultBatchSize    = 100
	defaultMaxFailedIDs = 1000
	// maxTries is for one row that others keep changing.
	maxTries = 5
)

// Reencrypt brings every stored row, its ciphertexts and its blind indexes, under the primary keys. It works in small
// transactions, changes a row only if it still is what was read, and runs beside writers, relays and other resealers. It
// can be stopped at any point: run again, it skips what is done. A row that does not open is left as it is and counted as
// failed. An error means that the run could not go on; the result tells how far it came.
func Reencrypt(ctx context.Context, store Store, resealer Resealer, opts ReencryptOptions) (ReencryptResult, error) {
	r := &reencryption{store: store, resealer: resealer, opts: opts.withDefaults()}
	if err := CheckIndexes(ctx, store, opts.Indexes); err != nil {
		return r.result, err
	}
	if err := r.rows(ctx); err != nil {
		return r.result, err
	}
	return r.result, r.settle(ctx)
}

// rows goes over all rows.
func (r *reencryption) rows(ctx context.Context) error {
	var batch []*Row
	size := 0
	for row, err := range r.store.Scan(ctx, ScanOptions{After: r.opts.After, PageSize: r.opts.BatchSize}) {
		if err != nil {
			return err
		}
		batch, size = append(batch, row), size+row.Size()
		if len(batch) < r.opts.BatchSize && size < MaxPageBytes {
			continue
		}
		if err := r.batch(ctx, batch); err != nil {
			return err
		}
		batch, size = nil, 0
	}
	return r.batch(ctx, batch)
}

// settle writes down that every row holds the current version of its indexes, if that is so. It asks first what is written
// down, so that a role that may only read it can re-encrypt where nothing was rebuilt.
func (r *reencryption) settle(ctx context.Context) error {
	if len(r.opts.Indexes) == 0 || r.opts.After != "" || r.result.Failed > 0 {
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
	result   ReencryptResult
}

// resealed is what became of one row before anything is written.
type resealed struct {
	row     *Row
	sealed  envelope.Sealed
	changed bool
	err     error
}

func (r *reencryption) batch(ctx context.Context, rows []*Row) error {
	if len(rows) == 0 {
		return ctx.Err()
	}
	var replacements []Replacement
	for _, n := range r.resealAll(ctx, rows) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case n.err != nil:
			r.fail(ctx, n.row, n.err)
		case !n.changed:
			r.result.Skipped++
		default:
			replacements = append(replacements, Replacement{Row: n.row, Sealed: n.sealed})
		}
	}
	if err := r.replace(ctx, replacements); err != nil {
		return err
	}
	r.opts.Progress(r.result)
	return nil
}

// resealAll keeps the rows' order.
func (r *reencryption) resealAll(ctx context.Context, rows []*Row) []resealed {
	all := make([]resealed, len(rows))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(r.opts.Workers, len(rows)) {
		workers.Go(func() {
			for i := range next {
				all[i] = r.reseal(ctx, rows[i])
			}
		})
	}
	for i := range rows {
		next <- i
	}
	close(next)
	workers.Wait()
	return all
}

func (r *reencryption) reseal(ctx context.Context, row *Row) resealed {
	if row.Err != nil {
		return resealed{row: row, err: row.Err}
	}
	sealed, changed, err := r.resealer.Reseal(ctx, row.Received, row.Indexes)
	if err == nil && !slices.Equal(sealed.KeyIDs(), row.KeyIDs) {
		changed = true // key_ids decide what may be retired: they are repaired as well
	}
	return resealed{row: row, sealed: sealed, changed: changed, err: err}
}

// replace writes the batch in one transaction. Where one row stands in the way of the others, each gets its own.
func (r *reencryption) replace(ctx context.Context, replacements []Replacement) error {
	if len(replacements) == 0 {
		return nil
	}
	changed, err := r.store.Replace(ctx, replacements...)
	if err != nil && !isRowFault(err) {
		return fmt.Errorf("re-encrypt: %w", err)
	}
	for i, replacement := range replacements {
		if err == nil && changed[i] {
			r.result.Rotated++
			continue
		}
		if err := r.again(ctx, replacement.Row.ID); err != nil {
			return err
		}
	}
	return nil
}

// again does one row from the start: it was changed since it was read, or its batch failed.
func (r *reencryption) again(ctx context.Context, id string) error {
	var row *Row
	for range maxTries {
		var err error
		if row, err = r.store.Get(ctx, id); errors.Is(err, ErrNoRow) {
			r.result.Skipped++ // deleted meanwhile
			return nil
		} else if err != nil {
			return fmt.Errorf("re-encrypt: %w", err)
		}
		n := r.reseal(ctx, row)
		if err := ctx.Err(); err != nil {
			return err
		}
		if n.err != nil {
			r.fail(ctx, row, n.err)
			return nil
		}
		if !n.changed { // another resealer was faster
			r.result.Skipped++
			return nil
		}
		changed, err := r.store.Replace(ctx, Replacement{Row: row, Sealed: n.sealed})
		if isRowFault(err) {
			r.fail(ctx, row, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("re-encrypt: %w", err)
		}
		if changed[0] {
			r.result.Rotated++
			return nil
		}
	}
	r.fail(ctx, row, ErrRowBusy)
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
	r.result.Failed++
	if r.opts.MaxFailedIDs < 0 || len(r.result.FailedIDs) < r.opts.MaxFailedIDs {
		r.result.FailedIDs = append(r.result.FailedIDs, id)
	}
	r.opts.Logger.WarnContext(ctx, "row not re-encrypted", "id", id, "error", err)
	r.opts.OnFailure(id, err)
}
