package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// querier is what *sql.DB, *sql.Conn and *sql.Tx share.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// immediate runs f in a write transaction of our own, begun as IMMEDIATE whatever the DSN says, so that it waits for other
// writers at the beginning and cannot fail for them later. COMMIT is not interrupted: its outcome must be known.
func (s *Store) immediate(ctx context.Context, f func(querier) error) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return beginError(err)
	}
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, conn)
		}
	}()
	if err := f(conn); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

func beginError(err error) error {
	if isBusy(err) {
		return &BusyError{Err: err}
	}
	return fmt.Errorf("begin: %w", err)
}

// BusyError says that another connection held the database's write lock for longer than the busy timeout, or, in a
// transaction that had read before it wrote, that it wrote in between. Nothing was written.
type BusyError struct{ Err error }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another connection has the database's write lock: %v", e.Err)
}
func (e *BusyError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *BusyError) Hint() string {
	return "try again; in programs, keep transactions short, set a busy_timeout, and begin those that write as IMMEDIATE"
}

// rollback ends a transaction. A connection on which that fails (SQLite may have ended it itself) does not go back to the
// pool.
func rollback(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// savepoint runs f so that after an error, or a panic, nothing of it is left and the transaction of q goes on.
func savepoint(ctx context.Context, q querier, f func() error) (err error) {
	ctx = context.WithoutCancel(ctx)
	if _, err := q.ExecContext(ctx, "SAVEPOINT fieldcrypt"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	kept := false
	defer func() {
		if kept {
			return
		}
		if _, undoErr := q.ExecContext(ctx, "ROLLBACK TO fieldcrypt; RELEASE fieldcrypt"); undoErr != nil {
			err = errors.Join(err, fmt.Errorf("undo the write: %w", undoErr), abandon(q))
		}
	}()
	if err := f(); err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, "RELEASE fieldcrypt"); err != nil {
		return fmt.Errorf("release the savepoint: %w", err)
	}
	kept = true
	return nil
}

// abandon ends a caller's transaction that SQLite has ended already: without it, database/sql would go on and every later
// statement would commit on its own.
func abandon(q querier) error {
	tx, ok := q.(*sql.Tx)
	if !ok {
		return nil
	}
	_ = tx.Rollback() // fails, since there is nothing left to roll back; the *sql.Tx is done either way
	return ErrTransactionEnded
}

// ErrTransactionEnded says that SQLite itself has rolled back the caller's transaction (disk full, an I/O error), all of
// it: begin a new one.
var ErrTransactionEnded = errors.New("sqlite has rolled back the whole transaction")
