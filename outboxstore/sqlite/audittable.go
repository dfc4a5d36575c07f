package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

const auditTableSQL = `CREATE TABLE main."` + outboxstore.AuditTable + `" (
  seq   INTEGER NOT NULL PRIMARY KEY,
  entry TEXT    NOT NULL,
  hash  BLOB    NOT NULL UNIQUE
) STRICT`

// trail is the audittrail.Log of a database.
type trail struct{ s *Store }

// AuditTrail implements outboxstore.Store.
func (s *Store) AuditTrail() audittrail.Log { return trail{s} }

func (t trail) String() string {
	return "table " + outboxstore.AuditTable + " of the outbox's database"
}

// Append implements audittrail.Log: in a transaction of its own, which has the database's write lock from the beginning.
func (t trail) Append(ctx context.Context, e audittrail.Entry) (written audittrail.Entry, err error) {
	err = t.s.immediate(ctx, func(q querier) error {
		last, err := t.last(ctx, q)
		if err != nil {
			return err
		}
		if written, err = audittrail.Chain(last, e); err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, `INSERT INTO `+quoted(outboxstore.AuditTable)+` (seq, entry, hash) VALUES (?, ?, ?)`, int64(written.Seq), string(written.Text()), written.Hash[:])
		return missingAudit(err)
	})
	if err != nil {
		return audittrail.Entry{}, err
	}
	return written, nil
}

func (t trail) last(ctx context.Context, q querier) (audittrail.Entry, error) {
	var text string
	err := q.QueryRowContext(ctx, `SELECT entry FROM `+quoted(outboxstore.AuditTable)+` ORDER BY seq DESC LIMIT 1`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return audittrail.Entry{}, nil
	}
	if err != nil {
		return audittrail.Entry{}, missingAudit(err)
	}
	return audittrail.Last(t.String(), []byte(text))
}

// Lines implements audittrail.Log.
func (t trail) Lines(ctx context.Context) iter.Seq2[audittrail.Line, error] {
	return outboxstore.AuditLines(func(after int64) ([]audittrail.Line, error) { return t.page(ctx, after) })
}

func (t trail) page(ctx context.Context, after int64) (page []audittrail.Line, err error) {
	rows, err := t.s.db.QueryContext(ctx, `SELECT seq, entry, hash FROM `+quoted(outboxstore.AuditTable)+` WHERE seq > ? ORDER BY seq LIMIT ?`, after, outboxstore.AuditPageSize)
	if err != nil {
		return nil, missingAudit(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		l := audittrail.Line{Table: true}
		if err := rows.Scan(&l.Seq, &l.Text, &l.Hash); err != nil {
			return nil, missingAudit(err)
		}
		page = append(page, l)
	}
	return page, missingAudit(rows.Err())
}

func missingAudit(err error) error {
	if err == nil {
		return nil
	}
	if strings.Contains(err.Error(), "no such table") {
		return &outboxstore.MissingError{Table: outboxstore.AuditTable}
	}
	return fmt.Errorf("%s: %w", outboxstore.AuditTable, err)
}

// planAudit makes the trail's table where there is none.
func (m *migrator) planAudit(ctx context.Context, q querier) error {
	var there bool
	err := q.QueryRowContext(ctx, `SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = ?`, outboxstore.AuditTable).Scan(&there)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if !there {
		m.add(auditTableSQL)
	}
	return nil
}
