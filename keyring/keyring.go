package keyring

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Options for Open. The zero value is useful.
type Options struct {
	// Logger receives refreshes and refusals; never a key byte. Defaults to a
	// logger that discards.
	Logger *slog.Logger
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// RefreshTimeout bounds one load from store and KEK. Defaults to 10 seconds.
	RefreshTimeout time.Duration
	// RefreshInterval is how often the document is loaded in the background, with
	// jitter; never more seldom than twice in the keyring's propagation time. -1
	// for no refresh but by Refresh and by unknown key ids. Defaults to 1 minute.
	RefreshInterval time.Duration
	// MaxStale is for how long the keyring is used while no refresh succeeds;
	// after that it gives no key. It warns at half of it. -1 for ever. Defaults
	// to 24 hours.
	MaxStale time.Duration
	// Memory remembers, across processes, the newest document that was seen: an
	// older one is refused. Open fails if it cannot be asked; a refresh then goes
	// by what this process has seen. One that cannot be written is only logged.
	// Defaults to this process's memory alone.
	Memory Memory
	// OnEvent is told what happens to the keyring, by one goroutine at a time; it
	// must return soon. A refresh waits for it, so that it must not call the
	// keyring's Refresh or Close, nor Key, which may refresh.
	// Defaults to nobody.
	OnEvent func(Event)
	// MeterProvider receives metrics: fieldcrypt.keyring.events, .age (s) and
	// .revision. Defaults to none.
	MeterProvider metric.MeterProvider
}

const defaultRefreshTimeout = 10 * time.Second

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.RefreshTimeout <= 0 {
		o.RefreshTimeout = defaultRefreshTimeout
	}
	if o.RefreshInterval == 0 {
		o.RefreshInterval = defaultRefreshInterval
	}
	if o.MaxStale == 0 {
		o.MaxStale = defaultMaxStale
	}
	return o
}

// Keyring is a loaded keyring. It holds a snapshot of the stored document that
// a refresh swaps atomically: readers take no lock and make no call, and go on
// with what they have while the store or the KEK is away. Safe for concurrent
// use.
type Keyring struct {
	name  string
	kek   string
	opts  Options
	store Store
	key   KEK
	state atomic.Pointer[snapshot]
	// closed is set before the key bytes are wiped.
	closed  atomic.Bool
	flights flights
	unknown unknownIDs
	fresh   freshness
	metrics *metrics
	// telling holds one element while somebody calls OnEvent: the background judges the age while a refresh runs.
	telling chan struct{}
	// seen is touched by one flight at a time.
	seen watermark
	stop context.CancelFunc
	life context.Context
}

// Open loads the keyring with this name: the name that was asked for, which the
// document must agree with.
func Open(ctx context.Context, name string, store Store, kek KEK, opts Options) (*Keyring, error) {
	if !ValidName(name) {
		return nil, &NameFormError{Name: name}
	}
	life, stop := context.WithCancel(context.Background())
	k := &Keyring{
		name:  name,
		kek:   kek.URI(),
		opts:  opts.withDefaults(),
		store: store,
		key:   kek,
		life:  life,
		stop:  stop,

		telling: make(chan struct{}, 1),
	}
	if err := k.reload(ctx); err != nil {
		stop()
		return nil, err
	}
	k.refreshed(nil)
	k.kek = k.state.Load().doc.kek
	var err error
	if k.metrics, err = newMetrics(k.opts.MeterProvider, k); err != nil {
		k.Close()
		return nil, fmt.Errorf("keyring %s: metrics: %w", name, err)
	}
	k.tell(EventLoaded, nil)
	if k.opts.RefreshInterval > 0 || k.opts.MaxStale > 0 {
		go k.background()
	}
	return k, nil
}

// Name returns the keyring's name.
func (k *Keyring) Name() string { return k.name }

// Revision returns the revision of the loaded document.
func (k *Keyring) Revision() uint64 { return k.state.Load().doc.revision }

// KEKURI names the KEK that seals the keyring.
func (k *Keyring) KEKURI() string { return k.kek }

// Primary returns the key that writes use.
func (k *Keyring) Primary(p Purpose) (*Key, error) {
	side := k.state.Load().side(p)
	if side == nil {
		return nil, &PurposeError{Purpose: p}
	}
	if err := k.usableNow(); err != nil {
		return nil, err
	}
	return side.primary, nil
}

// Key returns a usable key (staged, primary, active). An unknown id causes one
// refresh, which all lookups that meet it share; an id that is unknown even
// then is remembered for a minute. Errors: *UnknownKeyError (retryable),
// *KeyStateError (disabled, destroyed).
func (k *Keyring) Key(ctx context.Context, p Purpose, id KeyID) (*Key, error) {
	if !p.Valid() {
		return nil, &PurposeError{Purpose: p}
	}
	if err := k.usableNow(); err != nil {
		return nil, err
	}
	if key := k.state.Load().side(p).byID[id]; key != nil {
		return k.usable(key)
	}
	return k.lookAgain(ctx, p, id)
}

func (k *Keyring) usable(key *Key) (*Key, error) {
	if !key.state.Usable() {
		return nil, &KeyStateError{Keyring: k.name, Purpose: key.purpose, ID: key.id, State: key.state}
	}
	return key, nil
}

// Usable returns all staged, primary and active keys, the primary first. It is
// empty once the keyring is closed, or too old to be used.
func (k *Keyring) Usable(p Purpose) []*Key {
	side := k.state.Load().side(p)
	if side == nil || k.usableNow() != nil {
		return nil
	}
	return slices.Clone(side.usable)
}

// Keys describes every key, destroyed ones too, in document order.
func (k *Keyring) Keys() []KeyInfo { return k.Describe().Keys() }

// Describe returns the clear part of the loaded document.
func (k *Keyring) Describe() *Description { return &Description{doc: k.state.Load().doc} }

// Refresh loads the document anew. What was stored before the call is seen
// after it. If it fails, the keyring goes on with what it has.
func (k *Keyring) Refresh(ctx context.Context) error {
	if k.closed.Load() {
		return k.errClosed()
	}
	return k.flights.fresh(ctx, k.fly)
}

// Close wipes the key bytes that the keyring holds. Keys that it gave stop
// deriving.
func (k *Keyring) Close() {
	if k.closed.Swap(true) {
		return
	}
	k.stop()
	if k.metrics != nil {
		k.metrics.close()
	}
	for _, key := range k.state.Load().keys() {
		key.material.wipe(k.errClosed())
	}
}

func (k *Keyring) errClosed() error { return fmt.Errorf("keyring %s: %w", k.name, ErrClosed) }

// String names the keyring without its keys' bytes.
func (k *Keyring) String() string {
	return fmt.Sprintf("keyring %s (revision %d)", k.name, k.Revision())
}

// Format prints what String returns, whatever the verb.
func (k *Keyring) Format(f fmt.State, _ rune) { fmt.Fprint(f, k.String()) }

// LogValue logs the keyring without its keys' bytes.
func (k *Keyring) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", k.name), slog.Uint64("revision", k.Revision()))
}
