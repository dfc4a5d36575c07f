package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

const doingReplace = "replace rows of the outbox"

// Replace implements outboxstore.Store.
func (s *Store) Replace(ctx context.Context, replacements ...outboxstore.Replacement) (changed []bool, err error) {
	return s.replaceAll(ctx, replacements, "")
}

// TryReplace implements outboxstore.Store. Where rows have versions it is one statement, and a row of another version than was
// read is not changed, even if it is only a relay that has marked it since.
func (s *Store) TryReplace(ctx context.Context, replacements ...outboxstore.Replacement) (changed []bool, err error) {
	versioned := len(replacements) > 0
	for _, r := range replacements {
		versioned = versioned && r.Row != nil && r.Row.Version() != ""
	}
	if !versioned {
		return s.replaceAll(ctx, replacements, " SKIP LOCKED")
	}
	if err := outboxstore.CheckReplacements(ctx, replacements); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // as with a commit, its outcome must be known
	q := s.direct()
	// As it is remembered: a column that is new, or gone, is an error of this statement, after which the shape is read again.
	err = s.withShape(ctx, q, func(shape *shape) error {
		c := &call{ctx: ctx, q: q, w: s.Writer, shape: shape}
		changed, err = c.tryReplace(replacements)
		return err
	})
	return changed, err
}

// tryReplace locks the rows that nobody else holds, by key order, and changes those that have the version that was read. What others have changed
// since the statement began is locked as what it has become, which has another version; a row that is locked stays in its place. The place is one of a
// single table, and its id is asked for beside it: a table that inherits from this one has rows in the same places.
func (c *call) tryReplace(replacements []outboxstore.Replacement) (changed []bool, err error) {
	sealed := make([]envelope.Sealed, len(replacements))
	at := make(map[string]int, len(replacements))
	var values []*string
	for i, r := range replacements {
		if _, twice := at[r.Row.ID]; twice {
			return nil, &outboxstore.EventError{Position: i, EventID: r.Row.ID, Err: errors.New("the row is replaced twice in one call")}
		}
		version := r.Row.Version()
		sealed[i], at[r.Row.ID], values = r.Sealed, i, append(values, &version)
	}
	u, err := c.updateOf(sealed)
	if err != nil {
		return nil, err
	}
	r, err := c.q.query(c.ctx, "WITH free AS MATERIALIZED (SELECT e.id, e.ctid AS place, e.xmin::text AS version FROM "+c.w.names.quoted()+
		" e WHERE e.id = ANY($1::text[]::uuid[]) ORDER BY e.id FOR NO KEY UPDATE OF e SKIP LOCKED) UPDATE "+c.w.names.quoted()+" e SET "+u.set+
		" FROM "+u.layout.unnest("u", "version")+" JOIN free ON free.id = "+u.layout.unnested("u", 0)+" AND free.version = u.version WHERE e.ctid = free.place AND e.id = free.id RETURNING e.id::text",
		append(u.args, c.q.texts(values))...)
	if err != nil {
		return nil, fault(doingReplace, err)
	}
	defer func() { err = fault(doingReplace, errors.Join(err, r.Close())) }()
	changed = make([]bool, len(replacements))
	for r.Next() {
		var id string
		if err := r.Scan(&id); err != nil {
			return nil, err
		}
		changed[at[id]] = true
	}
	return changed, r.Err()
}

