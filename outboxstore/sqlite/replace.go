package sqlite

import (
	"context"
	"errors"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// Replace implements outboxstore.Store.
func (s *Store) Replace(ctx context.Context, replacements ...outboxstore.Replacement) ([]bool, error) {
	if err := outboxstore.CheckReplacements(ctx, replacements); err != nil {
		return nil, err
	}
	changed := make([]bool, len(replacements))
	if len(replacements) == 0 {
		return changed, nil
	}
	err := s.immediate(ctx, func(q querier) error {
		c, err := s.newCall(ctx, q)
		if err != nil {
			return err
		}
		defer c.close()
		for i, r := range replacements {
			if changed[i], err = c.replace(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// TryReplace implements outboxstore.Store. SQLite locks no rows, and its one write lock is waited for.
func (s *Store) TryReplace(ctx context.Context, replacements ...outboxstore.Replacement) ([]bool, error) {
	return s.Replace(ctx, replacements...)
}

// replace compares and swaps: the transaction holds the write lock, so what it reads stays.
func (c *call) replace(r outboxstore.Replacement) (bool, error) {
	if err := c.ctx.Err(); err != nil {
		return false, err
	}
	again, err := c.w.row(c.statement, c.q, c.shape, r.Row.ID)
	if errors.Is(err, outboxstore.ErrNoRow) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !r.Row.SameAs(again) {
		return false, nil
	}
	if err := c.update(r.Sealed); err != nil {
		return false, err
	}
	return true, c.updateSideTables(r.Sealed)
}

// update writes the payload and every index column: an index that the event has no more is set to NULL, for key_ids will
// not name its key.
func (c *call) update(s envelope.Sealed) error {
	w, indexes := s.Wire(), s.BlindIndexes()
	set, args := []string{"payload = ?"}, []any{string(w.Payload)}
	for _, index := range sortedNames(indexes) {
		if _, _, err := c.shape.place(index); err != nil {
			return err
		}
	}
	for _, index := range c.shape.single() {
		columnName, err := outboxstore.IndexColumn(index)
		if err != nil {
			return err
		}
		var value any
		if values := indexes[index]; len(values) > 0 {
			if value, err = singleValue(c.w.names.table, columnName, values); err != nil {
				return err
			}
		}
		set, args = append(set, `"`+columnName+`" = ?`), append(args, value)
	}
	_, err := c.exec("UPDATE "+quoted(c.w.names.table)+" SET "+strings.Join(set, ", ")+" WHERE id = ?", append(args, w.ID)...)
	return err
}

func (c *call) updateSideTables(s envelope.Sealed) error {
	id := s.Wire().ID
	if _, err := c.exec("DELETE FROM "+quoted(c.w.names.keyIDs())+" WHERE event_id = ?", id); err != nil {
		return err
	}
	for _, index := range c.shape.multi() {
		if _, err := c.exec("DELETE FROM "+quoted(c.w.names.multi(index))+" WHERE event_id = ?", id); err != nil {
			return err
		}
	}
	if err := c.insertKeyIDs(id, s.KeyIDs()); err != nil {
		return err
	}
	return c.insertMulti(id, s.BlindIndexes())
}
