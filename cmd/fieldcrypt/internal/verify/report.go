package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/findings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/validate"
)

type kindLine struct {
	Outbox   string            `json:"outbox,omitempty"`
	Kind     envelope.Kind     `json:"kind"`
	Severity envelope.Severity `json:"severity"`
	Count    int64             `json:"count"`
	Rows     []string          `json:"rows"`
}

type summaryLine struct {
	Outbox   string `json:"outbox,omitempty"`
	Rows     int64  `json:"rows"`
	Findings int64  `json:"findings"`
	Warnings int64  `json:"warnings"`
	// NotChecked are the kinds that were not looked for, or not everywhere; Reasons say why, one for each keyring.
	NotChecked []envelope.Kind `json:"not_checked"`
	Reasons    []notChecked    `json:"not_checked_reasons,omitempty"`
	// Types and Keys sum up by event type and version, and by key id.
	Types []typeCount `json:"types"`
	Keys  []keyCount  `json:"keys"`
}

type notChecked struct {
	Kind    envelope.Kind `json:"kind"`
	Keyring string        `json:"keyring,omitempty"`
	Reason  string        `json:"reason"`
}

type typeCount struct {
	Type     string `json:"type"` // "" for events without a schema
	Version  int    `json:"version"`
	Rows     int64  `json:"rows"`
	Findings int64  `json:"findings"`
	Warnings int64  `json:"warnings"`
}

type keyCount struct {
	KeyID string `json:"key_id"`
	Rows  int64  `json:"rows"`
}

// maxExamples bounds the findings of each kind that a junit or sarif document holds, so that memory stays what it is.
const maxExamples = 10

// report writes what was found, as text and JSON by sums, and as one document of examples for what reads junit or sarif.
type report struct {
	session  *cli.Session
	document *findings.Report // nil for text and JSON
	examples map[envelope.Kind][]validate.Finding
}

func newReport(s *cli.Session) (*report, error) {
	r := &report{session: s, examples: map[envelope.Kind][]validate.Finding{}}
	if o := s.Settings.Output; o != settings.JUnit && o != settings.SARIF {
		return r, nil
	}
	var err error
	r.document, err = findings.New(s)
	return r, err
}

// found keeps a finding as an example: in a line, or of a row, whose file is "outbox/ID". One call at a time.
func (r *report) found(file string, line, column int, id string, f envelope.Finding) {
	if r.document == nil || len(r.examples[f.Kind]) >= maxExamples {
		return
	}
	if id != "" {
		file = "outbox/" + id
	}
	severity := validate.Error
	if f.Severity == envelope.SeverityWarning {
		severity = validate.Warning
	}
	r.examples[f.Kind] = append(r.examples[f.Kind], validate.Finding{
		File: file, Line: line, Column: column, Location: f.Location, Rule: string(f.Kind), Severity: severity, Message: describe(f),
	})
}

// close ends the document.
func (r *report) close() error {
	if r.document == nil {
		return nil
	}
	return r.document.Close()
}

// sayDocument adds the examples, by kind, and how many more there are.
func (r *report) sayDocument(store string, result outboxstore.VerifyResult) error {
	for _, k := range result.Kinds {
		examples := r.examples[k.Kind]
		slices.SortStableFunc(examples, func(a, b validate.Finding) int {
			return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		if err := r.document.Add(examples...); err != nil {
			return err
		}
		more := k.Count - int64(len(examples))
		if more <= 0 {
			continue
		}
		severity := validate.Error
		if k.Severity == envelope.SeverityWarning {
			severity = validate.Warning
		}
		message := fmt.Sprintf("%s: %d more in %s", k.Kind, more, terminal.Plural(result.Rows, "row", "rows"))
		if store != "" {
			message = store + ": " + message
		}
		if err := r.document.Add(validate.Finding{Rule: string(k.Kind), Severity: severity, Message: message}); err != nil {
			return err
		}
	}
	clear(r.examples)
	return nil
}

// say writes what was found in one store, named where there are several, or in lines.
func (r *report) say(store string, result outboxstore.VerifyResult) error {
	switch {
	case r.document != nil:
		return r.sayDocument(store, result)
	case r.session.JSON():
		return sayJSON(r.session, store, result)
	}
	return sayText(r.session, store, result)
}

func sayText(s *cli.Session, store string, r outboxstore.VerifyResult) error {
	if store != "" {
		if err := s.Terminal.Printf("%s", store); err != nil {
			return err
		}
	}
	for _, k := range r.Kinds {
		more := ""
		if int64(len(k.Rows)) < k.Count {
			more = ", …"
		}
		if err := s.Terminal.Printf("%-7s  %-15s  %6d  %s%s", k.Severity, k.Kind, k.Count, strings.Join(k.Rows, ", "), more); err != nil {
			return err
		}
	}
	for _, t := range r.Types {
		name := "events without a schema"
		if t.Type != "" {
			name = fmt.Sprintf("%s@%d", t.Type, t.Version)
		}
		if err := s.Terminal.Printf("type     %-15s  %6d  %s, %s", name, t.Rows, terminal.Plural(t.Findings, "finding", "findings"), terminal.Plural(t.Warnings, "warning", "warnings")); err != nil {
			return err
		}
	}
	for _, k := range r.Keys {
		if err := s.Terminal.Printf("key      %-15s  %6d", cmp.Or(k.KeyID, "others"), k.Rows); err != nil {
			return err
		}
	}
	for _, n := range r.NotChecked {
		what := string(n.Kind)
		if n.Keyring != "" {
			what += " (keyring " + n.Keyring + ")"
		}
		if err := s.Terminal.Printf("not checked: %s: %s", what, n.Reason); err != nil {
			return err
		}
	}
	return s.Terminal.Printf("%s, %s, %s", terminal.Plural(r.Rows, "row", "rows"), terminal.Plural(r.Findings, "finding", "findings"), terminal.Plural(r.Warnings, "warning", "warnings"))
}

func sayJSON(s *cli.Session, store string, r outboxstore.VerifyResult) error {
	for _, k := range r.Kinds {
		if err := s.Terminal.JSON(kindLine{store, k.Kind, k.Severity, k.Count, append([]string{}, k.Rows...)}); err != nil {
			return err
		}
	}
	summary := summaryLine{
		Outbox: store, Rows: r.Rows, Findings: r.Findings, Warnings: r.Warnings, NotChecked: []envelope.Kind{}, Types: []typeCount{}, Keys: []keyCount{},
	}
	for _, t := range r.Types {
		summary.Types = append(summary.Types, typeCount(t))
	}
	for _, k := range r.Keys {
		summary.Keys = append(summary.Keys, keyCount(k))
	}
	for _, n := range r.NotChecked {
		if !slices.Contains(summary.NotChecked, n.Kind) {
			summary.NotChecked = append(summary.NotChecked, n.Kind)
		}
		summary.Reasons = append(summary.Reasons, notChecked{n.Kind, n.Keyring, n.Reason})
	}
	return s.Terminal.JSON(summary)
}

// describe says what a finding is about, beside where it stands.
func describe(f envelope.Finding) string {
	parts := []string{string(f.Kind)}
	if f.Index != "" {
		parts = append(parts, "index "+f.Index)
	}
	if f.KeyID != "" {
		parts = append(parts, fmt.Sprintf("key %s of keyring %s", f.KeyID, f.Keyring))
	}
	if f.Detail != "" {
		parts = append(parts, f.Detail)
	}
	return strings.Join(parts, ": ")
}
