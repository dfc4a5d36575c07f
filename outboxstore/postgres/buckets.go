package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// IndexBuckets implements outboxstore.Store.
func (s *Store) IndexBuckets(ctx context.Context, index string) (all []outboxstore.KeyBuckets, err error) {
	q := s.direct()
	shape, err := s.readyShape(ctx, q)
	if err != nil {
		return nil, err
	}
	column, multi, err := shape.place(index)
	if err != nil {
		return nil, err
	}
	from := `SELECT e."` + column + `" AS v FROM ` + s.names.quoted() + " e"
	if multi {
		from = "SELECT u.v FROM " + s.names.quoted() + ` e, unnest(e."` + column + `") u(v)`
	}
	err = s.buckets(ctx, q, `SELECT pg_catalog.encode(pg_catalog.substr(b.v, 1, 4), 'hex'), b.n::text, count(*)::text FROM (
  SELECT r.v, count(*) AS n FROM (`+from+`) r WHERE r.v IS NOT NULL GROUP BY r.v
) b GROUP BY 1, b.n ORDER BY 1, b.n`, func(kid string, count blindindex.BucketCount) (err error) {
		all, err = outboxstore.AppendBuckets(all, index, kid, count)
		return err
	})
	return all, err
}

// RowBuckets implements outboxstore.Store.
func (s *Store) RowBuckets(ctx context.Context, indexes []string) (all []blindindex.BucketCount, err error) {
	q := s.direct()
	shape, err := s.readyShape(ctx, q)
	if err != nil || len(indexes) == 0 {
		return nil, err
	}
	var columns, present []string
	for _, index := range indexes {
		column, multi, err := shape.place(index)
		if err != nil {
			return nil, err
		}
		value := `e."` + column + `"`
		columns = append(columns, value)
		if multi {
			present = append(present, "pg_catalog.cardinality("+value+") > 0")
		} else {
			present = append(present, value+" IS NOT NULL")
		}
	}
	err = s.buckets(ctx, q, `SELECT '', b.n::text, count(*)::text FROM (
  SELECT count(*) AS n FROM `+s.names.quoted()+` e WHERE `+strings.Join(present, " OR ")+` GROUP BY `+strings.Join(columns, ", ")+`
) b GROUP BY b.n ORDER BY b.n`, func(_ string, count blindindex.BucketCount) error {
		all = append(all, count)
		return nil
	})
	return all, err
}

// buckets reads a key id and two counts from each row.
func (s *Store) buckets(ctx context.Context, q querier, query string, each func(kid string, count blindindex.BucketCount) error) (err error) {
	const doing = "count the buckets of a blind index"
	r, err := q.query(ctx, query)
	if err != nil {
		return fault(doing, err)
	}
	defer func() { err = fault(doing, errors.Join(err, r.Close())) }()
	for r.Next() {
		var kid, rows, buckets string
		if err := r.Scan(&kid, &rows, &buckets); err != nil {
			return err
		}
		var count blindindex.BucketCount
		if count.Rows, err = strconv.ParseInt(rows, 10, 64); err != nil {
			return err
		}
		if count.Buckets, err = strconv.ParseInt(buckets, 10, 64); err != nil {
			return err
		}
		if err := each(kid, count); err != nil {
			return err
		}
	}
	return r.Err()
}
