package outboxstore

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

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

// KindCount sums up one kind of finding.
type KindCount struct {
	Kind     envelope.Kind
	Severity envelope.Severity
	Count    int64    // findings; a row can have several
	Rows     []string // the first rows' ids by key order, as they may be shown
}

// VerifyResult is what Verify found. It holds no value.
type VerifyResult struct {
	Kinds      []KindCount // findings first, then warnings, each by name
	Rows       int64
	Findings   int64
	Warnings   int64
	NotChecked []envelope.NotChecked
}

const (
	defaultFirstRows = 10
	progressEvery    = 100 // rows
)

// Verify reads rows by key order in short transactions and says what is wrong with them. Its memory does not grow with the
// table. An error means that the check could not be done to its end.
func Verify(ctx context.Context, store Store, verifier Verifier, opts VerifyOptions) (VerifyResult, error) {
	v := &verification{verifier: verifier, opts: opts.withDefaults(), kinds: map[kindKey]*KindCount{}, notChecked: map[envelope.NotChecked]bool{}}
	for _, n := range verifier.NotChecked() {
		v.notChecked[n] = true
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	rows := make(chan *Row)
	var workers sync.WaitGroup
	for range v.opts.Workers {
		workers.Go(func() {
			for row := range rows {
				if err := v.row(ctx, row); err != nil {
					cancel(err)
				}
			}
		})
	}
	v.read(ctx, store, rows, cancel)
	close(rows)
	workers.Wait()
	return v.result(), context.Cause(ctx)
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

	mu         sync.Mutex
	rows       int64
	kinds      map[kindKey]*KindCount
	notChecked map[envelope.NotChecked]bool
}

type kindKey struct {
	kind     envelope.Kind
	severity envelope.Severity
}

// read hands the rows to the workers.
func (v *verification) read(ctx context.Context, store Store, rows chan<- *Row, cancel context.CancelCauseFunc) {
	scan := ScanOptions{Sample: v.opts.Sample, Since: v.opts.Since, Snapshot: v.opts.Snapshot}
	for row, err := range store.Scan(ctx, scan) {
		if err != nil {
			cancel(err)
			return
		}
		select {
		case rows <- row:
		case <-ctx.Done():
			return
		}
	}
}

func (v *verification) row(ctx context.Context, row *Row) error {
	report, err := v.report(ctx, row)
	if err != nil {
		return asRowError(row.ID, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rows++
	for _, n := range report.NotChecked {
		v.notChecked[n] = true
	}
	for _, f := range report.Findings {
		v.count(ctx, DisplayID(row.ID), f)
	}
	if v.rows%progressEvery == 0 {
		v.opts.Progress(v.rows)
	}
	return nil
}

// report is the Verifier's, and what only the store can see.
func (v *verification) report(ctx context.Context, row *Row) (envelope.Report, error) {
	var damaged *ColumnError
	if errors.As(row.Err, &damaged) {
		return envelope.Report{Findings: []envelope.Finding{storeFinding(damaged.Error())}}, nil
	}
	report, err := v.verifier.Verify(ctx, row.Wire(), envelope.StoredIndexes{Values: row.Indexes})
	if err != nil {
		return report, err
	}
	// What is wrong with the payload or the indexes shows in the key ids too: a fault is named once.
	if !slices.ContainsFunc(report.Findings, func(f envelope.Finding) bool { return f.Severity == envelope.SeverityFinding }) {
		if detail := keyIDFault(row); detail != "" {
			report.Findings = append(report.Findings, storeFinding(detail))
		}
	}
	return report, nil
}

// storeFinding is a fault of the row around the payload.
func storeFinding(detail string) envelope.Finding {
	return envelope.Finding{Kind: envelope.KindMalformed, Severity: envelope.SeverityFinding, Detail: detail}
}

func (v *verification) count(ctx context.Context, id string, f envelope.Finding) {
	key := kindKey{f.Kind, f.Severity}
	k := v.kinds[key]
	if k == nil {
		k = &KindCount{Kind: f.Kind, Severity: f.Severity}
		v.kinds[key] = k
	}
	k.Count++
	k.Rows = insertFirst(k.Rows, id, v.opts.FirstRows)
	v.opts.Logger.DebugContext(ctx, "found", "id", id, "kind", f.Kind, "severity", f.Severity, "location", f.Location, "index", f.Index, "detail", f.Detail)
	v.opts.OnFinding(id, f)
}

// insertFirst keeps the lowest n ids in order, for workers do not finish in the rows' order.
func insertFirst(ids []string, id string, n int) []string {
	at, found := slices.BinarySearch(ids, id)
	if found || at == n {
		return ids
	}
	ids = slices.Insert(ids, at, id)
	return ids[:min(len(ids), n)]
}

func (v *verification) result() VerifyResult {
	r := VerifyResult{Rows: v.rows}
	for _, k := range v.kinds {
		r.Kinds = append(r.Kinds, *k)
		if k.Severity == envelope.SeverityFinding {
			r.Findings += k.Count
		} else {
			r.Warnings += k.Count
		}
	}
	slices.SortFunc(r.Kinds, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Kind, b.Kind))
	})
	for n := range v.notChecked {
		r.NotChecked = append(r.NotChecked, n)
	}
	slices.SortFunc(r.NotChecked, func(a, b envelope.NotChecked) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Keyring, b.Keyring), strings.Compare(a.Reason, b.Reason))
	})
	return r
}
