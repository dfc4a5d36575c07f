package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is one thing that loading noticed about a schema: a reason to refuse it (inside a *LoadError) or a lint finding
// (Registry.Findings). It speaks of schemas alone, so it can be printed anywhere.
type Finding struct {
	File     string // as it was loaded
	Line     int    // from 1; 0 where the finding is about the file as a whole
	Column   int    // in bytes, from 1
	Location string // JSON pointer (RFC 6901) in File
	Rule     string // stable id, such as "flag-unused"
	Message  string
	Hint     string // what to do next; may be empty
}

// String writes the finding as FILE:LINE:COL: RULE: MESSAGE.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	fmt.Fprintf(&b, ": %s: %s", f.Rule, f.Message)
	return b.String()
}

// LoadError says why a set of schemas was refused: one or more findings, in a stable order.
type LoadError struct{ Findings []Finding }

func (e *LoadError) Error() string {
	first := e.Findings[0].String()
	if n := len(e.Findings) - 1; n > 0 {
		return fmt.Sprintf("%s (and %d more)", first, n)
	}
	return first
}

// Hint returns the first finding's hint.
func (e *LoadError) Hint() string { return e.Findings[0].Hint }

// UnknownEventError says that no schema claims (Type, Version).
type UnknownEventError struct {
	Type     string
	Version  int
	Versions []int // the versions that are known of that type, ascending
}

func (e *UnknownEventError) Error() string {
	if len(e.Versions) == 0 {
		return fmt.Sprintf("no schema for event type %s", printableType(e.Type))
	}
	return fmt.Sprintf("no schema for version %d of event type %s (known: %s)", e.Version, printableType(e.Type), joinInts(e.Versions))
}

// Hint says what to do next.
func (e *UnknownEventError) Hint() string {
	return "add a schema file named TYPE.vN.json, or one with x-event-type and x-event-version, to the schema directory"
}

// printableType keeps a string that is no event type, and so may be anything, out of error texts.
func printableType(t string) string {
	if !validType(t) {
		return "(not a valid type name)"
	}
	return t
}

func joinInts(ns []int) string {
	parts := make([]string, len(ns))
	for i, n := range ns {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, ", ")
}

// findings collects what loading notices, each once.
type findings struct {
	list []Finding
	seen map[Finding]bool
}

func (fs *findings) add(f Finding) {
	if fs.seen == nil {
		fs.seen = map[Finding]bool{}
	}
	if fs.seen[f] {
		return
	}
	fs.seen[f] = true
	fs.list = append(fs.list, f)
}

func (fs *findings) sorted() []Finding {
	slices.SortFunc(fs.list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return fs.list
}

func (fs *findings) err() error {
	if len(fs.list) == 0 {
		return nil
	}
	return &LoadError{Findings: fs.sorted()}
}
