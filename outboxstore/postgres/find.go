package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// maxCandidates bounds one search.
const maxCandidates = 10_000

// Find implements outboxstore.Store.
func (s *Store) Find(ctx context.Context, matches []outboxstore.Match, opts outboxstore.FindOptions) iter.Seq2[*outboxstore.Row, error] {
	return func(yield func(*outboxstore.Row, error) bool) {
		q := s.direct()
		p := &pager{where: &where{}, limit: opts.Limit, pageSize: opts.PageSize, query: findPage}
		var first []*outboxstore.Row
		some := false
		if err := checkMatches(ctx, matches); err != nil {
			yield(nil, err)
			return
		}
		// A search is one statement: the columns are those that were there the last time, unless the database contradicts.
		err := s.withShape(ctx, q, func(shape *shape) (err error) {
			if p.where, some, err = search(shape, q, matches); err != nil {
				return err
			}
			if err = p.where.after(opts.After); err != nil || !some {
				return err
			}
			first, err = s.readPageOf(ctx, q, shape, p.next(s.names))
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		if some {
			s.pagesFrom(ctx, q, p, first, yield)
		}
	}
}

func checkMatches(ctx context.Context, matches []outboxstore.Match) error {
	if len(matches) == 0 {
		return errors.New("find needs at least one blind index")
	}
	return ctx.Err()
}

// search is the condition of a Find; some is false if nothing can match.
func search(shape *shape, q querier, matches []outboxstore.Match) (w *where, some bool, err error) {
	w, some = &where{}, true
	candidates := 0
	for _, m := range matches {
		columnName, multi, err := shape.place(m.Index)
		if err != nil {
			return nil, false, err
		}
		condition := `e."` + columnName + `" = ANY(%s::text[]::bytea[])`
		if multi {
			condition = `e."` + columnName + `" && %s::text[]::bytea[]`
		}
		w.add(condition, q.texts(byteas(m.Candidates)))
		candidates += len(m.Candidates)
		some = some && len(m.Candidates) > 0
	}
	if candidates > maxCandidates {
		return nil, false, fmt.Errorf("find takes at most %d candidates", maxCandidates)
	}
	return w, some, nil
}

// findPage chooses the keys first. ROW() keeps the planner from walking the whole table in the order of its key until it has
// met enough rows, which it would like to do where it takes the value for a frequent one: the blind index has to lead.
func findPage(n names, w *where, limit int) pageQuery {
	condition, most, args := w.page(limit)
	return pageQuery{
		rest: "WHERE e.id = ANY(ARRAY(SELECT e.id FROM " + n.quoted() + " e WHERE " + condition +
			" ORDER BY ROW(e.id) LIMIT " + most + "::text::bigint)) ORDER BY e.id",
		args: args,
	}
}
