package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// Writer writes sealed events in transactions of the caller's. It holds no connection and is safe for concurrent use. It
// remembers the table's columns, and looks again when the database contradicts it.
type Writer struct {
	names  names
	limits envelope.Limits
	shape  atomic.Pointer[shape]
}

// NewWriter makes a Writer for any transaction on Postgres. Only Table and Limits of the options count.
func NewWriter(opts Options) (*Writer, error) {
	n, err := parseTable(opts.Table)
	if err != nil {
		return nil, err
	}
	return &Writer{names: n, limits: opts.Limits}, nil
}

var errNoTransaction = errors.New("write needs the transaction of the business rows")

// Write implements outboxstore.Writer; see the package's comment about transactions.
func (w *Writer) Write(ctx context.Context, tx pgx.Tx, sealed ...envelope.Sealed) ([]outboxstore.Result, error) {
	if tx == nil {
		return nil, errNoTransaction
	}
	return w.write(ctx, pgxQuerier{handle: tx}, sealed)
}

// WriteSQL is Write in a transaction of database/sql.
func (w *Writer) WriteSQL(ctx context.Context, tx *sql.Tx, sealed ...envelope.Sealed) ([]outboxstore.Result, error) {
	if tx == nil {
		return nil, errNoTransaction
	}
	return w.write(ctx, sqlQuerier{tx}, sealed)
}

// write writes all or nothing.
func (w *Writer) write(ctx context.Context, q querier, sealed []envelope.Sealed) ([]outboxstore.Result, error) {
	if err := outboxstore.CheckSealed(sealed); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil || len(sealed) == 0 {
		return nil, err
	}
	events := entries(sealed)
	var outcomes []outboxstore.Outcome
	err := w.withShape(ctx, q, func(s *shape) error {
		outcomes = make([]outboxstore.Outcome, len(sealed))
		c := &call{ctx: ctx, q: q, w: w, shape: s, outcomes: outcomes, all: true}
		err := savepoint(ctx, q, func() error { return c.insert(events) })
		if !isRefusal(err) || len(events) == 1 {
			return err
		}
		// The database refuses one of the rows and does not say which.
		return savepoint(ctx, q, func() error { return c.insertOneByOne(events) })
	})
	if err != nil {
		return nil, err
	}
	results := make([]outboxstore.Result, len(sealed))
	for i, o := range outcomes {
		results[i] = o.Result
	}
	return results, nil
}

// withShape runs f, which leaves nothing behind when it fails, with the table's shape as it is remembered, and again as it
// is, if the database contradicts what was remembered.
func (w *Writer) withShape(ctx context.Context, q querier, f func(*shape) error) error {
	if s := w.shape.Load(); s != nil {
		if err := f(s); !isStale(err) {
			return err
		}
	}
	s, err := w.readyShape(ctx, q)
	if err != nil {
		return err
	}
	w.shape.Store(s)
	return f(s)
}

// readyShape looks at the table as it is.
func (w *Writer) readyShape(ctx context.Context, q querier) (*shape, error) {
	s, err := readShape(ctx, q, w.names)
	if err != nil {
		return nil, err
	}
	return s, s.require()
}

// entry is one event of a call.
type entry struct {
	position int
	sealed   envelope.Sealed
	id       string
	row      []*string
}

func entries(sealed []envelope.Sealed) []*entry {
	events := make([]*entry, 0, len(sealed))
	for i, s := range sealed {
		if !s.IsZero() {
			events = append(events, &entry{position: i, sealed: s, id: s.Wire().ID})
		}
	}
	return events
}

// call is one call of Write: what it knows of the table, and what becomes of each event.
type call struct {
	ctx      context.Context
	q        querier
	w        *Writer
	shape    *shape
	outcomes []outboxstore.Outcome
	all      bool // all or nothing: the first refused event is the call's error
}

// maxInsertTries is for rows that others delete after they stood in the way.
const maxInsertTries = 3

