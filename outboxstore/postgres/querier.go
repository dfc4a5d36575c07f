package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// querier is one way to the database. Every argument is text, NULL, or a list made by texts, and every result is text
// or boolean: so
// the statements are the same for pgx in each of its modes and for any driver of database/sql, and no session setting
// (DateStyle, bytea_output, time zone) reaches what is read.
type querier interface {
	exec(ctx context.Context, query string, args ...any) (changed int64, err error)
	query(ctx context.Context, query string, args ...any) (rows, error)
	// texts is an argument of type text[].
	texts(list []*string) any
	// abandon ends a transaction that is in an unknown state.
	abandon(ctx context.Context)
}

// rows are closed before the next statement.
type rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
	Close() error
}

// pgxHandle is what pgx.Tx, *pgx.Conn and *pgxpool.Pool share.
type pgxHandle interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// pgxQuerier asks pgx.
type pgxQuerier struct {
	handle  pgxHandle
	timeout time.Duration // for each statement; none if not positive
}

func (q pgxQuerier) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if q.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, q.timeout)
}

func (q pgxQuerier) exec(ctx context.Context, query string, args ...any) (int64, error) {
	ctx, cancel := q.bound(ctx)
	defer cancel()
	tag, err := q.handle.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (q pgxQuerier) query(ctx context.Context, query string, args ...any) (rows, error) {
	ctx, cancel := q.bound(ctx)
	r, err := q.handle.Query(ctx, query, args...)
	if err != nil {
		cancel()
		return nil, err
	}
	return pgxRows{r, cancel}, nil
}

// texts has a type that pgx encodes without reflection.
func (pgxQuerier) texts(list []*string) any { return pgtype.FlatArray[*string](list) }

func (q pgxQuerier) abandon(ctx context.Context) {
	if tx, ok := q.handle.(pgx.Tx); ok {
		_ = tx.Rollback(ctx) // if that fails, pgx closes the connection
	}
}

type pgxRows struct {
	pgx.Rows
	cancel context.CancelFunc
}

func (r pgxRows) Close() error {
	r.Rows.Close()
	r.cancel()
	return r.Err()
}

// sqlQuerier asks a transaction of database/sql.
type sqlQuerier struct{ tx *sql.Tx }

func (q sqlQuerier) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := q.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (q sqlQuerier) query(ctx context.Context, query string, args ...any) (rows, error) {
	return q.tx.QueryContext(ctx, query, args...)
}

// texts writes the list as Postgres reads it, since drivers do not agree on how a list is passed.
func (sqlQuerier) texts(list []*string) any { return textArray(list) }

func (q sqlQuerier) abandon(context.Context) { _ = q.tx.Rollback() }

// queryOne reads one row, or gives errNoRow.
func queryOne(ctx context.Context, q querier, query string, args []any, into ...any) (err error) {
	r, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if !r.Next() {
		if err := r.Err(); err != nil {
			return err
		}
		return errNoRow
	}
	return r.Scan(into...)
}

// errNoRow says that a query gave nothing.
var errNoRow = errors.New("no row")
