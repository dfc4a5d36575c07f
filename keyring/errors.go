package keyring

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels for errors.Is. Most arrive wrapped in one of the types below.
var (
	// ErrNotFound: the store holds no document.
	ErrNotFound = errors.New("no such keyring")
	// ErrDeleted: the store remembers a document that was deleted. Only a
	// restore writes there.
	ErrDeleted = errors.New("the document was deleted")
	// ErrExists: the store holds a document already.
	ErrExists = errors.New("the keyring exists already")
	// ErrChanged: another writer was first.
	ErrChanged = errors.New("the keyring was changed by another writer")
	// ErrClosed: the keyring was closed and its key bytes are gone.
	ErrClosed = errors.New("the keyring is closed")
)

// Errors have a Hint method where there is something that the reader can do.
// Error texts say what happened and where; hints say what to do next. Neither
// ever holds a key byte.

// KeyIDError: a text is no key id. It does not repeat the text, which may come
// from a payload.
type KeyIDError struct{}

func (e *KeyIDError) Error() string {
	return "not a key id: want 8 lower-case hex digits"
}

// NameFormError: a name cannot name a keyring.
type NameFormError struct {
	Name string
}

func (e *NameFormError) Error() string {
	return fmt.Sprintf("%q cannot name a keyring", e.Name)
}

// Hint says what a name looks like.
func (e *NameFormError) Hint() string {
	return "a keyring's name is a lower-case letter, then up to 62 of a-z, 0-9, _ and -"
}

// PurposeError: there is no such purpose.
type PurposeError struct {
	Purpose Purpose
}

func (e *PurposeError) Error() string {
	return fmt.Sprintf("no purpose %q: want %s or %s", string(e.Purpose), Seal, Index)
}

// NameError: the document is that of another keyring.
type NameError struct {
	Asked string
	Found string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("keyring %s: the document is that of keyring %s", e.Asked, e.Found)
}

// Hint says where to look.
func (e *NameError) Hint() string {
	return "check which file or path is configured for keyring " + e.Asked
}

// KEKMismatchError: the document was sealed by another KEK than the configured
// one.
type KEKMismatchError struct {
	Keyring    string
	Configured string
	Document   string
}

func (e *KEKMismatchError) Error() string {
	return fmt.Sprintf("keyring %s: the document names the key-encryption key %s, but %s is configured", e.Keyring, e.Document, e.Configured)
}

// Hint says where to look.
func (e *KEKMismatchError) Hint() string {
	return "a document's own key name is never followed; correct the configuration, or restore the document from a backup"
}

// KEKInUseError: the KEK seals another keyring already, and one KEK seals one
// keyring only.
type KEKInUseError struct {
	Keyring string
	Other   string
	KEK     string
}

func (e *KEKInUseError) Error() string {
	return fmt.Sprintf("keyring %s: key-encryption key %s seals keyring %s already", e.Keyring, e.KEK, e.Other)
}

// Hint says why.
func (e *KEKInUseError) Hint() string {
	return "give each keyring a key-encryption key of its own, so that destroying a key of one never touches the other"
}

// KEKUnboundError: the KEK does not bind its associated data, so that keysets
// could be swapped.
type KEKUnboundError struct {
	Keyring string
	KEK     string
}

func (e *KEKUnboundError) Error() string {
	return fmt.Sprintf("keyring %s: key-encryption key %s decrypts under other associated data than it encrypted with", e.Keyring, e.KEK)
}

// Hint names the usual cause.
func (e *KEKUnboundError) Hint() string {
	return "use an AEAD key type and a server that honours associated data (Vault 1.13 or later)"
}

// UnsealError: the KEK did not open the document's keysets. Err is the KEK's
// own error.
type UnsealError struct {
	Keyring string
	KEK     string
	// Purpose of the keyset that did not open. Both were tried; if only one of
	// the two failed, Partly is true, and the document was damaged or changed.
	Purpose Purpose
	Partly  bool
	Err     error
}

func (e *UnsealError) Error() string {
	what := "the keysets do not open"
	if e.Partly {
		what = fmt.Sprintf("the %s keyset does not open although the other one does", e.Purpose)
	}
	return fmt.Sprintf("keyring %s: %s: %v", e.Keyring, what, e.Err)
}

// Unwrap returns the KEK's own error.
func (e *UnsealError) Unwrap() error { return e.Err }

// Hint passes the KEK's hint on, or says what else it can be.
func (e *UnsealError) Hint() string {
	if hint := hintOf(e.Err); hint != "" && !e.Partly {
		return hint
	}
	return "the document was damaged or changed; restore it from a backup"
}

// SealError: the KEK did not seal a keyset. Nothing was written.
type SealError struct {
	Keyring string
	KEK     string
	Err     error
}

func (e *SealError) Error() string {
	return fmt.Sprintf("keyring %s: the keysets cannot be sealed: %v", e.Keyring, e.Err)
}

// Unwrap returns the KEK's own error.
func (e *SealError) Unwrap() error { return e.Err }

// Hint passes the KEK's hint on.
func (e *SealError) Hint() string {
	return hintOf(e.Err)
}

// hintOf returns the hint of an error from below, "" if it has none.
func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// RollbackError: the store holds an older document than this process has seen,
// or another one with the same revision.
type RollbackError struct {
	Keyring string
	// Seen is the revision that was loaded before, Found the one in the store.
	Seen, Found uint64
	// SeenDigest and FoundDigest are SHA-256 of the documents, in hex.
	SeenDigest, FoundDigest string
}

func (e *RollbackError) Error() string {
	if e.Found == e.Seen {
		return fmt.Sprintf("keyring %s: another document with revision %d (digest %.16s…, seen %.16s…)", e.Keyring, e.Found, e.FoundDigest, e.SeenDigest)
	}
	return fmt.Sprintf("keyring %s: the store went back to revision %d after %d was seen", e.Keyring, e.Found, e.Seen)
}

