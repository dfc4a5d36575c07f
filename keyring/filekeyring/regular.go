package filekeyring

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

const (
	fileMode fs.FileMode = 0o600
	// othersMode are the bits that give group or others any access.
	othersMode fs.FileMode = 0o077
	// readAttempts is far more than writers, who wait for each other, need.
	readAttempts = 100
)

func isNotFound(err error) bool { return errors.Is(err, keyring.ErrNotFound) }

// readRegular reads a file that is no link, belongs to its owner alone, and is
// the one that was checked.
func readRegular(path string) (raw []byte, own owner, err error) {
	for range readAttempts {
		raw, own, done, err := readChecked(path)
		if done {
			return raw, own, err
		}
	}
	return nil, owner{}, &FileError{Path: path, Problem: ErrUnreadable, Err: errors.New("it is replaced all the time")}
}

// readChecked is not done if a writer renamed a new file over the one that was
// checked before it was opened.
func readChecked(path string) (raw []byte, own owner, done bool, err error) {
	fail := func(problem, err error, hint string) ([]byte, owner, bool, error) {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err // the path is named already
		}
		return nil, owner{}, true, &FileError{Path: path, Problem: problem, Err: err, hint: hint}
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fail(keyring.ErrNotFound, nil, "")
	}
	if err != nil {
		return fail(ErrUnreadable, err, "")
	}
	if !named.Mode().IsRegular() {
		return fail(ErrNotRegular, errors.New(kindOf(named.Mode())), "")
	}
	if runtime.GOOS != "windows" && named.Mode().Perm()&othersMode != 0 {
		return fail(ErrTooOpen, fmt.Errorf("mode %04o", named.Mode().Perm()), "chmod 600 "+path)
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fail(keyring.ErrNotFound, nil, "")
	}
	if err != nil {
		return fail(ErrUnreadable, err, "")
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil {
		return fail(ErrUnreadable, err, "")
	}
	if !os.SameFile(named, opened) {
		return nil, owner{}, false, nil
	}
	raw, err = io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return fail(ErrUnreadable, err, "")
	}
	return raw, ownerOf(opened), true, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "it is a symbolic link"
	case mode.IsDir():
		return "it is a directory"
	default:
		return "it is a device, a pipe or a socket"
	}
}
