package keyring

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// ManagerOptions say who changes a keyring, and when.
type ManagerOptions struct {
	// Actor is written into the document as the author of each change. A
	// change without one is an *ActorError. Defaults to "".
	Actor string
	// Logger receives each change; never a key byte. Defaults to a logger that
	// discards.
	Logger *slog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Memory remembers, across processes, the newest document that was seen: a
	// change is made to no older one. Defaults to this manager's memory alone.
	Memory Memory
}

// Manager changes a stored keyring. Each change loads the document, changes it,
// and saves it if nobody else did in between; it is never retried, since the
// document that won may have made it needless. Safe for concurrent use.
type Manager struct {
	name  string
	store Store
	kek   KEK
	opts  ManagerOptions

	mu   sync.Mutex
	seen watermark
}

// NewManager makes a manager of the keyring with this name. It touches neither
// the store nor the KEK.
func NewManager(name string, store Store, kek KEK, opts ManagerOptions) (*Manager, error) {
	if !ValidName(name) {
		return nil, &NameFormError{Name: name}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Manager{name: name, store: store, kek: kek, opts: opts}, nil
}

// Describe loads the document, proves with the KEK that it is authentic, and
// returns its clear part.
func (m *Manager) Describe(ctx context.Context) (*Description, error) {
	d, sec, _, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	sec.wipe()
	return &Description{doc: d}, nil
}

// Changed tells of a change that was saved.
type Changed struct {
	// Key is the key that was changed, as it is now.
	Key KeyInfo
	// Former is the key that was primary before a promotion; else zero.
	Former KeyInfo
	// Keyring is the document as saved.
	Keyring *Description
	// Unchanged says that the key was in that state already, and that nothing
	// was written.
	Unchanged bool
}

// load also refuses a store that went back.
func (m *Manager) load(ctx context.Context) (*document, secrets, string, error) {
	// Before the store is asked: meanwhile another call may see a newer document.
	seen := m.watermark()
	known, err := recall(ctx, m.opts.Memory, m.name)
	if err != nil {
		return nil, nil, "", err
	}
	d, sec, version, err := load(ctx, m.name, m.store, m.kek)
	if err != nil {
		return nil, nil, "", err
	}
	if err := m.check(ctx, d, seen, known); err != nil {
		sec.wipe()
		return nil, nil, "", err
	}
	return d, sec, version, nil
}

// check refuses a document that is older than what was seen before it was loaded,
// and remembers it.
func (m *Manager) check(ctx context.Context, d *document, seen watermark, known remembered) error {
	if err := seen.check(d); err != nil {
		return err
	}
	if err := known.check(d); err != nil {
		return err
	}
	m.remember(ctx, d)
	return nil
}

func (m *Manager) watermark() watermark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// remember remembers a document if it is the newest, here and for other
// processes. That these cannot be told stops nothing: the next one that loads it
// tells them.
func (m *Manager) remember(ctx context.Context, d *document) {
	m.mu.Lock()
	if m.seen.check(d) == nil {
		m.seen.advance(d)
	}
	m.mu.Unlock()
	if err := record(ctx, m.opts.Memory, d); err != nil {
		m.opts.Logger.InfoContext(ctx, "other processes cannot be told of the keyring's revision", "keyring", d.name, "revision", d.revision, "error", err.Error())
	}
}

// errNothingToDo ends a change whose outcome is there already: nothing is written.
var errNothingToDo = errors.New("nothing to do")

// change is load → edit → check-and-set save. edit gets copies: of the header,
// and of the map of key bytes, from which it may take only those of keys that it
// destroys. With edit's error comes the document as it is stored.
func (m *Manager) change(ctx context.Context, ifRevision uint64, edit func(h *header, sec secrets, now time.Time) error) (*document, error) {
	return m.edit(ctx, ifRevision, func(h *header, sec secrets, now time.Time) error {
		if h.movedTo != "" {
			return &MovedError{Keyring: m.name, To: h.movedTo}
		}
		return edit(h, sec, now)
	})
}

// edit is change, of a keyring that was moved too.
func (m *Manager) edit(ctx context.Context, ifRevision uint64, edit func(h *header, sec secrets, now time.Time) error) (*document, error) {
	if !printable(m.opts.Actor, maxAuthorBytes) {
		return nil, &ActorError{}
	}
	d, sec, version, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	defer sec.wipe()
	if ifRevision != 0 && d.revision != ifRevision {
		return nil, changedBy(d, d.latest())
	}
	h, all := d.header.clone(), maps.Clone(sec)
	defer all.wipe()
	h.revision++
	if h.revision > maxRevision {
		return nil, &DocumentError{Keyring: m.name, Place: clearPlace + "/revision", Rule: RuleRevision, Detail: "the last revision was reached"}
	}
	now := m.now()
	if err := edit(h, all, now); err != nil {
		return d, err
	}
	h.written = StateChange{At: now, Author: m.opts.Actor}
	for id := range sec {
		if all[id] == nil && !h.destroyed(id) {
			return nil, fmt.Errorf("keyring %s: a change would lose key %s", m.name, id)
		}
	}
	saved, err := m.save(ctx, h, all, version)
	if errors.Is(err, ErrChanged) {
		return nil, m.lost(ctx, err)
	}
	return saved, err
}

// described gives what a change has made, or what was there if it had nothing to do.
func (m *Manager) described(d *document, err error) (*Description, error) {
	if err != nil && !errors.Is(err, errNothingToDo) {
		return nil, err
	}
	return &Description{doc: d}, nil
}

// changeKey changes one key.
func (m *Manager) changeKey(ctx context.Context, p Purpose, id KeyID, what string, edit func(r *keyRecord, now time.Time) error) (*Changed, error) {
	return m.changeKeyOf(ctx, 0, p, id, what, func(_ *header, r *keyRecord, now time.Time) error { return edit(r, now) })
}

func (m *Manager) changeKeyOf(ctx context.Context, ifRevision uint64, p Purpose, id KeyID, what string, edit func(h *header, r *keyRecord, now time.Time) error) (*Changed, error) {
	if !p.Valid() {
		return nil, &PurposeError{Purpose: p}
	}
	d, err := m.change(ctx, ifRevision, func(h *header, _ secrets, now time.Time) error {
		r := h.find(p, id)
		if r == nil {
			return &UnknownKeyError{Keyring: m.name, Purpose: p, ID: id}
		}
		return edit(h, r, now)
	})
	description, failed := m.described(d, err)
	if failed != nil {
		return nil, failed
	}
	info, _ := description.Key(p, id)
	if err == nil {
		m.logChange(ctx, what, d, info)
	}
	return &Changed{Key: info, Keyring: description, Unchanged: err != nil}, nil
}

// save seals the document, proves that what it is about to store opens to the
// same keys, and stores it.
func (m *Manager) save(ctx context.Context, h *header, sec secrets, version string) (*document, error) {
	raw, err := sealDocument(ctx, m.kek, h, sec)
	if err != nil {
		return nil, err
	}
	d, err := parseDocument(m.name, raw)
	if err != nil {
		return nil, err
	}
	back, err := d.open(ctx, m.kek)
	if err != nil {
		return nil, err
	}
	defer back.wipe()
	if !back.equal(sec) {
		return nil, fmt.Errorf("keyring %s: the sealed document does not hold the keys that it should", m.name)
	}
	if err := m.store.Save(ctx, raw, version); err != nil {
		return nil, fmt.Errorf("keyring %s: %w", m.name, err)
	}
	m.remember(ctx, d)
	return d, nil
}

// lost says who won over a change. If even that cannot be read, the first
// error stands.
func (m *Manager) lost(ctx context.Context, cause error) error {
	raw, _, err := m.store.Load(ctx)
	if err != nil {
		return cause
	}
	d, err := parseDocument(m.name, raw)
	if err != nil {
		return cause
	}
	return changedBy(d, d.latest())
}

func changedBy(d *document, by StateChange) *ChangedError {
	return &ChangedError{Keyring: d.name, Revision: d.revision, Author: by.Author, At: by.At}
}

func (m *Manager) now() time.Time { return m.opts.Now().UTC().Truncate(time.Microsecond) }

func (m *Manager) logChange(ctx context.Context, what string, d *document, k KeyInfo) {
	m.opts.Logger.LogAttrs(ctx, slog.LevelInfo, what,
		slog.String("keyring", d.name), slog.Uint64("revision", d.revision), slog.String("author", m.opts.Actor),
		slog.String("purpose", string(k.Purpose)), slog.String("key", k.ID.String()))
}

// newKeyID draws an id that neither this keyring nor the others use. Zero is
// no id.
func newKeyID(h *header, others []*Description) KeyID {
	return freeKeyID(randomKeyID, h, others)
}

func freeKeyID(draw func() KeyID, h *header, others []*Description) KeyID {
	for {
		if id := draw(); id != 0 && !h.has(id) && !usedBy(others, id) {
			return id
		}
	}
}

func randomKeyID() KeyID {
	var b [4]byte
	rand.Read(b[:])
	return KeyID(binary.BigEndian.Uint32(b[:]))
}

func usedBy(others []*Description, id KeyID) bool {
	for _, o := range others {
		if o != nil && o.doc.has(id) {
			return true
		}
	}
	return false
}

// String names the manager's keyring.
func (m *Manager) String() string { return "manager of keyring " + m.name }

// Format prints what String returns, whatever the verb.
func (m *Manager) Format(f fmt.State, _ rune) { fmt.Fprint(f, m.String()) }
