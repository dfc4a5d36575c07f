package blindindex

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Stored is a stored value as an argument of a statement, of pgx and of database/sql; nil is NULL.
type Stored []byte

var _ driver.Valuer = Stored(nil)

// Value implements driver.Valuer.
func (s Stored) Value() (driver.Value, error) {
	if s == nil {
		return nil, nil
	}
	return []byte(s), nil
}

// StoredArray is several stored values as one argument of a statement on Postgres: a bytea[] with pgx, and its text, which a
// cast turns into one, with database/sql; nil is NULL. SQLite has no arrays.
type StoredArray [][]byte

var _ driver.Valuer = StoredArray(nil)

// Value implements driver.Valuer.
func (a StoredArray) Value() (driver.Value, error) {
	if a == nil {
		return nil, nil
	}
	items := make([]string, len(a))
	for i, stored := range a {
		items[i] = `"\\x` + hex.EncodeToString(stored) + `"`
	}
	return "{" + strings.Join(items, ",") + "}", nil
}

// Dialect is a database's SQL.
type Dialect string

const (
	// Postgres is PostgreSQL, with parameters $1, $2, …
	Postgres Dialect = "postgres"
	// SQLite is SQLite, with parameters ?1, ?2, …
	SQLite Dialect = "sqlite"
)

// DDLOptions say how a column is made.
type DDLOptions struct {
	// Concurrently builds the index beside readers and writers; the statement must then stand in no transaction. Postgres
	// alone. Defaults to building it at once.
	Concurrently bool
	// Unique makes the index a unique one; see [Column.CheckUnique]. Defaults to none.
	Unique bool
}

// DDL gives the statements that add the column and its index to a table: [SCHEMA.]NAME, each part as it is, without quotes.
// The index holds only rows that have a value.
//
// Errors: *[DialectError], *[ColumnError].
func (c *Column) DDL(dialect Dialect, table string, opts DDLOptions) ([]string, error) {
	parts := strings.Split(table, ".")
	if len(parts) > 2 || strings.ContainsRune(table, 0) || parts[0] == "" || parts[len(parts)-1] == "" {
		return nil, &DialectError{Index: c.index.name, Dialect: dialect, Reason: "the table is not named [SCHEMA.]NAME"}
	}
	for i := range parts {
		parts[i] = quoteName(parts[i])
	}
	name := quoteName(databaseIndexName(table, c.column))
	column, unique, concurrently := quoteName(c.column), "", ""
	if opts.Unique {
		if err := c.canBeUnique(); err != nil {
			return nil, err
		}
		unique = "UNIQUE "
	}
	switch {
	case dialect == Postgres:
		if opts.Concurrently {
			concurrently = "CONCURRENTLY "
		}
		typ, method := "bytea", "btree"
		if c.multi {
			typ, method = "bytea[]", "gin"
		}
		quoted := strings.Join(parts, ".")
		return []string{
			"ALTER TABLE " + quoted + " ADD COLUMN " + column + " " + typ,
			"CREATE " + unique + "INDEX " + concurrently + name + " ON " + quoted + " USING " + method + " (" + column + ") WHERE " + column + " IS NOT NULL",
		}, nil
	case dialect == SQLite:
		if err := c.checkSQLite(); err != nil {
			return nil, err
		}
		if opts.Concurrently {
			return nil, &DialectError{Index: c.index.name, Dialect: dialect, Reason: "it builds no index concurrently"}
		}
		bare, schema := parts[len(parts)-1], ""
		if len(parts) == 2 { // of CREATE INDEX, the schema stands at the index's name
			schema = parts[0] + "."
		}
		return []string{
			"ALTER TABLE " + strings.Join(parts, ".") + " ADD COLUMN " + column + " BLOB",
			"CREATE " + unique + "INDEX " + schema + name + " ON " + bare + " (" + column + ") WHERE " + column + " IS NOT NULL",
		}, nil
	}
	return nil, c.unknown(dialect)
}

// Where gives a condition that holds for the rows whose column may hold the value, and its arguments, whose numbers in the
// whole statement begin with parameter (from 1): one for each form that the value may have, so that a database which plans
// statements once plans these once, too. No argument means that no row is found.
//
// Errors: *[DialectError], those of [Column.Candidates].
func (c *Column) Where(dialect Dialect, parameter int, values ...any) (condition string, args []any, err error) {
	mark := "$"
	switch dialect {
	case Postgres:
	case SQLite:
		if err := c.checkSQLite(); err != nil {
			return "", nil, err
		}
		mark = "?"
	default:
		return "", nil, c.unknown(dialect)
	}
	candidates, err := c.Candidates(values...)
	switch {
	case err != nil:
		return "", nil, err
	case len(candidates) == 0:
		return "1 = 0", nil, nil
	case c.multi:
		return fmt.Sprintf("%s && $%d::bytea[]", quoteName(c.column), parameter), []any{candidates}, nil
	}
	marks := make([]string, len(candidates))
	for i, candidate := range candidates {
		marks[i] = mark + strconv.Itoa(parameter+i)
		args = append(args, Stored(candidate))
	}
	return quoteName(c.column) + " IN (" + strings.Join(marks, ", ") + ")", args, nil
}

func (c *Column) checkSQLite() error {
	if c.multi {
		return &DialectError{Index: c.index.name, Dialect: SQLite, Reason: "it has no arrays; make a table with one row for each value, and a column without Multi in it"}
	}
	return nil
}

func (c *Column) unknown(dialect Dialect) error {
	return &DialectError{Index: c.index.name, Dialect: dialect, Reason: "it is neither Postgres nor SQLite"}
}

// databaseIndexName is the name of the database's index.
func databaseIndexName(table, column string) string {
	_, bare, qualified := strings.Cut(table, ".")
	if !qualified {
		bare = table
	}
	return "ix_" + bare + "_" + column
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// DialectError says that a database cannot do what was asked for.
type DialectError struct {
	Index   string
	Dialect Dialect
	Reason  string
}

func (e *DialectError) Error() string {
	return fmt.Sprintf("column of blind index %q on %q: %s", e.Index, e.Dialect, e.Reason)
}
