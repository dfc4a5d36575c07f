package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The migrations of the outbox's own table: see outboxstore.Migrations; {{schema}} and {{table}} are its name. The columns
// of blind indexes follow the schemas, and all secondary indexes what is there, so neither is numbered.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// versionTable says which migrations each outbox of the database's schema has.
const versionTable = "fieldcrypt_migrations"

func migrations(n names) ([]outboxstore.Migration, error) {
	return outboxstore.Migrations(migrationFiles, "migrations/*.sql", strings.NewReplacer("{{schema}}", n.schema, "{{table}}", n.table))
}

// step is one statement of a migration.
type step struct {
	sql string
	// alone: it must not stand in a transaction. Others that follow each other are one transaction.
	alone bool
}

// index is what the database says of one of its indexes.
type index struct {
	on    string // "METHOD(COLUMN, …) WHERE …"
	valid bool
	table string
}

// EncodingError refuses a database whose encoding cannot hold every event.
type EncodingError struct{ Have string }

func (e *EncodingError) Error() string {
	return fmt.Sprintf("the database's encoding is %s, and events are UTF8", e.Have)
}

// Hint says what to do next.
func (e *EncodingError) Hint() string { return "create the database with ENCODING 'UTF8'" }

// ClientEncodingError refuses a session in which the server takes what is sent for text of another encoding, and stores
// something else.
type ClientEncodingError struct{ Have string }

func (e *ClientEncodingError) Error() string {
	return fmt.Sprintf("the session's client_encoding is %s, and events are UTF8", e.Have)
}

// Hint says what to do next.
func (e *ClientEncodingError) Hint() string {
	return "connect with client_encoding=UTF8, or take the setting away from the database or the role"
}

// planner compares what is with what should be.
type planner struct {
	names     names
	shape     *shape
	hasSchema bool
	versioned bool                         // versionTable is there
	version   int                          // the highest migration that the outbox has
	indexes   map[string]index             // of the table's schema, by name
	recorded  *outboxstore.RecordedIndexes // nil where IndexVersionTable is not there
	fresh     bool                         // the table is made in this plan: nobody else can see it until it is done
	steps     []step
}

// plan reads and compares. It changes nothing.
func plan(ctx context.Context, q querier, n names, indexes []*schema.Index) ([]step, error) {
	p := &planner{names: n}
	var err error
	if err = p.readDatabase(ctx, q); err != nil {
		return nil, err
	}
	if p.shape, err = readShape(ctx, q, n); err != nil {
		return nil, err
	}
	if err = p.readVersion(ctx, q); err != nil {
		return nil, err
	}
	if err = p.readIndexes(ctx, q); err != nil {
		return nil, err
	}
	if err = p.readVersions(ctx, q); err != nil {
		return nil, err
	}
	if err = p.planTable(); err != nil {
		return nil, err
	}
	if err = p.planKeyrings(ctx, q); err != nil {
		return nil, err
	}
	if err = p.planAudit(ctx, q); err != nil {
		return nil, err
	}
	if err = p.planColumns(indexes); err != nil {
		return nil, err
	}
	if err = p.planVersions(ctx, q, indexes); err != nil {
		return nil, err
	}
	if err = p.planIndexes(indexes); err != nil {
		return nil, err
	}
	return p.steps, nil
}

func (p *planner) add(sql string) { p.steps = append(p.steps, step{sql: sql}) }

const doingPlan = "read the migrations"

func (p *planner) readDatabase(ctx context.Context, q querier) error {
	var encoding string
	err := queryOne(ctx, q, `SELECT pg_catalog.current_setting('server_encoding'),
       EXISTS (SELECT FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::name),
       EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1::name AND c.relname = $2::name)`,
		[]any{p.names.schema, versionTable}, &encoding, &p.hasSchema, &p.versioned)
	if err != nil {
		return fault(doingPlan, err)
	}
	if encoding != "UTF8" {
		return &EncodingError{Have: encoding}
	}
	return nil
}

func (p *planner) readVersion(ctx context.Context, q querier) error {
	if !p.versioned {
		return nil
	}
	var version string
	err := queryOne(ctx, q, `SELECT coalesce(max(version), 0)::text FROM `+p.names.in(versionTable)+` WHERE outbox = $1::text`, []any{p.names.table}, &version)
	if err == nil {
		_, err = fmt.Sscan(version, &p.version)
	}
	return fault(doingPlan, err)
}

// readIndexes gives each index's method, columns and predicate as Postgres writes them.
func (p *planner) readIndexes(ctx context.Context, q querier) (err error) {
	p.indexes = map[string]index{}
	r, err := q.query(ctx, `
SELECT i.relname::text, t.relname::text, x.indisvalid AND x.indisready AND x.indislive,
       am.amname::text || '(' || (SELECT string_agg(pg_catalog.pg_get_indexdef(x.indexrelid, k, true), ', ' ORDER BY k) FROM generate_series(1, x.indnkeyatts) k) || ')' ||
       coalesce(' WHERE ' || pg_catalog.pg_get_expr(x.indpred, x.indrelid), '')
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
JOIN pg_catalog.pg_am am ON am.oid = i.relam
JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace
WHERE n.nspname = $1::name`, p.names.schema)
	if err != nil {
		return fault(doingPlan, err)
	}
	defer func() { err = fault(doingPlan, errors.Join(err, r.Close())) }()
	for r.Next() {
		var name string
		var ix index
		if err := r.Scan(&name, &ix.table, &ix.valid, &ix.on); err != nil {
			return err
		}
		p.indexes[name] = ix
	}
	return r.Err()
}

