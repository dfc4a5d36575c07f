package keyring

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// unknownMemory is how long an id that a refresh did not find stays unknown
	// without asking again.
	unknownMemory = time.Minute
	// unknownBudget is how many refreshes unknown ids may cause in a minute.
	// Made-up ids then cost a store and a KEK little, whoever sends them.
	unknownBudget = 10
	// maxUnknownIDs bounds what made-up ids cost in memory.
	maxUnknownIDs = 1024
)

// reload loads the document and swaps it in. Only one runs at a time. A document
// that is in use already is not opened anew: the KEK is not asked then.
func (k *Keyring) reload(ctx context.Context) error {
	old := k.state.Load()
	known, err := k.recall(ctx, old == nil)
	if err != nil {
		return err
	}
	raw, _, err := k.store.Load(ctx)
	if err != nil {
		return fmt.Errorf("keyring %s: %w", k.name, err)
	}
	d, err := parseDocument(k.name, raw)
	if err != nil {
		return err
	}
	if old != nil && old.doc.digest == d.digest {
		return known.check(d)
	}
	// Opened first: a document that was damaged or forged is not one that went back.
	sec, err := d.open(ctx, k.key)
	if err != nil {
		return err
	}
	defer sec.wipe()
	if err := k.seen.check(d); err != nil {
		return err
	}
	if err := known.check(d); err != nil {
		return err
	}
	next, err := newSnapshot(d, sec, old)
	if err != nil {
		return err
	}
	// Only now is the document known to be one to use, and worth remembering.
	if err := record(ctx, k.opts.Memory, d); err != nil {
		k.log(slog.LevelInfo, "other processes cannot be told of the keyring's revision", d.revision, err) // a role that only reads, say
	}
	k.seen.advance(d)
	k.state.Store(next)
	k.wipeUnused(ctx, old, next)
	if k.closed.Load() {
		// Close may have wiped the old snapshot only.
		for _, key := range next.keys() {
			key.material.wipe(k.errClosed())
		}
		return k.errClosed()
	}
	if k.metrics != nil {
		k.tell(EventLoaded, nil)
	}
	if d.movedTo != "" {
		k.log(slog.LevelWarn, "keyring was moved, and keys that are made at its new place are not seen here: configure that one", d.revision, nil, slog.String("moved_to", d.movedTo))
	}
	k.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "keyring loaded", slog.String("keyring", k.name), slog.Uint64("revision", d.revision), slog.String("author", d.latest().Author))
	return nil
}

// recall asks what other processes have seen. One that runs goes on without an
// answer: the database may be away while the store is not.
func (k *Keyring) recall(ctx context.Context, starting bool) (remembered, error) {
	known, err := recall(ctx, k.opts.Memory, k.name)
	if err != nil && !starting {
		k.log(slog.LevelWarn, "what other processes have seen of the keyring cannot be told", k.Revision(), err)
		return nil, nil
	}
	return known, err
}

// wipeUnused wipes the keys that a refresh has taken out of use.
func (k *Keyring) wipeUnused(ctx context.Context, old, next *snapshot) {
	if old == nil {
		return
	}
	for _, key := range old.keys() {
		now := next.side(key.purpose).byID[key.id]
		switch {
		case now == nil:
			k.tell(EventKeyLost, &UnknownKeyError{Keyring: k.name, Purpose: key.purpose, ID: key.id})
			k.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "keyring lost a key", slog.String("keyring", k.name), slog.Uint64("revision", next.doc.revision), slog.Any("key", key))
			key.material.wipe(&UnknownKeyError{Keyring: k.name, Purpose: key.purpose, ID: key.id})
		case now.material == nil:
			key.material.wipe(&KeyStateError{Keyring: k.name, Purpose: key.purpose, ID: key.id, State: now.state})
		}
	}
}

