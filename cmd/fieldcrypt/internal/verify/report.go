package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
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
}

type notChecked struct {
	Kind    envelope.Kind `json:"kind"`
	Keyring string        `json:"keyring,omitempty"`
	Reason  string        `json:"reason"`
}

// say writes what was found in one store, named where there are several, or in lines.
func say(s *cli.Session, store string, r outboxstore.VerifyResult) error {
	if s.JSON() {
		return sayJSON(s, store, r)
	}
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
		if err := s.Terminal.JSON(kindLine{store, k.Kind, k.Severity, k.Count, k.Rows}); err != nil {
			return err
		}
	}
	summary := summaryLine{Outbox: store, Rows: r.Rows, Findings: r.Findings, Warnings: r.Warnings, NotChecked: []envelope.Kind{}}
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
