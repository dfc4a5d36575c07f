package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// column is what the database says of one column.
type column struct {
	typ       string // upper case
	notNull   bool
	generated bool
}

func (c column) String() string {
	s := c.typ
	if s == "" {
		s = "without a type"
	}
	if c.notNull {
		s += " NOT NULL"
	}
	if c.generated {
		s += ", generated"
	}
	return s
}

// columns of one table by lower-case name.
type columns map[string]column

// shape is what stands in the database of one outbox: its tables and their columns.
type shape struct {
	names  names
	tables map[string]columns
}

// names are an outbox's tables. All come from a checked identifier.
type names struct{ table string }

func (n names) keyIDs() string            { return n.table + "_key_ids" }
func (n names) multi(index string) string { return n.multiPrefix() + index }
func (n names) multiPrefix() string       { return n.table + "_bidx_" }

// quoted writes a table's name for SQL, in the main database: a temporary or attached table of that name is another one.
func quoted(table string) string { return `main."` + table + `"` }

// baseColumns are the outbox table's own, as the migrations make them.
var baseColumns = []struct {
	name    string
	typ     string
	notNull bool
}{
	{"id", "TEXT", true},
	{"aggregate_type", "TEXT", true},
	{"aggregate_id", "TEXT", true},
	{"aggregate_version", "INTEGER", false},
	{"event_type", "TEXT", true},
	{"event_version", "INTEGER", true},
	{"payload", "TEXT", true},
	{"headers", "TEXT", true},
	{"occurred_at", "TEXT", true},
	{"created_at", "TEXT", true},
	{"available_at", "TEXT", true},
	{"published_at", "TEXT", false},
	{"attempts", "INTEGER", true},
	{"last_error", "TEXT", false},
	{"lease_token", "INTEGER", false},
	{"lease_owner", "TEXT", false},
	{"lease_until", "TEXT", false},
	{"dead_at", "TEXT", false},
}

// readShape looks into the database, in the transaction of q, so that it is never out of date.
func readShape(ctx context.Context, q querier, n names) (*shape, error) {
	rows, err := q.QueryContext(ctx, `
SELECT lower(t.name), lower(c.name), upper(c.type), c."notnull" OR c.pk > 0, c.hidden
FROM main.sqlite_schema t, pragma_table_xinfo(t.name, 'main') c
WHERE t.type = 'table' AND (lower(t.name) IN (?1, ?2) OR substr(lower(t.name), 1, length(?3)) = ?3)`,
		n.table, n.keyIDs(), n.multiPrefix())
	if err != nil {
		return nil, fmt.Errorf("read the tables' shape: %w", err)
	}
	defer rows.Close()
	s := &shape{names: n, tables: map[string]columns{}}
	for rows.Next() {
		var table, name string
		var c column
		var hidden int
		if err := rows.Scan(&table, &name, &c.typ, &c.notNull, &hidden); err != nil {
			return nil, fmt.Errorf("read the tables' shape: %w", err)
		}
		c.generated = hidden != 0
		if s.tables[table] == nil {
			s.tables[table] = columns{}
		}
		s.tables[table][name] = c
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the tables' shape: %w", err)
	}
	return s, nil
}

// require refuses a database in which the outbox's own tables or columns are missing.
func (s *shape) require() error {
	base, ok := s.tables[s.names.table]
	if !ok {
		return &outboxstore.MissingError{Table: s.names.table}
	}
	for _, c := range baseColumns {
		if _, ok := base[c.name]; !ok {
			return &outboxstore.MissingError{Table: s.names.table, Column: c.name}
		}
	}
	if _, ok := s.tables[s.names.keyIDs()]; !ok {
		return &outboxstore.MissingError{Table: s.names.keyIDs()}
	}
	return nil
}

// single lists the indexes that have a column, multi those that have a side table, both sorted.
func (s *shape) single() []string {
	var indexes []string
	for name := range s.tables[s.names.table] {
		if index, ok := outboxstore.IndexName(name); ok {
			indexes = append(indexes, index)
		}
	}
	slices.Sort(indexes)
	return indexes
}

func (s *shape) multi() []string {
	var indexes []string
	for table := range s.tables {
		if index, ok := strings.CutPrefix(table, s.names.multiPrefix()); ok {
			if _, err := outboxstore.IndexColumn(index); err == nil {
				indexes = append(indexes, index)
			}
		}
	}
	slices.Sort(indexes)
	return indexes
}

// place says where an index's values stand.
func (s *shape) place(index string) (columnName string, multi bool, err error) {
	columnName, err = outboxstore.IndexColumn(index)
	if err != nil {
		return "", false, err
	}
	if _, ok := s.tables[s.names.table][columnName]; ok {
		return columnName, false, nil
	}
	if _, ok := s.tables[s.names.multi(index)]; ok {
		return "", true, nil
	}
	return "", false, &outboxstore.MissingError{Table: s.names.table, Column: columnName}
}
