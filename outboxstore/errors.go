package outboxstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// ErrZeroSealed refuses the zero value of envelope.Sealed, which no Sealer made.
var ErrZeroSealed = errors.New("zero envelope.Sealed: only what a Sealer or a Resealer returned can be written")

// ErrNoRow says that no row has the id asked for.
var ErrNoRow = errors.New("no such row in the outbox")

// EventError says which event of a call was refused. errors.As finds the reason in it.
type EventError struct {
	Position int    // in the call's arguments, from 0
	EventID  string // empty if the event has none
	Err      error
}

func (e *EventError) Error() string {
	if e.EventID == "" {
		return fmt.Sprintf("event %d of the call: %v", e.Position, e.Err)
	}
	return fmt.Sprintf("event %s: %v", e.EventID, e.Err)
}

func (e *EventError) Unwrap() error { return e.Err }

// Conflict is what an event collides with.
type Conflict string

const (
	// ConflictContent: the id is known, with other content.
	ConflictContent Conflict = "content"
	// ConflictAggregateVersion: another event has this aggregate's version.
	ConflictAggregateVersion Conflict = "aggregate version"
)

// ConflictError refuses an event that collides with a stored one. It names no value: an aggregate's id may be personal.
type ConflictError struct {
	Conflict Conflict
	EventID  string // the refused event
	StoredID string // the event that is stored
	// AggregateType and AggregateVersion are those of the refused event; the version is nil if it has none.
	AggregateType    string
	AggregateVersion *int64
}

func (e *ConflictError) Error() string {
	if e.Conflict == ConflictAggregateVersion && e.AggregateVersion != nil {
		return fmt.Sprintf("version %d of this %s aggregate is taken by event %s", *e.AggregateVersion, e.AggregateType, DisplayID(e.StoredID))
	}
	return "an event with this id and other content is stored already"
}

// Hint says what to do next.
func (e *ConflictError) Hint() string {
	if e.Conflict == ConflictAggregateVersion {
		return "another writer changed the aggregate first: read it again, and write with its next version"
	}
	return "events are immutable: give another event another id"
}

// MissingError says that the database lacks a table or a column that is needed.
type MissingError struct {
	Table  string
	Column string // empty: the whole table
}

func (e *MissingError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("the database has no table %q: run fieldcrypt migrate", e.Table)
	}
	return fmt.Sprintf("table %q has no column %q: run fieldcrypt migrate", e.Table, e.Column)
}

// ShapeError refuses a table, column or index that is there with another shape than fieldcrypt gives it.
type ShapeError struct {
	Table  string
	Column string // empty: the table itself
	Have   string
	Want   string
}

func (e *ShapeError) Error() string {
	what := fmt.Sprintf("table %q", e.Table)
	if e.Column != "" {
		what = fmt.Sprintf("column %q of table %q", e.Column, e.Table)
	}
	return fmt.Sprintf("%s is %s, but fieldcrypt needs %s", what, e.Have, e.Want)
}

// Hint says what to do next.
func (e *ShapeError) Hint() string {
	return "rename or restore it, or choose another table with ?table=NAME; fieldcrypt never drops or changes what is there"
}

// NewerError says that a later fieldcrypt has migrated this database.
type NewerError struct {
	Table        string
	Version      int // the database's
	KnownVersion int // the highest that this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("table %q is at migration %d, and this fieldcrypt knows %d", e.Table, e.Version, e.KnownVersion)
}

// Hint says what to do next.
func (e *NewerError) Hint() string { return "use a fieldcrypt as new as the one that migrated it" }

// RowError says what is wrong with one stored row. It names no value.
type RowError struct {
	ID  string // the row's key
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %s: %v", DisplayID(e.ID), e.Err) }
func (e *RowError) Unwrap() error { return e.Err }

// ColumnError says that a column of a stored row holds what no fieldcrypt wrote. It names no value.
type ColumnError struct {
	Column string
	Reason string
}

func (e *ColumnError) Error() string { return fmt.Sprintf("column %s: %s", e.Column, e.Reason) }

// ReplacementError refuses a Sealed as the replacement of a row whose event it is not: events are immutable, and only
// their ciphertexts may change.
type ReplacementError struct {
	RowID   string
	EventID string
}

func (e *ReplacementError) Error() string {
	return fmt.Sprintf("row %s can only be replaced by the same event, sealed anew: event %s is not", DisplayID(e.RowID), DisplayID(e.EventID))
}

// DisplayID is a row's id as it may be shown. What is no canonical UUID was not written by fieldcrypt and might be
// anything, a personal value too: it is masked.
func DisplayID(id string) string {
	u, err := uuid.Parse(id)
	if err != nil || u.String() != id {
		return maskedID
	}
	return id
}

// maskedID stands for an id that is not shown.
const maskedID = "*"

// joinNames writes names for an error text.
func joinNames(names []string) string { return strings.Join(names, ", ") }
