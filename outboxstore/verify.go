package outboxstore

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Verifier looks for faults in one event; *envelope.Verifier is one.
type Verifier interface {
	// NotChecked lists what it checks in no event.
	NotChecked() []envelope.NotChecked
	Verify(ctx context.Context, w envelope.Wire, stored envelope.StoredIndexes) (envelope.Report, error)
}

// VerifyOptions say which rows Verify looks at, and how.
type VerifyOptions struct {
	// FirstRows bounds the row ids kept for each kind. Defaults to 10.
	FirstRows int
	// Logger tells of each finding at level debug (ids, kinds and masked places). Defaults to silence.
	Logger *slog.Logger
	// MeterProvider receives the metrics fieldcrypt.verify.rows and fieldcrypt.verify.findings (by kind and severity), counters. Defaults to
	// a no-op provider.
	MeterProvider metric.MeterProvider
	// OnFinding is called for each finding, one call at a time, in no order, with an id that may be shown. Defaults to nothing.
	OnFinding func(id string, f envelope.Finding)
	// Progress is called now and then with the number of rows done, one call at a time. Defaults to nothing.
	Progress func(rows int64)
	// Sample is a number of rows to choose at random. Defaults to all rows.
	Sample int
	// Since leaves out rows created earlier. Defaults to all times.
	Since time.Time
	// Snapshot reads one consistent view, which holds back the database's clean-up. Defaults to short transactions.
	Snapshot bool
	// Workers is the number of rows verified at once. Defaults to 1.
	Workers int
}

const (
	defaultFirstRows = 10
	progressEvery    = 100 // rows
	// verifyBatch is how many rows a worker takes at once: handing each over by itself costs as much as looking at it.
	verifyBatch = 50
)

// Verify reads rows by key order in short transactions and says what is wrong with them. Its memory does not grow with the
// table. An error means that the check could not be done to its end.
func Verify(ctx context.Context, store Store, verifier Verifier, opts VerifyOptions) (VerifyResult, error) {
	metrics, err := newVerifyMetrics(opts.MeterProvider)
	if err != nil {
		return VerifyResult{}, err
	}
	v := &verification{verifier: verifier, opts: opts.withDefaults(), metrics: metrics}
	v.tally = NewTally(verifier.NotChecked(), v.opts.FirstRows)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := make(chan []*Row, v.opts.Workers)
	var workers sync.WaitGroup
	for range v.opts.Workers {
		workers.Go(func() {
			for batch := range batches {
				if err := v.batch(ctx, batch); err != nil {
					cancel(err)
				}
			}
		})
	}
	if err := v.read(ctx, store, batches); err != nil {
		cancel(err)
	}
	close(batches)
	workers.Wait()
	return v.tally.Result(), context.Cause(ctx)
}

func (o VerifyOptions) withDefaults() VerifyOptions {
	if o.FirstRows <= 0 {
		o.FirstRows = defaultFirstRows
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnFinding == nil {
		o.OnFinding = func(string, envelope.Finding) {}
	}
	if o.Progress == nil {
		o.Progress = func(int64) {}
	}
	if o.Workers <= 0 {
		o.Workers = 1
	}
	return o
}

type verification struct {
	verifier Verifier
	opts     VerifyOptions
	metrics  *verifyMetrics

	mu    sync.Mutex
	tally *Tally
}

// read hands the rows to the workers.
func (v *verification) read(ctx context.Context, store Store, batches chan<- []*Row) error {
	var batch []*Row
	hand := func() error {
		select {
		case batches <- batch:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	scan := ScanOptions{Sample: v.opts.Sample, Since: v.opts.Since, Snapshot: v.opts.Snapshot}
	size := 0
	for row, err := range store.Scan(ctx, scan) {
		if err != nil {
			return err
		}
		batch, size = append(batch, row), size+row.Size()
		if len(batch) < verifyBatch && size < maxVerifyBytes {
			continue
		}
		if err := hand(); err != nil {
			return err
		}
		batch, size = make([]*Row, 0, verifyBatch), 0
	}
	return hand()
}

// maxVerifyBytes ends a batch of large rows early, so that what waits stays small.
const maxVerifyBytes = 1 << 20

// batch counts by itself, and adds that to what all have counted.
func (v *verification) batch(ctx context.Context, rows []*Row) error {
	tally := NewTally(nil, v.opts.FirstRows)
	type found struct {
		id       string
		findings []envelope.Finding
	}
	var all []found
	for _, row := range rows {
		report, err := v.report(ctx, row)
		if err != nil {
			return asRowError(row.ID, err)
		}
		id := DisplayID(row.ID)
		tally.Add(id, report)
		if len(report.Findings) > 0 {
			all = append(all, found{id, report.Findings})
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.tally.rows
	v.tally.merge(tally)
	v.metrics.rows.Add(ctx, int64(len(rows)))
	for _, row := range all {
		for _, f := range row.findings {
			v.tell(ctx, row.id, f)
		}
	}
	if v.tally.rows/progressEvery > before/progressEvery {
		v.opts.Progress(v.tally.rows)
	}
	return nil
}

// report is the Verifier's, and what only the store can see.
func (v *verification) report(ctx context.Context, row *Row) (envelope.Report, error) {
	var damaged *ColumnError
	if errors.As(row.Err, &damaged) {
		return envelope.Report{Findings: []envelope.Finding{storeFinding(damaged.Error())}}, nil
	}
	report, err := v.verifier.Verify(ctx, wireOf(row), envelope.StoredIndexes{Values: row.Indexes})
	if err != nil {
		return report, err
	}
	// What is wrong with the payload or the indexes shows in the key ids too: a fault is named once.
	if !slices.ContainsFunc(report.Findings, func(f envelope.Finding) bool { return f.Severity == envelope.SeverityFinding }) {
		if detail := keyIDFault(row, report.KeyIDs); detail != "" {
			report.Findings = append(report.Findings, storeFinding(detail))
		}
	}
	return report, nil
}

// storeFinding is a fault of the row around the payload.
func storeFinding(detail string) envelope.Finding {
	return envelope.Finding{Kind: envelope.KindMalformed, Severity: envelope.SeverityFinding, Detail: detail}
}

// wireOf spares what a well-formed row was read into already.
func wireOf(row *Row) envelope.Wire {
	if row.Err == nil {
		return row.Received.Wire()
	}
	return row.Wire()
}

func (v *verification) tell(ctx context.Context, id string, f envelope.Finding) {
	v.metrics.finding(ctx, f)
	v.opts.Logger.DebugContext(ctx, "found", "id", id, "kind", f.Kind, "severity", f.Severity, "location", f.Location, "index", f.Index, "detail", f.Detail)
	v.opts.OnFinding(id, f)
}
