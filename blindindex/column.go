package blindindex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Column is a blind index in a table of the caller's own: what to put into its column, what to look for there, and the SQL
// around it. It computes in memory and asks no database. Safe for concurrent use.
//
//	column, err := blindindex.NewColumn(ring, index, blindindex.ColumnOptions{})
//	value, err := column.Value(taxID)              // INSERT INTO customers (…, bidx_tax_id) VALUES (…, $2)
//	where, args, err := column.Where(blindindex.Postgres, 1, taxID)
//	rows, err := db.Query(ctx, "SELECT … FROM customers WHERE "+where, args...)
//
// What it returns works as an argument of pgx and of database/sql. A Go string is indexed as a string, an integer as an
// integer, nil (and a nil pointer) is SQL NULL; a json.RawMessage is whatever JSON value stands in it.
//
// A short index also gives rows that hold another value, so compare after opening. A row that was written before the index's
// normaliser or length was changed is found as long as the index names the former version ([Index.WithPrevious]); rebuild
// such rows by computing Value anew, then take it out.
type Column struct {
	ring   *keyring.Keyring
	index  *Index
	column string
	multi  bool
}

// ColumnOptions say what a Column is.
type ColumnOptions struct {
	// Column is the column's name. Defaults to bidx_ and the index's name.
	Column string
	// Multi makes an array column: a row may hold several values. Postgres alone has arrays. Defaults to one value.
	Multi bool
}

// NewColumn makes a Column whose keys are the ring's index keys.
//
// Errors: *[ColumnError].
func NewColumn(ring *keyring.Keyring, index *Index, opts ColumnOptions) (*Column, error) {
	switch {
	case index == nil:
		return nil, &ColumnError{Reason: "no index was given; make one with blindindex.New"}
	case ring == nil:
		return nil, &ColumnError{Index: index.name, Reason: "no keyring was given"}
	case opts.Multi && index.Parts() > 0:
		return nil, &ColumnError{Index: index.name, Reason: "a compound index has no array of values"}
	}
	c := &Column{ring: ring, index: index, column: opts.Column, multi: opts.Multi}
	if c.column == "" {
		c.column = "bidx_" + index.name
	}
	if strings.ContainsRune(c.column, 0) {
		return nil, &ColumnError{Index: index.name, Reason: "the column's name holds a zero byte"}
	}
	return c, nil
}

// Name is the column's name, without quotes.
func (c *Column) Name() string { return c.column }

// Value computes what a row's column holds, under the primary index key; of a compound index from one value for each part,
// in order. The result is one argument of a statement: nil for NULL, a [Stored], or with Multi a [StoredArray].
//
// Errors: *[GoTypeError], *[PartsError], those of [Index.Messages], the keyring's.
func (c *Column) Value(values ...any) (any, error) {
	messages, err := c.goMessages(c.index, values)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	key, err := c.ring.Primary(keyring.Index)
	if err != nil {
		return nil, fmt.Errorf("blind index %q: %w", c.index.name, err)
	}
	stored, err := c.index.Values(key, messages)
	if err != nil {
		return nil, err
	}
	if c.multi {
		return StoredArray(stored), nil
	}
	return Stored(stored[0]), nil
}

// Candidates computes everything that a row which holds the value may hold in its column: one for each usable index key and
// each version of the index. It is empty where the value has no index; then no row is found.
//
// Errors: as [Column.Value].
func (c *Column) Candidates(values ...any) (StoredArray, error) {
	var all StoredArray
	keys := c.ring.Usable(keyring.Index)
	for _, version := range c.index.Versions() {
		messages, err := c.goMessages(version, values)
		if err != nil {
			return nil, err
		}
		candidates, err := version.Candidates(keys, messages)
		if err != nil {
			return nil, err
		}
		all = append(all, candidates...)
	}
	return all, nil
}

// IsCurrent says that a stored value is under the primary index key. One that is not is found all the same, until its key is
// disabled: compute Value anew. It cannot tell a previous index from the current one, which shows in no value.
func (c *Column) IsCurrent(stored []byte) (bool, error) {
	id, err := KeyID(stored)
	if err != nil {
		return false, err
	}
	key, err := c.ring.Primary(keyring.Index)
	if err != nil {
		return false, fmt.Errorf("blind index %q: %w", c.index.name, err)
	}
	return id == key.ID(), nil
}

// CheckUnique says whether a UNIQUE constraint on the column means what it says: that no two rows hold one value, once it is
// normalised. It does while all rows are under one key and of one index. Ask it in each transaction that relies on the
// constraint.
//
// Errors: *[NotUniqueError] while a rotation or a rebuild goes on; *[ColumnError] for an index so short that values which
// differ would meet.
func (c *Column) CheckUnique() error {
	if err := c.canBeUnique(); err != nil {
		return err
	}
	keys := c.ring.Usable(keyring.Index)
	previous := len(c.index.Previous())
	if len(keys) <= 1 && previous == 0 {
		return nil
	}
	e := &NotUniqueError{Index: c.index.name, Column: c.column, Previous: previous}
	for _, key := range keys {
		e.KeyIDs = append(e.KeyIDs, key.ID())
	}
	return e
}