// Hint says what to do.
func (e *RollbackError) Hint() string {
	return "put the newest document back; an old one may lack keys that data needs; if the newest is lost, restore a backup, which writes a revision above: fieldcrypt keys restore"
}

// ChangedError: another writer changed the keyring first. Nothing was written.
// It is [ErrChanged].
type ChangedError struct {
	Keyring string
	// Revision, Author and At say which change won, as the document that won
	// tells it.
	Revision uint64
	Author   string
	At       time.Time
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("keyring %s: revision %d by %s (%s) was first; nothing was changed", e.Keyring, e.Revision, e.Author, formatTime(e.At))
}

// Unwrap makes errors.Is(err, ErrChanged) true.
func (e *ChangedError) Unwrap() error { return ErrChanged }

// Hint says what to do.
func (e *ChangedError) Hint() string {
	return "look at the keyring with fieldcrypt keys list, then run the command again if it is still needed"
}

// ExistsError: the keyring exists already. It is [ErrExists].
type ExistsError struct {
	Keyring  string
	Revision uint64
	Author   string
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("keyring %s exists already (revision %d by %s)", e.Keyring, e.Revision, e.Author)
}

// Unwrap makes errors.Is(err, ErrExists) true.
func (e *ExistsError) Unwrap() error { return ErrExists }

// Hint says what was probably meant.
func (e *ExistsError) Hint() string {
	return "to get a new key run fieldcrypt rotate; to start a second keyring give it another name"
}

// TooEarlyError: a staged key may not become primary yet, since some process
// may not have loaded it; or one that was primary may not be taken out of use,
// since some process may still write under it.
type TooEarlyError struct {
	Keyring  string
	Purpose  Purpose
	ID       KeyID
	Possible time.Time
	// Disable says that the key was to be disabled, not promoted.
	Disable bool
	// Destroy says that it was to be destroyed.
	Destroy bool
}

func (e *TooEarlyError) Error() string {
	if e.Destroy {
		return fmt.Sprintf("keyring %s: %s key %s cannot be destroyed before %s: it was or may have been primary, and a process that could not refresh since may still write under it", e.Keyring, e.Purpose, e.ID, formatTime(e.Possible))
	}
	if e.Disable {
		return fmt.Sprintf("keyring %s: %s key %s cannot be disabled before %s: it was or may have been primary, and a process may still write under it", e.Keyring, e.Purpose, e.ID, formatTime(e.Possible))
	}
	return fmt.Sprintf("keyring %s: %s key %s cannot become primary before %s: a process may not have loaded it", e.Keyring, e.Purpose, e.ID, formatTime(e.Possible))
}

// Hint says how to go on.
func (e *TooEarlyError) Hint() string {
	if e.Destroy {
		return "run it again then, or use --now if every process has loaded the keyring since"
	}
	if e.Disable {
		return "run it again then"
	}
	return "run it again then, or use --now if only one process uses the keyring or it is an emergency"
}

// NothingStagedError: there is no staged key to promote.
type NothingStagedError struct {
	Keyring string
	Purpose Purpose
}

func (e *NothingStagedError) Error() string {
	return fmt.Sprintf("keyring %s: no %s key is staged", e.Keyring, e.Purpose)
}

// Hint says how to stage one.
func (e *NothingStagedError) Hint() string {
	return "stage one with fieldcrypt rotate --stage"
}

// ActorError: a change needs an author that can be shown to people.
type ActorError struct{}

func (e *ActorError) Error() string {
	return fmt.Sprintf("a change of a keyring needs an actor: 1 to %d bytes of printable text", maxAuthorBytes)
}

// PropagationError: a propagation time is out of bounds.
type PropagationError struct {
	Propagation time.Duration
}

func (e *PropagationError) Error() string {
	return fmt.Sprintf("propagation time %s is out of bounds: want 0s to %s", e.Propagation, maxPropagation)
}

// UnknownKeyError: no such key even after a refresh. A later refresh may find
// it: another process may be ahead of the store that this one reads.
type UnknownKeyError struct {
	Keyring string
	Purpose Purpose
	ID      KeyID
	// Err says why a refresh failed, if one did.
	Err error
}

func (e *UnknownKeyError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("keyring %s: unknown %s key %s, and the keyring could not be refreshed: %v", e.Keyring, e.Purpose, e.ID, e.Err)
	}
	return fmt.Sprintf("keyring %s: unknown %s key %s", e.Keyring, e.Purpose, e.ID)
}

// Unwrap returns why a refresh failed.
func (e *UnknownKeyError) Unwrap() error { return e.Err }

// Retryable is true: a later refresh may find the key.
func (e *UnknownKeyError) Retryable() bool { return true }

// Hint says what it can be.
func (e *UnknownKeyError) Hint() string {
	return "the data was made under another keyring, or this one is older than the data"
}

// KeyStateError: the key is there but may not be used (disabled or destroyed).
type KeyStateError struct {
	Keyring string
	Purpose Purpose
	ID      KeyID
	State   State
}

func (e *KeyStateError) Error() string {
	return fmt.Sprintf("keyring %s: %s key %s is %s", e.Keyring, e.Purpose, e.ID, e.State)
}

// Hint says what to do next.
func (e *KeyStateError) Hint() string {
	switch e.State {
	case Disabled:
		return "if data still needs it, enable it: fieldcrypt keys enable " + e.ID.String()
	case Destroyed:
		return "what was under it never opens again, unless a backup holds it"
	default:
		return "only a disabled key is destroyed: fieldcrypt keys disable " + e.ID.String()
	}
}
