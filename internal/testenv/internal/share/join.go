package share

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Lease says that this process uses a server. It ends with the process, or with
// Release.
type Lease struct {
	Access
	users *flock.Flock
}

// Release lets the server end.
func (l *Lease) Release() error { return l.users.Close() }

// Supervise is a command that supervises a server of a kind in the place (see
// [Place.Supervise]).
type Supervise func(Kind) *exec.Cmd

// Join returns access to the server of a kind, and starts a supervisor for it
// if there is none.
func (p Place) Join(ctx context.Context, k Kind, supervise Supervise) (*Lease, error) {
	l := &Lease{users: p.lock(k, "users")}
	// A supervisor that is ending its server holds it alone.
	if _, err := l.users.TryRLockContext(ctx, lockEvery); err != nil {
		return nil, fmt.Errorf("waiting for %s to end: %w", k, err)
	}
	if err := p.find(ctx, l, k, supervise); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

func (p Place) find(ctx context.Context, l *Lease, k Kind, supervise Supervise) error {
	starting := p.lock(k, "start")
	defer starting.Close()
	if _, err := starting.TryLockContext(ctx, lockEvery); err != nil {
		return fmt.Errorf("waiting for another process to start %s: %w", k, err)
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		alive, err := p.alive(k)
		if err != nil {
			return err
		}
		if !alive {
			if err := p.launch(ctx, k, supervise(k)); err != nil {
				return err
			}
		}
		l.Access, err = p.read(k)
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		// The supervisor lives and its server does not: one ended by itself.
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to end: %w", k, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// launch starts a supervisor and waits until its server can be used.
func (p Place) launch(ctx context.Context, k Kind, cmd *exec.Cmd) error {
	// One that was killed left it; it would be taken for the new one's.
	if err := p.sweep(k); err != nil {
		return err
	}
	log, err := os.OpenFile(p.path(k, "log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			text, _ := os.ReadFile(p.path(k, "log"))
			return fmt.Errorf("%s did not start: %w: %s", k, err, strings.TrimSpace(string(text)))
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			return fmt.Errorf("%s was not ready in time: %w", k, context.Cause(ctx))
		case <-tick.C:
		}
		if _, err := os.Stat(p.path(k, "json")); err == nil {
			return nil
		}
	}
}

// sweep removes what a supervisor that was killed has left.
func (p Place) sweep(k Kind) error {
	old, err := p.read(k)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, dir := range old.Dirs {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return errors.Join(err, os.Remove(p.path(k, "json")))
}
