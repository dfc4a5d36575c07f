//go:build unix

package server

import (
	"fmt"
	"os"
	osuser "os/user"
	"strconv"
	"syscall"
)

// user is whom a server runs as; nil for this process's own user.
type user struct {
	uid, gid uint32
}

// unprivileged returns the user nobody if this process is root, which Postgres
// refuses to run as.
func unprivileged() (*user, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := osuser.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("postgres does not run as root, and there is no user nobody: %w", err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &user{uid: uint32(uid), gid: uint32(gid)}, nil
}

// own gives files to the user.
func (u *user) own(paths ...string) error {
	if u == nil {
		return nil
	}
	for _, path := range paths {
		if err := os.Chown(path, int(u.uid), int(u.gid)); err != nil {
			return err
		}
	}
	return nil
}

// attributes make a process run as the user, in a group of its own, so that an
// interrupt at the terminal reaches the test, which then ends the server.
func (u *user) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	endWithParent(attr)
	if u != nil {
		attr.Credential = &syscall.Credential{Uid: u.uid, Gid: u.gid}
	}
	return attr
}
