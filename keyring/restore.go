package keyring

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"
)

// RestoredKey is what a restore does with one key of the backup.
type RestoredKey struct {
	KeyInfo
	// Fingerprint is that of the backup's key bytes, see [Backup.Fingerprint].
	Fingerprint string
	// Action says what is done with it.
	Action RestoreAction
}

// RestoreAction is what a restore does with a key.
type RestoreAction string

const (
	// RestoreAdd: the key is written, in the state that [RestoredKey] gives.
	RestoreAdd RestoreAction = "add"
	// RestorePresent: the stored keyring has it, with the same bytes.
	RestorePresent RestoreAction = "present"
	// RestoreDestroyed: it was destroyed, in the stored keyring or in the backup;
	// it is not brought back.
	RestoreDestroyed RestoreAction = "destroyed"
)

// RestoreOptions for Manager.PlanRestore.
type RestoreOptions struct {
	// AboveRevision is the highest revision that any process or database is
	// known to have seen: a process that has seen a higher one than is restored
	// refuses it. Defaults to what the store and the backup tell.
	AboveRevision uint64
	// ReplaceUnreadable replaces a stored document that does not open, such as
	// one whose Transit key is lost. Defaults to false: it is an error.
	ReplaceUnreadable bool
	// Others are the other keyrings of the configuration, as in CreateOptions.
	// Defaults to none.
	Others []*Description
}

// RestorePlan says what a restore would do. It holds the backup's keys.
type RestorePlan struct {
	// Keys are the backup's keys, in its order.
	Keys []RestoredKey
	// Revision is the revision that would be written; 0 if there is nothing to do.
	Revision uint64
	// Present is the stored keyring that keys are added to; nil if a whole
	// keyring is written, because there is none, or because it cannot be read.
	Present *Description
	// Replaced is why a stored keyring does not open that is replaced; nil if none
	// is. Keys that only it holds are lost.
	Replaced error
	// Newer is a revision that was seen and that neither the backup nor what is
	// stored reaches, 0 if there is none: what was changed up to then is lost, and
	// so are keys that were made, with the data under them.
	Newer uint64
	// Formerly is the KEK of the keyring that was backed up, where the restored one
	// has another, as a new file has: it takes that one's place, and whoever has
	// seen it refuses that one from then on. Else "".
	Formerly string

	manager *Manager
	header  *header
	secrets secrets
	version string
}

