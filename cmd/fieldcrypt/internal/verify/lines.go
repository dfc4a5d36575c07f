package verify

import (
	"cmp"
	"context"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/lines"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// firstRows bounds the ids kept for each kind.
const firstRows = 10

// verifyLines verifies sealed lines, such as a topic's dump. Each finding is also reported where it stands.
func verifyLines(ctx context.Context, s *cli.Session, verifier *envelope.Verifier, files []string) (total outcome, err error) {
	t := newTally(verifier.NotChecked())
	stream := lines.New(s, false)
	err = stream.Each(ctx, files, eventline.Sealed, func(line *eventline.Line) error {
		report, err := verifier.Verify(ctx, line.Wire(), envelope.StoredIndexes{Values: line.BlindIndexes, Unknown: line.BlindIndexes == nil})
		if err != nil {
			return lines.Fatal(err)
		}
		t.add(outboxstore.DisplayID(line.ID), report)
		for _, f := range report.Findings {
			for _, at := range line.Refuse(&foundError{f}) {
				s.Terminal.Report(at.Error(), "")
			}
		}
		return nil
	})
	if err != nil {
		return total, err
	}
	// A line that is no event line has no id to name it by; its place was reported.
	t.malformed(int64(stream.Refused))
	result := t.result()
	return outcome{result.Findings, result.Warnings}, say(s, "", result)
}

// foundError gives a finding a position in its line.
type foundError struct{ envelope.Finding }

func (e *foundError) Error() string { return string(e.Severity) + ": " + describe(e.Finding) }

// tally sums up reports by kind.
type tally struct {
	kinds      map[envelope.Kind]map[envelope.Severity]*outboxstore.KindCount
	notChecked []envelope.NotChecked
	rows       int64
}

func newTally(notChecked []envelope.NotChecked) *tally {
	return &tally{kinds: map[envelope.Kind]map[envelope.Severity]*outboxstore.KindCount{}, notChecked: slices.Clone(notChecked)}
}

func (t *tally) kind(kind envelope.Kind, severity envelope.Severity) *outboxstore.KindCount {
	if t.kinds[kind] == nil {
		t.kinds[kind] = map[envelope.Severity]*outboxstore.KindCount{}
	}
	if t.kinds[kind][severity] == nil {
		t.kinds[kind][severity] = &outboxstore.KindCount{Kind: kind, Severity: severity, Rows: []string{}}
	}
	return t.kinds[kind][severity]
}

func (t *tally) add(id string, report envelope.Report) {
	t.rows++
	for _, f := range report.Findings {
		k := t.kind(f.Kind, f.Severity)
		k.Count++
		if len(k.Rows) < firstRows && !slices.Contains(k.Rows, id) {
			k.Rows = append(k.Rows, id)
		}
	}
	for _, n := range report.NotChecked {
		if !slices.Contains(t.notChecked, n) {
			t.notChecked = append(t.notChecked, n)
		}
	}
}

// malformed counts lines that are no event lines.
func (t *tally) malformed(count int64) {
	t.rows += count
	if count > 0 {
		t.kind(envelope.KindMalformed, envelope.SeverityFinding).Count += count
	}
}

func (t *tally) result() outboxstore.VerifyResult {
	r := outboxstore.VerifyResult{Rows: t.rows, NotChecked: t.notChecked}
	for _, bySeverity := range t.kinds {
		for _, k := range bySeverity {
			r.Kinds = append(r.Kinds, *k)
			if k.Severity == envelope.SeverityFinding {
				r.Findings += k.Count
			} else {
				r.Warnings += k.Count
			}
		}
	}
	slices.SortFunc(r.Kinds, func(a, b outboxstore.KindCount) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Kind, b.Kind))
	})
	return r
}