func (s *Store) replaceAll(ctx context.Context, replacements []outboxstore.Replacement, whenLocked string) (changed []bool, err error) {
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
		changed, err = c.replace(replacements, whenLocked)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// replace compares and swaps: it locks the rows, by key order so that two of them do not wait for each other, and what it
// then reads stays until it commits. A row of the version that was read is what was read; only another is read in full and
// compared, since what a relay changes (attempts, lease, published_at) gives a row another version, and does not count.
func (c *call) replace(replacements []outboxstore.Replacement, whenLocked string) ([]bool, error) {
	versions, err := c.lock(replacements, whenLocked)
	if err != nil {
		return nil, err
	}
	var others []outboxstore.Replacement
	for _, r := range replacements {
		if version, locked := versions[r.Row.ID]; locked && (version == "" || version != r.Row.Version()) {
			others = append(others, r)
		}
	}
	stored, err := c.read(others)
	if err != nil {
		return nil, err
	}
	changed := make([]bool, len(replacements))
	sealed := make([]envelope.Sealed, 0, len(replacements))
	for i, r := range replacements {
		version, locked := versions[r.Row.ID]
		if !locked {
			continue
		}
		if version == "" || version != r.Row.Version() {
			if row := stored[r.Row.ID]; row == nil || !r.Row.SameAs(row) {
				continue
			}
		}
		delete(versions, r.Row.ID) // a second replacement of the row is of what it was
		sealed = append(sealed, r.Sealed)
		changed[i] = true
	}
	if len(sealed) == 0 {
		return changed, nil
	}
	return changed, c.update(sealed)
}

// lock keeps others from changing the rows, and gives the versions of those that are there; "" where rows have none. The lock
// lets foreign keys refer to them meanwhile.
func (c *call) lock(replacements []outboxstore.Replacement, whenLocked string) (versions map[string]string, err error) {
	version := "''"
	if c.shape.versioned {
		version = "e.xmin::text"
	}
	r, err := c.q.query(c.ctx, "SELECT e.id::text, "+version+" FROM "+c.w.names.quoted()+" e WHERE e.id = ANY($1::text[]::uuid[]) ORDER BY e.id FOR NO KEY UPDATE OF e"+whenLocked,
		c.q.texts(replacedIDs(replacements)))
	if err != nil {
		return nil, fault(doingReplace, err)
	}
	defer func() { err = fault(doingReplace, errors.Join(err, r.Close())) }()
	versions = make(map[string]string, len(replacements))
	for r.Next() {
		var id, version string
		if err := r.Scan(&id, &version); err != nil {
			return nil, err
		}
		versions[id] = version
	}
	return versions, r.Err()
}

// read reads rows that are locked.
func (c *call) read(replacements []outboxstore.Replacement) (map[string]*outboxstore.Row, error) {
	if len(replacements) == 0 {
		return nil, nil
	}
	query := newRowQuery(c.shape)
	found, err := query.all(c.ctx, c.q, c.w, "WHERE e.id = ANY($2::text[]::uuid[])", c.q.texts(replacedIDs(replacements)))
	if err != nil {
		return nil, err
	}
	stored := make(map[string]*outboxstore.Row, len(found))
	for _, row := range found {
		stored[row.ID] = row
	}
	return stored, nil
}

func replacedIDs(replacements []outboxstore.Replacement) []*string {
	ids := make([]string, len(replacements))
	for i, r := range replacements {
		ids[i] = r.Row.ID
	}
	slices.Sort(ids)
	return pointers(slices.Compact(ids))
}

// update writes the payload, the key ids and every index column.
func (c *call) update(sealed []envelope.Sealed) error {
	u, err := c.updateOf(sealed)
	if err != nil {
		return err
	}
	n, err := c.q.exec(c.ctx, "UPDATE "+c.w.names.quoted()+" e SET "+u.set+" FROM "+u.layout.unnest("u")+" WHERE e.id = "+u.layout.unnested("u", 0), u.args...)
	if err != nil {
		return fault(doingReplace, err)
	}
	if int(n) != len(sealed) {
		return fmt.Errorf("%s: a trigger of table %q keeps %d of %d rows from being changed", doingReplace, c.w.names.shown(), len(sealed)-int(n), len(sealed))
	}
	return nil
}

// updating is what an UPDATE of several rows is made of.
type updating struct {
	layout layout
	set    string
	args   []any // the first are the ids
}

func (c *call) updateOf(sealed []envelope.Sealed) (u updating, err error) {
	single, multi := c.shape.indexes()
	indexes := make([]map[string][][]byte, len(sealed))
	for i, e := range sealed {
		indexes[i] = e.BlindIndexes()
		for index, values := range indexes[i] {
			if len(values) == 0 {
				continue
			}
			if _, _, err := c.shape.place(index); err != nil {
				return u, err
			}
		}
	}
	l, err := newLayout(c.shape, replaceCells, append(single, multi...))
	if err != nil {
		return u, err
	}
	values := make([][]*string, len(sealed))
	for i, e := range sealed {
		if values[i], err = l.replaceRow(c.shape, e, indexes[i]); err != nil {
			return u, err
		}
	}
	set := make([]string, 0, len(l.cells)-1)
	for i := 1; i < len(l.cells); i++ {
		set = append(set, `"`+l.cells[i].column+`" = `+l.unnested("u", i))
	}
	return updating{l, strings.Join(set, ", "), transpose(c.q, len(l.cells), values)}, nil
}
