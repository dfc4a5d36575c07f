package postgres

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// cell is one column of the rows to be written, and the type that its text is cast to.
type cell struct{ column, typ string }

// layout is the columns of one statement. Blind indexes are sorted by name, so that few texts of statements arise.
type layout struct {
	fixed   []cell
	indexes []string
	cells   []cell // fixed, then those of the indexes
}

// insertCells are an event's own columns; insertRow gives their values.
var insertCells = []cell{
	{"id", "uuid"}, {"aggregate_type", "text"}, {"aggregate_id", "text"}, {"aggregate_version", "bigint"}, {"event_type", "text"},
	{"event_version", "integer"}, {"payload", "json"}, {"headers", "json"}, {"occurred_at", "timestamptz"}, {"key_ids", "text[]"},
}

// replaceCells are the columns that a replacement changes, and the key; replaceRow gives their values.
var replaceCells = []cell{{"id", "uuid"}, {"payload", "json"}, {"key_ids", "text[]"}}

// newLayout adds the indexes' columns.
func newLayout(s *shape, fixed []cell, indexes []string) (layout, error) {
	l := layout{fixed: fixed, indexes: indexes, cells: slices.Clone(fixed)}
	for _, index := range indexes {
		columnName, multi, err := s.place(index)
		if err != nil {
			return layout{}, err
		}
		typ := singleType
		if multi {
			typ = multiType
		}
		l.cells = append(l.cells, cell{columnName, typ})
	}
	return l, nil
}

// insertRow are the values of one event; nil is NULL.
func (l *layout) insertRow(s *shape, e envelope.Sealed) ([]*string, error) {
	w := e.Wire()
	occurredAt, err := outboxstore.FormatTime(w.OccurredAt)
	if err != nil {
		return nil, err
	}
	headers, err := outboxstore.EncodeHeaders(w.Headers)
	if err != nil {
		return nil, err
	}
	eventVersion, payload, keyIDs := strconv.Itoa(w.Version), string(w.Payload), textArray(pointers(e.KeyIDs()))
	var version *string
	if w.AggregateVersion != nil {
		text := strconv.FormatInt(*w.AggregateVersion, 10)
		version = &text
	}
	row := []*string{&w.ID, &w.AggregateType, &w.AggregateID, version, &w.Type, &eventVersion, &payload, &headers, &occurredAt, &keyIDs}
	return l.indexValues(s, row, e.BlindIndexes())
}

// replaceRow are the values of one replacement. An index that the event has no more is set to NULL, for key_ids will not
// name its key.
func (l *layout) replaceRow(s *shape, e envelope.Sealed, indexes map[string][][]byte) ([]*string, error) {
	w := e.Wire()
	payload, keyIDs := string(w.Payload), textArray(pointers(e.KeyIDs()))
	return l.indexValues(s, append(make([]*string, 0, len(l.cells)), &w.ID, &payload, &keyIDs), indexes)
}

func (l *layout) indexValues(s *shape, row []*string, indexes map[string][][]byte) ([]*string, error) {
	for i, index := range l.indexes {
		values, c := indexes[index], l.cells[len(l.fixed)+i]
		var text string
		switch {
		case len(values) == 0:
			row = append(row, nil)
			continue
		case c.typ == multiType:
			text = textArray(byteas(values))
		case len(values) > 1:
			return nil, s.wrong(c.column, "a column for one value", multiType+" for several")
		default:
			text = byteaText(values[0])
		}
		row = append(row, &text)
	}
	return row, nil
}

// names lists the columns for SQL.
func (l *layout) names() string {
	quoted := make([]string, len(l.cells))
	for i, c := range l.cells {
		quoted[i] = `"` + c.column + `"`
	}
	return strings.Join(quoted, ", ")
}

// values is a row of parameters. The casts keep drivers from guessing.
func (l *layout) values() string {
	params := make([]string, len(l.cells))
	for i, c := range l.cells {
		params[i] = "$" + strconv.Itoa(i+1) + "::text::" + c.typ
	}
	return "(" + strings.Join(params, ", ") + ")"
}

// unnest is any number of rows from one list for each column, and for each of the more that are no columns of the table, in the lists' order:
// its text does not depend on their number.
func (l *layout) unnest(alias string, more ...string) string {
	n := len(l.cells) + len(more)
	params, columns := make([]string, n), make([]string, n)
	for i := range n {
		params[i] = "$" + strconv.Itoa(i+1) + "::text[]"
		columns[i] = "c" + strconv.Itoa(i+1)
		if i >= len(l.cells) {
			columns[i] = more[i-len(l.cells)]
		}
	}
	return "unnest(" + strings.Join(params, ", ") + ") AS " + alias + "(" + strings.Join(columns, ", ") + ")"
}

// unnested is the i-th column of unnest.
func (l *layout) unnested(alias string, i int) string {
	return alias + ".c" + strconv.Itoa(i+1) + "::" + l.cells[i].typ
}

// transpose makes one list of each column.
func transpose(q querier, width int, rows [][]*string) []any {
	args := make([]any, width)
	for i := range args {
		list := make([]*string, len(rows))
		for j, row := range rows {
			list[j] = row[i]
		}
		args[i] = q.texts(list)
	}
	return args
}

// scalars are the arguments of one row.
func scalars(row []*string) []any {
	args := make([]any, len(row))
	for i, value := range row {
		if value != nil {
			args[i] = *value
		}
	}
	return args
}
