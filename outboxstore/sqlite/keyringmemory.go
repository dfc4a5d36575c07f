package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

const keyringTableSQL = `CREATE TABLE main."` + outboxstore.KeyringTable + `" (
  name     TEXT    NOT NULL,
  kek      TEXT    NOT NULL,
  revision INTEGER NOT NULL,
  digest   BLOB    NOT NULL,
  seen_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
  PRIMARY KEY (name, kek)
) STRICT`

// memory is the keyring.Memory of a database.
type memory struct{ s *Store }

// KeyringMemory implements outboxstore.Store.
func (s *Store) KeyringMemory() keyring.Memory { return memory{s} }

// Recall implements keyring.Memory.
func (m memory) Recall(ctx context.Context, name string) (all []keyring.Seen, err error) {
	rows, err := m.s.db.QueryContext(ctx, `SELECT kek, revision, digest FROM `+quoted(outboxstore.KeyringTable)+` WHERE name = ?`, name)
	if err != nil {
		return nil, missingKeyrings(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var kek string
		var revision int64
		var digest []byte
		if err := rows.Scan(&kek, &revision, &digest); err != nil {
			return nil, fmt.Errorf("read %s: %w", outboxstore.KeyringTable, err)
		}
		seen, err := outboxstore.Remembered(kek, revision, digest)
		if err != nil {
			return nil, err
		}
		all = append(all, seen)
	}
	return all, missingKeyrings(rows.Err())
}

// Record implements keyring.Memory.
func (m memory) Record(ctx context.Context, name string, seen keyring.Seen) error {
	_, err := m.s.db.ExecContext(ctx, `INSERT INTO `+quoted(outboxstore.KeyringTable)+` AS known (name, kek, revision, digest) VALUES (?, ?, ?, ?)
ON CONFLICT (name, kek) DO UPDATE SET revision = excluded.revision, digest = excluded.digest, seen_at = excluded.seen_at WHERE known.revision < excluded.revision`,
		name, seen.KEK, int64(seen.Revision), seen.Digest[:])
	return missingKeyrings(err)
}

func missingKeyrings(err error) error {
	if err == nil {
		return nil
	}
	if strings.Contains(err.Error(), "no such table") {
		return &outboxstore.MissingError{Table: outboxstore.KeyringTable}
	}
	return fmt.Errorf("%s: %w", outboxstore.KeyringTable, err)
}

// planKeyrings makes the memory where there is none.
func (m *migrator) planKeyrings(ctx context.Context, q querier) error {
	var there bool
	err := q.QueryRowContext(ctx, `SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = ?`, outboxstore.KeyringTable).Scan(&there)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if !there {
		m.add(keyringTableSQL)
	}
	return nil
}

// KeyUse implements outboxstore.Store.
func (s *Store) KeyUse(ctx context.Context, keyID string) (use outboxstore.KeyUse, err error) {
	if _, err := s.readyShape(ctx, s.db); err != nil {
		return use, err
	}
	var oldest *string
	err = s.db.QueryRowContext(ctx, `SELECT count(*), min(e.created_at) FROM `+quoted(s.names.keyIDs())+` k JOIN `+quoted(s.names.table)+` e ON e.id = k.event_id WHERE k.key_id = ?`,
		keyID).Scan(&use.Rows, &oldest)
	if err == nil && oldest != nil {
		use.Oldest, err = outboxstore.ParseTime(*oldest)
	}
	if err != nil {
		return use, fmt.Errorf("count the rows under a key: %w", err)
	}
	return use, nil
}
