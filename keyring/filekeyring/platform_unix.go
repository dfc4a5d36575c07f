//go:build unix

package filekeyring

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// owner is who owns the file that is replaced, so that a root who rotates keys
// does not take the file away from its service.
type owner struct {
	known    bool
	uid, gid int
}

func ownerOf(info fs.FileInfo) owner {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return owner{known: true, uid: int(st.Uid), gid: int(st.Gid)}
	}
	return owner{}
}

// give makes a file the owner's. The group has no access, so another one alone
// is no reason.
func (o owner) give(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if now := ownerOf(info); !o.known || now.uid == o.uid {
		return nil
	}
	return os.Lchown(path, o.uid, o.gid)
}

// renameDurably opens the directory first, so that what can fail fails while
// the old file is in place.
func renameDurably(from, to, dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err // EINVAL, ENOTSUP: a file system that cannot sync directories
	}
	return nil
}
