package keyring

import (
	"context"
	"time"
)

// StageOptions for Manager.Stage.
type StageOptions struct {
	// IfRevision makes the change only to this revision, so that what was
	// decided by looking at it still holds; another one is a *ChangedError.
	// Defaults to any revision.
	IfRevision uint64
	// Others are the other keyrings of the configuration: no id of theirs is
	// used. Defaults to none.
	Others []*Description
}

// Stage adds a new key that opens and is searched everywhere before anything is
// written under it. It always adds one: see [Description.Plan] for whether one
// is needed.
func (m *Manager) Stage(ctx context.Context, p Purpose, opts StageOptions) (*Changed, error) {
	if !p.Valid() {
		return nil, &PurposeError{Purpose: p}
	}
	var id KeyID
	d, err := m.change(ctx, opts.IfRevision, func(h *header, sec secrets, now time.Time) error {
		id = newKeyID(h, opts.Others)
		r := keyRecord{id: id, purpose: p}
		r.enter(Staged, now, m.opts.Actor)
		h.keys = append(h.keys, r)
		sec[id] = newKeyBytes()
		return nil
	})
	if err != nil {
		return nil, err
	}
	description := &Description{doc: d}
	info, _ := description.Key(p, id)
	m.logChange(ctx, "key staged", d, info)
	return &Changed{Key: info, Keyring: description}, nil
}
