package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

const doingReplace = "replace rows of the outbox"

// Replace implements outboxstore.Store.
func (s *Store) Replace(ctx context.Context, replacements ...outboxstore.Replacement) (changed []bool, err error) {
	if err := outboxstore.CheckReplacements(ctx, replacements); err != nil {
		return nil, err
	}
	if len(replacements) == 0 {
		return []bool{}, nil
	}
	err = s.transact(ctx, func(q querier) error {
		// As it is, not as it is remembered: every column counts where a row is compared with what was read.
		shape, err := s.readyShape(ctx, q)
		if err != nil {
			return err
		}
		c := &call{ctx: ctx, q: q, w: s.Writer, shape: shape}
		changed, err = c.replace(replacements)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// replace compares and swaps: it locks the rows, by key order so that two of them do not wait for each other, and what it
// then reads stays until it commits.
func (c *call) replace(replacements []outboxstore.Replacement) ([]bool, error) {
	stored, err := c.locked(replacements)
	if err != nil {
		return nil, err
	}
	changed := make([]bool, len(replacements))
	var sealed []envelope.Sealed
	for i, r := range replacements {
		row := stored[r.Row.ID]
		if row == nil || !r.Row.SameAs(row) {
			continue
		}
		delete(stored, r.Row.ID) // a second replacement of the row is of what it was
		sealed = append(sealed, r.Sealed)
		changed[i] = true
	}
	if len(sealed) == 0 {
		return changed, nil
	}
	return changed, c.update(sealed)
}

// locked reads the rows and keeps others from changing them. The lock lets foreign keys refer to them meanwhile.
func (c *call) locked(replacements []outboxstore.Replacement) (map[string]*outboxstore.Row, error) {
	ids := make([]string, len(replacements))
	for i, r := range replacements {
		ids[i] = r.Row.ID
	}
	slices.Sort(ids)
	query := newRowQuery(c.shape)
	found, err := query.all(c.ctx, c.q, c.w, "WHERE e.id = ANY($2::text[]::uuid[]) ORDER BY e.id FOR NO KEY UPDATE OF e", c.q.texts(pointers(slices.Compact(ids))))
	if err != nil {
		return nil, err
	}
	stored := make(map[string]*outboxstore.Row, len(found))
	for _, row := range found {
		stored[row.ID] = row
	}
	return stored, nil
}

// update writes the payload, the key ids and every index column.
func (c *call) update(sealed []envelope.Sealed) error {
	single, multi := c.shape.indexes()
	for _, e := range sealed {
		for index, values := range e.BlindIndexes() {
			if len(values) == 0 {
				continue
			}
			if _, _, err := c.shape.place(index); err != nil {
				return err
			}
		}
	}
	l, err := newLayout(c.shape, replaceCells, append(single, multi...))
	if err != nil {
		return err
	}
	values := make([][]*string, len(sealed))
	for i, e := range sealed {
		if values[i], err = l.replaceRow(c.shape, e); err != nil {
			return err
		}
	}
	set := make([]string, 0, len(l.cells)-1)
	for i := 1; i < len(l.cells); i++ {
		set = append(set, `"`+l.cells[i].column+`" = `+l.unnested("u", i))
	}
	n, err := c.q.exec(c.ctx, "UPDATE "+c.w.names.quoted()+" e SET "+strings.Join(set, ", ")+" FROM "+l.unnest("u")+" WHERE e.id = "+l.unnested("u", 0),
		transpose(c.q, len(l.cells), values)...)
	if err != nil {
		return fault(doingReplace, err)
	}
	if int(n) != len(sealed) {
		return fmt.Errorf("%s: a trigger of table %q keeps %d of %d rows from being changed", doingReplace, c.w.names.shown(), len(sealed)-int(n), len(sealed))
	}
	return nil
}
