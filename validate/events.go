package validate

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The rules of events. Those at a location in the payload that are not listed here are the envelope's kinds, such as "undeclared".
const (
	RuleEventLine     = "event-line"     // the line is no event line, or a field of it is not what it must be
	RuleSyntax        = "syntax"         // the payload is no strict JSON
	RuleLimit         = "limit"          // the payload exceeds a limit
	RuleSchemaUnknown = "schema-unknown" // no schema for the type and version
	RuleInvalid       = "invalid"        // the payload violates its schema
	RuleOutside       = "outside"        // a flagged value also stands in the aggregate id or a header
)

// EventOptions of NewEvents.
type EventOptions struct {
	// FailFast stops a check at the first refused line. Defaults to false.
	FailFast bool
	// Limits of payloads and lines. Defaults to those of docs/format.md 3.
	Limits envelope.Limits
}

// Events checks event lines against their schemas. It needs no keyring, and is safe for concurrent use.
type Events struct {
	form  eventline.Form
	judge func(context.Context, *eventline.Line) ([]Finding, error)
	opts  EventOptions
	close func()
}

// Count is what a check went through.
type Count struct {
	// Lines that were read, blank ones apart.
	Lines int
	// Refused lines; a line may have several findings.
	Refused int
}

// NewEvents prepares to check event lines in plaintext form: whatever Seal would refuse is a finding, and nothing else is.
func NewEvents(ctx context.Context, reg *schema.Registry, opts EventOptions) (*Events, error) {
	rings, closeAll, err := throwawayKeyrings(ctx, reg)
	if err != nil {
		return nil, err
	}
	sealer, err := envelope.NewSealer(reg, rings, envelope.Options{Limits: opts.Limits})
	if err != nil {
		closeAll()
		return nil, err
	}
	judge := func(ctx context.Context, line *eventline.Line) ([]Finding, error) { return sealing(ctx, sealer, line) }
	return &Events{form: eventline.Plaintext, judge: judge, opts: opts, close: closeAll}, nil
}

// Close forgets the keys that the check used.
func (e *Events) Close() { e.close() }

// Check reads event lines and reports each finding as it is met, with name as its file. The error is the reader's, report's or ctx's; a
// refused line is none.
func (e *Events) Check(ctx context.Context, name string, r io.Reader, report func(Finding) error) (Count, error) {
	lines := eventline.NewReader(r, e.form, eventline.ReaderOptions{Name: name, Limits: e.opts.Limits, Now: time.Now})
	var count Count
	for {
		findings, err := e.next(ctx, lines)
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err != nil {
			return count, err
		}
		count.Lines++
		if len(findings) == 0 {
			continue
		}
		refused := slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
		if refused {
			count.Refused++
		}
		for _, f := range findings {
			if err := report(f); err != nil {
				return count, err
			}
		}
		if refused && e.opts.FailFast {
			return count, nil
		}
	}
}

// next judges the next line; io.EOF says that there is none.
func (e *Events) next(ctx context.Context, lines *eventline.Reader) ([]Finding, error) {
	line, err := lines.Next()
	var refused *eventline.Error
	if errors.As(err, &refused) {
		return []Finding{fromLine(refused)}, nil
	}
	if err != nil {
		return nil, err
	}
	return e.judge(ctx, line)
}

// sealing seals a line's event: what refuses it is what is wrong with it.
func sealing(ctx context.Context, sealer *envelope.Sealer, line *eventline.Line) ([]Finding, error) {
	_, err := sealer.Seal(ctx, line.Event())
	if err == nil {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var findings []Finding
	for _, refused := range line.Refuse(err) {
		findings = append(findings, fromLine(refused))
	}
	return findings, nil
}

func fromLine(e *eventline.Error) Finding {
	return Finding{
		File: e.File, Line: e.Line, Column: e.Column, Location: e.Location, Rule: eventRule(e), Severity: Error, Message: e.What, Hint: e.Next,
	}
}

// eventRule names the rule that a refused line breaks.
func eventRule(err error) string {
	var (
		syntax   *envelope.SyntaxError
		limit    *envelope.LimitError
		location *envelope.LocationError
		outside  *envelope.OutsideError
		unknown  *schema.UnknownEventError
		invalid  *schema.ValidationError
	)
	switch {
	case errors.As(err, &syntax):
		return RuleSyntax
	case errors.As(err, &limit):
		return RuleLimit
	case errors.As(err, &location):
		return string(location.Kind)
	case errors.As(err, &outside):
		return RuleOutside
	case errors.As(err, &unknown):
		return RuleSchemaUnknown
	case errors.As(err, &invalid):
		return RuleInvalid
	}
	return RuleEventLine
}
