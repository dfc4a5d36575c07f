package keyring

import (
	"context"
	"time"
)

// PromoteOptions for Manager.Promote.
type PromoteOptions struct {
	// ID is the staged key to promote. If it is not staged any more, the error
	// is a *ChangedError that says who was first. Defaults to the key that was
	// staged first.
	ID KeyID
	// IfRevision makes the change only to this revision; another one is a
	// *ChangedError. Defaults to any revision.
	IfRevision uint64
	// SkipWait promotes before the propagation time is over. A process that
	// has not loaded the key then has to refresh before it can open what is
	// written under it. Defaults to false.
	SkipWait bool
}

// Promote makes a staged key the primary one. The former primary becomes
// active. Before the propagation time is over the error is a *TooEarlyError.
func (m *Manager) Promote(ctx context.Context, p Purpose, opts PromoteOptions) (*Changed, error) {
	if !p.Valid() {
		return nil, &PurposeError{Purpose: p}
	}
	var id, former KeyID
	d, err := m.change(ctx, opts.IfRevision, func(h *header, _ secrets, now time.Time) error {
		staged, err := m.stagedKey(h, p, opts.ID)
		if err != nil {
			return err
		}
		possible := promotable(h, staged)
		if !opts.SkipWait && now.Before(possible) {
			return &TooEarlyError{Keyring: m.name, Purpose: p, ID: staged.id, Possible: possible}
		}
		old := h.primary(p)
		id, former = staged.id, old.id
		old.enter(Active, now, m.opts.Actor)
		staged.enter(Primary, now, m.opts.Actor)
		return nil
	})
	if err != nil {
		return nil, err
	}
	description := &Description{doc: d}
	info, _ := description.Key(p, id)
	was, _ := description.Key(p, former)
	m.logChange(ctx, "key promoted", d, info)
	return &Changed{Key: info, Former: was, Keyring: description}, nil
}

// promotable is when a staged key may become primary.
func promotable(h *header, staged *keyRecord) time.Time {
	return staged.since().At.Add(h.propagation)
}

func (m *Manager) stagedKey(h *header, p Purpose, id KeyID) (*keyRecord, error) {
	if id == 0 {
		if all := h.staged(p); len(all) > 0 {
			return all[0], nil
		}
		return nil, &NothingStagedError{Keyring: m.name, Purpose: p}
	}
	r := h.find(p, id)
	if r == nil {
		return nil, &UnknownKeyError{Keyring: m.name, Purpose: p, ID: id}
	}
	if r.state != Staged {
		// h already counts the revision that this change would have made.
		last := r.since()
		return nil, &ChangedError{Keyring: m.name, Revision: h.revision - 1, Author: last.Author, At: last.At}
	}
	return r, nil
}
