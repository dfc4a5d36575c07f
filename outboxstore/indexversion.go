package outboxstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// IndexVersion is what stored values of a blind index were computed with. Another normaliser or another number of bits is
// another index: the same value has other hashes there, and a search for one finds nothing of the other.
//
// A migration writes down which versions a column may hold (table fieldcrypt_indexes), since no hash shows it.
type IndexVersion struct {
	Index      string
	Normalizer string // its id, such as nfkc.1+casefold.1
	Bits       int
}

func (v IndexVersion) String() string {
	return fmt.Sprintf("%s at %d bits", v.Normalizer, v.Bits)
}

// RecordedIndexes is what is written down of one outbox table.
type RecordedIndexes struct {
	Table    string // as it is shown
	Versions []IndexVersion
}

// IndexVersionTable is the table that says which versions of its blind indexes each outbox of a database (or of a database's
// schema) may hold.
const IndexVersionTable = "fieldcrypt_indexes"

// declaredVersions are those of one declared index: the one that is written, and those that a rebuild has not replaced yet.
func declaredVersions(ix *schema.Index) (current IndexVersion, previous []IndexVersion, err error) {
	made, err := envelope.BlindIndex(ix)
	if err != nil {
		return IndexVersion{}, nil, err
	}
	for _, former := range made.Previous() {
		previous = append(previous, versionOf(former))
	}
	return versionOf(made), previous, nil
}

func versionOf(ix *blindindex.Index) IndexVersion {
	return IndexVersion{Index: ix.Name(), Normalizer: ix.NormalizerID(), Bits: ix.Bits()}
}

// IndexVersionPlan is what a migration changes in what is written down of one index.
type IndexVersionPlan struct{ Add, Drop []IndexVersion }

// PlanIndexVersions says what a migration has to write down of one index, given what is. hasColumn says that the index had a
// column before this migration, and isEmpty, which is asked only where it matters, that the table has no row. It is for
// dialects.
//
// A column that nothing is known of was made by a fieldcrypt that wrote nothing down: it is taken to hold what the schemas
// say, all of it. Error: *[IndexChangedError] if the column may hold a version that the schemas do not declare; that of
// isEmpty.
func PlanIndexVersions(recorded RecordedIndexes, ix *schema.Index, hasColumn bool, isEmpty func() (bool, error)) (p IndexVersionPlan, err error) {
	current, previous, err := declaredVersions(ix)
	if err != nil {
		return p, err
	}
	of := versionsOf(recorded.Versions, ix.Name)
	if changed := undeclared(recorded.Table, of, current, previous); changed != nil {
		if empty, err := isEmpty(); err != nil || !empty {
			return p, cmp.Or(err, changed)
		}
		for _, v := range of { // before the first row, a schema is free to change
			if v != current {
				p.Drop = append(p.Drop, v)
			}
		}
	}
	switch {
	case slices.Contains(of, current):
	case len(of) == 0 && hasColumn:
		p.Add = append([]IndexVersion{current}, previous...)
	default:
		p.Add = []IndexVersion{current}
	}
	return p, nil
}

func versionsOf(recorded []IndexVersion, index string) (of []IndexVersion) {
	for _, v := range recorded {
		if v.Index == index {
			of = append(of, v)
		}
	}
	return of
}

func undeclared(table string, recorded []IndexVersion, current IndexVersion, previous []IndexVersion) error {
	for _, v := range recorded {
		if v != current && !slices.Contains(previous, v) {
			return &IndexChangedError{Table: table, Stored: v, Declared: current}
		}
	}
	return nil
}

// CheckIndexes asks whether a store's columns hold what these indexes declare: whoever searches or writes with other
// schemas than the table was migrated for misses rows. Programs call it once, at the start.
//
// Errors: *[IndexChangedError]; *[IndexPendingError] where the table is still to be migrated to a declared version. A table
// of which nothing is written down passes.
func CheckIndexes(ctx context.Context, store Store, indexes []*schema.Index) error {
	if len(indexes) == 0 {
		return nil
	}
	recorded, err := store.IndexVersions(ctx)
	if err != nil {
		return err
	}
	return recorded.check(indexes)
}

