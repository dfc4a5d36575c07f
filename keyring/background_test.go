package keyring_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// told collects events.
type told struct {
	mu  sync.Mutex
	all []keyring.Event
}

func (o *told) event(e keyring.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, e)
}

func (o *told) kinds(k keyring.EventKind) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, e := range o.all {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// lockedText is written by one goroutine and read by another.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func opened(t testing.TB, ring *keyringtest.Ring, opts keyring.Options) *keyring.Keyring {
	t.Helper()
	k, err := keyring.Open(ctx, "default", ring.Store, ring.KEK, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func TestAKeyringRefreshesInTheBackgroundUntilItIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		ring.Keyring.Close()
		k := opened(t, ring, keyring.Options{})
		ring.Stage(keyring.Seal)
		time.Sleep(time.Minute)
		synctest.Wait()
		if k.Revision() != 2 {
			t.Errorf("after a minute it has revision %d, want 2", k.Revision())
		}
		loads := ring.Store.Loads()
		time.Sleep(time.Hour)
		synctest.Wait()
		// 60 intervals, each cut by a fifth at most.
		if n := ring.Store.Loads() - loads; n < 59 || n > 76 {
			t.Errorf("%d loads in an hour, want about 60", n)
		}
		k.Close()
		loads = ring.Store.Loads()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := ring.Store.Loads() - loads; n != 0 {
			t.Errorf("%d loads after it was closed", n)
		}
	})
}

func TestProcessesThatStartTogetherDoNotRefreshTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		ring.Keyring.Close()
		start := time.Now()
		var mu sync.Mutex
		moments := map[time.Duration]bool{}
		for range 50 {
			k := opened(t, ring, keyring.Options{RefreshInterval: 10 * time.Second, OnEvent: func(e keyring.Event) {
				mu.Lock()
				defer mu.Unlock()
				moments[e.At.Sub(start)] = true
			}})
			defer k.Close()
		}
		ring.Store.Fail(errors.New("away"))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(moments) < 40 {
			t.Errorf("50 keyrings were refreshed at %d moments", len(moments))
		}
	})
}

func TestARefreshComesTwiceWithinThePropagationTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		ring.Keyring.Close()
		k := opened(t, ring, keyring.Options{RefreshInterval: time.Hour}) // the propagation time is 10 minutes
		ring.Stage(keyring.Seal)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if k.Revision() != 2 {
			t.Error("a staged key was not loaded within half of the propagation time")
		}
	})
}

func TestAFailedRefreshIsTriedAgainSoonThenLessOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		ring.Keyring.Close()
		var events told
		k := opened(t, ring, keyring.Options{RefreshInterval: 5 * time.Minute, OnEvent: events.event})
		ring.Store.Fail(errors.New("away"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// The first within 5 minutes, then after 1, 2, 4, … 256 s, each cut by a fifth at most.
		if n := events.kinds(keyring.EventRefreshFailed); n < 8 || n > 11 {
			t.Errorf("%d tries in the first ten minutes", n)
		}
		later := events.kinds(keyring.EventRefreshFailed)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := events.kinds(keyring.EventRefreshFailed) - later; n > 20 {
			t.Errorf("%d tries in an hour", n)
		}
		ring.Store.Fail(nil)
		ring.Stage(keyring.Seal)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if k.Revision() != 2 {
			t.Error("it did not recover")
		}
	})
}

func TestAKeyringThatIsTooOldGivesNoKeyUntilItIsRefreshedAndWarnsLongBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		ring.Keyring.Close()
		var events told
		var log lockedText
		k := opened(t, ring, keyring.Options{OnEvent: events.event, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		key, err := k.Primary(keyring.Seal)
		if err != nil {
			t.Fatal(err)
		}
		away := errors.New("away")
		ring.Store.Fail(away)
		time.Sleep(11*time.Hour + 58*time.Minute)
		synctest.Wait()
		if events.kinds(keyring.EventGettingStale) != 0 {
			t.Error("it warned before half of the time")
		}
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if events.kinds(keyring.EventGettingStale) != 1 || !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("%d warnings at half of the time", events.kinds(keyring.EventGettingStale))
		}
		if _, err := k.Primary(keyring.Seal); err != nil {
			t.Error(err)
		}
		time.Sleep(12 * time.Hour)
		synctest.Wait()
		var stale *keyring.StaleError
		if _, err := k.Primary(keyring.Seal); !errors.As(err, &stale) || !errors.Is(err, away) || !stale.Retryable() {
			t.Errorf("after a day: %v", err)
		} else {
			hinted(t, stale)
		}
		if _, err := k.Key(ctx, keyring.Seal, key.ID()); !errors.As(err, &stale) {
			t.Errorf("after a day: %v", err)
		}
		if k.Usable(keyring.Index) != nil || events.kinds(keyring.EventStale) != 1 {
			t.Errorf("it gives keys, told %d times", events.kinds(keyring.EventStale))
		}
		ring.Store.Fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := k.Primary(keyring.Seal); err != nil {
			t.Errorf("after a refresh: %v", err)
		}
	})
}

