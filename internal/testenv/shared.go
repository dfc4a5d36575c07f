package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/server"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/share"
)

// readyWait bounds the start of a server, on a machine that is busy with other
// tests.
const readyWait = 3 * time.Minute

// lease is what this process has joined: once for each kind, until it ends.
type lease struct {
	once sync.Once
	*share.Lease
	err error
}

// The leases live as long as the process, as the locks behind them do.
var (
	postgresLease lease
	vaultLease    lease
)

// join returns access to the shared server of a kind.
func (l *lease) join(t testing.TB, k share.Kind) share.Access {
	t.Helper()
	l.once.Do(func() { l.Lease, l.err = joinShared(k) })
	if l.err != nil {
		t.Fatalf("a shared %s server for tests: %v", k, l.err)
	}
	return l.Access
}

func joinShared(k share.Kind) (*share.Lease, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readyWait)
	defer cancel()
	root, err := server.Repository()
	if err != nil {
		return nil, err
	}
	if err := programThere(root, k); err != nil {
		return nil, err
	}
	dir := server.SharedDir(root)
	place, err := share.NewPlace(dir)
	if err != nil {
		return nil, err
	}
	supervisor, err := buildSupervisor(ctx, root, dir)
	if err != nil {
		return nil, err
	}
	defer os.Remove(supervisor) // a running program keeps its file
	return place.Join(ctx, k, func(k share.Kind) *exec.Cmd {
		cmd := exec.Command(supervisor, "supervise", string(k), "-place", dir)
		cmd.Dir = root
		return cmd
	})
}

// programThere says so here if a server cannot be started, not by way of the
// supervisor's log.
func programThere(root string, k share.Kind) error {
	if k == share.Vault {
		_, err := server.VaultProgram(root)
		return err
	}
	return server.PostgresThere()
}

// buildSupervisor builds the command testservers: a supervisor outlives the
// test's own program, which go test removes.
func buildSupervisor(ctx context.Context, root, dir string) (string, error) {
	file, err := os.CreateTemp(dir, "testservers-")
	if err != nil {
		return "", err
	}
	path := file.Name()
	if err := file.Close(); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./internal/testenv/testservers")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("building %s: %w: %s", filepath.Base(path), err, out), os.Remove(path))
	}
	return path, nil
}
