package validate

import (
	"context"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// NewWireEvents prepares to check sealed event lines without keys: at each location that a schema flags stands a token, nowhere else one does,
// nothing is undeclared, and what can be told of the rest by the derived wire schema is so. The rules are the kinds of envelope's Verifier.
// Where a type has no wire schema, that is a warning.
func NewWireEvents(_ context.Context, reg *schema.Registry, opts EventOptions) (*Events, error) {
	verifier, err := envelope.NewVerifier(reg, envelope.VerifierOptions{Limits: opts.Limits})
	if err != nil {
		return nil, err
	}
	judge := func(ctx context.Context, line *eventline.Line) ([]Finding, error) {
		return verifying(ctx, verifier, line)
	}
	return &Events{form: eventline.Sealed, judge: judge, opts: opts, close: func() {}}, nil
}

func verifying(ctx context.Context, verifier *envelope.Verifier, line *eventline.Line) ([]Finding, error) {
	report, err := verifier.Verify(ctx, line.Wire(), envelope.StoredIndexes{Values: line.BlindIndexes, Unknown: line.BlindIndexes == nil})
	if err != nil {
		return nil, err
	}
	var list []Finding
	for _, f := range report.Findings {
		for _, at := range line.Refuse(&foundError{f}) {
			found := fromLine(at)
			found.Rule = string(f.Kind)
			if f.Severity == envelope.SeverityWarning {
				found.Severity = Warning
			}
			list = append(list, found)
		}
	}
	if len(list) > 0 {
		return list, nil // what was found says why the rest was not checked
	}
	for _, n := range report.NotChecked {
		if n.Kind == envelope.KindSchemaMismatch {
			list = append(list, Finding{
				File: line.File, Line: line.Position.Line, Column: line.Column, Rule: string(n.Kind), Severity: Warning,
				Message: "not checked: " + n.Reason, Hint: "see `fieldcrypt wire-schema`",
			})
		}
	}
	return list, nil
}

// foundError gives a finding a position in its line.
type foundError struct{ envelope.Finding }

func (e *foundError) Error() string {
	what := map[envelope.Kind]string{
		envelope.KindPlaintext:  "a flagged value that is not sealed",
		envelope.KindMisplaced:  "a token where nothing is flagged",
		envelope.KindUndeclared: "a member that the schema does not declare",
	}[e.Kind]
	if what == "" {
		what = e.Detail
	}
	if what == "" {
		what = string(e.Kind)
	}
	if e.Index != "" {
		what = "index " + e.Index + ": " + what
	}
	return what
}
