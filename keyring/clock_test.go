package keyring_test

import (
	"sync"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// clock is set by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func clockAt(t time.Time) *clock { return &clock{now: t} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newManager(t testing.TB, name string, store keyring.Store, kek keyring.KEK, c *clock) *keyring.Manager {
	t.Helper()
	return managerOf(t, name, store, kek, c, "ops@example.com")
}

func managerOf(t testing.TB, name string, store keyring.Store, kek keyring.KEK, c *clock, actor string) *keyring.Manager {
	t.Helper()
	m, err := keyring.NewManager(name, store, kek, keyring.ManagerOptions{Actor: actor, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
