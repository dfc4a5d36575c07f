package eventline

import (
	"io"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Form is one of the two forms of an event line.
type Form int

const (
	// Plaintext lines hold a payload as a producer wrote it.
	Plaintext Form = iota
	// Sealed lines hold a payload in wire form, key_ids, and perhaps blind_indexes.
	Sealed
)

// Line is one event line that was read.
type Line struct {
	Position

	ID               string // "" where a plaintext line has none
	Type             string
	Version          int
	AggregateType    string
	AggregateID      string
	AggregateVersion *int64
	OccurredAt       time.Time // the reader's clock where the line has none
	Headers          map[string]string
	// Payload is the line's own bytes, not copied by anyone but the Reader: valid after the next call of Next too.
	Payload []byte

	// KeyIDs and BlindIndexes are a sealed line's alone. BlindIndexes holds stored forms by name, and is nil where the line has none.
	KeyIDs       []string
	BlindIndexes map[string][][]byte

	payloadColumn int
}

// Event is the line as an event to seal.
func (l *Line) Event() envelope.Event { panic("contract") }

// Wire is the line as an event in wire form, for envelope.Parse.
func (l *Line) Wire() envelope.Wire { panic("contract") }

// Refuse turns what envelope or schema said about this line into errors with positions: one for each violation of a schema, else one.
// Errors that are not about the line (a keyring away, a context ended) get the line's position as well.
func (l *Line) Refuse(err error) []*Error { panic("contract") }

// Position is where in a file something stands; Line and Column count from 1, Column in bytes.
type Position struct {
	File   string
	Line   int
	Column int
}

// Error refuses one line: FILE:LINE:COL: location: what. It never holds a value. A Reader goes on after it.
type Error struct {
	Position
	// Location is a masked JSON pointer in the payload, "payload" for the payload itself, or a member of the line such as "aggregate_id".
	Location string
	What     string
	// Next says what to do, for a hint line.
	Next string
	// Err is the error that was turned into this one, if any.
	Err error
}

func (e *Error) Error() string { panic("contract") }
func (e *Error) Hint() string  { return e.Next }
func (e *Error) Unwrap() error { return e.Err }

// ReaderOptions of a Reader.
type ReaderOptions struct {
	// Name is the file's name in positions. Defaults to "-".
	Name string
	// Limits: a line may be as long as the payload's limit in its form plus 64 KiB. Defaults to envelope's.
	Limits envelope.Limits
	// Now dates events without occurred_at. Defaults to time.Now.
	Now func() time.Time
}

// Reader reads event lines of one form.
type Reader struct{}

// NewReader reads lines from r.
func NewReader(r io.Reader, form Form, opts ReaderOptions) *Reader { panic("contract") }

// Next reads the next line; blank ones are skipped. io.EOF is the end; an *Error refuses one line, and the next call goes on with the next;
// any other error is r's own, and final.
func (r *Reader) Next() (*Line, error) { panic("contract") }

// AppendPlaintext writes an event as a plaintext line, with its line feed.
func AppendPlaintext(dst []byte, e envelope.Event) ([]byte, error) { panic("contract") }

// AppendSealed writes an event in wire form as a sealed line, with its line feed. Nil indexes: the line has no blind_indexes.
func AppendSealed(dst []byte, w envelope.Wire, keyIDs []string, indexes map[string][][]byte) ([]byte, error) {
	panic("contract")
}
