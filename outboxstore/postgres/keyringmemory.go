package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

const doingMemory = "read and write " + outboxstore.KeyringTable

// memory is the keyring.Memory of a database's schema.
type memory struct{ s *Store }

// KeyringMemory implements outboxstore.Store.
func (s *Store) KeyringMemory() keyring.Memory { return memory{s} }

func (m memory) fault(err error) error {
	if sqlState(err) == codeUndefinedTable {
		return &outboxstore.MissingError{Table: outboxstore.KeyringTable}
	}
	return fault(doingMemory, err)
}

// Recall implements keyring.Memory.
func (m memory) Recall(ctx context.Context, name string) (all []keyring.Seen, err error) {
	r, err := m.s.direct().query(ctx, `SELECT kek, revision::text, digest FROM `+m.s.names.in(outboxstore.KeyringTable)+` WHERE name = $1::text`, name)
	if err != nil {
		return nil, m.fault(err)
	}
	defer func() { err = m.fault(errors.Join(err, r.Close())) }()
	for r.Next() {
		var kek, text string
		var digest []byte
		if err := r.Scan(&kek, &text, &digest); err != nil {
			return nil, err
		}
		revision, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		seen, err := outboxstore.Remembered(kek, revision, digest)
		if err != nil {
			return nil, err
		}
		all = append(all, seen)
	}
	return all, r.Err()
}

// Record implements keyring.Memory.
func (m memory) Record(ctx context.Context, name string, seen keyring.Seen) error {
	_, err := m.s.direct().exec(ctx, `INSERT INTO `+m.s.names.in(outboxstore.KeyringTable)+` AS known (name, kek, revision, digest) VALUES ($1::text, $2::text, $3::text::bigint, $4::bytea)
ON CONFLICT (name, kek) DO UPDATE SET revision = excluded.revision, digest = excluded.digest, seen_at = excluded.seen_at WHERE known.revision < excluded.revision`,
		name, seen.KEK, strconv.FormatUint(seen.Revision, 10), seen.Digest[:])
	return m.fault(err)
}

// planKeyrings makes the memory where there is none.
func (p *planner) planKeyrings(ctx context.Context, q querier) error {
	var there bool
	err := queryOne(ctx, q, `SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                      WHERE n.nspname = $1::name AND c.relname = $2::name)`, []any{p.names.schema, outboxstore.KeyringTable}, &there)
	if err != nil {
		return fault(doingPlan, err)
	}
	if !there {
		p.add(`CREATE TABLE ` + p.names.in(outboxstore.KeyringTable) + ` (
  name     text        NOT NULL,
  kek      text        NOT NULL,
  revision bigint      NOT NULL,
  digest   bytea       NOT NULL,
  seen_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (name, kek)
)`)
	}
	return nil
}

// KeyUse implements outboxstore.Store.
func (s *Store) KeyUse(ctx context.Context, keyID string) (use outboxstore.KeyUse, err error) {
	const doing = "count the rows under a key"
	q := s.direct()
	if _, err := s.readyShape(ctx, q); err != nil {
		return use, err
	}
	var count, oldest string
	err = queryOne(ctx, q, `SELECT count(*)::text, coalesce((extract(epoch FROM min(e.created_at)) * 1000000)::bigint, 0)::text FROM `+s.names.quoted()+` e WHERE $1::text = ANY (e.key_ids)`,
		[]any{keyID}, &count, &oldest)
	if err != nil {
		return use, fault(doing, err)
	}
	micros, err := strconv.ParseInt(oldest, 10, 64)
	if err != nil {
		return use, err
	}
	if use.Rows, err = strconv.ParseInt(count, 10, 64); err != nil {
		return use, err
	}
	if use.Rows > 0 {
		use.Oldest = time.UnixMicro(micros).UTC()
	}
	return use, nil
}
