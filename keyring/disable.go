package keyring

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// DisableOptions for Manager.Disable.
type DisableOptions struct {
	// Ask counts the rows of a listed store that need the key. Defaults to an
	// error if the keyring lists any store.
	Ask Ask
	// AssumeUnused disables a key although the keyring lists no store that could
	// be asked. Defaults to an *[UnlistedError].
	AssumeUnused bool
	// NotPrimaryFor is for how long the key must have ceased to be primary.
	// Defaults to the keyring's propagation time, after which no process that can
	// refresh writes under it any more.
	NotPrimaryFor time.Duration
	// IfRevision makes the change only to this revision; another one is a
	// *ChangedError. Defaults to any revision.
	IfRevision uint64
}

// Disable takes a key out of use: it opens nothing and is not searched any more,
// and can be enabled again. Nothing may need it: every listed store is asked.
//
// Errors: *[PrimaryError], *[HeldError], *[TooEarlyError], *[KeyInUseError] which
// names the store, *[StoreError] where one cannot be asked, *[UnlistedError].
func (m *Manager) Disable(ctx context.Context, p Purpose, id KeyID, opts DisableOptions) (*Changed, error) {
	before, err := m.disablable(ctx, p, id, opts)
	if err != nil {
		return nil, err
	}
	if opts.IfRevision == 0 {
		opts.IfRevision = before.Revision() // the stores were asked for this one
	}
	return m.changeKeyOf(ctx, opts.IfRevision, p, id, "key disabled", func(h *header, r *keyRecord, now time.Time) error {
		switch {
		case r.state == Primary:
			return &PrimaryError{Keyring: m.name, Purpose: p, ID: id}
		case r.state == Disabled:
			return errNothingToDo
		case r.state == Destroyed:
			return &KeyStateError{Keyring: m.name, Purpose: p, ID: id, State: r.state}
		}
		if err := m.longCeased(h, r, now, opts); err != nil {
			return err
		}
		r.enter(Disabled, now, m.opts.Actor)
		return nil
	})
}

// CheckDisable says whether Disable would disable the key now. It changes
// nothing.
func (m *Manager) CheckDisable(ctx context.Context, p Purpose, id KeyID, opts DisableOptions) error {
	_, err := m.disablable(ctx, p, id, opts)
	return err
}

// disablable asks what costs nothing before it asks the stores.
func (m *Manager) disablable(ctx context.Context, p Purpose, id KeyID, opts DisableOptions) (*Description, error) {
	d, err := m.Describe(ctx)
	if err != nil {
		return nil, err
	}
	if r := d.doc.find(p, id); r != nil && r.state.Usable() {
		if err := m.longCeased(d.doc.header, r, m.now(), opts); err != nil {
			return nil, err
		}
	}
	return d, m.free(ctx, d, p, id, opts.Ask, opts.AssumeUnused)
}

// longCeased refuses a key that was primary so recently that some process may
// still write under it.
func (m *Manager) longCeased(h *header, r *keyRecord, now time.Time, opts DisableOptions) error {
	ceased, was := r.ceased()
	if !was || r.state == Primary {
		return nil
	}
	if possible := ceased.Add(max(opts.NotPrimaryFor, h.propagation)); now.Before(possible) {
		return &TooEarlyError{Keyring: m.name, Purpose: r.purpose, ID: r.id, Possible: possible, Disable: true}
	}
	return nil
}

// Enable brings a disabled key back: it opens and is searched again. Nothing is
// written under it.
func (m *Manager) Enable(ctx context.Context, p Purpose, id KeyID) (*Changed, error) {
	return m.changeKey(ctx, p, id, "key enabled", func(r *keyRecord, now time.Time) error {
		switch {
		case r.state.Usable():
			return errNothingToDo
		case r.state != Disabled:
			return &KeyStateError{Keyring: m.name, Purpose: p, ID: id, State: r.state}
		}
		r.enter(Active, now, m.opts.Actor)
		return nil
	})
}

