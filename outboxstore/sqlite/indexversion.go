package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// IndexVersions implements outboxstore.Store.
func (s *Store) IndexVersions(ctx context.Context) (outboxstore.RecordedIndexes, error) {
	recorded, err := recordedIndexes(ctx, s.db, s.names)
	if err != nil || recorded == nil {
		return outboxstore.RecordedIndexes{Table: s.names.table}, err
	}
	return *recorded, nil
}

// recordedIndexes gives nil where nothing was ever written down.
func recordedIndexes(ctx context.Context, q querier, n names) (_ *outboxstore.RecordedIndexes, err error) {
	wrong := func(err error) error {
		return fmt.Errorf("read which versions of the blind indexes the table holds: %w", err)
	}
	var there bool
	err = q.QueryRowContext(ctx, `SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = ?`, outboxstore.IndexVersionTable).Scan(&there)
	if err != nil {
		return nil, wrong(err)
	}
	if !there {
		return nil, nil
	}
	recorded := &outboxstore.RecordedIndexes{Table: n.table}
	rows, err := q.QueryContext(ctx, `SELECT name, normalizer, bits FROM `+quoted(outboxstore.IndexVersionTable)+` WHERE outbox = ? ORDER BY name, normalizer, bits`, n.table)
	if err != nil {
		return nil, wrong(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v outboxstore.IndexVersion
		if err := rows.Scan(&v.Index, &v.Normalizer, &v.Bits); err != nil {
			return nil, wrong(err)
		}
		recorded.Versions = append(recorded.Versions, v)
	}
	if err := rows.Err(); err != nil {
		return nil, wrong(err)
	}
	return recorded, nil
}

// SettleIndexes implements outboxstore.Store.
func (s *Store) SettleIndexes(ctx context.Context, rebuilt []outboxstore.IndexVersion) error {
	return s.immediate(ctx, func(q querier) error {
		for _, v := range rebuilt {
			_, err := q.ExecContext(ctx, `DELETE FROM `+quoted(outboxstore.IndexVersionTable)+` WHERE outbox = ? AND name = ? AND normalizer = ? AND bits = ?`,
				s.names.table, v.Index, v.Normalizer, v.Bits)
			if err != nil {
				return fmt.Errorf("write down that the blind indexes are rebuilt: %w", err)
			}
		}
		return nil
	})
}

// planVersions writes down what the columns hold from now on.
func (m *migrator) planVersions(ctx context.Context, q querier, indexes []*schema.Index) error {
	recorded := m.recorded
	if recorded == nil {
		recorded = &outboxstore.RecordedIndexes{Table: m.names.table}
		m.add(`CREATE TABLE main."` + outboxstore.IndexVersionTable + `" (
  outbox     TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  normalizer TEXT    NOT NULL,
  bits       INTEGER NOT NULL,
  since      TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
  PRIMARY KEY (outbox, name, normalizer, bits)
) STRICT`)
	}
	var rows []string
	for _, ix := range indexes {
		had := m.hasIndex(ix)
		versions, err := outboxstore.PlanIndexVersions(*recorded, ix, had, func() (bool, error) { return m.isEmpty(ctx, q) })
		if err != nil {
			return err
		}
		for _, v := range versions.Drop {
			m.add(`DELETE FROM ` + quoted(outboxstore.IndexVersionTable) + ` WHERE (outbox, name, normalizer, bits) = ('` + m.names.table + `', ` + v.SQL() + `)`)
		}
		for _, v := range versions.Add {
			rows = append(rows, "('"+m.names.table+"', "+v.SQL()+")")
		}
	}
	if len(rows) > 0 {
		m.add(`INSERT INTO ` + quoted(outboxstore.IndexVersionTable) + ` (outbox, name, normalizer, bits) VALUES
  ` + strings.Join(rows, ",\n  "))
	}
	return nil
}

// hasIndex says that the index's column or side table was there before this migration.
func (m *migrator) hasIndex(ix *schema.Index) bool {
	_, _, err := m.shape.place(ix.Name)
	return err == nil
}

// isEmpty says that the table has no row.
func (m *migrator) isEmpty(ctx context.Context, q querier) (empty bool, err error) {
	if _, there := m.shape.tables[m.names.table]; !there {
		return true, nil
	}
	if err := q.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM `+quoted(m.names.table)+`)`).Scan(&empty); err != nil {
		return false, fmt.Errorf("look for a row: %w", err)
	}
	return empty, nil
}
