package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gofrs/flock"
)

// vaultSources are what the Vault server is built from.
const vaultSources = "internal/testenv/vaultserver"

// VaultProgram returns the built Vault server of the repository at root. Its
// name holds a digest of its sources, so that an old one is never used.
func VaultProgram(root string) (string, error) {
	path, err := vaultProgramPath(root)
	if err != nil {
		return "", err
	}
	if !isProgram(path) {
		return "", &MissingError{Program: "the Vault server for tests", Where: path, Install: "make deps"}
	}
	return path, nil
}

func vaultProgramPath(root string) (string, error) {
	key, err := vaultKey(filepath.Join(root, vaultSources))
	if err != nil {
		return "", err
	}
	return cached(root, "bin", "vaultserver-"+key), nil
}

// vaultKey is a digest of go.mod, go.sum and the program's own files: together
// they fix what is built.
func vaultKey(dir string) (string, error) {
	const keyBytes = 8
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, path := range append([]string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")}, sources...) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.Base(path), len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:keyBytes]), nil
}

// BuildVault builds the Vault server if it is not built yet, which takes
// minutes the first time, and removes older ones.
func BuildVault(ctx context.Context, root string, log io.Writer) (string, error) {
	path, err := vaultProgramPath(root)
	if err != nil || isProgram(path) {
		return path, err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, "vaultserver.lock"))
	if _, err := lock.TryLockContext(ctx, lockEvery); err != nil {
		return "", err
	}
	defer lock.Close()
	if isProgram(path) {
		return path, nil // another process has built it in the meantime
	}
	part := path + ".part"
	defer os.Remove(part)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", part, ".")
	cmd.Dir = filepath.Join(root, vaultSources)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building the Vault server for tests in %s: %w", vaultSources, err)
	}
	if err := os.Rename(part, path); err != nil {
		return "", err
	}
	return path, removeOlder(path)
}

func removeOlder(path string) error {
	all, err := filepath.Glob(filepath.Join(filepath.Dir(path), "vaultserver-*"))
	if err != nil {
		return err
	}
	for _, other := range all {
		if other != path {
			if err := os.Remove(other); err != nil {
				return err
			}
		}
	}
	return nil
}