// ceased is when the key ceased to be primary; false if it never was, or is now.
// A restore brings a key that was staged back as active, or as staged once more,
// and nothing else does: it may have been primary in between, in the document that
// was lost, for processes that have loaded that one.
func (r *keyRecord) ceased() (time.Time, bool) {
	for i := len(r.history) - 1; i > 0; i-- {
		from, to := r.history[i-1].State, r.history[i].State
		if from == Primary && to != Primary || from == Staged && (to == Active || to == Staged) {
			return r.history[i].At, true
		}
	}
	return time.Time{}, false
}

// free refuses a key that something needs: a hold, or a row of a listed store.
func (m *Manager) free(ctx context.Context, d *Description, p Purpose, id KeyID, ask Ask, assume bool) error {
	info, ok := d.Key(p, id)
	if !ok {
		return &UnknownKeyError{Keyring: m.name, Purpose: p, ID: id}
	}
	if info.State == Primary {
		return &PrimaryError{Keyring: m.name, Purpose: p, ID: id}
	}
	if info.Hold != nil && m.now().Before(info.Hold.Until) {
		return &HeldError{Keyring: m.name, Purpose: p, ID: id, Hold: *info.Hold}
	}
	stores := d.Stores()
	if len(stores) == 0 && !assume {
		return &UnlistedError{Keyring: m.name}
	}
	var needed []error
	for _, s := range stores {
		if ask == nil {
			return &StoreError{Keyring: m.name, Store: s, Err: errors.New("nothing was given to ask it with")}
		}
		uses, err := ask(ctx, s, info)
		if err != nil {
			return &StoreError{Keyring: m.name, Store: s, Err: err}
		}
		if uses.Rows != 0 {
			needed = append(needed, &KeyInUseError{Keyring: m.name, Purpose: p, ID: id, Store: s, Uses: uses})
		}
	}
	return errors.Join(needed...)
}

// PrimaryError says that the key that writes use cannot be taken out of use.
type PrimaryError struct {
	Keyring string
	Purpose Purpose
	ID      KeyID
}

func (e *PrimaryError) Error() string {
	return fmt.Sprintf("keyring %s: %s key %s is the primary one", e.Keyring, e.Purpose, e.ID)
}

// Hint says what to do next.
func (e *PrimaryError) Hint() string {
	return "make another key primary first: fieldcrypt rotate --purpose " + string(e.Purpose)
}

// KeyInUseError says that rows of a store need a key.
type KeyInUseError struct {
	Keyring string
	Purpose Purpose
	ID      KeyID
	Store   DataStore
	Uses    Uses
}

func (e *KeyInUseError) Error() string {
	oldest := ""
	if !e.Uses.Oldest.IsZero() {
		oldest = ", the oldest of " + formatTime(e.Uses.Oldest)
	}
	rows := "rows"
	if e.Uses.Rows == 1 {
		rows = "row"
	}
	return fmt.Sprintf("keyring %s: %s key %s is needed by %d %s of %s%s", e.Keyring, e.Purpose, e.ID, e.Uses.Rows, rows, e.Store, oldest)
}

// Hint says what to do next.
func (e *KeyInUseError) Hint() string {
	return "bring the rows under the primary key with fieldcrypt rotate --re-encrypt-only, then try again"
}

// StoreError says that a listed store cannot be asked, so that nothing is known
// of what it needs.
type StoreError struct {
	Keyring string
	Store   DataStore
	Err     error
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("keyring %s: the listed store %s cannot be asked whether it needs the key: %v", e.Keyring, e.Store, e.Err)
}

func (e *StoreError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *StoreError) Hint() string {
	return "run it where the store can be reached; if it is gone for good, take it off the list with fieldcrypt keys stores --remove"
}

// UnlistedError says that a keyring lists no store, so that nobody can be asked
// whether a key is needed.
type UnlistedError struct{ Keyring string }

func (e *UnlistedError) Error() string {
	return fmt.Sprintf("keyring %s lists no store that could be asked whether the key is needed", e.Keyring)
}

// Hint says what to do next.
func (e *UnlistedError) Hint() string {
	return "list the stores that use it: fieldcrypt keys stores --add URL; --assume-unused does without, and data that needs the key is then lost"
}
