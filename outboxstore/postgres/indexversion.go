package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

const doingVersions = "read which versions of the blind indexes the table holds"

// IndexVersions implements outboxstore.Store.
func (s *Store) IndexVersions(ctx context.Context) (outboxstore.RecordedIndexes, error) {
	recorded, err := recordedIndexes(ctx, s.direct(), s.names)
	if err != nil || recorded == nil {
		return outboxstore.RecordedIndexes{Table: s.names.shown()}, err
	}
	return *recorded, nil
}

// recordedIndexes gives nil where nothing was ever written down.
func recordedIndexes(ctx context.Context, q querier, n names) (_ *outboxstore.RecordedIndexes, err error) {
	var there bool
	err = queryOne(ctx, q, `SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                      WHERE n.nspname = $1::name AND c.relname = $2::name)`, []any{n.schema, outboxstore.IndexVersionTable}, &there)
	if err != nil || !there {
		return nil, fault(doingVersions, err)
	}
	recorded := &outboxstore.RecordedIndexes{Table: n.shown()}
	r, err := q.query(ctx, `SELECT name, normalizer, bits::text FROM `+n.in(outboxstore.IndexVersionTable)+` WHERE outbox = $1::text ORDER BY name, normalizer, bits`, n.table)
	if err != nil {
		return nil, fault(doingVersions, err)
	}
	defer func() { err = fault(doingVersions, errors.Join(err, r.Close())) }()
	for r.Next() {
		var v outboxstore.IndexVersion
		var bits string
		if err := r.Scan(&v.Index, &v.Normalizer, &bits); err != nil {
			return nil, err
		}
		if v.Bits, err = strconv.Atoi(bits); err != nil {
			return nil, err
		}
		recorded.Versions = append(recorded.Versions, v)
	}
	return recorded, r.Err()
}

// SettleIndexes implements outboxstore.Store.
func (s *Store) SettleIndexes(ctx context.Context, rebuilt []outboxstore.IndexVersion) error {
	const doing = "write down that the blind indexes are rebuilt"
	return s.transact(ctx, func(q querier) error {
		for _, v := range rebuilt {
			_, err := q.exec(ctx, `DELETE FROM `+s.names.in(outboxstore.IndexVersionTable)+
				` WHERE outbox = $1::text AND name = $2::text AND normalizer = $3::text AND bits = $4::text::integer`,
				s.names.table, v.Index, v.Normalizer, strconv.Itoa(v.Bits))
			if err != nil {
				return fault(doing, err)
			}
		}
		return nil
	})
}

func (p *planner) readVersions(ctx context.Context, q querier) (err error) {
	p.recorded, err = recordedIndexes(ctx, q, p.names)
	return err
}

// planVersions writes down what the columns hold from now on. It stands beside the statement that adds the columns, in one
// transaction with it.
func (p *planner) planVersions(ctx context.Context, q querier, indexes []*schema.Index) error {
	recorded := p.recorded
	if recorded == nil {
		recorded = &outboxstore.RecordedIndexes{Table: p.names.shown()}
		p.add(`CREATE TABLE ` + p.names.in(outboxstore.IndexVersionTable) + ` (
  outbox     text        NOT NULL,
  name       text        NOT NULL,
  normalizer text        NOT NULL,
  bits       integer     NOT NULL,
  since      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (outbox, name, normalizer, bits)
)`)
	}
	var rows []string
	for _, ix := range indexes {
		columnName, err := outboxstore.IndexColumn(ix.Name)
		if err != nil {
			return err
		}
		_, had := p.shape.columns[columnName]
		versions, err := outboxstore.PlanIndexVersions(*recorded, ix, had, func() (bool, error) { return p.isEmpty(ctx, q) })
		if err != nil {
			return err
		}
		for _, v := range versions.Drop {
			p.add(`DELETE FROM ` + p.names.in(outboxstore.IndexVersionTable) + ` WHERE (outbox, name, normalizer, bits) = ('` + p.names.table + `', ` + v.SQL() + `)`)
		}
		for _, v := range versions.Add {
			rows = append(rows, "('"+p.names.table+"', "+v.SQL()+")")
		}
	}
	if len(rows) > 0 {
		p.add(`INSERT INTO ` + p.names.in(outboxstore.IndexVersionTable) + ` (outbox, name, normalizer, bits) VALUES
  ` + strings.Join(rows, ",\n  "))
	}
	return nil
}

// isEmpty says that the table has no row.
func (p *planner) isEmpty(ctx context.Context, q querier) (empty bool, err error) {
	if !p.shape.exists() {
		return true, nil
	}
	err = queryOne(ctx, q, `SELECT NOT EXISTS (SELECT FROM `+p.names.quoted()+`)`, nil, &empty)
	return empty, fault(doingVersions, err)
}
