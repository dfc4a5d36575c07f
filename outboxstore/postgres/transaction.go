package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// undoTimeout bounds what is done after the caller's context has ended.
const undoTimeout = 10 * time.Second

// savepointName may be the caller's too: Postgres keeps savepoints of one name apart, the innermost counts.
const savepointName = "fieldcrypt_write"

// savepoint runs f so that after an error, or a panic, nothing of it is left and the transaction of q goes on. Where that
// cannot be had, the transaction is ended.
func savepoint(ctx context.Context, q querier, f func() error) (err error) {
	if _, err := q.exec(ctx, "SAVEPOINT "+savepointName); err != nil {
		return fault("set a savepoint", err)
	}
	kept := false
	defer func() {
		if !kept {
			undo(ctx, q)
		}
	}()
	if err := f(); err != nil {
		return err
	}
	if _, err := q.exec(ctx, "RELEASE SAVEPOINT "+savepointName); err != nil {
		return fault("release the savepoint", err)
	}
	kept = true
	return nil
}

// undo goes back to the savepoint. What fails here is the connection, and with it the transaction: the error that led here
// says so already.
func undo(ctx context.Context, q querier) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if _, err := q.exec(ctx, "ROLLBACK TO SAVEPOINT "+savepointName); err != nil {
		q.abandon(ctx)
		return
	}
	if _, err := q.exec(ctx, "RELEASE SAVEPOINT "+savepointName); err != nil {
		q.abandon(ctx)
	}
}

// maxTransactionTries is for transactions of our own: a deadlock, or a pooled connection that had died in silence.
const maxTransactionTries = 4

// transact runs f in a transaction of our own. f must do nothing that cannot be done again.
func (s *Store) transact(ctx context.Context, f func(querier) error) (err error) {
	for try := 1; ; try++ {
		err = s.transactOnce(ctx, f)
		var e *outboxstore.DatabaseError
		again := errors.As(err, &e) && e.Fault == outboxstore.FaultSerialization || isStaleConnection(err)
		if !again || try == maxTransactionTries || ctx.Err() != nil {
			return err
		}
	}
}

// staleConnection is a connection of the pool that was dead: nothing of the transaction has reached the server.
type staleConnection struct{ error }

func (e *staleConnection) Unwrap() error { return e.error }

func isStaleConnection(err error) bool {
	var stale *staleConnection
	return errors.As(err, &stale)
}

func (s *Store) transactOnce(ctx context.Context, f func(querier) error) (err error) {
	tx, err := s.begin(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			rollback(ctx, tx)
		}
	}()
	if err := f(pgxQuerier{handle: tx, timeout: s.statementTimeout}); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	done = true
	return s.commit(ctx, tx)
}

func (s *Store) begin(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	ctx, cancel := pgxQuerier{timeout: s.statementTimeout}.bound(ctx)
	defer cancel()
	tx, err := s.pool.BeginTx(ctx, opts)
	if err != nil {
		var connecting *pgconn.ConnectError
		if pgconn.SafeToRetry(err) && !errors.As(err, &connecting) && ctx.Err() == nil {
			return nil, &staleConnection{fault("begin a transaction", err)}
		}
		return nil, fault("begin a transaction", err)
	}
	return tx, nil
}

// commit is not interrupted with the caller's context: its outcome must be known.
func (s *Store) commit(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := pgxQuerier{timeout: s.statementTimeout}.bound(context.WithoutCancel(ctx))
	defer cancel()
	return commitFault("commit", tx.Commit(ctx))
}

// commitFault is the fault of something that may have been committed when its answer was lost.
func commitFault(doing string, err error) error {
	err = fault(doing, err)
	var e *outboxstore.DatabaseError
	if errors.As(err, &e) && (e.Fault == outboxstore.FaultLost || e.Fault == outboxstore.FaultTimeout || e.Fault == outboxstore.FaultOther && e.Code == "") {
		e.Fault = outboxstore.FaultCommit
	}
	return err
}

func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // if that fails, pgx closes the connection, and the server rolls back
}
