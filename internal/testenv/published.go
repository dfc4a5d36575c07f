package testenv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/server"
)

// fetchWait bounds a download, on a machine that is busy with other tests.
const fetchWait = 5 * time.Minute

// publishedDir is the nested module that pins published test data: Go modules
// in go.mod and go.sum, npm packages in package-lock.json.
const publishedDir = "internal/testenv/published"

// Module returns the directory of a Go module that holds published test data,
// such as JSON-Schema-Test-Suite, in the version that published/go.mod pins. It
// is fetched if it is not there yet. Nothing may be written to it.
func Module(t testing.TB, path string) string {
	t.Helper()
	root, err := server.Repository()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), fetchWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path)
	cmd.Dir = filepath.Join(root, publishedDir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, runErr := cmd.Output()
	var module struct{ Dir, Error string }
	if err := json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		t.Fatalf("test data in the Go module %s: %v %s %s; run `make deps` where the module proxy can be reached", path, runErr, module.Error, stderr.Bytes())
	}
	return module.Dir
}

// nodeModules is found once for each process.
var nodeModules = sync.OnceValues(func() (string, error) {
	root, err := server.Repository()
	if err != nil {
		return "", err
	}
	return installNodeModules(filepath.Join(root, publishedDir), filepath.Join(root, ".cache", "npm"))
})

// NodeModules returns a directory whose node_modules holds what
// published/package.json names: published schemas and events, and the
// validator that checks wire schemas in another language. A script run in this
// directory, or one that makes its require for it, finds them. Nothing may be
// written to it.
//
// The first caller installs them with npm, from the lock file.
func NodeModules(t testing.TB) string {
	t.Helper()
	dir, err := nodeModules()
	if err != nil {
		t.Fatalf("npm packages for tests: %v", err)
	}
	return dir
}

// installNodeModules installs what from pins below cache, in a directory of its own for each state of the lock file, so that it is whole or not there.
func installNodeModules(from, cache string) (string, error) {
	digest := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return "", err
		}
		files[name] = text
		digest.Write(text)
	}
	dir := filepath.Join(cache, hex.EncodeToString(digest.Sum(nil)[:8]))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(dir + ".lock")
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is not installed; run `apt-get install npm`")
	}
	partial, err := os.MkdirTemp(cache, "partial-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(partial)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(partial, name), text, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci")
	cmd.Dir = partial
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return dir, os.Rename(partial, dir)
}
