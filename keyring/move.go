package keyring

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Move copies the keyring to another place, under another KEK: from a file to
// Vault, say. Processes go on reading the old place until they are configured
// with the new one; nothing is changed in the old one any more, every change
// there is a *[MovedError]. Once no process reads the old place it can be
// removed.
//
// to is a manager of the same keyring at an empty place. A call that was
// interrupted, or ended with a *[HalfMovedError], is made again, or taken back with
// [Manager.CancelMove].
func (m *Manager) Move(ctx context.Context, to *Manager) (*Description, error) {
	if to.name != m.name {
		return nil, &NameError{Asked: to.name, Found: m.name}
	}
	if to.kek.URI() == m.kek.URI() {
		return nil, &KEKInUseError{Keyring: m.name, Other: m.name, KEK: m.kek.URI()}
	}
	if there, err := to.moved(ctx, m); there != nil || err != nil {
		return there, err
	}
	before, sec, _, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	err = to.found(before.header, sec)
	sec.wipe()
	if err != nil {
		return nil, err
	}
	if err := to.refuseOutlived(ctx, before); err != nil {
		return nil, err
	}
	if err := to.proveBinding(ctx); err != nil {
		return nil, err
	}
	// The old place is frozen first: whatever it held then is in the new one.
	if _, err := m.freeze(ctx, before.revision, to.kek.URI()); err != nil {
		return nil, err
	}
	moved, err := m.copyTo(ctx, to)
	if err != nil {
		return nil, &HalfMovedError{Keyring: m.name, To: to.kek.URI(), Err: err}
	}
	m.opts.Logger.InfoContext(ctx, "keyring moved", "keyring", m.name, "revision", moved.revision, "author", m.opts.Actor, "from", before.kek, "to", moved.kek)
	return &Description{doc: moved}, nil
}

// copyTo writes what the frozen place holds to the new one.
func (m *Manager) copyTo(ctx context.Context, to *Manager) (*document, error) {
	d, sec, _, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	defer sec.wipe()
	h := d.header.clone()
	h.kek, h.movedTo = to.kek.URI(), ""
	if h.formerly == h.kek {
		h.formerly = "" // back to where it was lost
	}
	h.revision++
	h.written = StateChange{At: to.now(), Author: to.opts.Actor}
	_, version, err := to.store.Load(ctx)
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDeleted) {
		return nil, errors.Join(err, ErrExists)
	}
	return to.save(ctx, h, sec, version)
}

// refuseOutlived refuses to copy the frozen place once more to where the keyring
// has lived on since, and was lost: it may have made keys there.
func (m *Manager) refuseOutlived(ctx context.Context, old *document) error {
	known, err := recall(ctx, m.opts.Memory, m.name)
	if err != nil {
		return err
	}
	for _, s := range known {
		if s.KEK == m.kek.URI() && s.Revision > old.revision {
			return &LostError{Keyring: m.name, Revision: s.Revision, KEK: s.KEK}
		}
	}
	return nil
}

// KEKFounder is a [KEK] that is made together with what it seals, as that of a new
// file is by its salt. A move that was interrupted must find it again when it goes
// on: the old place names it, and takes no other.
type KEKFounder interface {
	// Found makes the KEK of a place where nothing is stored yet: the same one for
	// the same place and seed, another one for any other. The seed is 32 bytes that
	// nobody without the keyring can know. Where something is stored it changes
	// nothing.
	Found(seed []byte)
}

// found gives the KEK of an empty place its seed, which is the same for as long as
// the keyring is frozen.
func (m *Manager) found(h *header, sec secrets) error {
	founder, ok := m.kek.(KEKFounder)
	if !ok {
		return nil
	}
	key, err := newMaterial(sec[h.primary(Seal).id])
	if err != nil {
		return err
	}
	defer key.wipe(ErrClosed)
	seed, err := key.derive(appendPrefixed(nil, []byte("fieldcrypt/v1/move")))
	if err != nil {
		return err
	}
	defer clear(seed[:])
	founder.Found(seed[:])
	return nil
}

