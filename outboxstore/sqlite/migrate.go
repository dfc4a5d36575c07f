package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The migrations of the outbox's own tables: NNNN_name.sql, forward only, never changed once released. Statements are
// separated by blank lines; {{table}} is the outbox table's name. The columns of blind indexes follow the schemas and are
// not numbered.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// versionTable says which migrations each outbox of the database has.
const versionTable = "fieldcrypt_migrations"

func migrations(n names) ([]outboxstore.Migration, error) {
	return outboxstore.Migrations(migrationFiles, "migrations/*.sql", strings.NewReplacer("{{table}}", n.table))
}

// Pending implements outboxstore.Store.
func (s *Store) Pending(ctx context.Context, indexes []*schema.Index) (statements []outboxstore.Statement, err error) {
	snapshotErr := s.snapshot(ctx, func(q querier) { statements, err = pending(ctx, q, s.names, indexes) })
	return statements, errors.Join(snapshotErr, err)
}

// Migrate implements outboxstore.Store. SQLite's DDL is transactional: all statements or none. Two processes at once wait
// for each other at the beginning, and the second finds nothing to do.
func (s *Store) Migrate(ctx context.Context, indexes []*schema.Index) (statements []outboxstore.Statement, err error) {
	err = s.immediate(ctx, func(q querier) error {
		if statements, err = pending(ctx, q, s.names, indexes); err != nil {
			return err
		}
		for _, statement := range statements {
			if _, err := q.ExecContext(ctx, statement.SQL); err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return statements, err
	}
	for i := range statements {
		statements[i].Done = true
	}
	return statements, nil
}

func pending(ctx context.Context, q querier, n names, indexes []*schema.Index) ([]outboxstore.Statement, error) {
	m := &migrator{names: n}
	var err error
	if m.shape, err = readShape(ctx, q, n); err != nil {
		return nil, err
	}
	if err := m.readVersion(ctx, q); err != nil {
		return nil, err
	}
	if err := m.readIndexes(ctx, q); err != nil {
		return nil, err
	}
	if m.recorded, err = recordedIndexes(ctx, q, n); err != nil {
		return nil, err
	}
	if err := m.planTables(); err != nil {
		return nil, err
	}
	if err := m.planKeyrings(ctx, q); err != nil {
		return nil, err
	}
	if err := m.planAudit(ctx, q); err != nil {
		return nil, err
	}
	return m.plan(ctx, q, indexes)
}

// migrator compares what is with what should be.
type migrator struct {
	names      names
	shape      *shape
	versioned  bool                         // versionTable is there
	version    int                          // the highest migration that the outbox has
	indexes    map[string]string            // names of the database's indexes, lower case: "table(column)"
	recorded   *outboxstore.RecordedIndexes // nil where IndexVersionTable is not there
	statements []outboxstore.Statement
}

func (m *migrator) add(sql string) {
	m.statements = append(m.statements, outboxstore.Statement{SQL: sql})
}

func (m *migrator) readVersion(ctx context.Context, q querier) error {
	err := q.QueryRowContext(ctx, `SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = ?`, versionTable).Scan(&m.versioned)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if !m.versioned {
		return nil
	}
	err = q.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM `+quoted(versionTable)+` WHERE outbox = ?`, m.names.table).Scan(&m.version)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	return nil
}

func (m *migrator) readIndexes(ctx context.Context, q querier) (err error) {
	m.indexes = map[string]string{}
	rows, err := q.QueryContext(ctx, `
SELECT lower(i.name), lower(i.tbl_name), (SELECT group_concat(lower(c.name)) FROM pragma_index_info(i.name, 'main') c)
FROM main.sqlite_schema i WHERE i.type = 'index' AND i.sql IS NOT NULL`)
	if err != nil {
		return fmt.Errorf("read the database's indexes: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name, table string
		var on *string
		if err := rows.Scan(&name, &table, &on); err != nil {
			return fmt.Errorf("read the database's indexes: %w", err)
		}
		m.indexes[name] = table + "(expression)"
		if on != nil {
			m.indexes[name] = table + "(" + *on + ")"
		}
	}
	return rows.Err()
}

func (m *migrator) plan(ctx context.Context, q querier, indexes []*schema.Index) ([]outboxstore.Statement, error) {
	for _, index := range indexes {
		if err := m.planIndex(index); err != nil {
			return nil, err
		}
	}
	if err := m.planVersions(ctx, q, indexes); err != nil {
		return nil, err
	}
	return m.statements, nil
}

// planTables brings the numbered migrations, and checks that what they made is what stands there.
func (m *migrator) planTables() error {
	all, err := migrations(m.names)
	if err != nil {
		return err
	}
	if m.version > len(all) {
		return &outboxstore.NewerError{Table: m.names.table, Version: m.version, KnownVersion: len(all)}
	}
	if !m.versioned {
		m.add(`CREATE TABLE main."` + versionTable + `" (
  outbox     TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  applied_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
  PRIMARY KEY (outbox, version)
) STRICT`)
	}
	if m.version == 0 {
		for table := range m.shape.tables {
			return &outboxstore.ShapeError{Table: table, Have: "there and not fieldcrypt's", Want: "to make it"}
		}
	} else if err := m.checkBase(); err != nil {
		return err
	}
	for _, migration := range all[m.version:] {
		for _, statement := range migration.Statements {
			m.add(statement)
		}
		m.add(fmt.Sprintf(`INSERT INTO %s (outbox, version) VALUES ('%s', %d)`, quoted(versionTable), m.names.table, migration.Version))
	}
	return nil
}

// checkBase refuses tables that are recorded as migrated and do not look so.
func (m *migrator) checkBase() error {
	if err := m.shape.require(); err != nil {
		return fmt.Errorf("table %q is recorded as migrated in %s, but: %w", m.names.table, versionTable, asShapeError(err))
	}
	for _, c := range baseColumns {
		want := column{typ: c.typ, notNull: c.notNull}
		if err := m.checkColumn(m.names.table, c.name, want); err != nil {
			return err
		}
	}
	for _, name := range []string{"event_id", "key_id"} {
		if err := m.checkColumn(m.names.keyIDs(), name, column{typ: "TEXT", notNull: true}); err != nil {
			return err
		}
	}
	return nil
}

// asShapeError turns "run fieldcrypt migrate" into what helps where that cannot: the thing was removed by hand.
func asShapeError(err error) error {
	var missing *outboxstore.MissingError
	if !errors.As(err, &missing) {
		return err
	}
	return &outboxstore.ShapeError{Table: missing.Table, Column: missing.Column, Have: "gone", Want: "it as the migration made it"}
}

func (m *migrator) checkColumn(table, name string, want column) error {
	have, ok := m.shape.tables[table][name]
	if !ok {
		return &outboxstore.ShapeError{Table: table, Column: name, Have: "gone", Want: want.String()}
	}
	if have != want {
		return &outboxstore.ShapeError{Table: table, Column: name, Have: have.String(), Want: want.String()}
	}
	return nil
}

// planIndex brings the column or the side table of one blind index.
func (m *migrator) planIndex(index *schema.Index) error {
	columnName, err := outboxstore.IndexColumn(index.Name)
	if err != nil {
		return err
	}
	_, hasColumn := m.shape.tables[m.names.table][columnName]
	_, hasTable := m.shape.tables[m.names.multi(index.Name)]
	if index.Multi {
		if hasColumn {
			return &outboxstore.ShapeError{Table: m.names.table, Column: columnName, Have: "a column for one value", Want: "the side table " + m.names.multi(index.Name) + " for several"}
		}
		return m.planMulti(index.Name, hasTable)
	}
	if hasTable {
		return &outboxstore.ShapeError{Table: m.names.multi(index.Name), Have: "a side table for several values", Want: "the column " + columnName + " for one"}
	}
	return m.planSingle(columnName, hasColumn)
}

// planSingle: most rows of a shared table lack most indexes, so the index holds only those that have it.
func (m *migrator) planSingle(columnName string, has bool) error {
	if !has {
		m.add(`ALTER TABLE ` + quoted(m.names.table) + ` ADD COLUMN "` + columnName + `" BLOB`)
	} else if err := m.checkColumn(m.names.table, columnName, column{typ: "BLOB"}); err != nil {
		return err
	}
	return m.planSQLIndex("ix_"+m.names.table+"_"+columnName, m.names.table, columnName, ` WHERE "`+columnName+`" IS NOT NULL`)
}

func (m *migrator) planMulti(index string, has bool) error {
	table := m.names.multi(index)
	if !has {
		m.add(`CREATE TABLE ` + quoted(table) + ` (
  event_id TEXT NOT NULL REFERENCES "` + m.names.table + `" (id) ON DELETE CASCADE,
  value    BLOB NOT NULL,
  PRIMARY KEY (event_id, value)
) STRICT, WITHOUT ROWID`)
		m.add(`CREATE TRIGGER main."` + table + `_delete" AFTER DELETE ON "` + m.names.table + `" BEGIN
  DELETE FROM "` + table + `" WHERE event_id = OLD.id;
END`)
	} else {
		if err := m.checkColumn(table, "event_id", column{typ: "TEXT", notNull: true}); err != nil {
			return err
		}
		if err := m.checkColumn(table, "value", column{typ: "BLOB", notNull: true}); err != nil {
			return err
		}
	}
	return m.planSQLIndex("ix_"+table, table, "value", "")
}

func (m *migrator) planSQLIndex(name, table, columnName, where string) error {
	want := table + "(" + columnName + ")"
	have, ok := m.indexes[name]
	if !ok {
		m.add(`CREATE INDEX main."` + name + `" ON "` + table + `" ("` + columnName + `")` + where)
		return nil
	}
	if have != want {
		return &outboxstore.ShapeError{Table: table, Column: columnName, Have: "not what the index " + name + " is on, which is " + have, Want: "it on " + want}
	}
	return nil
}
