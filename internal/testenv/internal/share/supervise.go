package share

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// Server is a started server.
type Server interface {
	// Done is closed when it has ended by itself.
	Done() <-chan struct{}
	// Remove ends it and removes its files.
	Remove() error
}

// Supervise starts a server and keeps it until nobody has used it for idle, or
// ctx ends. Only one supervisor of a kind runs in a place.
func (p Place) Supervise(ctx context.Context, k Kind, idle time.Duration, start func(context.Context) (Server, Access, error)) (err error) {
	alive := p.lock(k, "alive")
	defer alive.Close()
	first, err := alive.TryLock()
	if err != nil {
		return err
	}
	if !first {
		return fmt.Errorf("another process supervises %s", k)
	}
	// Deferred calls run in reverse: the server is gone before the next process
	// may look for one.
	users := p.lock(k, "users")
	defer users.Close()
	server, access, err := start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Remove()) }()
	access.PID = os.Getpid()
	if err := p.write(k, access); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(p.path(k, "json"))) }()
	return keep(ctx, k, idle, server, users)
}

// keep returns when the server shall end: with the lock held alone, unless ctx
// or the server has ended.
func keep(ctx context.Context, k Kind, idle time.Duration, server Server, users *flock.Flock) error {
	const looks = 10 // in the idle time
	tick := time.NewTicker(max(idle/looks, pollEvery))
	defer tick.Stop()
	used := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-server.Done():
			return fmt.Errorf("%s ended by itself", k)
		case <-tick.C:
		}
		alone, err := users.TryLock()
		if err != nil {
			return err
		}
		switch {
		case !alone:
			used = time.Now()
		case time.Since(used) >= idle:
			return nil
		default:
			if err := users.Unlock(); err != nil {
				return err
			}
		}
	}
}
