package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// Writer writes sealed events in transactions of the caller's. It holds no connection and is safe for concurrent use.
type Writer struct {
	names  names
	limits envelope.Limits
}

// NewWriter makes a Writer for any *sql.DB on SQLite. Only Table and Limits of the options count.
func NewWriter(opts Options) (*Writer, error) {
	if opts.Table == "" {
		opts.Table = outboxstore.DefaultTable
	}
	if err := outboxstore.CheckTable(opts.Table); err != nil {
		return nil, err
	}
	return &Writer{names: names{table: opts.Table}, limits: opts.Limits}, nil
}

// Write implements outboxstore.Writer; see the package's comment about transactions.
func (w *Writer) Write(ctx context.Context, tx *sql.Tx, sealed ...envelope.Sealed) ([]outboxstore.Result, error) {
	if tx == nil {
		return nil, errors.New("write needs the transaction of the business rows")
	}
	return w.write(ctx, tx, sealed)
}

func (w *Writer) write(ctx context.Context, q querier, sealed []envelope.Sealed) ([]outboxstore.Result, error) {
	if err := outboxstore.CheckSealed(sealed); err != nil {
		return nil, err
	}
	if len(sealed) == 0 {
		return nil, nil
	}
	results := make([]outboxstore.Result, 0, len(sealed))
	err := savepoint(ctx, q, func() error {
		c, err := w.newCall(ctx, q)
		if err != nil {
			return err
		}
		defer c.close()
		for i, s := range sealed {
			result, err := c.writeOne(s)
			if err != nil {
				return eventError(i, s, err)
			}
			results = append(results, result)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// eventError says which event an error is about, where it is about one.
func eventError(position int, s envelope.Sealed, err error) error {
	var missing *outboxstore.MissingError
	if errors.As(err, &missing) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var broken *databaseError
	if errors.As(err, &broken) {
		return err
	}
	return &outboxstore.EventError{Position: position, EventID: s.Wire().ID, Err: err}
}

// databaseError is a statement that failed: no event's fault.
type databaseError struct{ err error }

func (e *databaseError) Error() string { return "write the outbox: " + e.err.Error() }
func (e *databaseError) Unwrap() error { return e.err }

func asDatabaseError(err error) error {
	if isBusy(err) {
		err = &BusyError{Err: err}
	}
	return &databaseError{err}
}

// call is one call of Write: the shape it has seen and the statements it has prepared.
type call struct {
	ctx        context.Context // the caller's: looked at between statements
	statement  context.Context // never done, see the package's comment
	q          querier
	w          *Writer
	shape      *shape
	statements map[string]*sql.Stmt
}

func (w *Writer) newCall(ctx context.Context, q querier) (*call, error) {
	c := &call{ctx: ctx, statement: context.WithoutCancel(ctx), q: q, w: w, statements: map[string]*sql.Stmt{}}
	var err error
	if c.shape, err = readShape(c.statement, q, w.names); err != nil {
		return nil, err
	}
	if err := c.shape.require(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *call) close() {
	for _, s := range c.statements {
		_ = s.Close()
	}
}

// exec runs a statement, prepared once for a call.
func (c *call) exec(query string, args ...any) (changed int64, err error) {
	stmt, ok := c.statements[query]
	if !ok {
		if stmt, err = c.q.PrepareContext(c.statement, query); err != nil {
			return 0, asDatabaseError(err)
		}
		c.statements[query] = stmt
	}
	result, err := stmt.ExecContext(c.statement, args...)
	if err != nil {
		return 0, asDatabaseError(err)
	}
	if changed, err = result.RowsAffected(); err != nil {
		return 0, asDatabaseError(err)
	}
	return changed, nil
}

func (c *call) writeOne(s envelope.Sealed) (outboxstore.Result, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	inserted, err := c.insert(s)
	if err != nil {
		return 0, err
	}
	if !inserted {
		return c.collided(s)
	}
	id := s.Wire().ID
	if err := c.insertKeyIDs(id, s.KeyIDs()); err != nil {
		return 0, err
	}
	if err := c.insertMulti(id, s.BlindIndexes()); err != nil {
		return 0, err
	}
	return outboxstore.Inserted, nil
}

// insert adds the row unless its id or its aggregate's version is there.
func (c *call) insert(s envelope.Sealed) (bool, error) {
	w := s.Wire()
	occurredAt, err := outboxstore.FormatTime(w.OccurredAt)
	if err != nil {
		return false, err
	}
	headers, err := outboxstore.EncodeHeaders(w.Headers)
	if err != nil {
		return false, err
	}
	names := []string{"id", "aggregate_type", "aggregate_id", "aggregate_version", "event_type", "event_version", "payload", "headers", "occurred_at"}
	args := []any{w.ID, w.AggregateType, w.AggregateID, w.AggregateVersion, w.Type, w.Version, string(w.Payload), headers, occurredAt}
	indexes := s.BlindIndexes()
	for _, index := range sortedNames(indexes) {
		columnName, multi, err := c.shape.place(index)
		if err != nil {
			return false, err
		}
		if multi {
			continue
		}
		value, err := singleValue(c.w.names.table, columnName, indexes[index])
		if err != nil {
			return false, err
		}
		names = append(names, columnName)
		args = append(args, value)
	}
	query := `INSERT INTO ` + quoted(c.w.names.table) + ` ("` + strings.Join(names, `", "`) + `") VALUES (?` +
		strings.Repeat(", ?", len(names)-1) + `) ON CONFLICT DO NOTHING`
	changed, err := c.exec(query, args...)
	return changed == 1, err
}

// singleValue refuses several values for a column that holds one: the schemas say multi and the database does not yet.
func singleValue(table, columnName string, values [][]byte) ([]byte, error) {
	if len(values) != 1 {
		return nil, &outboxstore.ShapeError{Table: table, Column: columnName, Have: "a column for one value", Want: "a side table for several"}
	}
	return values[0], nil
}

func (c *call) insertKeyIDs(id string, keyIDs []string) error {
	for _, keyID := range keyIDs {
		if _, err := c.exec(`INSERT INTO `+quoted(c.w.names.keyIDs())+` (event_id, key_id) VALUES (?, ?)`, id, keyID); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) insertMulti(id string, indexes map[string][][]byte) error {
	for _, index := range sortedNames(indexes) {
		_, multi, err := c.shape.place(index)
		if err != nil {
			return err
		}
		if !multi {
			continue
		}
		for _, value := range indexes[index] {
			if _, err := c.exec(`INSERT INTO `+quoted(c.w.names.multi(index))+` (event_id, value) VALUES (?, ?)`, id, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// collided says why an event was not inserted.
func (c *call) collided(s envelope.Sealed) (outboxstore.Result, error) {
	w := s.Wire()
	row, err := c.w.row(c.statement, c.q, c.shape, w.ID)
	if err == nil {
		return outboxstore.CompareStored(c.ctx, s, row)
	}
	if !errors.Is(err, outboxstore.ErrNoRow) {
		return 0, asDatabaseError(err)
	}
	var storedID string
	err = c.q.QueryRowContext(c.statement, `SELECT id FROM `+quoted(c.w.names.table)+
		` WHERE aggregate_type = ? AND aggregate_id = ? AND aggregate_version = ?`,
		w.AggregateType, w.AggregateID, w.AggregateVersion).Scan(&storedID)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("not inserted, by a constraint or trigger of table %q that is not fieldcrypt's", c.w.names.table)
	}
	if err != nil {
		return 0, asDatabaseError(err)
	}
	return 0, &outboxstore.ConflictError{
		Conflict:         outboxstore.ConflictAggregateVersion,
		EventID:          w.ID,
		StoredID:         storedID,
		AggregateType:    w.AggregateType,
		AggregateVersion: w.AggregateVersion,
	}
}

// WriteBatch implements outboxstore.Store.
func (s *Store) WriteBatch(ctx context.Context, sealed ...envelope.Sealed) (results []outboxstore.Result, err error) {
	err = s.immediate(ctx, func(q querier) error {
		results, err = s.write(ctx, q, sealed)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// WriteEach implements outboxstore.Store: a savepoint for each event.
func (s *Store) WriteEach(ctx context.Context, sealed ...envelope.Sealed) ([]outboxstore.Outcome, error) {
	outcomes := make([]outboxstore.Outcome, len(sealed))
	err := s.immediate(ctx, func(q querier) error {
		c, err := s.newCall(ctx, q)
		if err != nil {
			return err
		}
		defer c.close()
		for i, e := range sealed {
			if e.IsZero() {
				outcomes[i].Err = &outboxstore.EventError{Position: i, Err: outboxstore.ErrZeroSealed}
				continue
			}
			err := savepoint(ctx, q, func() (err error) {
				outcomes[i].Result, err = c.writeOne(e)
				return err
			})
			if err == nil {
				continue
			}
			var refused *outboxstore.EventError
			if err = eventError(i, e, err); !errors.As(err, &refused) {
				return err
			}
			outcomes[i] = outboxstore.Outcome{Err: err}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

func sortedNames(indexes map[string][][]byte) []string {
	names := make([]string, 0, len(indexes))
	for name, values := range indexes {
		if len(values) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
