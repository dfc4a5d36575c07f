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
// interrupted is made again.
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
	if err := to.proveBinding(ctx); err != nil {
		return nil, err
	}
	// The old place is frozen first: whatever it held then is in the new one.
	if _, err := m.freeze(ctx, to.kek.URI()); err != nil {
		return nil, err
	}
	d, sec, _, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	defer sec.wipe()
	h := d.header.clone()
	h.kek, h.movedTo = to.kek.URI(), ""
	h.revision++
	h.written = StateChange{At: to.now(), Author: to.opts.Actor}
	_, version, err := to.store.Load(ctx)
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDeleted) {
		return nil, errors.Join(err, ErrExists)
	}
	moved, err := to.save(ctx, h, sec, version)
	if err != nil {
		return nil, err
	}
	m.opts.Logger.InfoContext(ctx, "keyring moved", "keyring", d.name, "revision", moved.revision, "author", m.opts.Actor, "from", d.kek, "to", h.kek)
	return &Description{doc: moved}, nil
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

// freeze ends the changes of the old place.
func (m *Manager) freeze(ctx context.Context, to string) (*Description, error) {
	d, err := m.edit(ctx, 0, func(h *header, _ secrets, _ time.Time) error {
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
	return "configure the keyring's new place, for every process, and run the command there"
}