// minUniqueBits keeps two of 2^40 values from meeting, but for one chance in 2^49.
const minUniqueBits = 128

func (c *Column) canBeUnique() error {
	switch {
	case c.multi:
		return &ColumnError{Index: c.index.name, Reason: "an array is not unique by its items"}
	case c.index.bits < minUniqueBits:
		return &ColumnError{Index: c.index.name, Reason: fmt.Sprintf("values that differ meet at %d bits; a unique one needs %d", c.index.bits, minUniqueBits)}
	}
	return nil
}

// goMessages gives the messages of Go values, one for each part of a compound index.
func (c *Column) goMessages(ix *Index, values []any) ([][]byte, error) {
	if want := max(1, ix.Parts()); len(values) != want {
		return nil, &PartsError{Index: ix.name, Want: ix.Parts(), Got: len(values)}
	}
	if ix.Parts() == 0 {
		text, err := c.goText(values[0])
		if err != nil {
			return nil, err
		}
		messages, err := ix.Messages(text)
		if err == nil && !c.multi && bytes.HasPrefix(text, []byte("[")) {
			err = &GoTypeError{Index: ix.name, Got: "an array"}
		}
		return messages, err
	}
	parts := make([][]byte, len(values))
	for i, value := range values {
		text, err := c.goText(value)
		if err != nil {
			return nil, err
		}
		if parts[i], err = ix.PartMessage(i, text); err != nil {
			return nil, err
		}
	}
	message, err := ix.Join(parts)
	if err != nil || message == nil {
		return nil, err
	}
	return [][]byte{message}, nil
}

// goText is a Go value as JSON, for which the rules of messages are written.
func (c *Column) goText(value any) ([]byte, error) {
	switch v := value.(type) {
	case json.RawMessage:
		return trimSpace(v), nil
	case nil:
		return []byte("null"), nil
	case *string:
		if v == nil {
			return []byte("null"), nil
		}
		return c.goText(*v)
	case *int64:
		if v == nil {
			return []byte("null"), nil
		}
		return strconv.AppendInt(nil, *v, 10), nil
	case string:
		text, err := jsontext.AppendQuote(nil, v)
		if err != nil {
			return nil, &GoTypeError{Index: c.index.name, Got: "a string that is not UTF-8"}
		}
		return text, nil
	case int:
		return strconv.AppendInt(nil, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(nil, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(nil, v, 10), nil
	case uint32:
		return strconv.AppendUint(nil, uint64(v), 10), nil
	case uint64:
		return strconv.AppendUint(nil, v, 10), nil
	case []string:
		return c.goArray(len(v), func(i int) any { return v[i] })
	case []int64:
		return c.goArray(len(v), func(i int) any { return v[i] })
	}
	return nil, &GoTypeError{Index: c.index.name, Got: fmt.Sprintf("a %T", value)}
}

func (c *Column) goArray(n int, item func(int) any) ([]byte, error) {
	text := []byte{'['}
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		one, err := c.goText(item(i))
		if err != nil {
			return nil, err
		}
		text = append(text, one...)
	}
	return append(text, ']'), nil
}

// ColumnError says that no Column can be made of what was given.
type ColumnError struct {
	Index  string // "" if there is none
	Reason string
}

func (e *ColumnError) Error() string {
	if e.Index == "" {
		return "blind index column: " + e.Reason
	}
	return fmt.Sprintf("column of blind index %q: %s", e.Index, e.Reason)
}

// GoTypeError says that a Go value of this type has no blind index here. It does not hold the value.
type GoTypeError struct {
	Index string
	Got   string
}

func (e *GoTypeError) Error() string {
	return fmt.Sprintf("blind index %q: %s cannot be indexed; give a string, an integer, nil, a json.RawMessage, or with Multi a []string or []int64", e.Index, e.Got)
}

// NotUniqueError says that rows may hold one value twice in spite of a UNIQUE constraint, since it has several forms at
// present: one for each key and each index.
type NotUniqueError struct {
	Index    string
	Column   string
	KeyIDs   []keyring.KeyID // the usable index keys
	Previous int             // the number of previous indexes
}

func (e *NotUniqueError) Error() string {
	ids := make([]string, len(e.KeyIDs))
	for i, id := range e.KeyIDs {
		ids[i] = id.String()
	}
	what := fmt.Sprintf("%d index keys are usable (%s)", len(ids), strings.Join(ids, ", "))
	if e.Previous > 0 {
		what += fmt.Sprintf(" and %d previous indexes are searched", e.Previous)
	}
	return fmt.Sprintf("a UNIQUE constraint on %s does not hold at present: %s, and a value has another form under each", e.Column, what)
}

// Hint says what to do next.
func (e *NotUniqueError) Hint() string {
	return "look for the value with Where before inserting, under a lock; bring all rows under the primary key and disable the others, then the constraint holds again"
}
