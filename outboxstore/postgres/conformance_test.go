package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/storetest"
)

// dialect is pgx.
var dialect = storetest.Dialect[pgx.Tx]{
	Create: func(t *testing.T) string { return testenv.Postgres(t) },
	Connect: func(ctx context.Context, address string) (storetest.Database[pgx.Tx], error) {
		db, err := connect(ctx, address)
		if err != nil {
			return nil, err
		}
		return &pgxDatabase{db}, nil
	},
}

// sqlDialect is database/sql. The kills and the rest of the store are the same as with pgx.
func sqlDialect(mode string) storetest.Dialect[*sql.Tx] {
	return storetest.Dialect[*sql.Tx]{
		Create: func(t *testing.T) string { return with(testenv.Postgres(t), "default_query_exec_mode", mode) },
		Connect: func(ctx context.Context, address string) (storetest.Database[*sql.Tx], error) {
			db, err := connect(ctx, address)
			if err != nil {
				return nil, err
			}
			config, err := pgx.ParseConfig(noSearchPath(address))
			if err != nil {
				return nil, err
			}
			return &sqlDatabase{db, stdlib.OpenDB(*config)}, nil
		},
	}
}

func TestMain(m *testing.M) { storetest.Main(m, dialect) }

func TestConformance(t *testing.T) { storetest.Run(t, dialect) }

func TestLawASearchFindsEachRowOnceWhileKeysAndIndexesChange(t *testing.T) {
	t.Parallel()
	storetest.RunSearchLaw(t, dialect, 25)
}

func TestConformanceOfWritesThroughDatabaseSQL(t *testing.T) {
	t.Parallel()
	storetest.RunWrites(t, sqlDialect("cache_statement"))
}

// What a pooler that knows no prepared statements needs.
func TestConformanceOfWritesInTheSimpleProtocol(t *testing.T) {
	t.Parallel()
	storetest.RunWrites(t, sqlDialect("simple_protocol"))
}

// with sets a parameter of a URL.
func with(address, name, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // testenv made it
	}
	values := u.Query()
	values.Set(name, value)
	u.RawQuery = strings.ReplaceAll(values.Encode(), "+", "%20") // libpq takes a + as it stands
	return u.String()
}

// noSearchPath makes every unqualified name in the store's SQL fail.
func noSearchPath(address string) string { return with(address, "search_path", "") }

// database is a Postgres database as the suite sees it. The suite's own SQL does not qualify names.
type database struct {
	address string
	raw     *pgxpool.Pool
}

func connect(ctx context.Context, address string) (*database, error) {
	config, err := pgxpool.ParseConfig(with(address, "search_path", "public"))
	if err != nil {
		return nil, err
	}
	config.MaxConns = 4
	// The suite changes tables behind prepared statements' back.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	raw, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &database{address: address, raw: raw}, nil
}

func (d *database) open(ctx context.Context, table string) (*postgres.Store, error) {
	return postgres.Open(ctx, noSearchPath(d.address), postgres.Options{Table: table})
}

func (d *database) Exec(ctx context.Context, statement string) error {
	_, err := d.raw.Exec(ctx, statement)
	return err
}

func (d *database) Query(ctx context.Context, query string) ([]string, error) {
	rows, err := d.raw.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		if err != nil || values[0] == nil {
			return "NULL", err
		}
		return fmt.Sprint(values[0]), nil
	})
}

func (d *database) SetColumn(ctx context.Context, id, column string, value any) error {
	err := d.one(ctx, "UPDATE "+outboxstore.DefaultTable+" SET "+column+" = $2 WHERE id = $1", id, fmt.Sprint(value))
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "22P02" { // invalid text representation
		return storetest.ErrTyped
	}
	return err
}

func (d *database) SetIndex(ctx context.Context, id, index string, multi bool, values [][]byte) error {
	var value any
	switch {
	case len(values) == 0:
	case multi:
		value = values
	default:
		value = values[0]
	}
	return d.one(ctx, "UPDATE "+outboxstore.DefaultTable+" SET bidx_"+index+" = $2 WHERE id = $1", id, value)
}

func (d *database) SetKeyIDs(ctx context.Context, id string, keyIDs []string) error {
	if keyIDs == nil {
		keyIDs = []string{}
	}
	return d.one(ctx, "UPDATE "+outboxstore.DefaultTable+" SET key_ids = $2 WHERE id = $1", id, keyIDs)
}

// one checks that a statement met one row.
func (d *database) one(ctx context.Context, statement string, args ...any) error {
	tag, err := d.raw.Exec(ctx, statement, args...)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("%d rows changed", tag.RowsAffected())
	}
	return err
}

func (d *database) Close() error {
	d.raw.Close()
	return nil
}

// pgxDatabase begins transactions as a producer with pgx does.
type pgxDatabase struct{ *database }

func (d *pgxDatabase) Store(ctx context.Context, table string) (storetest.Store[pgx.Tx], error) {
	store, err := d.open(ctx, table)
	if err != nil {
		return nil, err
	}
	return store, nil
}

func (d *pgxDatabase) Begin(ctx context.Context) (pgx.Tx, error)     { return d.raw.Begin(ctx) }
func (d *pgxDatabase) Commit(ctx context.Context, tx pgx.Tx) error   { return tx.Commit(ctx) }
func (d *pgxDatabase) Rollback(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) }
func (d *pgxDatabase) ExecTx(ctx context.Context, tx pgx.Tx, statement string) error {
	_, err := tx.Exec(ctx, statement)
	return err
}

// sqlDatabase begins them as one with sqlc, GORM or ent does.
type sqlDatabase struct {
	*database
	db *sql.DB
}

// sqlStore is a store whose Write is WriteSQL.
type sqlStore struct{ *postgres.Store }

func (s sqlStore) Write(ctx context.Context, tx *sql.Tx, sealed ...envelope.Sealed) ([]outboxstore.Result, error) {
	return s.WriteSQL(ctx, tx, sealed...)
}

func (d *sqlDatabase) Store(ctx context.Context, table string) (storetest.Store[*sql.Tx], error) {
	store, err := d.open(ctx, table)
	if err != nil {
		return nil, err
	}
	return sqlStore{store}, nil
}

func (d *sqlDatabase) Begin(ctx context.Context) (*sql.Tx, error)   { return d.db.BeginTx(ctx, nil) }
func (d *sqlDatabase) Commit(_ context.Context, tx *sql.Tx) error   { return tx.Commit() }
func (d *sqlDatabase) Rollback(_ context.Context, tx *sql.Tx) error { return tx.Rollback() }
func (d *sqlDatabase) ExecTx(ctx context.Context, tx *sql.Tx, statement string) error {
	_, err := tx.ExecContext(ctx, "SET LOCAL search_path TO public")
	if err == nil {
		_, err = tx.ExecContext(ctx, statement)
	}
	return err
}

func (d *sqlDatabase) Close() error { return errors.Join(d.db.Close(), d.database.Close()) }