// insert writes the events in their order, each unless its id or its aggregate's version is there, and judges those that
// were not inserted. Events of one id go into statements of their own: from what a statement gives back one could not tell
// which of them was inserted.
func (c *call) insert(events []*entry) error {
	for len(events) > 0 {
		n := distinct(events)
		if err := c.insertDistinct(events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// distinct is the number of events before the first whose id is there already.
func distinct(events []*entry) int {
	seen := make(map[string]bool, len(events))
	for i, e := range events {
		if seen[e.id] {
			return i
		}
		seen[e.id] = true
	}
	return len(events)
}

func (c *call) insertDistinct(events []*entry) error {
	l, err := c.layout(events)
	if err != nil {
		return err
	}
	left := make([]*entry, 0, len(events))
	for _, e := range events {
		if e.row, err = l.insertRow(c.shape, e.sealed); err == nil {
			left = append(left, e)
		} else if err = c.refuse(e, err); err != nil {
			return err
		}
	}
	for try := 1; len(left) > 0; try++ {
		skipped, err := c.insertRows(&l, left)
		if err != nil {
			return err
		}
		if left, err = c.judge(skipped); err != nil {
			return err
		}
		if try < maxInsertTries {
			continue
		}
		for _, e := range left {
			if err := c.refuse(e, fmt.Errorf("not inserted, by a trigger or constraint of table %q that is not fieldcrypt's", c.w.names.shown())); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// insertOneByOne finds the row that the database refuses. Where the others are to be kept, each has a savepoint.
func (c *call) insertOneByOne(events []*entry) error {
	for _, e := range events {
		insert := func() error { return c.insert([]*entry{e}) }
		var err error
		if c.all {
			err = insert()
		} else {
			err = savepoint(c.ctx, c.q, insert)
		}
		if isRefusal(err) {
			err = c.refuse(e, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuse notes that an event is not written, or ends the call. What is no event's fault ends it in any case.
func (c *call) refuse(e *entry, err error) error {
	err = eventError(e, err)
	var refused *outboxstore.EventError
	if c.all || !errors.As(err, &refused) {
		return err
	}
	c.outcomes[e.position] = outboxstore.Outcome{Err: err}
	return nil
}

// eventError says which event an error is about, where it is about one.
func eventError(e *entry, err error) error {
	var missing *outboxstore.MissingError
	if errors.As(err, &missing) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var broken *outboxstore.DatabaseError
	if errors.As(err, &broken) && broken.Fault != outboxstore.FaultRefused {
		return err
	}
	return &outboxstore.EventError{Position: e.position, EventID: e.id, Err: err}
}

// layout has a column for each index that one of the events has.
func (c *call) layout(events []*entry) (layout, error) {
	indexes := map[string]bool{}
	for _, e := range events {
		for name, values := range e.sealed.BlindIndexes() {
			if len(values) > 0 {
				indexes[name] = true
			}
		}
	}
	return newLayout(c.shape, insertCells, slices.Sorted(maps.Keys(indexes)))
}

const doingWrite = "write the outbox"

// insertRows gives the events that were not inserted. Postgres takes the rows of unnest in their order, so of two with one
// aggregate version the first is inserted.
func (c *call) insertRows(l *layout, events []*entry) (skipped []*entry, err error) {
	if len(events) == 1 {
		changed, err := c.q.exec(c.ctx, "INSERT INTO "+c.w.names.quoted()+" ("+l.names()+") VALUES "+l.values()+
			" ON CONFLICT DO NOTHING", scalars(events[0].row)...)
		if err != nil {
			return nil, fault(doingWrite, err)
		}
		if changed == 0 {
			return events, nil
		}
		c.outcomes[events[0].position].Result = outboxstore.Inserted
		return nil, nil
	}
	inserted, err := c.insertMany(l, events)
	if err != nil {
		return nil, fault(doingWrite, err)
	}
	for _, e := range events {
		if !inserted[e.id] {
			skipped = append(skipped, e)
			continue
		}
		c.outcomes[e.position].Result = outboxstore.Inserted
	}
	return skipped, nil
}

func (c *call) insertMany(l *layout, events []*entry) (inserted map[string]bool, err error) {
	selected := make([]string, len(l.cells))
	for i := range l.cells {
		selected[i] = l.unnested("u", i)
	}
	values := make([][]*string, len(events))
	for i, e := range events {
		values[i] = e.row
	}
	r, err := c.q.query(c.ctx, "INSERT INTO "+c.w.names.quoted()+" ("+l.names()+") SELECT "+strings.Join(selected, ", ")+" FROM "+l.unnest("u")+
		" ON CONFLICT DO NOTHING RETURNING id::text", transpose(c.q, len(l.cells), values)...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	inserted = make(map[string]bool, len(events))
	for r.Next() {
		var id string
		if err := r.Scan(&id); err != nil {
			return nil, err
		}
		inserted[id] = true
	}
	return inserted, r.Err()
}

// judge says why events were not inserted. It gives back those that nothing stands in the way of any more.
func (c *call) judge(skipped []*entry) (again []*entry, err error) {
	if len(skipped) == 0 {
		return nil, nil
	}
	stored, err := c.stored(skipped)
	if err != nil {
		return nil, err
	}
	for _, e := range skipped {
		var result outboxstore.Result
		row := stored[e.id]
		if row != nil {
			result, err = outboxstore.CompareStored(c.ctx, e.sealed, row)
		} else if err = c.takenVersion(e); errors.Is(err, errNoRow) {
			again = append(again, e)
			continue
		}
		if err != nil {
			if err = c.refuse(e, err); err != nil {
				return nil, err
			}
			continue
		}
		c.outcomes[e.position].Result = result
	}
	return again, nil
}

// stored reads the rows that have the events' ids.
func (c *call) stored(events []*entry) (map[string]*outboxstore.Row, error) {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.id
	}
	slices.Sort(ids)
	query := newRowQuery(c.shape)
	found, err := query.all(c.ctx, c.q, c.w, "WHERE e.id = ANY($2::text[]::uuid[])", c.q.texts(pointers(slices.Compact(ids))))
	if err != nil {
		return nil, err
	}
	stored := make(map[string]*outboxstore.Row, len(found))
	for _, row := range found {
		stored[row.ID] = row
	}
	return stored, nil
}

// takenVersion is the conflict with the event that has this aggregate's version, or errNoRow.
func (c *call) takenVersion(e *entry) error {
	w := e.sealed.Wire()
	if w.AggregateVersion == nil {
		return errNoRow
	}
	var storedID string
	err := queryOne(c.ctx, c.q, "SELECT id::text FROM "+c.w.names.quoted()+
		" WHERE aggregate_type = $1::text AND aggregate_id = $2::text AND aggregate_version = $3::text::bigint",
		[]any{w.AggregateType, w.AggregateID, fmt.Sprint(*w.AggregateVersion)}, &storedID)
	if errors.Is(err, errNoRow) {
		return errNoRow
	}
	if err != nil {
		return fault(doingWrite, err)
	}
	return &outboxstore.ConflictError{
		Conflict:         outboxstore.ConflictAggregateVersion,
		EventID:          e.id,
		StoredID:         storedID,
		AggregateType:    w.AggregateType,
		AggregateVersion: w.AggregateVersion,
	}
}

// WriteBatch implements outboxstore.Store.
func (s *Store) WriteBatch(ctx context.Context, sealed ...envelope.Sealed) (results []outboxstore.Result, err error) {
	err = s.transact(ctx, func(q querier) error {
		results, err = s.write(ctx, q, sealed)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// WriteEach implements outboxstore.Store: what stands in the way of an event is met with ON CONFLICT, and only where the
// database itself refuses a row does each event get a savepoint.
func (s *Store) WriteEach(ctx context.Context, sealed ...envelope.Sealed) (outcomes []outboxstore.Outcome, err error) {
	err = s.transact(ctx, func(q querier) error {
		return s.withShape(ctx, q, func(shape *shape) error {
			outcomes = make([]outboxstore.Outcome, len(sealed))
			for i, e := range sealed {
				if e.IsZero() {
					outcomes[i].Err = &outboxstore.EventError{Position: i, Err: outboxstore.ErrZeroSealed}
				}
			}
			c := &call{ctx: ctx, q: q, w: s.Writer, shape: shape, outcomes: outcomes}
			events := entries(sealed)
			err := savepoint(ctx, q, func() error { return c.insert(events) })
			if !isRefusal(err) {
				return err
			}
			return savepoint(ctx, q, func() error { return c.insertOneByOne(events) })
		})
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}
