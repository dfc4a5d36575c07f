package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, mode os.FileMode, text string, elements ...string) {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func wantMissing(t *testing.T, err error, install string) {
	t.Helper()
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Install != install || !strings.Contains(err.Error(), install) {
		t.Errorf("%v, want a *MissingError that says %q", err, install)
	}
}

// Not parallel: PATH is the process's.
func TestPostgresIsFoundInPATHElseInItsNewestDebianPackage(t *testing.T) {
	debian, inPath := t.TempDir(), t.TempDir()
	t.Setenv("PATH", inPath)
	_, err := findPostgres(debian)
	wantMissing(t, err, "apt-get install postgresql")

	for _, version := range []string{"9", "15", "16"} {
		write(t, 0o755, "", debian, version, "bin", "initdb")
	}
	_, err = findPostgres(debian) // clients alone
	wantMissing(t, err, "apt-get install postgresql")
	for _, version := range []string{"9", "15"} {
		write(t, 0o755, "", debian, version, "bin", "postgres")
	}
	if got, err := findPostgres(debian); err != nil || got != filepath.Join(debian, "15", "bin") {
		t.Errorf("%s, %v; want version 15, the newest that holds the server", got, err)
	}
	write(t, 0o755, "", inPath, "initdb")
	write(t, 0o755, "", inPath, "postgres")
	if got, err := findPostgres(debian); err != nil || got != inPath {
		t.Errorf("%s, %v; want what PATH names", got, err)
	}
}

func TestAVaultServerOfOtherSourcesIsMissing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n", "go.sum": "a 1\n", "main.go": "package main\n"} {
		write(t, 0o644, text, root, vaultSources, name)
	}
	_, err := VaultProgram(root)
	wantMissing(t, err, "make deps")
	path, err := vaultProgramPath(root)
	if err != nil {
		t.Fatal(err)
	}
	write(t, 0o755, "", path)
	if got, err := VaultProgram(root); err != nil || got != path {
		t.Errorf("%s, %v; want %s", got, err, path)
	}
	for name, text := range map[string]string{"go.mod": "module y\n", "go.sum": "a 2\n", "main.go": "package main // changed\n", "new.go": "package main\n"} {
		source := filepath.Join(root, vaultSources, name)
		before, _ := os.ReadFile(source)
		write(t, 0o644, text, root, vaultSources, name)
		_, err := VaultProgram(root)
		wantMissing(t, err, "make deps")
		if before == nil {
			if err := os.Remove(source); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, 0o644, string(before), source)
		}
		if got, err := VaultProgram(root); err != nil || got != path {
			t.Errorf("%s as it was: %s, %v; want %s", name, got, err, path)
		}
	}
}

// Not parallel: the working directory is the process's.
func TestTheRepositoryIsFoundFromAnywhereWithinIt(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, 0o644, moduleLine+"\ngo 1.26\n", root, "go.mod")
	write(t, 0o644, strings.TrimSuffix(moduleLine, "\n")+"/nested\n", root, "a", "nested", "go.mod")
	for _, dir := range []string{".", "a", "a/nested"} {
		t.Chdir(filepath.Join(root, dir))
		if got, err := Repository(); err != nil || got != root {
			t.Errorf("from %s: %s, %v; want %s", dir, got, err, root)
		}
	}
	t.Chdir(t.TempDir())
	if got, err := Repository(); err == nil {
		t.Errorf("from elsewhere: %s, want an error", got)
	}
}