// planTable brings the numbered migrations, and checks that what they made is what stands there.
func (p *planner) planTable() error {
	all, err := migrations(p.names)
	if err != nil {
		return err
	}
	if p.version > len(all) {
		return &outboxstore.NewerError{Table: p.names.shown(), Version: p.version, KnownVersion: len(all)}
	}
	if p.version == 0 && p.shape.exists() {
		return &outboxstore.ShapeError{Table: p.names.shown(), Have: "there and not fieldcrypt's", Want: "to make it"}
	}
	if p.version > 0 {
		if err := p.checkTable(); err != nil {
			return err
		}
	}
	if !p.hasSchema {
		p.add(`CREATE SCHEMA "` + p.names.schema + `"`)
	}
	if !p.versioned {
		p.add(`CREATE TABLE ` + p.names.in(versionTable) + ` (
  outbox     text        NOT NULL,
  version    integer     NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (outbox, version)
)`)
	}
	p.fresh = p.version == 0
	for _, migration := range all[p.version:] {
		for _, statement := range migration.Statements {
			p.add(statement)
		}
		p.add(fmt.Sprintf(`INSERT INTO %s (outbox, version) VALUES ('%s', %d)`, p.names.in(versionTable), p.names.table, migration.Version))
	}
	return nil
}

// checkTable refuses a table that is recorded as migrated and does not look so.
func (p *planner) checkTable() error {
	wrong := func(columnName, have, want string) error {
		return fmt.Errorf("table %q is recorded as migrated in %s, but: %w", p.names.shown(), versionTable, p.shape.wrong(columnName, have, want))
	}
	if !p.shape.exists() {
		return wrong("", "gone", "it as the migration made it")
	}
	if p.shape.partitioned {
		return wrong("", "partitioned", "a plain table, since indexes on a partitioned one cannot be built beside writers")
	}
	for _, c := range baseColumns {
		want := column{typ: c.typ, notNull: c.notNull}
		have, ok := p.shape.columns[c.name]
		if !ok {
			return wrong(c.name, "gone", want.String())
		}
		if have != want {
			return wrong(c.name, have.String(), want.String())
		}
	}
	return nil
}

// planColumns adds the columns of blind indexes, all in one statement: it takes an exclusive lock, for an instant.
func (p *planner) planColumns(indexes []*schema.Index) error {
	var added []string
	for _, index := range indexes {
		columnName, err := outboxstore.IndexColumn(index.Name)
		if err != nil {
			return err
		}
		want := column{typ: singleType}
		if index.Multi {
			want.typ = multiType
		}
		have, ok := p.shape.columns[columnName]
		switch clause := `ADD COLUMN "` + columnName + `" ` + want.typ; {
		case !ok && !slices.Contains(added, clause):
			added = append(added, clause)
		case ok && have != want:
			return p.shape.wrong(columnName, have.String(), want.String())
		}
	}
	if len(added) > 0 {
		p.add("ALTER TABLE " + p.names.quoted() + "\n  " + strings.Join(added, ",\n  "))
	}
	return nil
}

// wanted is an index that the database should have.
type wanted struct {
	column string
	name   string
	using  string // as in CREATE INDEX
	on     string // as readIndexes gives it
}

// planIndexes makes what is lacking, and makes anew what an interrupted CREATE INDEX CONCURRENTLY has left invalid.
func (p *planner) planIndexes(indexes []*schema.Index) error {
	all := []wanted{
		{"created_at", p.names.index("pending"), "btree (created_at, id) WHERE published_at IS NULL", "btree(created_at, id) WHERE (published_at IS NULL)"},
		{"key_ids", p.names.index("key_ids"), "gin (key_ids)", "gin(key_ids)"},
	}
	for _, index := range indexes {
		columnName, err := outboxstore.IndexColumn(index.Name)
		if err != nil {
			return err
		}
		// Most rows of a shared table lack most indexes: a btree holds only those that have a value. A GIN index over NULL
		// holds a placeholder for each, so it is partial too.
		ix := wanted{
			columnName, p.names.index(columnName),
			`btree ("` + columnName + `") WHERE "` + columnName + `" IS NOT NULL`, "btree(" + columnName + ") WHERE (" + columnName + " IS NOT NULL)",
		}
		if index.Multi {
			ix.using = `gin ("` + columnName + `") WHERE "` + columnName + `" IS NOT NULL`
			ix.on = "gin(" + columnName + ") WHERE (" + columnName + " IS NOT NULL)"
		}
		if !slices.Contains(all, ix) {
			all = append(all, ix)
		}
	}
	for _, ix := range all {
		if err := p.planIndex(ix); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) planIndex(ix wanted) error {
	have, ok := p.indexes[ix.name]
	if ok && (have.table != p.names.table || have.on != ix.on) {
		return p.shape.wrong(ix.column, "not what the index "+ix.name+" is on, which is "+have.table+": "+have.on, "it on "+p.names.table+": "+ix.on)
	}
	if ok && have.valid {
		return nil
	}
	if ok {
		p.steps = append(p.steps, step{sql: `DROP INDEX CONCURRENTLY ` + p.names.in(ix.name), alone: true})
	}
	if p.fresh { // in the transaction that makes the table: all or nothing
		p.add(`CREATE INDEX "` + ix.name + `" ON ` + p.names.quoted() + ` USING ` + ix.using)
		return nil
	}
	p.steps = append(p.steps, step{sql: `CREATE INDEX CONCURRENTLY "` + ix.name + `" ON ` + p.names.quoted() + ` USING ` + ix.using, alone: true})
	return nil
}