// CancelMove takes a move back that was interrupted before the new place held the
// keyring: the old place takes changes again. to is what Move got. No Move of this
// keyring may be under way.
//
// Errors: *[ExistsError] where the new place holds a keyring, *[LostError] where
// processes have seen one there, *[MovedError] where the keyring was moved to
// another place than to.
func (m *Manager) CancelMove(ctx context.Context, to *Manager) (*Description, error) {
	if err := to.refuseExisting(ctx); err != nil {
		return nil, err
	}
	known, err := recall(ctx, m.opts.Memory, m.name)
	if err != nil {
		return nil, err
	}
	d, err := m.edit(ctx, 0, func(h *header, sec secrets, _ time.Time) error {
		if h.movedTo == "" {
			return errNothingToDo
		}
		if err := to.found(h, sec); err != nil {
			return err
		}
		if to.kek.URI() != h.movedTo {
			return &MovedError{Keyring: m.name, To: h.movedTo}
		}
		for _, s := range known {
			if s.KEK == h.movedTo {
				return &LostError{Keyring: m.name, Revision: s.Revision, KEK: s.KEK}
			}
		}
		h.movedTo = ""
		return nil
	})
	if err == nil {
		m.opts.Logger.InfoContext(ctx, "move of the keyring taken back", "keyring", d.name, "revision", d.revision, "author", m.opts.Actor)
	}
	return m.described(d, err)
}

// HalfMovedError says that the old place takes no change any more, and that it is
// not certain that the new one holds the keyring. Both open what they hold.
type HalfMovedError struct {
	Keyring string
	// To names the KEK at the new place.
	To  string
	Err error
}

func (e *HalfMovedError) Error() string {
	return fmt.Sprintf("keyring %s: the move is begun and not done, so that the old place is read and takes no change: %v", e.Keyring, e.Err)
}

func (e *HalfMovedError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *HalfMovedError) Hint() string {
	const next = "run the command again: it does what is left to do; with --cancel it takes the move back"
	if hint := hintOf(e.Err); hint != "" {
		return hint + "; then " + next
	}
	return next
}

// moved says whether the new place holds what the old one did, from a call that
// went through. Another keyring there is ErrExists.
func (m *Manager) moved(ctx context.Context, from *Manager) (*Description, error) {
	d, sec, _, err := m.load(ctx)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrDeleted):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer sec.wipe()
	old, oldSec, _, err := from.load(ctx)
	if err != nil {
		return nil, err
	}
	defer oldSec.wipe()
	if old.movedTo != d.kek {
		return nil, &ExistsError{Keyring: d.name, Revision: d.revision, Author: d.written.Author}
	}
	for id := range oldSec {
		if !d.has(id) {
			return nil, &ExistsError{Keyring: d.name, Revision: d.revision, Author: d.written.Author}
		}
	}
	return &Description{doc: d}, nil
}

// freeze ends the changes of the old place, if it is still what the new place was
// found by: a move that goes on later finds it by what the old place holds then.
func (m *Manager) freeze(ctx context.Context, revision uint64, to string) (*Description, error) {
	d, err := m.edit(ctx, revision, func(h *header, _ secrets, _ time.Time) error {
		switch h.movedTo {
		case to:
			return errNothingToDo
		case "":
			h.movedTo = to
			return nil
		}
		return &MovedError{Keyring: m.name, To: h.movedTo}
	})
	return m.described(d, err)
}

// MovedError says that a keyring is at another place by now.
type MovedError struct {
	Keyring string
	// To names the KEK at the new place.
	To string
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("keyring %s was moved: it is sealed by %s now; nothing was changed here", e.Keyring, e.To)
}

// Hint says what to do next.
func (e *MovedError) Hint() string {
	return "configure the keyring's new place, for every process, and run the command there; if fieldcrypt keys move was interrupted, run it again first"
}
