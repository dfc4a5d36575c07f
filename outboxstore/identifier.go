package outboxstore

import (
	"fmt"
	"regexp"
	"strings"
)

// DefaultTable is the outbox table's name where none is configured.
const DefaultTable = "outbox_events"

// indexColumnPrefix starts the name of a blind index's column.
const indexColumnPrefix = "bidx_"

// Identifiers are quoted wherever they stand in SQL; the pattern keeps them the same in every dialect, case rules and
// length limits (Postgres: 63 bytes, with the longest suffix that a dialect appends) included.
var (
	tablePattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,40}$`)
	indexPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)
)

// TableNameError refuses a table's name.
type TableNameError struct{ Name string }

func (e *TableNameError) Error() string {
	return fmt.Sprintf("outbox table name %q is not of the form [a-z_][a-z0-9_]{0,40}, or is reserved", e.Name)
}

// CheckTable says whether a name may be an outbox table's.
func CheckTable(name string) error {
	reserved := strings.HasPrefix(name, "sqlite_") || strings.HasPrefix(name, "pg_") || name == "fieldcrypt_migrations" || name == IndexVersionTable || name == KeyringTable || name == AuditTable ||
		strings.Contains(name, "_"+indexColumnPrefix) || strings.HasSuffix(name, "_key_ids")
	if !tablePattern.MatchString(name) || reserved {
		return &TableNameError{Name: name}
	}
	return nil
}

// IndexColumn is the name of a blind index's column. A name that no schema can declare is an error.
func IndexColumn(index string) (string, error) {
	if !indexPattern.MatchString(index) {
		return "", fmt.Errorf("blind index name %q is not of the form [a-z][a-z0-9_]{0,40}", index)
	}
	return indexColumnPrefix + index, nil
}

// IndexName is the blind index whose column this is.
func IndexName(column string) (index string, ok bool) {
	index, ok = strings.CutPrefix(column, indexColumnPrefix)
	return index, ok && indexPattern.MatchString(index)
}
