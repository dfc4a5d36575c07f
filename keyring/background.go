package keyring

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	defaultRefreshInterval = time.Minute
	defaultMaxStale        = 24 * time.Hour
	// firstRetry is how soon a refresh that failed is tried again; each failure
	// doubles it, up to the interval.
	firstRetry = time.Second
)

// EventKind is what happened to a loaded keyring.
type EventKind string

const (
	// EventLoaded: a document that is new to this process is in use.
	EventLoaded EventKind = "loaded"
	// EventRefreshFailed: a refresh failed; the keyring goes on with what it has.
	EventRefreshFailed EventKind = "refresh-failed"
	// EventGettingStale: no refresh has succeeded for half of MaxStale.
	EventGettingStale EventKind = "getting-stale"
	// EventStale: no refresh has succeeded for MaxStale; the keyring gives no key
	// until one does.
	EventStale EventKind = "stale"
	// EventKeyLost: a document lacks a key that the one before had.
	EventKeyLost EventKind = "key-lost"
)

// Event tells of one thing that happened to a loaded keyring. It holds no key
// byte.
type Event struct {
	Kind     EventKind
	Keyring  string
	Revision uint64
	// At is when it happened, Loaded when the last refresh succeeded.
	At, Loaded time.Time
	// Err says why; nil where nothing failed.
	Err error
}

// freshness is how long ago a keyring was last known to be what is stored.
type freshness struct {
	// loaded is when the last refresh succeeded, in nanoseconds since 1970.
	loaded atomic.Int64
	// stale is set by the background alone, so that giving a key asks no clock.
	stale atomic.Bool
	// lastErr is why the last refresh failed; nil if it did not.
	lastErr atomic.Pointer[error]
	// warned is touched by the background alone.
	warned bool
}

// Loaded is when the document was last known to be what is stored.
func (k *Keyring) Loaded() time.Time { return time.Unix(0, k.fresh.loaded.Load()).UTC() }

// age is how long ago that was.
func (k *Keyring) age() time.Duration { return k.opts.Now().Sub(k.Loaded()) }

// refreshed notes how a refresh ended.
func (k *Keyring) refreshed(err error) {
	if err != nil {
		k.fresh.lastErr.Store(&err)
		return
	}
	k.fresh.loaded.Store(k.opts.Now().UnixNano())
	k.fresh.lastErr.Store(nil)
	k.fresh.stale.Store(false)
}

// usableNow is the error of a keyring that is closed or too old to be used.
func (k *Keyring) usableNow() error {
	if k.closed.Load() {
		return k.errClosed()
	}
	if k.fresh.stale.Load() {
		e := &StaleError{Keyring: k.name, Loaded: k.Loaded(), MaxStale: k.opts.MaxStale}
		if why := k.fresh.lastErr.Load(); why != nil {
			e.Err = *why
		}
		return e
	}
	return nil
}

// interval is how often the document is loaded: at least twice within the time
// that a staged key waits, so that nobody meets a primary key it has not loaded.
func (k *Keyring) interval() time.Duration {
	interval := k.opts.RefreshInterval
	if p := k.state.Load().doc.propagation; p > 0 {
		interval = min(interval, p/2)
	}
	return interval
}

// background refreshes the keyring until it is closed. Each wait is cut by a
// random fifth at most, so that processes which started together do not ask
// together.
func (k *Keyring) background() {
	failures := 0
	for {
		wait := k.nextWait(failures)
		timer := time.NewTimer(wait)
		select {
		case <-k.life.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		failed := false
		if k.opts.RefreshInterval > 0 {
			failed = k.flights.fresh(k.life, k.fly) != nil
		}
		if failed {
			failures++
		} else {
			failures = 0
		}
		k.judgeAge()
	}
}

// nextWait is how long the background sleeps: to the next refresh, or until the
// age says something.
func (k *Keyring) nextWait(failures int) time.Duration {
	const forever = time.Hour
	wait := forever
	if k.opts.RefreshInterval > 0 {
		wait = k.interval()
		if failures > 0 {
			wait = min(wait, firstRetry<<min(failures-1, 16))
		}
		wait -= rand.N(wait/5 + 1)
	}
	switch {
	case k.opts.MaxStale <= 0:
	case k.fresh.stale.Load():
		wait = min(wait, k.opts.MaxStale/2) // somebody may call Refresh meanwhile, and the age counts again
	default:
		left := k.opts.MaxStale - k.age()
		if !k.fresh.warned {
			left -= k.opts.MaxStale / 2
		}
		wait = min(wait, left)
	}
	return max(wait, time.Millisecond)
}

// judgeAge warns well before a keyring gets too old, and ends its use when it is.
func (k *Keyring) judgeAge() {
	if k.opts.MaxStale < 0 {
		return
	}
	age := k.age()
	var err error
	if why := k.fresh.lastErr.Load(); why != nil {
		err = *why
	}
	switch {
	case age < k.opts.MaxStale/2:
		k.fresh.warned = false
	case age < k.opts.MaxStale:
		if !k.fresh.warned {
			k.fresh.warned = true
			k.log(slog.LevelWarn, "keyring not refreshed for long, it will not be used when it is too old", k.Revision(), err, slog.Duration("left", k.opts.MaxStale-age))
			k.tell(EventGettingStale, err)
		}
	case !k.fresh.stale.Swap(true):
		if k.age() < k.opts.MaxStale {
			k.fresh.stale.Store(false) // a refresh succeeded in this moment
			return
		}
		k.log(slog.LevelError, "keyring too old, it gives no key until it is refreshed", k.Revision(), err, slog.Duration("age", age))
		k.tell(EventStale, err)
	}
}

func (k *Keyring) log(level slog.Level, message string, revision uint64, err error, more ...slog.Attr) {
	attrs := append([]slog.Attr{slog.String("keyring", k.name), slog.Uint64("revision", revision)}, more...)
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	k.opts.Logger.LogAttrs(context.Background(), level, message, attrs...)
}

func (k *Keyring) tell(kind EventKind, err error) {
	k.metrics.count(kind)
	if k.opts.OnEvent != nil {
		k.telling <- struct{}{}
		defer func() { <-k.telling }()
		k.opts.OnEvent(Event{Kind: kind, Keyring: k.name, Revision: k.Revision(), At: k.opts.Now(), Loaded: k.Loaded(), Err: err})
	}
}

// StaleError says that a keyring could not be refreshed for so long that it is
// not used any more: keys may have been disabled since.
type StaleError struct {
	Keyring  string
	Loaded   time.Time
	MaxStale time.Duration
	// Err is why the last refresh failed; nil if none was tried.
	Err error
}

func (e *StaleError) Error() string {
	text := fmt.Sprintf("keyring %s: not refreshed since %s, which is longer than %s", e.Keyring, formatTime(e.Loaded), e.MaxStale)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *StaleError) Unwrap() error { return e.Err }

// Retryable says that the same call succeeds once a refresh does.
func (e *StaleError) Retryable() bool { return true }

// Hint says what to do next.
func (e *StaleError) Hint() string {
	if hint := hintOf(e.Err); hint != "" {
		return hint
	}
	return "look at why the keyring cannot be loaded; it is used again as soon as a refresh succeeds"
}
