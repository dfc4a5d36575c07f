package audittrail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Recorder writes operations into a trail. It is safe for concurrent use; do not copy it once it is used.
type Recorder struct {
	// Actor is who does what is recorded. Required.
	Actor string
	// Log is the trail. Required.
	Log Log
	// Logger tells of each outcome. Defaults to silence.
	Logger *slog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// MeterProvider receives the metrics fieldcrypt.audit.entries and fieldcrypt.audit.failures, counters with the attributes operation and result. Defaults to a
	// no-op provider.
	MeterProvider metric.MeterProvider
	// Refuses says which errors mean that an operation was refused, not that it failed. Defaults to none.
	Refuses func(error) bool

	measure    sync.Once
	metrics    *metrics
	metricsErr error
}

// Outcome is what an operation tells of itself while it goes on. It is the operation's alone: not safe for concurrent use.
type Outcome struct {
	// KeyIDs and Detail are added to, and replace, those of the beginning.
	KeyIDs []string
	Detail string
	Rows   Rows
	Counts map[string]int64
}

// otherCounts is where numbers are added whose names are too many for an entry.
const otherCounts = "other"

// Count adds to a number. Of more names than an entry holds, the numbers of the later ones are added up under the name other.
func (o *Outcome) Count(name string, n int64) {
	if o.Counts == nil {
		o.Counts = map[string]int64{}
	}
	name = Fit(name)
	if _, known := o.Counts[name]; !known && len(o.Counts) >= maxCounts-1 {
		name = otherCounts
	}
	o.Counts[name] += n
}

// UnrecordedError says that an operation was carried out, in whole or in part, and that its outcome could not be written.
type UnrecordedError struct {
	Operation string
	Log       string
	// Begun is the Seq of the entry that says that it began.
	Begun uint64
	Err   error
}

func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("%s was carried out, and its outcome could not be written into the audit trail in %s, which holds its beginning as entry %d: %v", e.Operation, e.Log, e.Begun, e.Err)
}

func (e *UnrecordedError) Unwrap() error { return e.Err }

// NotBegunError says that an operation was not begun, since that could not be written.
type NotBegunError struct {
	Operation string
	Log       string
	Err       error
}

func (e *NotBegunError) Error() string {
	return fmt.Sprintf("%s was not begun, since the audit trail in %s cannot be written: %v", e.Operation, e.Log, e.Err)
}

func (e *NotBegunError) Unwrap() error { return e.Err }

// outcomeTimeout bounds the entry that is written although the caller's context has ended.
const outcomeTimeout = 15 * time.Second

// Do writes that an operation begins, carries it out, and writes what came of it. If the beginning cannot be written nothing is carried out: *NotBegunError. The
// outcome is written though the context has ended meanwhile; if it cannot be, that is an *UnrecordedError, joined with the operation's own error. Else the error is
// the operation's.
func (r *Recorder) Do(ctx context.Context, begin Entry, operate func(context.Context, *Outcome) error) error {
	begin.Actor = Fit(r.Actor)
	outcome := begin
	begin.Result, begin.Time = Begun, r.now()
	begun, err := r.append(ctx, begin)
	if err != nil {
		return &NotBegunError{Operation: begin.Operation, Log: r.Log.String(), Err: err}
	}
	outcome.Of = begun.Seq
	var out Outcome
	returned := false
	defer func() {
		if !returned { // a panic goes on, and is told
			outcome.Result, outcome.Error = Failed, "panic"
			_ = r.finish(ctx, outcome, out)
		}
	}()
	err = operate(ctx, &out)
	returned = true
	switch {
	case err == nil:
		outcome.Result = OK
	case r.Refuses != nil && r.Refuses(err):
		outcome.Result, outcome.Error = Refused, ErrorClass(err)
	default:
		outcome.Result, outcome.Error = Failed, ErrorClass(err)
	}
	if failed := r.finish(ctx, outcome, out); failed != nil {
		return errors.Join(&UnrecordedError{Operation: begin.Operation, Log: r.Log.String(), Begun: begun.Seq, Err: failed}, err)
	}
	return err
}

// append also counts.
func (r *Recorder) append(ctx context.Context, e Entry) (Entry, error) {
	r.measure.Do(func() { r.metrics, r.metricsErr = newMetrics(r.MeterProvider) })
	if r.metricsErr != nil {
		return Entry{}, r.metricsErr
	}
	written, err := r.Log.Append(ctx, e)
	r.metrics.count(ctx, e, err)
	return written, err
}

func (r *Recorder) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

func (r *Recorder) finish(ctx context.Context, outcome Entry, out Outcome) error {
	outcome.Time = r.now()
	outcome.KeyIDs = append(outcome.KeyIDs[:len(outcome.KeyIDs):len(outcome.KeyIDs)], out.KeyIDs...)
	if len(outcome.KeyIDs) > maxKeyIDs {
		outcome.KeyIDs = outcome.KeyIDs[:maxKeyIDs]
	}
	if out.Detail != "" {
		outcome.Detail = out.Detail
	}
	outcome.Rows, outcome.Counts = out.Rows, out.Counts
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTimeout)
	defer cancel()
	written, err := r.append(ctx, outcome)
	if err == nil && r.Logger != nil {
		r.Logger.LogAttrs(ctx, slog.LevelInfo, "audited", slog.Uint64("seq", written.Seq), slog.String("operation", written.Operation), slog.String("result", string(written.Result)))
	}
	return err
}

// ErrorClass is the name of the type of an error, the outermost that is exported; an error's text may hold anything.
func ErrorClass(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	if class := classOf(err); class != "" {
		return class
	}
	return "error"
}

func classOf(err error) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	pkg, typ, _ := strings.Cut(name, ".")
	if typ != "" && typ[0] >= 'A' && typ[0] <= 'Z' && pkg != "failure" { // failure.Error is every error of the command line
		return Fit(name)
	}
	switch wrapped := err.(type) {
	case interface{ Unwrap() error }:
		if inner := wrapped.Unwrap(); inner != nil {
			return classOf(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			if class := classOf(inner); class != "" {
				return class
			}
		}
	}
	return ""
}
