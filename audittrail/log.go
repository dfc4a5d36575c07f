package audittrail

import (
	"context"
	"fmt"
	"iter"
)

// Log is the home of a trail. It is safe for concurrent use, by several processes too.
type Log interface {
	// Append makes the entry the next one of the chain and returns it, stored durably. Its Seq, Previous and Hash are set; a Time that is zero is an *EntryError.
	// A chain whose last entry was changed takes no further one: *BrokenError. After any other error the entry may be stored, as after a lost connection.
	Append(ctx context.Context, e Entry) (Entry, error)

	// Lines reads what is stored, in its order, a page at a time. After an error it ends. A trail that was never written has none.
	Lines(ctx context.Context) iter.Seq2[Line, error]

	// String names the home, without a password.
	String() string
}

// Line is what is stored of one entry. Whether it is one, Check says.
type Line struct {
	// Text is the line without its end.
	Text []byte
	// Table says that Seq and Hash are what stands beside it in a table.
	Table bool
	Seq   int64
	Hash  []byte
	// Torn says that a file's last line has no end: a process was killed while it wrote it.
	Torn bool
}

// BrokenError says that the last entry of a trail was changed, so that nothing can be added.
type BrokenError struct {
	Log string
	Err error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the audit trail in %s is broken: %v", e.Log, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *BrokenError) Hint() string {
	return "`fieldcrypt audit trail --check` says where; keep it as evidence, and go on in another with --audit-log FILE"
}

// Last reads the entry at the end of a chain, for a Log.
func Last(log string, text []byte) (Entry, error) {
	e, err := Parse(text)
	if err != nil {
		return Entry{}, &BrokenError{Log: log, Err: err}
	}
	return e, nil
}