// PlanRestore compares a backup with what is stored and says what a restore
// would do. It writes nothing.
//
// Where no keyring is stored, the backup's whole keyring is planned, each key in
// the state that it had. Where there is one, keys that it lacks are added as
// active, disabled ones as disabled: its primaries stay, and so do the states of
// keys that it has. One that lacks none is written anew if it is older than what
// was seen, so that processes take it. An id that exists with other bytes is a
// *[RestoreConflictError].
func (m *Manager) PlanRestore(ctx context.Context, b *Backup, opts RestoreOptions) (*RestorePlan, error) {
	if !printable(m.opts.Actor, maxAuthorBytes) {
		return nil, &ActorError{}
	}
	if b.doc.name != m.name {
		return nil, &NameError{Asked: m.name, Found: b.doc.name}
	}
	plan := &RestorePlan{manager: m, secrets: secrets{}}
	stored, err := m.stored(ctx, opts.ReplaceUnreadable)
	if err != nil {
		return nil, err
	}
	defer stored.secrets.wipe()
	plan.version, plan.Replaced = stored.version, stored.unreadable
	known, err := recall(ctx, m.opts.Memory, m.name)
	if err != nil {
		return nil, err
	}
	seen := m.watermark()
	above := max(opts.AboveRevision, b.doc.revision, stored.revision, seen.revision, known.newest())
	for _, o := range opts.Others {
		if o != nil && stored.doc == nil && o.KEKURI() == m.kek.URI() {
			return nil, &KEKInUseError{Keyring: m.name, Other: o.Name(), KEK: o.KEKURI()}
		}
	}
	if stored.doc == nil {
		err = plan.whole(b, m.kek.URI(), m.now())
	} else {
		if stored.doc.movedTo != "" {
			return nil, &MovedError{Keyring: m.name, To: stored.doc.movedTo}
		}
		plan.Present = &Description{doc: stored.doc}
		// A store that went back is to be taken again, although it may lack no key.
		refused := known.check(stored.doc) != nil || seen.check(stored.doc) != nil ||
			stored.revision < b.doc.revision || stored.revision <= opts.AboveRevision
		err = plan.merge(b, stored.doc, stored.secrets, m.now(), refused)
	}
	if err != nil {
		plan.Close()
		return nil, err
	}
	for _, k := range plan.Keys {
		if k.Action == RestoreAdd && usedBy(opts.Others, k.ID) {
			plan.Close()
			return nil, &RestoreConflictError{Keyring: m.name, ID: k.ID, Elsewhere: true}
		}
	}
	if plan.header == nil {
		return plan, nil
	}
	if above >= maxRevision {
		plan.Close()
		return nil, &DocumentError{Keyring: m.name, Place: clearPlace + "/revision", Rule: RuleRevision, Detail: "the last revision was reached"}
	}
	reached := b.doc.revision
	if stored.doc != nil {
		reached = max(reached, stored.revision)
	}
	if above > reached {
		plan.Newer = above
	}
	plan.header.revision = above + 1
	plan.header.written = StateChange{At: m.now(), Author: m.opts.Actor}
	plan.Revision = above + 1
	return plan, nil
}

// whole plans the backup's keyring as it was.
func (p *RestorePlan) whole(b *Backup, kek string, now time.Time) error {
	h := b.doc.header.clone()
	if kek != h.kek {
		h.formerly, p.Formerly = h.kek, h.kek
	}
	h.kek, h.movedTo = kek, ""
	for _, r := range h.keys {
		action := RestoreAdd
		if r.state == Destroyed {
			action = RestoreDestroyed
		}
		p.add(b, r, action)
	}
	// A key that was staged then may be in no process now: its waiting starts anew. The other keys keep their times, since rotations count from them.
	for i := range h.keys {
		if r := &h.keys[i]; r.state == Staged {
			r.enter(Staged, now, p.manager.opts.Actor)
		}
	}
	p.header = h
	for id, key := range b.secrets {
		p.secrets[id] = bytes.Clone(key)
	}
	return nil
}

// merge plans the stored keyring with the keys that it lacks; anew says that it is
// to be written although it lacks none.
func (p *RestorePlan) merge(b *Backup, stored *document, sec secrets, now time.Time, anew bool) error {
	h := stored.header.clone()
	changed := anew
	for _, r := range b.doc.keys {
		was := h.find(r.purpose, r.id)
		switch {
		case was == nil && h.has(r.id):
			return &RestoreConflictError{Keyring: stored.name, ID: r.id}
		case was != nil && was.state == Destroyed, r.state == Destroyed:
			p.add(b, r, RestoreDestroyed)
			continue
		case was != nil:
			if subtle.ConstantTimeCompare(sec[r.id], b.secrets[r.id]) != 1 {
				return &RestoreConflictError{Keyring: stored.name, ID: r.id}
			}
			p.add(b, *was, RestorePresent)
			continue
		}
		state := Active
		if r.state == Disabled {
			state = Disabled
		}
		added := r
		added.history = slices.Clone(r.history)
		added.enter(state, now, p.manager.opts.Actor)
		h.keys = append(h.keys, added)
		p.add(b, added, RestoreAdd)
		p.secrets[r.id] = bytes.Clone(b.secrets[r.id])
		changed = true
	}
	if !changed {
		return nil
	}
	for id, key := range sec {
		p.secrets[id] = bytes.Clone(key)
	}
	p.header = h
	return nil
}

