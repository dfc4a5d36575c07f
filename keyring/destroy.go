package keyring

import (
	"context"
	"fmt"
	"time"
)

// Purger is a [Store] that keeps earlier versions of its document and can
// destroy them beyond recovery. Destroy asks it to.
type Purger interface {
	// Purge destroys every version but the current one.
	Purge(ctx context.Context) error
}

// KEKRotator is a [KEK] with versions. Destroy rotates it, so that documents
// which were copied before cannot be opened with it any more.
type KEKRotator interface {
	// Rotate makes a new version, which seals from now on, and returns it.
	Rotate(ctx context.Context) (version int, err error)
	// RaiseMinimum makes versions below this one unusable.
	RaiseMinimum(ctx context.Context, version int) error
}

// DestroyOptions for Manager.Destroy.
type DestroyOptions struct {
	// Ask counts the rows of a listed store that need the key. Defaults to an
	// error if the keyring lists any store.
	Ask Ask
	// AssumeUnused destroys a key although the keyring lists no store that could
	// be asked. Defaults to an *[UnlistedError].
	AssumeUnused bool
	// NotPrimaryFor is for how long the key must have ceased to be primary: a
	// process that cannot refresh goes on writing under it for its MaxStale, and
	// what it writes after the key is destroyed never opens. -1 for no waiting.
	// Defaults to 24 hours, as MaxStale does.
	NotPrimaryFor time.Duration
}

// Destroy removes the bytes of a disabled key for good: from the document, from
// the earlier versions that the store keeps, and, by a new version of the KEK
// under which alone the document is sealed then, from copies of the document.
// What was under the key never opens again. Backups still hold it: see
// [Manager.DestroyedEverywhere].
//
// A call that was interrupted is made again: it does what is left to do.
//
// Errors: *[KeyStateError] for a key that is not disabled, *[TooEarlyError], and
// the others of [Manager.Disable].
func (m *Manager) Destroy(ctx context.Context, p Purpose, id KeyID, opts DestroyOptions) (*Changed, error) {
	before, err := m.Describe(ctx)
	if err != nil {
		return nil, err
	}
	if k, _ := before.Key(p, id); k.State != Destroyed {
		if err := m.writtenUnder(before, p, id, opts.NotPrimaryFor); err != nil {
			return nil, err
		}
		if err := m.free(ctx, before, p, id, opts.Ask, opts.AssumeUnused); err != nil {
			return nil, err
		}
	}
	if _, err := m.removeKey(ctx, p, id, before.Revision()); err != nil {
		return nil, err
	}
	d, err := m.forgetCopies(ctx)
	if err != nil {
		return nil, &HalfDestroyedError{Keyring: m.name, Purpose: p, ID: id, Err: err}
	}
	info, _ := d.Key(p, id)
	m.logChange(ctx, "key destroyed", d.doc, info)
	return &Changed{Key: info, Keyring: d}, nil
}

// writtenUnder refuses a disabled key that was primary so recently that a process
// which has not been refreshed since may still write under it.
func (m *Manager) writtenUnder(d *Description, p Purpose, id KeyID, wait time.Duration) error {
	r := d.doc.find(p, id)
	if r == nil || r.state != Disabled || wait < 0 {
		return nil
	}
	if wait == 0 {
		wait = defaultMaxStale
	}
	ceased, was := r.ceased()
	if possible := ceased.Add(wait); was && m.now().Before(possible) {
		return &TooEarlyError{Keyring: m.name, Purpose: p, ID: id, Possible: possible, Destroy: true}
	}
	return nil
}

func (m *Manager) removeKey(ctx context.Context, p Purpose, id KeyID, ifRevision uint64) (*Description, error) {
	d, err := m.change(ctx, ifRevision, func(h *header, sec secrets, now time.Time) error {
		r := h.find(p, id)
		switch {
		case r == nil:
			return &UnknownKeyError{Keyring: m.name, Purpose: p, ID: id}
		case r.state == Destroyed:
			return errNothingToDo
		case r.state != Disabled:
			return &KeyStateError{Keyring: m.name, Purpose: p, ID: id, State: r.state}
		}
		r.enter(Destroyed, now, m.opts.Actor)
		delete(sec, id)
		return nil
	})
	return m.described(d, err)
}

// forgetCopies makes what was copied of earlier documents useless. Each step may
// be done again.
func (m *Manager) forgetCopies(ctx context.Context) (*Description, error) {
	if purger, ok := m.store.(Purger); ok {
		if err := purger.Purge(ctx); err != nil {
			return nil, err
		}
	}
	rotator, ok := m.kek.(KEKRotator)
	if !ok {
		return m.Describe(ctx)
	}
	version, err := rotator.Rotate(ctx)
	if err != nil {
		return nil, err
	}
	d, err := m.Rewrap(ctx)
	if err != nil {
		return nil, err
	}
	return d, rotator.RaiseMinimum(ctx, version)
}

// HalfDestroyedError says that a key was removed from the document, and that
// earlier copies of it may still open.
type HalfDestroyedError struct {
	Keyring string
	Purpose Purpose
	ID      KeyID
	Err     error
}

func (e *HalfDestroyedError) Error() string {
	return fmt.Sprintf("keyring %s: %s key %s is removed, but earlier copies of the keyring may still open: %v", e.Keyring, e.Purpose, e.ID, e.Err)
}

func (e *HalfDestroyedError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *HalfDestroyedError) Hint() string {
	return "run the command again: it does what is left to do"
}

// DestroyedEverywhere notes that no backup of a destroyed key is left: from now
// on it counts as destroyed for good. Only its operators can know that.
func (m *Manager) DestroyedEverywhere(ctx context.Context, p Purpose, id KeyID) (*Changed, error) {
	return m.changeKey(ctx, p, id, "key destroyed everywhere", func(r *keyRecord, now time.Time) error {
		switch {
		case r.state != Destroyed:
			return &KeyStateError{Keyring: m.name, Purpose: p, ID: id, State: r.state}
		case r.everywhere != nil:
			return errNothingToDo
		}
		r.everywhere = &StateChange{State: Destroyed, At: now, Author: m.opts.Actor}
		return nil
	})
}

// Rewrap seals the keyring anew, with the newest version of its KEK. No key
// changes.
func (m *Manager) Rewrap(ctx context.Context) (*Description, error) {
	d, err := m.change(ctx, 0, func(*header, secrets, time.Time) error { return nil })
	if err != nil {
		return nil, err
	}
	m.opts.Logger.InfoContext(ctx, "keyring sealed anew", "keyring", d.name, "revision", d.revision, "author", m.opts.Actor)
	return &Description{doc: d}, nil
}
