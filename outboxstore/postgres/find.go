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
		w, some, err := s.search(ctx, q, matches)
		if err == nil {
			err = w.after(opts.After)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if some {
			s.pages(ctx, q, w, opts.Limit, opts.PageSize, findPage, yield)
		}
	}
}

// search is the condition of a Find; some is false if nothing can match.
func (s *Store) search(ctx context.Context, q querier, matches []outboxstore.Match) (w *where, some bool, err error) {
	if len(matches) == 0 {
		return nil, false, errors.New("find needs at least one blind index")
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	shape, err := s.readyShape(ctx, q)
	if err != nil {
		return nil, false, err
	}
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
