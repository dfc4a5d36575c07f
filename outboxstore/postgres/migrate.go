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
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fault(doingMigrate, err)
	}
	conn := pooled.Hijack() // its settings and its lock end with it
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	q := pgxQuerier{handle: conn}
	if err := s.prepare(ctx, q); err != nil {
		return nil, fault(doingMigrate, err)
	}
	steps, err := plan(ctx, q, s.names, indexes)
	if err != nil {
		return nil, err
	}
	statements = asStatements(steps)
	for first := 0; first < len(steps); {
		n := 1
		for !steps[first].alone && first+n < len(steps) && !steps[first+n].alone {
			n++
		}
		if err := carryOut(ctx, conn, steps[first:first+n]); err != nil {
			return statements, fault(doingMigrate, err)
		}
		for i := range n {
			statements[first+i].Done = true
		}
		first += n
	}
	return statements, nil
}

// prepare makes the connection one for migrations.
func (s *Store) prepare(ctx context.Context, q querier) error {
	for name, value := range map[string]string{
		"lock_timeout":      milliseconds(s.lockTimeout),
		"statement_timeout": "0", // an index on a large table takes its time
	} {
		if _, err := q.exec(ctx, "SELECT pg_catalog.set_config($1::text, $2::text, false)", name, value); err != nil {
			return err
		}
	}
	return s.lock(ctx, q)
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

// lock asks again and again instead of waiting inside the database: who waits there holds a snapshot, and CREATE INDEX
// CONCURRENTLY of the other one would wait for that, which is a deadlock.
func (s *Store) lock(ctx context.Context, q querier) error {
	deadline := time.NewTimer(s.migrationWait)
	defer deadline.Stop()
	retry := time.NewTicker(lockRetryInterval)
	defer retry.Stop()
	for {
		var locked bool
		if err := queryOne(ctx, q, "SELECT pg_catalog.pg_try_advisory_lock($1::text::bigint)", []any{strconv.Itoa(migrationLock)}, &locked); err != nil {
			return err
		}
		if locked {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return &MigratingError{Waited: s.migrationWait}
		case <-retry.C:
		}
	}
}

// carryOut does one step that must stand alone, or several in one transaction.
func carryOut(ctx context.Context, conn *pgx.Conn, steps []step) (err error) {
	if steps[0].alone {
		_, err := conn.Exec(ctx, steps[0].sql)
		return commitFault(doingMigrate, err)
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
	for _, step := range steps {
		if _, err := tx.Exec(ctx, step.sql); err != nil {
			return err
		}
	}
	return commitFault(doingMigrate, tx.Commit(ctx))
}
