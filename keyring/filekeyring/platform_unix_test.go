//go:build unix

package filekeyring_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

// nobody is a user who is not root, whatever the system calls it.
const nobody = 65534

// sharedDir is a directory that other users can enter.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "filekeyring")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// stageAs runs the writer as another user and returns what it said.
func stageAs(t *testing.T, uid int, path string) (stdout, stderr string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	// Where go test builds only its user can enter.
	binary := filepath.Join(sharedDir(t), "writer")
	if err := os.WriteFile(binary, program, 0o755); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	cmd := exec.Command(binary)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), writerPath+"="+path, writerCount+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

func createdIn(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "default.keyring")
	if _, err := newManager(t, newFile(t, path, passphrase)).Create(ctx, keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileThatMayNotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	path := createdIn(t, sharedDir(t))
	if os.Geteuid() == 0 {
		_, said, err := stageAs(t, nobody, path)
		if err == nil || !strings.Contains(said, path+": cannot be read: permission denied") {
			t.Fatalf("got %v: %s", err, said)
		}
		return
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, newFile(t, path, passphrase))
	fileError(t, err, path, filekeyring.ErrUnreadable)
}

func TestAChangeLeavesTheFileToItsOwner(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	path := createdIn(t, dir)
	owner := os.Geteuid()
	if owner == 0 {
		// A service's file, and root who rotates.
		owner = nobody
		for _, p := range []string{dir, path} {
			if err := os.Chown(p, owner, owner); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := newManager(t, newFile(t, path, passphrase)).Stage(ctx, keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + ".lock"} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(info.Sys().(*syscall.Stat_t).Uid); got != owner || info.Mode().Perm() != 0o600 {
			t.Errorf("%s belongs to %d with mode %s, want %d", p, got, info.Mode(), owner)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	if said, complained, err := stageAs(t, owner, path); err != nil || len(strings.Fields(said)) != 1 {
		t.Fatalf("the service cannot change its keyring any more: %v: %s", err, complained)
	}
}
