//go:build !unix

package filekeyring

import (
	"io/fs"
	"os"
)

// owner is not carried over where files have no numeric owners.
type owner struct{}

func ownerOf(fs.FileInfo) owner { return owner{} }

func (owner) give(string) error { return nil }

// renameDurably cannot sync a directory here.
func renameDurably(from, to, _ string) error { return os.Rename(from, to) }
