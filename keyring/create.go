package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// CreateOptions for Manager.Create.
type CreateOptions struct {
	// Others are the other keyrings of the configuration: no id of theirs is
	// used, and none of them may be sealed by the same KEK. Defaults to none.
	Others []*Description
	// Propagation is how long a staged key waits until every process can have
	// loaded it: at least twice the interval at which they refresh. -1 for no
	// waiting. Defaults to 10 minutes.
	Propagation time.Duration
}

// Create stores a new keyring with a primary seal key and a primary index key.
// If there is one already the error is [ErrExists], and nothing is written. If
// there was one, as the manager's Memory tells, it is a *[LostError].
func (m *Manager) Create(ctx context.Context, opts CreateOptions) (*Description, error) {
	if !printable(m.opts.Actor, maxAuthorBytes) {
		return nil, &ActorError{}
	}
	propagation, err := propagationOption(opts.Propagation)
	if err != nil {
		return nil, err
	}
	if err := m.refuseExisting(ctx); err != nil {
		return nil, err
	}
	if err := m.refuseLost(ctx); err != nil {
		return nil, err
	}
	for _, o := range opts.Others {
		if o != nil && o.KEKURI() == m.kek.URI() {
			return nil, &KEKInUseError{Keyring: m.name, Other: o.Name(), KEK: o.KEKURI()}
		}
	}
	if err := m.proveBinding(ctx); err != nil {
		return nil, m.orExists(ctx, err)
	}
	h := &header{name: m.name, revision: 1, kek: m.kek.URI(), propagation: propagation}
	sec := secrets{}
	defer sec.wipe()
	now := m.now()
	h.written = StateChange{At: now, Author: m.opts.Actor}
	for _, p := range Purposes() {
		r := keyRecord{id: newKeyID(h, opts.Others), purpose: p}
		r.enter(Primary, now, m.opts.Actor)
		h.keys = append(h.keys, r)
		sec[r.id] = newKeyBytes()
	}
	d, err := m.save(ctx, h, sec, "")
	if err != nil {
		return nil, m.orExists(ctx, err)
	}
	description := &Description{doc: d}
	for _, k := range description.Keys() {
		m.logChange(ctx, "key created", d, k)
	}
	return description, nil
}

// orExists says that the keyring exists where that is why a creation failed.
func (m *Manager) orExists(ctx context.Context, err error) error {
	if !lostRace(err) {
		return err
	}
	if exists := m.refuseExisting(ctx); errors.Is(exists, ErrExists) {
		return exists
	}
	return err
}

// lostRace says whether an error may come from a faster creator. Where the KEK
// comes from what is stored, as a file's salt does, such a one also takes the KEK
// away in the midst of sealing.
func lostRace(err error) bool {
	_, unsealed := errors.AsType[*UnsealError](err)
	_, mismatched := errors.AsType[*KEKMismatchError](err)
	_, unbound := errors.AsType[*SealError](err)
	return unsealed || mismatched || unbound || errors.Is(err, ErrChanged) || errors.Is(err, ErrExists)
}

func propagationOption(p time.Duration) (time.Duration, error) {
	switch {
	case p == 0:
		return defaultPropagation, nil
	case p == -1:
		return 0, nil
	case p < 0 || p > maxPropagation:
		return 0, &PropagationError{Propagation: p}
	default:
		return p, nil
	}
}

// refuseExisting returns nil if the store surely holds nothing. A document that
// cannot be read is one, too.
func (m *Manager) refuseExisting(ctx context.Context) error {
	raw, _, err := m.store.Load(ctx)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("keyring %s: %w", m.name, err)
	}
	d, err := parseDocument(m.name, raw)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrExists, err)
	}
	return &ExistsError{Keyring: d.name, Revision: d.revision, Author: d.latest().Author}
}

// refuseLost refuses a keyring that other processes have seen under this KEK: it
// was lost, data is under its keys, and each process that knows of it would take
// a new one for a store that went back.
func (m *Manager) refuseLost(ctx context.Context) error {
	known, err := recall(ctx, m.opts.Memory, m.name)
	if err != nil {
		return err
	}
	for _, s := range known {
		if s.KEK == m.kek.URI() {
			return &LostError{Keyring: m.name, Revision: s.Revision, KEK: s.KEK}
		}
	}
	return nil
}

// LostError says that a keyring is not stored any more, and that processes have
// seen it: a new one is not its successor. Nothing was written.
type LostError struct {
	Keyring string
	// Revision is the highest that was seen, KEK what sealed it.
	Revision uint64
	KEK      string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("keyring %s existed, up to revision %d, and is not stored any more; no new one was made", e.Keyring, e.Revision)
}

// Hint says what to do next.
func (e *LostError) Hint() string {
	return "restore it from a backup: fieldcrypt keys restore; if nothing was sealed under it, seal the new one by another key than " + e.KEK
}

// proveBinding proves that the KEK honours associated data: what was sealed
// under one must not open under another. It must open under its own before and
// after, so that an outage is not taken for a refusal.
func (m *Manager) proveBinding(ctx context.Context) error {
	secret := newKeyBytes()
	defer clear(secret)
	own := associatedData(Seal, m.name, 0, "probe")
	other := associatedData(Index, m.name, 0, "probe")
	fail := func(err error) error { return &SealError{Keyring: m.name, KEK: m.kek.URI(), Err: err} }

	ct, err := m.kek.EncryptWithContext(ctx, secret, own)
	if err != nil {
		return fail(err)
	}
	opens := func() error {
		pt, err := m.kek.DecryptWithContext(ctx, ct, own)
		if err != nil {
			return fail(err)
		}
		defer clear(pt)
		if !bytes.Equal(pt, secret) {
			return fail(errors.New("it decrypts to something else than was encrypted"))
		}
		return nil
	}
	if err := opens(); err != nil {
		return err
	}
	if pt, err := m.kek.DecryptWithContext(ctx, ct, other); err == nil {
		clear(pt)
		return &KEKUnboundError{Keyring: m.name, KEK: m.kek.URI()}
	}
	return opens()
}
