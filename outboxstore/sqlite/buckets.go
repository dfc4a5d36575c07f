package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// IndexBuckets implements outboxstore.Store.
func (s *Store) IndexBuckets(ctx context.Context, index string) (all []outboxstore.KeyBuckets, err error) {
	shape, err := s.readyShape(ctx, s.db)
	if err != nil {
		return nil, err
	}
	value, multi, err := shape.place(index)
	if err != nil {
		return nil, err
	}
	table := quoted(s.names.table)
	if multi {
		value, table = "value", quoted(s.names.multi(index))
	}
	err = s.buckets(ctx, `SELECT hex(substr(v, 1, 4)), n, count(*) FROM (
  SELECT "`+value+`" AS v, count(*) AS n FROM `+table+` WHERE "`+value+`" IS NOT NULL GROUP BY "`+value+`"
) GROUP BY 1, 2 ORDER BY 1, 2`, func(kid string, count blindindex.BucketCount) (err error) {
		all, err = outboxstore.AppendBuckets(all, index, kid, count)
		return err
	})
	return all, err
}

// RowBuckets implements outboxstore.Store.
func (s *Store) RowBuckets(ctx context.Context, indexes []string) (all []blindindex.BucketCount, err error) {
	shape, err := s.readyShape(ctx, s.db)
	if err != nil || len(indexes) == 0 {
		return nil, err
	}
	var values []string
	for _, index := range indexes {
		column, multi, err := shape.place(index)
		if err != nil {
			return nil, err
		}
		if multi {
			values = append(values, "(SELECT group_concat(hex(m.value), ' ' ORDER BY m.value) FROM "+quoted(s.names.multi(index))+" m WHERE m.event_id = e.id)")
		} else {
			values = append(values, `e."`+column+`"`)
		}
	}
	names := make([]string, len(values))
	present := make([]string, len(values))
	for i := range values {
		names[i] = fmt.Sprintf("v%d", i)
		present[i] = names[i] + " IS NOT NULL"
		values[i] += " AS " + names[i]
	}
	err = s.buckets(ctx, `SELECT '', n, count(*) FROM (
  SELECT count(*) AS n FROM (SELECT `+strings.Join(values, ", ")+` FROM `+quoted(s.names.table)+` e)
  WHERE `+strings.Join(present, " OR ")+` GROUP BY `+strings.Join(names, ", ")+`
) GROUP BY 2 ORDER BY 2`, func(_ string, count blindindex.BucketCount) error {
		all = append(all, count)
		return nil
	})
	return all, err
}

func (s *Store) buckets(ctx context.Context, query string, each func(kid string, count blindindex.BucketCount) error) (err error) {
	const doing = "count the buckets of a blind index"
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf(doing+": %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var kid string
		var count blindindex.BucketCount
		if err := rows.Scan(&kid, &count.Rows, &count.Buckets); err != nil {
			return fmt.Errorf(doing+": %w", err)
		}
		if err := each(kid, count); err != nil {
			return err
		}
	}
	return rows.Err()
}