func (r RecordedIndexes) check(indexes []*schema.Index) error {
	for _, ix := range indexes {
		current, previous, err := declaredVersions(ix)
		if err != nil {
			return err
		}
		of := versionsOf(r.Versions, ix.Name)
		if err := undeclared(r.Table, of, current, previous); err != nil {
			return err
		}
		if len(of) > 0 && !slices.Contains(of, current) {
			return &IndexPendingError{Table: r.Table, Declared: current}
		}
	}
	return nil
}

// rebuilt are the recorded versions that a whole re-encryption has replaced: those that the schemas call previous. One that
// the schemas do not know is never among them; whoever re-encrypts with schemas of yesterday settles nothing.
func (r RecordedIndexes) rebuilt(indexes []*schema.Index) (rebuilt []IndexVersion, err error) {
	for _, ix := range indexes {
		current, previous, err := declaredVersions(ix)
		if err != nil {
			return nil, err
		}
		for _, v := range versionsOf(r.Versions, ix.Name) {
			if v != current && slices.Contains(previous, v) {
				rebuilt = append(rebuilt, v)
			}
		}
	}
	return rebuilt, nil
}

// SQL writes a version as the values of the columns name, normalizer and bits. It is for dialects.
func (v IndexVersion) SQL() string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	return fmt.Sprintf("%s, %s, %d", quote(v.Index), quote(v.Normalizer), v.Bits)
}

// IndexChangedError says that a blind index was changed in the schemas while rows may still hold values of what it was: a
// search would miss them.
type IndexChangedError struct {
	Table    string
	Stored   IndexVersion // what rows may hold
	Declared IndexVersion // what the schemas say, beside what they call previous
}

func (e *IndexChangedError) Error() string {
	return fmt.Sprintf("table %q may hold values of blind index %s as %s, and the schemas declare %s without naming that as previous", e.Table, e.Stored.Index, e.Stored, e.Declared)
}

// Hint says what to do next.
func (e *IndexChangedError) Hint() string {
	return fmt.Sprintf(`add %s to the index's "previous" until rows are rebuilt: fieldcrypt migrate, then fieldcrypt rotate --re-encrypt-only (before the first row, fieldcrypt migrate alone)`, previousEntry(e.Stored))
}

// previousEntry is the entry for a schema.
func previousEntry(v IndexVersion) string {
	return fmt.Sprintf(`{"normalize": %s, "bits": %d}`, stepsOf(v.Normalizer), v.Bits)
}

// IndexPendingError says that the table was not migrated for the index as the schemas declare it.
type IndexPendingError struct {
	Table    string
	Declared IndexVersion
}

func (e *IndexPendingError) Error() string {
	return fmt.Sprintf("table %q does not know blind index %s as %s yet: run fieldcrypt migrate", e.Table, e.Declared.Index, e.Declared)
}

// stepsOf turns a normaliser's id back into what a schema says: a list of steps, or for a compound index a list of lists.
func stepsOf(id string) string {
	parts := splitOutside(id, ',')
	lists := make([]string, len(parts))
	for i, part := range parts {
		var steps []string
		for _, step := range splitOutside(part, '+') {
			name, rest, _ := strings.Cut(step, ".") // a version's digits follow, and parameters
			if at := strings.IndexByte(rest, '('); at >= 0 {
				name += rest[at:]
			}
			if name != "raw" {
				steps = append(steps, `"`+name+`"`)
			}
		}
		lists[i] = "[" + strings.Join(steps, ", ") + "]"
	}
	if len(lists) == 1 {
		return lists[0]
	}
	return "[" + strings.Join(lists, ", ") + "]"
}

// splitOutside splits at a separator that stands in no parentheses, where parameters have commas of their own.
func splitOutside(s string, separator byte) (parts []string) {
	depth, start := 0, 0
	for i := range len(s) {
		switch {
		case s[i] == '(':
			depth++
		case s[i] == ')':
			depth--
		case s[i] == separator && depth == 0:
			parts, start = append(parts, s[start:i]), i+1
		}
	}
	return append(parts, s[start:])
}
