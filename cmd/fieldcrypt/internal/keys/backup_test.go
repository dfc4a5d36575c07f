package keys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestABackupGetsItsNameWhereThereAreNoLinksAndNeverAnothersPlace(t *testing.T) {
	t.Parallel()
	noLinks := func(oldname, newname string) error {
		return &os.LinkError{Op: "link", Old: oldname, New: newname, Err: syscall.EPERM} // what Linux says of vfat
	}
	for name, link := range map[string]func(oldname, newname string) error{"links": os.Link, "no links": noLinks} {
		dir := t.TempDir()
		whole, path := filepath.Join(dir, "whole"), filepath.Join(dir, "keyring.age")
		if err := os.WriteFile(whole, []byte("a backup"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := putInPlace(whole, path, link); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "a backup" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		another := filepath.Join(dir, "another")
		if err := os.WriteFile(another, []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := putInPlace(another, path, link); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: where one is: %v", name, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "a backup" {
			t.Errorf("%s: it was overwritten: %q, %v", name, text, err)
		}
	}
}
