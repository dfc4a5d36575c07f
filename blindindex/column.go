package blindindex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

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
// A short index also gives rows that hold another value, so compare after opening. A row that was written before an index's
// normaliser or length was changed is found as long as the former index is among [ColumnOptions.Previous]; rebuild such rows
// by computing Value anew, then take it out.
type Column struct {
	ring     *keyring.Keyring
	index    *Index
	previous []*Index
	column   string
	multi    bool
}

// ColumnOptions say what a Column is.
type ColumnOptions struct {
	// Column is the column's name. Defaults to bidx_ and the index's name.
	Column string
	// Multi makes an array column: a row may hold several values. Postgres alone has arrays. Defaults to one value.
	Multi bool
	// Previous are indexes of the same name with other normalisers or lengths, of which rows may hold values until they are
	// rebuilt. They are searched and never written. Defaults to none.
	Previous []*Index
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
	}
	for _, former := range opts.Previous {
		switch {
		case former == nil:
			return nil, &ColumnError{Index: index.name, Reason: "a previous index is nil"}
		case former.name != index.name:
			return nil, &ColumnError{Index: index.name, Reason: "a previous index has another name: " + former.name}
		case bytes.Equal(former.info, index.info):
			return nil, &ColumnError{Index: index.name, Reason: "a previous index is the index itself"}
		}
	}
	c := &Column{ring: ring, index: index, previous: opts.Previous, column: opts.Column, multi: opts.Multi}
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

// Value computes what a row's column holds, under the primary index key. The result is one argument of a statement: nil for
// NULL, a [Stored], or with Multi a [StoredArray].
//
// Errors: *[GoTypeError], those of [Index.Messages], the keyring's.
func (c *Column) Value(value any) (any, error) {
	messages, err := c.index.goMessages(value, c.multi)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	key, err := c.ring.Primary(keyring.Index)
	if err != nil {
		return nil, fmt.Errorf("blind index %q: %w", c.index.name, err)
	}
	values, err := c.index.Values(key, messages)
	if err != nil {
		return nil, err
	}
	if c.multi {
		return StoredArray(values), nil
	}
	return Stored(values[0]), nil
}

// Candidates computes everything that a row which holds the value may hold in its column: one for each usable index key and
// each previous index. It is empty where the value has no index; then no row is found.
//
// Errors: as [Column.Value].
func (c *Column) Candidates(value any) (StoredArray, error) {
	var all StoredArray
	keys := c.ring.Usable(keyring.Index)
	for _, index := range append([]*Index{c.index}, c.previous...) {
		messages, err := index.goMessages(value, c.multi)
		if err != nil {
			return nil, err
		}
		candidates, err := index.Candidates(keys, messages)
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
	if len(keys) <= 1 && len(c.previous) == 0 {
		return nil
	}
	e := &NotUniqueError{Index: c.index.name, Column: c.column, Previous: len(c.previous)}
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

// goMessages gives the messages of a Go value.
func (ix *Index) goMessages(value any, multi bool) ([][]byte, error) {
	switch v := value.(type) {
	case []string:
		return ix.goItems(len(v), multi, func(i int) any { return v[i] })
	case []int64:
		return ix.goItems(len(v), multi, func(i int) any { return v[i] })
	case json.RawMessage:
		messages, err := ix.Messages(v)
		if err == nil && len(messages) > 1 && !multi {
			err = &GoTypeError{Index: ix.name, Got: "an array"}
		}
		return messages, err
	}
	message, err := ix.goMessage(value)
	if err != nil || message == nil {
		return nil, err
	}
	return [][]byte{message}, nil
}

// goItems lets [Index.Values] sort the hashes: the order of the messages says nothing here.
func (ix *Index) goItems(n int, multi bool, item func(int) any) ([][]byte, error) {
	if !multi {
		return nil, &GoTypeError{Index: ix.name, Got: "a slice"}
	}
	var messages [][]byte
	for i := range n {
		message, err := ix.goMessage(item(i))
		if err != nil {
			return nil, err
		}
		if message != nil {
			messages = append(messages, message)
		}
	}
	return messages, nil
}

func (ix *Index) goMessage(value any) ([]byte, error) {
	integer := func(digits string) []byte { return append([]byte{integerMessage}, digits...) }
	switch v := value.(type) {
	case nil:
		return nil, nil
	case *string:
		if v == nil {
			return nil, nil
		}
		return ix.goMessage(*v)
	case *int64:
		if v == nil {
			return nil, nil
		}
		return ix.goMessage(*v)
	case string:
		if !isUTF8(v) {
			return nil, &GoTypeError{Index: ix.name, Got: "a string that is not UTF-8"}
		}
		return ix.stringMessage(v), nil
	case int:
		return integer(strconv.Itoa(v)), nil
	case int32:
		return integer(strconv.FormatInt(int64(v), 10)), nil
	case int64:
		return integer(strconv.FormatInt(v, 10)), nil
	case uint32:
		return integer(strconv.FormatUint(uint64(v), 10)), nil
	case uint64:
		return integer(strconv.FormatUint(v, 10)), nil
	}
	return nil, &GoTypeError{Index: ix.name, Got: fmt.Sprintf("a %T", value)}
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
