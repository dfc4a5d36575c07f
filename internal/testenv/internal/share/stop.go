package share

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// InUseError: test processes that live use the server.
type InUseError struct {
	Kind Kind
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is in use by a test process; it ends by itself when it was idle for a while", e.Kind)
}

// Stop ends the server of a kind if there is one, and waits until it is gone.
// One that is in use stays, and the error is an *InUseError.
func (p Place) Stop(ctx context.Context, k Kind) (stopped bool, err error) {
	if alive, err := p.alive(k); err != nil || !alive {
		return false, err
	}
	users := p.lock(k, "users")
	defer users.Close()
	// The supervisor holds it for moments, too, and for good when it is ending
	// its server: then KIND.alive gets free.
	for range inUseTries {
		alone, err := users.TryLock()
		if err != nil {
			return false, err
		}
		if alone {
			return p.end(ctx, k)
		}
		if alive, err := p.alive(k); err != nil || !alive {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(lockEvery):
		}
	}
	return false, &InUseError{Kind: k}
}

// inUseTries is how often the lock is tried before the server counts as in use:
// longer than a server takes to end.
const inUseTries = 40

// end is for who holds KIND.users alone.
func (p Place) end(ctx context.Context, k Kind) (bool, error) {
	a, err := p.read(k)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// The process that holds KIND.alive is the one with this id.
	supervisor, err := os.FindProcess(a.PID)
	if err != nil {
		return false, err
	}
	if err := supervisor.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, err
	}
	gone := p.lock(k, "alive")
	defer gone.Close()
	if _, err := gone.TryLockContext(ctx, lockEvery); err != nil {
		return false, fmt.Errorf("waiting for %s to end: %w", k, err)
	}
	return true, p.sweep(k)
}
