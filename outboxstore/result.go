package outboxstore

import "fmt"

// Result says what became of one written event.
type Result uint8

const (
	// Inserted: the event is a new row.
	Inserted Result = iota + 1
	// Duplicate: the same event was there already, and nothing was changed.
	Duplicate
)

func (r Result) String() string {
	switch r {
	case Inserted:
		return "inserted"
	case Duplicate:
		return "duplicate"
	default:
		return fmt.Sprintf("result(%d)", uint8(r))
	}
}

// Outcome is what became of one event of a call that leaves out what is refused: a Result, or the reason.
type Outcome struct {
	Result Result // zero if Err is not nil
	Err    error  // an *EventError
}
