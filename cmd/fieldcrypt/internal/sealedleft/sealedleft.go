// Package sealedleft says what was left sealed in an opened event because its keyring is not configured.
package sealedleft

import (
	"fmt"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Notes names each location once for a run, not once for each of a million lines.
type Notes struct {
	terminal *terminal.Terminal
	said     map[place]bool
}

type place struct {
	typ      string
	version  int
	location string
	keyring  string
}

// New returns notes that have said nothing yet.
func New(t *terminal.Terminal) *Notes { return &Notes{terminal: t, said: map[place]bool{}} }

// Say names what an event has left sealed.
func (n *Notes) Say(opened envelope.Opened) {
	for _, left := range opened.StillSealed {
		p := place{opened.Event.Type, opened.Event.Version, left.Location, left.Keyring}
		if left.Reason != envelope.ReasonNoKeyring || n.said[p] {
			continue
		}
		n.said[p] = true
		n.terminal.Note("note: %s of %s version %d stays sealed: keyring %s is not configured", left.Location, p.typ, p.version, left.Keyring)
	}
}

// Error says that a location had to be opened and stays sealed.
type Error struct {
	envelope.Place
	Keyring string
}

func (e *Error) Error() string {
	return fmt.Sprintf("stays sealed: keyring %s is not configured", e.Keyring)
}

// Hint says what to do next.
func (e *Error) Hint() string {
	return fmt.Sprintf("configure it with --keyring %s=URL, or leave out --require-all", e.Keyring)
}

// Refuse gives an error where an event has something left sealed for want of a keyring.
func Refuse(opened envelope.Opened) error {
	for _, left := range opened.StillSealed {
		if left.Reason == envelope.ReasonNoKeyring {
			return &Error{Place: envelope.Place{Location: left.Location}, Keyring: left.Keyring}
		}
	}
	return nil
}
