package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/storetest"
)

var dialect = storetest.Dialect[*sql.Tx]{
	Create: func(t *testing.T) string { return filepath.Join(t.TempDir(), "outbox #1?.db") },
	Connect: func(ctx context.Context, path string) (storetest.Database[*sql.Tx], error) {
		store, err := sqlite.Open(ctx, path, sqlite.Options{Create: true})
		if err != nil {
			return nil, err
		}
		return &database{path: path, store: store, db: store.DB()}, nil
	},
}

func TestMain(m *testing.M) { storetest.Main(m, dialect) }

func TestConformance(t *testing.T) { storetest.Run(t, dialect) }

func TestLawASearchFindsEachRowOnceWhileKeysAndIndexesChange(t *testing.T) {
	t.Parallel()
	storetest.RunSearchLaw(t, dialect, 100)
}

// database is a SQLite file as the suite sees it.
type database struct {
	path  string
	store *sqlite.Store
	db    *sql.DB
}

func (d *database) Store(ctx context.Context, table string) (storetest.Store[*sql.Tx], error) {
	return sqlite.Open(ctx, d.path, sqlite.Options{Table: table})
}

func (d *database) Close() error { return d.store.Close() }

func (d *database) Begin(ctx context.Context) (*sql.Tx, error)   { return d.db.BeginTx(ctx, nil) }
func (d *database) Commit(_ context.Context, tx *sql.Tx) error   { return tx.Commit() }
func (d *database) Rollback(_ context.Context, tx *sql.Tx) error { return tx.Rollback() }
func (d *database) ExecTx(ctx context.Context, tx *sql.Tx, statement string) error {
	_, err := tx.ExecContext(ctx, statement)
	return err
}

func (d *database) Exec(ctx context.Context, statement string) error {
	_, err := d.db.ExecContext(ctx, statement)
	return err
}

func (d *database) Query(ctx context.Context, query string) (values []string, err error) {
	rows, err := d.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var value sql.NullString
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		if !value.Valid {
			value.String = "NULL"
		}
		values = append(values, value.String)
	}
	return values, rows.Err()
}

func (d *database) SetColumn(ctx context.Context, id, column string, value any) error {
	return d.one(d.db.ExecContext(ctx, "UPDATE "+outboxstore.DefaultTable+" SET "+column+" = ? WHERE id = ?", value, id))
}

func (d *database) SetIndex(ctx context.Context, id, index string, multi bool, values [][]byte) error {
	if !multi {
		var value any
		if len(values) > 0 {
			value = values[0]
		}
		return d.SetColumn(ctx, id, "bidx_"+index, value)
	}
	table := outboxstore.DefaultTable + "_bidx_" + index
	if _, err := d.db.ExecContext(ctx, "DELETE FROM "+table+" WHERE event_id = ?", id); err != nil {
		return err
	}
	for _, value := range values {
		if _, err := d.db.ExecContext(ctx, "INSERT INTO "+table+" VALUES (?, ?)", id, value); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) SetKeyIDs(ctx context.Context, id string, keyIDs []string) error {
	table := outboxstore.DefaultTable + "_key_ids"
	if _, err := d.db.ExecContext(ctx, "DELETE FROM "+table+" WHERE event_id = ?", id); err != nil {
		return err
	}
	for _, keyID := range keyIDs {
		if _, err := d.db.ExecContext(ctx, "INSERT INTO "+table+" VALUES (?, ?)", id, keyID); err != nil {
			return err
		}
	}
	return nil
}

// one checks that a statement met one row.
func (d *database) one(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%d rows changed, error %w", n, err)
	}
	return nil
}
