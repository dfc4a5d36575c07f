package filekeyring

import (
	"errors"
	"fmt"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Sentinels for errors.Is. Each arrives in a *FileError that names the file. A
// file that is not there is [keyring.ErrNotFound].
var (
	// ErrWrongPassphrase: neither keyset opens under the passphrase. It cannot
	// be told from a file whose clear part was changed.
	ErrWrongPassphrase = errors.New("wrong passphrase")
	// ErrDamaged: the passphrase is right, and a keyset does not open.
	ErrDamaged = errors.New("damaged or changed")
	// ErrEmptyPassphrase: the passphrase has no bytes.
	ErrEmptyPassphrase = errors.New("the passphrase is empty")
	// ErrNoPassphrase: the keys are needed and no passphrase was configured.
	ErrNoPassphrase = errors.New("no passphrase is configured")
	// ErrTooOpen: others than the file's owner can access it.
	ErrTooOpen = errors.New("accessible to others than its owner")
	// ErrNotRegular: a symbolic link, a directory, a device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrLocked: another writer held the file for the whole wait.
	ErrLocked = errors.New("locked by another writer")
	// ErrUnreadable: the operating system did not let the file be read.
	ErrUnreadable = errors.New("cannot be read")
	// ErrUnwritable: the operating system did not let the file be written. There
	// is either the file that was there, or all of the new one.
	ErrUnwritable = errors.New("cannot be written")
	// ErrMalformed: the file is not one that this package wrote.
	ErrMalformed = errors.New("not a keyring file")
)

// FileError says what is wrong with which file.
type FileError struct {
	Path string
	// Problem is one of the sentinels.
	Problem error
	// Err says more; may be nil.
	Err  error
	hint string
}

func (e *FileError) Error() string {
	problem := e.Problem.Error()
	if e.Problem == keyring.ErrNotFound {
		problem = "no such keyring file"
	}
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Path, problem, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Path, problem)
}

// Unwrap returns the sentinel and what says more.
func (e *FileError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Problem}
	}
	return []error{e.Problem, e.Err}
}

// Hint says what to do.
func (e *FileError) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	switch e.Problem {
	case keyring.ErrNotFound:
		return "make it with fieldcrypt keys create, or correct the path"
	case ErrWrongPassphrase:
		return "check the passphrase; if it is the right one the file was changed: put its newest copy back, or write a backup over it with fieldcrypt keys restore --replace-unreadable"
	case ErrDamaged:
		return "put the file's newest copy back, or write a backup over it with fieldcrypt keys restore --replace-unreadable"
	case ErrMalformed:
		return "check the path; if it is the keyring's file, put its newest copy back, or move it away and write a backup in its place with fieldcrypt keys restore"
	case ErrEmptyPassphrase, ErrNoPassphrase:
		return "set FIELDCRYPT_PASSPHRASE, or FIELDCRYPT_PASSPHRASE_FILE to a file that holds the passphrase"
	case ErrUnreadable, ErrUnwritable:
		return "run it as the file's owner, and see that the file and its directory are at hand"
	case ErrNotRegular:
		return "give the path of the keyring file itself"
	case ErrLocked:
		return "another process is changing the keyring; run the command again when it is done"
	default:
		return ""
	}
}

// FormatError: the file's text is not as it must be.
type FormatError struct {
	// Place is a JSON pointer.
	Place  string
	Detail string
}

func (e *FormatError) Error() string {
	if e.Place == "" {
		return e.Detail
	}
	return e.Place + ": " + e.Detail
}

// waitError says how long a lock was waited for.
type waitError struct{ waited time.Duration }

func (e *waitError) Error() string { return fmt.Sprintf("waited %s", e.waited) }
