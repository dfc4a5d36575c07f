package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// column is what the database says of one column.
type column struct {
	typ       string // as format_type writes it
	notNull   bool
	generated bool
}

func (c column) String() string {
	s := c.typ
	if c.notNull {
		s += " NOT NULL"
	}
	if c.generated {
		s += ", generated"
	}
	return s
}

const (
	singleType = "bytea"
	multiType  = "bytea[]"
)

// shape is what stands in the database of one outbox. It is not changed once read.
type shape struct {
	names       names
	columns     map[string]column
	partitioned bool
	versioned   bool   // rows have an xmin: a plain table
	encoding    string // of the session
}

// baseColumns are the outbox table's own, as the migrations make them.
var baseColumns = []struct {
	name    string
	typ     string
	notNull bool
}{
	{"id", "uuid", true},
	{"aggregate_type", "text", true},
	{"aggregate_id", "text", true},
	{"aggregate_version", "bigint", false},
	{"event_type", "text", true},
	{"event_version", "integer", true},
	{"payload", "json", true},
	{"headers", "json", true},
	{"occurred_at", "timestamp with time zone", true},
	{"created_at", "timestamp with time zone", true},
	{"available_at", "timestamp with time zone", true},
	{"published_at", "timestamp with time zone", false},
	{"attempts", "integer", true},
	{"last_error", "text", false},
	{"lease_token", "bigint", false},
	{"lease_owner", "text", false},
	{"lease_until", "timestamp with time zone", false},
	{"dead_at", "timestamp with time zone", false},
	{"key_ids", "text[]", true},
}

// shapeQuery needs no right: everybody may read these catalogs. A table without columns gives one row too.
const shapeQuery = `
SELECT pg_catalog.current_setting('client_encoding'),
       c.relkind = 'p',
       c.relkind = 'r',
       coalesce(a.attname::text, ''),
       coalesce(pg_catalog.format_type(a.atttypid, a.atttypmod), ''),
       coalesce(a.attnotnull, false),
       coalesce(a.attgenerated <> '', false)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE n.nspname = $1::name AND c.relname = $2::name AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`

// readShape looks into the database; a table that is not there has no columns.
func readShape(ctx context.Context, q querier, n names) (_ *shape, err error) {
	s := &shape{names: n}
	r, err := q.query(ctx, shapeQuery, n.schema, n.table)
	if err != nil {
		return nil, fault("read the table's shape", err)
	}
	defer func() { err = fault("read the table's shape", errors.Join(err, r.Close())) }()
	for r.Next() {
		if s.columns == nil {
			s.columns = map[string]column{}
		}
		var name string
		var c column
		if err := r.Scan(&s.encoding, &s.partitioned, &s.versioned, &name, &c.typ, &c.notNull, &c.generated); err != nil {
			return nil, err
		}
		if name != "" {
			s.columns[name] = c
		}
	}
	return s, r.Err()
}

// exists says that something of the table's name is there.
func (s *shape) exists() bool { return s.columns != nil }

// require refuses a table that lacks an own column, or has one of another type: jsonb in place of json would change payloads
// in silence.
func (s *shape) require() error {
	if !s.exists() {
		return &outboxstore.MissingError{Table: s.names.shown()}
	}
	if s.encoding != "UTF8" {
		return &ClientEncodingError{Have: s.encoding}
	}
	for _, c := range baseColumns {
		have, ok := s.columns[c.name]
		if !ok {
			return &outboxstore.MissingError{Table: s.names.shown(), Column: c.name}
		}
		if have.typ != c.typ || have.generated {
			return s.wrong(c.name, have.String(), c.typ)
		}
	}
	return nil
}

func (s *shape) wrong(columnName, have, want string) error {
	return &outboxstore.ShapeError{Table: s.names.shown(), Column: columnName, Have: have, Want: want}
}

// place says in which column an index stands, and of which kind.
func (s *shape) place(index string) (columnName string, multi bool, err error) {
	columnName, err = outboxstore.IndexColumn(index)
	if err != nil {
		return "", false, err
	}
	c, ok := s.columns[columnName]
	if !ok {
		return "", false, &outboxstore.MissingError{Table: s.names.shown(), Column: columnName}
	}
	if c.typ != singleType && c.typ != multiType {
		return "", false, s.wrong(columnName, c.typ, singleType+" or "+multiType)
	}
	return columnName, c.typ == multiType, nil
}

// indexes lists the blind indexes that have a column, sorted.
func (s *shape) indexes() (single, multi []string) {
	for name, c := range s.columns {
		index, ok := outboxstore.IndexName(name)
		switch {
		case !ok:
		case c.typ == singleType:
			single = append(single, index)
		case c.typ == multiType:
			multi = append(multi, index)
		}
	}
	slices.Sort(single)
	slices.Sort(multi)
	return single, multi
}