func (p *RestorePlan) add(b *Backup, r keyRecord, action RestoreAction) {
	d := &Description{doc: b.doc}
	p.Keys = append(p.Keys, RestoredKey{KeyInfo: d.info(&r), Fingerprint: b.Fingerprint(r.id), Action: action})
}

// Close wipes the key bytes that the plan holds.
func (p *RestorePlan) Close() { p.secrets.wipe() }

// Restore writes what was planned, if the store still holds what was compared.
// With nothing to do it writes nothing and returns what is stored.
func (m *Manager) Restore(ctx context.Context, plan *RestorePlan) (*Description, error) {
	if plan == nil || plan.manager != m {
		return nil, fmt.Errorf("keyring %s: the plan is of another manager", m.name)
	}
	if plan.header == nil {
		return plan.Present, nil
	}
	if plan.Present == nil {
		if err := m.proveBinding(ctx); err != nil {
			return nil, err
		}
	}
	d, err := m.save(ctx, plan.header, plan.secrets, plan.version)
	if err != nil {
		return nil, err
	}
	restored := &Description{doc: d}
	for _, k := range plan.Keys {
		if k.Action == RestoreAdd {
			m.logChange(ctx, "key restored", d, k.KeyInfo)
		}
	}
	return restored, nil
}

// storedKeyring is what a store holds, as far as it can be read.
type storedKeyring struct {
	doc      *document // nil: nothing that opens
	secrets  secrets
	revision uint64 // also of a document that does not open
	version  string // what Save expects back
	// unreadable is why a document does not open that may be replaced.
	unreadable error
}

// stored reads the store. Where there is a document that does not open, that is
// the error, unless it may be replaced.
func (m *Manager) stored(ctx context.Context, replace bool) (storedKeyring, error) {
	raw, version, err := m.store.Load(ctx)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrDeleted):
		return storedKeyring{version: version}, nil
	case err != nil:
		return storedKeyring{}, fmt.Errorf("keyring %s: %w", m.name, err)
	}
	s := storedKeyring{version: version}
	d, err := parseDocument(m.name, raw)
	if err == nil {
		s.revision = d.revision
		s.secrets, err = d.open(ctx, m.kek)
	}
	switch {
	case err == nil:
		s.doc = d
	case mayPass(err):
		return storedKeyring{}, err // it may open in a moment: that it does not open is not known
	case !replace:
		return storedKeyring{}, &UnreadableError{Keyring: m.name, Err: err}
	}
	s.unreadable = err
	return s, nil
}

// mayPass tells an outage from a document that does not open. Whoever replaces
// what is stored during an outage loses the keys that only it holds.
func mayPass(err error) bool {
	var retryable interface{ Retryable() bool }
	return errors.As(err, &retryable) && retryable.Retryable() ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// UnreadableError says that a keyring is stored which does not open, so that a
// restore would replace it.
type UnreadableError struct {
	Keyring string
	Err     error
}

func (e *UnreadableError) Error() string {
	return "a keyring is stored that does not open: " + e.Err.Error()
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *UnreadableError) Hint() string {
	return "mend the cause if it can be mended; to replace what is stored by the backup, use --replace-unreadable: keys that only the stored document holds are lost then"
}

// RestoreConflictError says that an id of the backup names another key already.
type RestoreConflictError struct {
	Keyring string
	ID      KeyID
	// Elsewhere says that another configured keyring uses the id.
	Elsewhere bool
}

func (e *RestoreConflictError) Error() string {
	if e.Elsewhere {
		return fmt.Sprintf("keyring %s: another configured keyring has a key %s; nothing was restored", e.Keyring, e.ID)
	}
	return fmt.Sprintf("keyring %s: key %s exists with other bytes or for another purpose than in the backup; nothing was restored", e.Keyring, e.ID)
}

// Hint says what to do next.
func (e *RestoreConflictError) Hint() string {
	return "this is not a backup of this keyring, or somebody made it up: compare its fingerprints with those noted when it was made"
}