func TestStalenessIsWatchedWithoutABackgroundRefreshAndMayBeSwitchedOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		ring.Keyring.Close()
		watched := opened(t, ring, keyring.Options{RefreshInterval: -1, MaxStale: time.Hour})
		forever := opened(t, ring, keyring.Options{RefreshInterval: -1, MaxStale: -1})
		loads := ring.Store.Loads()
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		var stale *keyring.StaleError
		if _, err := watched.Primary(keyring.Seal); !errors.As(err, &stale) || stale.Err != nil {
			t.Error(err)
		}
		if err := watched.Refresh(ctx); err != nil {
			t.Error(err)
		}
		if _, err := watched.Primary(keyring.Seal); err != nil {
			t.Error(err)
		}
		time.Sleep(10000 * time.Hour)
		if _, err := forever.Primary(keyring.Seal); err != nil {
			t.Error(err)
		}
		if ring.Store.Loads() != loads+1 {
			t.Error("it was refreshed in the background")
		}
		watched.Close()
		forever.Close()
	})
}

func TestAnUnchangedDocumentIsNotOpenedAnew(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	kek := &countingKEK{KEK: ring.KEK}
	k, err := keyring.Open(ctx, "default", ring.Store, kek, keyring.Options{RefreshInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	before := kek.calls
	for range 3 {
		if err := k.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if kek.calls != before {
		t.Errorf("%d calls of the KEK", kek.calls-before)
	}
}

type countingKEK struct {
	keyring.KEK
	calls int
}

func (c *countingKEK) DecryptWithContext(ctx context.Context, ct, ad []byte) ([]byte, error) {
	c.calls++
	return c.KEK.DecryptWithContext(ctx, ct, ad)
}

func TestMetricsTellAgeRevisionAndEvents(t *testing.T) {
	t.Parallel()
	c := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	reader := metric.NewManualReader()
	k, err := keyring.Open(ctx, "default", ring.Store, ring.KEK, keyring.Options{Now: c.Now, RefreshInterval: -1, MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(90 * time.Second)
	ring.Store.Fail(errors.New("away"))
	_ = k.Refresh(ctx)
	got := collect(t, reader)
	if got["fieldcrypt.keyring.age"] != 90 || got["fieldcrypt.keyring.revision"] != 1 || got["fieldcrypt.keyring.events loaded"] != 1 || got["fieldcrypt.keyring.events refresh-failed"] != 1 {
		t.Errorf("got %v", got)
	}
	k.Close()
	if got := collect(t, reader); got["fieldcrypt.keyring.revision"] != 0 {
		t.Errorf("a closed keyring is observed: %v", got)
	}
}

func collect(t testing.TB, reader *metric.ManualReader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					event, _ := p.Attributes.Value("event")
					got[m.Name+" "+event.AsString()] = float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					got[m.Name] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					got[m.Name] = p.Value
				}
			}
		}
	}
	return got
}

func TestOneEventIsToldAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		ring.Keyring.Close()
		var telling, together atomic.Int32
		k := opened(t, ring, keyring.Options{RefreshInterval: -1, MaxStale: time.Hour, OnEvent: func(keyring.Event) {
			if telling.Add(1) > 1 {
				together.Add(1)
			}
			time.Sleep(time.Minute)
			telling.Add(-1)
		}})
		ring.Store.Fail(errors.New("away"))
		time.Sleep(29*time.Minute + 30*time.Second)
		// The background says that it is getting stale while this refresh says that it failed.
		if err := k.Refresh(ctx); err == nil {
			t.Error("a refresh of a store that is away")
		}
		time.Sleep(5 * time.Minute)
		if n := together.Load(); n != 0 {
			t.Errorf("%d events were told while another one was", n)
		}
	})
}

func TestAKeyringThatOnlyItsOwnerRefreshesGetsTooOldEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring := keyringtest.NewRing(t, keyringtest.Options{})
		ring.Keyring.Close()
		k := opened(t, ring, keyring.Options{RefreshInterval: -1, MaxStale: 10 * time.Minute})
		for round := range 3 {
			if _, err := k.Primary(keyring.Seal); err != nil {
				t.Fatalf("round %d: after a refresh: %v", round, err)
			}
			time.Sleep(10*time.Minute + time.Second)
			synctest.Wait()
			var stale *keyring.StaleError
			if _, err := k.Primary(keyring.Seal); !errors.As(err, &stale) {
				t.Errorf("round %d: 10 minutes after a refresh: %v", round, err)
			}
			time.Sleep(time.Minute)
			if err := k.Refresh(ctx); err != nil {
				t.Fatal(err)
			}
		}
		k.Close()
	})
}