// fly is one refresh that several callers may wait for, so it outlives the
// context of the one that started it, but neither its timeout nor the keyring.
func (k *Keyring) fly() error {
	ctx, cancel := context.WithTimeout(k.life, k.opts.RefreshTimeout)
	defer cancel()
	err := k.reload(ctx)
	if err != nil && k.closed.Load() {
		return k.errClosed()
	}
	k.refreshed(err)
	if err != nil {
		k.tell(EventRefreshFailed, err)
		k.opts.Logger.LogAttrs(ctx, slog.LevelError, "keyring not refreshed, going on with what is loaded", slog.String("keyring", k.name), slog.Uint64("revision", k.Revision()), slog.String("error", err.Error()))
	}
	return err
}

// lookAgain refreshes for an id that the snapshot does not hold.
func (k *Keyring) lookAgain(ctx context.Context, p Purpose, id KeyID) (*Key, error) {
	notFound := &UnknownKeyError{Keyring: k.name, Purpose: p, ID: id}
	if k.unknown.remembered(p, id, k.opts.Now()) {
		return nil, notFound
	}
	err, flown := k.flights.shared(ctx, k.fly, func() bool {
		// A refresh may have ended since this lookup began.
		return k.state.Load().side(p).byID[id] == nil && k.unknown.spend(k.opts.Now())
	})
	if key := k.state.Load().side(p).byID[id]; key != nil {
		return k.usable(key)
	}
	if err != nil {
		notFound.Err = err
		return nil, notFound
	}
	if flown {
		k.unknown.remember(p, id, k.opts.Now())
	}
	return nil, notFound
}

// flights lets one refresh run at a time.
type flights struct {
	mu      sync.Mutex
	current *flight
	queued  *flight
}

type flight struct {
	done chan struct{}
	err  error
}

// shared waits for the refresh under way, else starts one if allowed says so.
func (f *flights) shared(ctx context.Context, fly func() error, allowed func() bool) (err error, flown bool) {
	f.mu.Lock()
	if f.current == nil {
		if !allowed() {
			f.mu.Unlock()
			return nil, false
		}
		f.start(fly)
	}
	current := f.current
	f.mu.Unlock()
	return current.wait(ctx), true
}

// fresh waits for a refresh that began after the call: one under way may have
// read the store before.
func (f *flights) fresh(ctx context.Context, fly func() error) error {
	f.mu.Lock()
	mine := f.queued
	switch {
	case f.current == nil:
		mine = f.start(fly)
	case mine == nil:
		mine = &flight{done: make(chan struct{})}
		f.queued = mine
	}
	f.mu.Unlock()
	return mine.wait(ctx)
}

func (f *flights) start(fly func() error) *flight {
	f.current = &flight{done: make(chan struct{})}
	go f.run(f.current, fly)
	return f.current
}

func (f *flights) run(this *flight, fly func() error) {
	for this != nil {
		this.err = fly()
		f.mu.Lock()
		f.current, f.queued = f.queued, nil
		next := f.current
		f.mu.Unlock()
		close(this.done)
		this = next
	}
}

func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// unknownIDs remembers which ids a refresh did not find, and how many refreshes
// they caused.
type unknownIDs struct {
	mu    sync.Mutex
	until map[unknownID]time.Time
	spent []time.Time
}

type unknownID struct {
	purpose Purpose
	id      KeyID
}

func (u *unknownIDs) remembered(p Purpose, id KeyID, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return now.Before(u.until[unknownID{p, id}])
}

func (u *unknownIDs) remember(p Purpose, id KeyID, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, until := range u.until {
		if !now.Before(until) {
			delete(u.until, key)
		}
	}
	if len(u.until) >= maxUnknownIDs {
		return
	}
	if u.until == nil {
		u.until = map[unknownID]time.Time{}
	}
	u.until[unknownID{p, id}] = now.Add(unknownMemory)
}

// spend takes one refresh from the minute's budget if any is left.
func (u *unknownIDs) spend(now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.spent) > 0 && now.Sub(u.spent[0]) >= unknownMemory {
		u.spent = u.spent[1:]
	}
	if len(u.spent) >= unknownBudget {
		return false
	}
	u.spent = append(u.spent, now)
	return true
}
