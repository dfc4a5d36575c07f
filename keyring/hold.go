package keyring

import (
	"context"
	"fmt"
	"time"
)

// Hold keeps a key usable until a time, for what no store can be asked about:
// a broker's retention, a consumer that is away, an export on somebody's disk.
type Hold struct {
	// Until is when the hold ends.
	Until time.Time
	// Reason says what needs the key.
	Reason string
	// At and Author tell when it was set, and by whom.
	At     time.Time
	Author string
}

// HoldOptions for Manager.Hold.
type HoldOptions struct {
	// Until is when the hold ends; a time that is past ends the hold at once.
	// Defaults to ending it.
	Until time.Time
	// Reason says what needs the key: 1 to 512 bytes of printable text. Defaults
	// to "", which only the end of a hold may have.
	Reason string
}

// Hold sets, moves or ends the hold on a key. A held key is neither disabled nor
// destroyed.
func (m *Manager) Hold(ctx context.Context, p Purpose, id KeyID, opts HoldOptions) (*Changed, error) {
	return m.changeKey(ctx, p, id, "key held", func(r *keyRecord, now time.Time) error {
		if !opts.Until.After(now) {
			if r.hold == nil {
				return errNothingToDo
			}
			r.hold = nil
			return nil
		}
		if !printable(opts.Reason, maxReasonBytes) {
			return &HoldReasonError{}
		}
		if r.state == Destroyed {
			return &KeyStateError{Keyring: m.name, Purpose: p, ID: id, State: r.state}
		}
		r.hold = &Hold{Until: opts.Until.UTC().Truncate(time.Microsecond), Reason: opts.Reason, At: now, Author: m.opts.Actor}
		return nil
	})
}

// HoldReasonError says that a hold has no reason that can be written down.
type HoldReasonError struct{}

func (e *HoldReasonError) Error() string {
	return fmt.Sprintf("a hold needs a reason: 1 to %d bytes of printable text", maxReasonBytes)
}

// HeldError says that somebody holds a key.
type HeldError struct {
	Keyring string
	Purpose Purpose
	ID      KeyID
	Hold    Hold
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("keyring %s: %s key %s is held until %s by %s: %s", e.Keyring, e.Purpose, e.ID, formatTime(e.Hold.Until), e.Hold.Author, e.Hold.Reason)
}

// Hint says what to do next.
func (e *HeldError) Hint() string {
	return "wait until then, or end the hold with fieldcrypt keys hold " + e.ID.String() + " --end, if what needs the key is gone"
}
