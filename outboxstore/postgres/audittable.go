package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

const doingAudit = "read and write " + outboxstore.AuditTable

// trail is the audittrail.Log of a database's schema.
type trail struct{ s *Store }

// AuditTrail implements outboxstore.Store.
func (s *Store) AuditTrail() audittrail.Log { return trail{s} }

func (t trail) String() string {
	return "table " + names{schema: t.s.names.schema, table: outboxstore.AuditTable}.shown() + " of the outbox's database"
}

func (t trail) table() string { return t.s.names.in(outboxstore.AuditTable) }

func (t trail) fault(err error) error {
	if sqlState(err) == codeUndefinedTable {
		return &outboxstore.MissingError{Table: outboxstore.AuditTable}
	}
	return fault(doingAudit, err)
}

// lockKey is the number of the advisory lock under which the trail of one schema grows. A lock of the table itself would take rights with which entries could be
// changed.
func (t trail) lockKey() string {
	sum := sha256.Sum256([]byte(outboxstore.AuditTable + "." + t.s.names.schema))
	return strconv.FormatInt(int64(binary.BigEndian.Uint64(sum[:8])), 10)
}

// holdLimit is for a process that hangs, or whose machine is lost, while it has the lock: the server ends its session, so that others need not wait for it. It is less
// than a Recorder waits for the entry of an outcome.
const holdLimit = 5 * time.Second

// Append implements audittrail.Log: in a transaction of its own, one after the other. Whoever does not take the lock meets the primary key.
func (t trail) Append(ctx context.Context, e audittrail.Entry) (written audittrail.Entry, err error) {
	err = t.s.transact(ctx, func(q querier) error {
		// A database that commits asynchronously could forget the beginning of what was then done elsewhere, in Vault say.
		_, err := q.exec(ctx, `SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', $1::text, true),
       pg_catalog.set_config('synchronous_commit', CASE s WHEN 'off' THEN 'local' ELSE s END, true),
       pg_catalog.pg_advisory_xact_lock($2::text::bigint)
  FROM pg_catalog.current_setting('synchronous_commit') s`,
			milliseconds(holdLimit), t.lockKey())
		if err != nil {
			return t.fault(err)
		}
		last, err := t.last(ctx, q) // a statement of its own: it sees what was committed before the lock was had
		if err != nil {
			return err
		}
		if written, err = audittrail.Chain(last, e); err != nil {
			return err
		}
		_, err = q.exec(ctx, `INSERT INTO `+t.table()+` (seq, entry, hash) VALUES ($1::text::bigint, $2::text, $3::bytea)`,
			strconv.FormatUint(written.Seq, 10), string(written.Text()), written.Hash[:])
		return t.fault(err)
	})
	if err != nil {
		return audittrail.Entry{}, err
	}
	return written, nil
}

func (t trail) last(ctx context.Context, q querier) (audittrail.Entry, error) {
	var text string
	err := queryOne(ctx, q, `SELECT entry FROM `+t.table()+` ORDER BY seq DESC LIMIT 1`, nil, &text)
	if errors.Is(err, errNoRow) {
		return audittrail.Entry{}, nil
	}
	if err != nil {
		return audittrail.Entry{}, t.fault(err)
	}
	return audittrail.Last(t.String(), []byte(text))
}

// Lines implements audittrail.Log.
func (t trail) Lines(ctx context.Context) iter.Seq2[audittrail.Line, error] {
	return outboxstore.AuditLines(func(after int64) ([]audittrail.Line, error) { return t.page(ctx, after) })
}

func (t trail) page(ctx context.Context, after int64) (page []audittrail.Line, err error) {
	r, err := t.s.direct().query(ctx, `SELECT a.seq::text, a.entry, a.hash FROM `+t.table()+` a WHERE a.seq > $1::text::bigint ORDER BY a.seq LIMIT $2::text::bigint`,
		strconv.FormatInt(after, 10), strconv.Itoa(outboxstore.AuditPageSize))
	if err != nil {
		return nil, t.fault(err)
	}
	defer func() { err = t.fault(errors.Join(err, r.Close())) }()
	for r.Next() {
		var seq, text string
		l := audittrail.Line{Table: true}
		if err := r.Scan(&seq, &text, &l.Hash); err != nil {
			return nil, err
		}
		if l.Seq, err = strconv.ParseInt(seq, 10, 64); err != nil {
			return nil, err
		}
		l.Text = []byte(text)
		page = append(page, l)
	}
	return page, r.Err()
}

// planAudit makes the trail's table where there is none.
func (p *planner) planAudit(ctx context.Context, q querier) error {
	var there bool
	err := queryOne(ctx, q, `SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                      WHERE n.nspname = $1::name AND c.relname = $2::name)`, []any{p.names.schema, outboxstore.AuditTable}, &there)
	if err != nil {
		return fault(doingPlan, err)
	}
	if !there {
		p.add(`CREATE TABLE ` + p.names.in(outboxstore.AuditTable) + ` (
  seq   bigint NOT NULL PRIMARY KEY,
  entry text   NOT NULL,
  hash  bytea  NOT NULL UNIQUE
)`)
	}
	return nil
}
