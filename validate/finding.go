package validate

import (
	"cmp"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Severity tells what must be repaired from what deserves a look.
type Severity string

// The severities.
const (
	// Error: a refused event or schema, or a schema that leaves personal data in clear.
	Error Severity = "error"
	// Warning: the schemas do less than their author may believe, and no personal data is known to be left in clear by it.
	Warning Severity = "warning"
)

// Finding is one thing that was found in a schema or in an event. It is data, not an error, and never holds a payload's value: a member's
// name stands in Location only where the schema spells it, else "*".
type Finding struct {
	// File is the file as the caller named it; "-" is standard input.
	File string
	// Line counts from 1; 0 where the finding is about the file as a whole.
	Line int
	// Column counts bytes from 1.
	Column int
	// Location is a JSON pointer, in the schema file or in the event's payload, or a member of the event line such as "aggregate_id".
	Location string
	// Rule is a stable id: see [Rules].
	Rule     string
	Severity Severity
	Message  string
	// Hint says what to do next; may be empty.
	Hint string
}

// FromLoadError turns the reasons for which a set of schemas was refused into findings.
func FromLoadError(err *schema.LoadError) []Finding {
	all := make([]Finding, len(err.Findings))
	for i, f := range err.Findings {
		all[i] = fromSchema(f, Error)
	}
	return all
}

func fromSchema(f schema.Finding, severity Severity) Finding {
	return Finding{
		File: f.File, Line: f.Line, Column: f.Column, Location: f.Location, Rule: f.Rule, Severity: severity, Message: f.Message, Hint: f.Hint,
	}
}

// Failed reports that some finding is an error, or with strict that there is any.
func Failed(findings []Finding, strict bool) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return strict || f.Severity == Error })
}

// sortFindings puts findings in the order of a reader: by file, place and rule.
func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Location, b.Location), cmp.Compare(a.Message, b.Message))
	})
}
