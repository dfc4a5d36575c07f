package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

const doingMigrate = "migrate"

// Pending implements outboxstore.Store.
func (s *Store) Pending(ctx context.Context, indexes []*schema.Index) (statements []outboxstore.Statement, err error) {
	var steps []step
	snapshotErr := s.snapshot(ctx, func(q querier) { steps, err = plan(ctx, q, s.names, indexes) })
	return asStatements(steps), errors.Join(snapshotErr, err)
}

func asStatements(steps []step) []outboxstore.Statement {
	var statements []outboxstore.Statement
	for _, step := range steps {
		statements = append(statements, outboxstore.Statement{SQL: step.sql})
	}
	return statements
}

// Migrate implements outboxstore.Store. A new table is made in one transaction, all or nothing. A table that is there gets
// its new columns in an instant and its new indexes CONCURRENTLY, beside readers and writers: an error in between leaves what
// is done, and the next run goes on from there, building anew what was interrupted. No lock is waited for longer than the
// lock timeout. Several migrations at once wait for each other.
func (s *Store) Migrate(ctx context.Context, indexes []*schema.Index) (statements []outboxstore.Statement, err error) {
	lock, err := s.lockMigrations(ctx)
	if err != nil {
		return nil, fault(doingMigrate, err)
	}
	defer lock.release(ctx)
	conn, err := s.hijack(ctx)
	if err != nil {
		return nil, fault(doingMigrate, err)
	}
	defer closeConn(ctx, conn)
	steps, err := s.planOn(ctx, conn, indexes)
	if err != nil {
		return nil, err
	}
	statements = asStatements(steps)
	for first := 0; first < len(steps); {
		n := 1
		for !steps[first].alone && first+n < len(steps) && !steps[first+n].alone {
			n++
		}
		if err := s.check(ctx, lock); err != nil {
			return statements, fault(doingMigrate, err)
		}
		if err := s.carryOut(ctx, conn, steps[first:first+n]); err != nil {
			return statements, fault(doingMigrate, err)
		}
		for i := range n {
			statements[first+i].Done = true
		}
		first += n
	}
	return statements, nil
}

// planOn looks at the database in a transaction with the lock timeout: to ask what an index is made of takes a lock on its
// table, for which it would wait as long as somebody holds that.
func (s *Store) planOn(ctx context.Context, conn *pgx.Conn, indexes []*schema.Index) ([]step, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fault(doingMigrate, err)
	}
	defer rollback(ctx, tx)
	q := pgxQuerier{handle: tx, timeout: s.statementTimeout}
	if err := s.settings(ctx, q, "true"); err != nil {
		return nil, fault(doingMigrate, err)
	}
	return plan(ctx, q, s.names, indexes)
}

// hijack takes a connection out of the pool: it is closed in the end, and leaves nothing behind.
func (s *Store) hijack(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return pooled.Hijack(), nil
}

func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// settings are those of each statement of a migration; of its transaction, or, where it must not be in one, of the session.
func (s *Store) settings(ctx context.Context, q querier, local string) error {
	_, err := q.exec(ctx, "SELECT pg_catalog.set_config('lock_timeout', $1::text, $2::text::boolean), pg_catalog.set_config('statement_timeout', '0', $2::text::boolean)",
		milliseconds(s.lockTimeout), local) // no statement_timeout: an index on a large table takes its time
	return err
}

// milliseconds as a setting; 0 means no bound.
func milliseconds(d time.Duration) string {
	if d < 0 {
		return "0"
	}
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10)
}

const (
	// migrationLock is one number for all outboxes of a database: "fieldcry".
	migrationLock     = 0x6669656c64637279
	lockRetryInterval = 50 * time.Millisecond
)

// MigratingError says that another migration of the same database did not end within Options.MigrationWait.
type MigratingError struct{ Waited time.Duration }

func (e *MigratingError) Error() string {
	return fmt.Sprintf("another migration of this database is going on, for more than %v", e.Waited)
}

// Hint says what to do next.
func (e *MigratingError) Hint() string {
	return "wait until it has ended (pg_stat_progress_create_index shows how far it is), then run fieldcrypt migrate again"
}

// migrationLocked is a transaction that does nothing but hold the lock. A lock of the session would outlive the migration
// behind a pooler in transaction mode. It holds no snapshot, so CREATE INDEX CONCURRENTLY does not wait for it.
type migrationLocked struct {
	conn *pgx.Conn
	tx   pgx.Tx
}

// lockMigrations asks again and again, each time in a transaction of its own, instead of waiting inside the database: CREATE
// INDEX CONCURRENTLY of the other migration would wait for a transaction that waits for it.
func (s *Store) lockMigrations(ctx context.Context) (_ *migrationLocked, err error) {
	l := &migrationLocked{}
	if l.conn, err = s.hijack(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.release(ctx)
		}
	}()
	deadline := time.NewTimer(s.migrationWait)
	defer deadline.Stop()
	retry := time.NewTicker(lockRetryInterval)
	defer retry.Stop()
	for {
		locked, err := s.try(ctx, l)
		if err != nil || locked {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, &MigratingError{Waited: s.migrationWait}
		case <-retry.C:
		}
	}
}

// try gives one try the time of a statement.
func (s *Store) try(ctx context.Context, l *migrationLocked) (locked bool, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return l.try(ctx)
}

// try leaves no transaction open unless it has the lock.
func (l *migrationLocked) try(ctx context.Context) (locked bool, err error) {
	if l.tx, err = l.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}); err != nil {
		return false, err
	}
	err = queryOne(ctx, pgxQuerier{handle: l.tx}, `SELECT pg_catalog.pg_try_advisory_xact_lock($1::text::bigint),
       pg_catalog.set_config('idle_in_transaction_session_timeout', '0', true) = ''`, []any{strconv.Itoa(migrationLock)}, &locked, new(bool))
	if err != nil || locked {
		return locked, err
	}
	return false, l.tx.Rollback(ctx)
}

func (s *Store) check(ctx context.Context, l *migrationLocked) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return l.check(ctx)
}

// check ends the migration if the lock is gone.
func (l *migrationLocked) check(ctx context.Context) error {
	_, err := l.tx.Exec(ctx, "SELECT 1")
	return err
}

func (l *migrationLocked) release(ctx context.Context) { closeConn(ctx, l.conn) }

// carryOut does one step that must stand alone, or several in one transaction.
func (s *Store) carryOut(ctx context.Context, conn *pgx.Conn, steps []step) (err error) {
	if steps[0].alone {
		return s.carryOutAlone(ctx, conn, steps[0])
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			rollback(ctx, tx)
		}
	}()
	if err := s.settings(ctx, pgxQuerier{handle: tx}, "true"); err != nil {
		return err
	}
	for _, step := range steps {
		if _, err := tx.Exec(ctx, step.sql); err != nil {
			return err
		}
	}
	return commitFault(doingMigrate, tx.Commit(ctx))
}

// carryOutAlone resets what it has set, for the sake of poolers that give the session to others.
func (s *Store) carryOutAlone(ctx context.Context, conn *pgx.Conn, step step) error {
	if err := s.settings(ctx, pgxQuerier{handle: conn}, "false"); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, step.sql)
	if conn.IsClosed() {
		return commitFault(doingMigrate, err)
	}
	_, resetErr := conn.Exec(ctx, "RESET lock_timeout; RESET statement_timeout")
	if err == nil {
		err = resetErr
	}
	return commitFault(doingMigrate, err)
}
