package eventline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Position is where in a file something stands; Line and Column count from 1, Column in bytes.
type Position struct {
	File   string
	Line   int
	Column int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Error refuses one line: FILE:LINE:COL: location: what. It never holds a value. A Reader goes on after it.
type Error struct {
	Position
	// Location is a masked JSON pointer in the payload, "payload" for the payload itself, or a member of the line such as "aggregate_id".
	// "" is the line as a whole.
	Location string
	// What is wrong.
	What string
	// Next says what to do, for a hint line.
	Next string
	// Err is the error that was turned into this one, if any.
	Err error
}

func (e *Error) Error() string {
	if e.Location == "" {
		return e.Position.String() + ": " + e.What
	}
	return e.Position.String() + ": " + e.Location + ": " + e.What
}

// Hint says what to do next; "" if there is nothing to add.
func (e *Error) Hint() string { return e.Next }

func (e *Error) Unwrap() error { return e.Err }

// Refuse turns what envelope or schema said about this line into errors with positions: one for each violation of a schema, else one.
// An error that is not about a place in the line gets the line's own position.
func (l *Line) Refuse(err error) []*Error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return []*Error{own}
	}
	var invalid *schema.ValidationError
	if errors.As(err, &invalid) && len(invalid.Violations) > 0 {
		return l.violations(invalid)
	}
	e := &Error{Position: l.Position, What: envelope.WhatOf(err), Next: envelope.HintOf(err), Err: err}
	var field *envelope.EventError
	var unknown *schema.UnknownEventError
	place, placed := envelope.PlaceOf(err)
	switch {
	case placed:
		e.Location, e.Column = payloadLocation(place.Location), l.payloadColumn+place.Offset
	case errors.As(err, &field):
		e.Location, e.What = field.Field, strings.TrimPrefix(err.Error(), field.Field+": ")
		e.Column = l.columnOf(field.Field)
	case errors.As(err, &unknown):
		e.Location, e.Column = "type", l.columnOf("type")
		if len(unknown.Versions) > 0 {
			e.Location, e.Column = "version", l.columnOf("version")
		}
	}
	return []*Error{e}
}

func (l *Line) violations(invalid *schema.ValidationError) []*Error {
	list := make([]*Error, 0, len(invalid.Violations))
	for i := range invalid.Violations {
		v := &invalid.Violations[i]
		e := &Error{Position: l.Position, Location: payloadLocation(v.Location), What: v.Message, Next: "the rule stands in " + v.Schema, Err: invalid}
		e.Column = l.payloadColumn + max(0, v.Offset(l.Payload))
		list = append(list, e)
	}
	return list
}

func payloadLocation(pointer string) string {
	if pointer == "" {
		return "payload"
	}
	return pointer
}
