// Package keyring: see doc.go (being written by the keyring owner).
package keyring

import (
	"context"
	"time"

	"github.com/tink-crypto/tink-go/v2/tink"
)

// KeyID names a key within one keyring; its text is 8 lower-case hex digits.
type KeyID uint32

func (id KeyID) String() string          { panic("contract") }
func ParseKeyID(s string) (KeyID, error) { panic("contract") }

// Purpose is what a key is for.
type Purpose string

const (
	Seal  Purpose = "seal"
	Index Purpose = "index"
)

// State is where a key stands in its life: staged → primary → active → disabled → destroyed.
type State string

const (
	Staged    State = "staged"
	Primary   State = "primary"
	Active    State = "active"
	Disabled  State = "disabled"
	Destroyed State = "destroyed"
)

// KEK seals keysets. Tink's AEADWithContext, plus the name that the document records and that is compared, never followed.
type KEK interface {
	tink.AEADWithContext
	URI() string
}

// Store keeps one keyring document with check-and-set. Load's version is what Save expects back; nil version: create only.
type Store interface {
	Load(ctx context.Context) (document []byte, version string, err error) // ErrNotFound
	Save(ctx context.Context, document []byte, version string) error       // ErrChanged if another writer was first
}

// Keyring is a loaded keyring: snapshots swapped atomically, safe for concurrent use.
type Keyring struct{}

func (k *Keyring) Name() string     { panic("contract") }
func (k *Keyring) Revision() uint64 { panic("contract") }

// Primary returns the key that writes use.
func (k *Keyring) Primary(p Purpose) (*Key, error) { panic("contract") }

// Key returns a usable key (staged, primary, active). An unknown id causes one refresh. Errors: *UnknownKeyError (retryable), *KeyStateError (disabled, destroyed).
func (k *Keyring) Key(ctx context.Context, p Purpose, id KeyID) (*Key, error) { panic("contract") }

// Usable returns all staged, primary and active keys, the primary first.
func (k *Keyring) Usable(p Purpose) []*Key { panic("contract") }

// Keys describes every key, destroyed ones too.
func (k *Keyring) Keys() []KeyInfo                   { panic("contract") }
func (k *Keyring) Refresh(ctx context.Context) error { panic("contract") }
func (k *Keyring) Close()                            { panic("contract") }

// Key is one usable key. Its bytes never leave the package.
type Key struct{}

func (k *Key) ID() KeyID        { panic("contract") }
func (k *Key) Purpose() Purpose { panic("contract") }
func (k *Key) State() State     { panic("contract") }

// Derive returns HKDF-SHA256(ikm = the key, salt = "", info, 32 bytes), RFC 5869.
func (k *Key) Derive(info []byte) ([32]byte, error) { panic("contract") }

// Set is the keyrings of a process by name. NewSet refuses two keyrings that share a name or a key id.
type Set struct{}

func NewSet(rings ...*Keyring) (*Set, error)        { panic("contract") }
func (s *Set) Keyring(name string) (*Keyring, bool) { panic("contract") }
func (s *Set) Names() []string                      { panic("contract") }

// KeyInfo describes a key without its bytes.
type KeyInfo struct {
	Keyring string
	ID      KeyID
	Purpose Purpose
	State   State
	Since   time.Time
	Author  string
}

// UnknownKeyError: no such key even after a refresh; a refresh later may find it (retryable).
type UnknownKeyError struct {
	Keyring string
	Purpose Purpose
	ID      KeyID
}

func (e *UnknownKeyError) Error() string { panic("contract") }

// KeyStateError: the key is there but may not be used (disabled or destroyed).
type KeyStateError struct {
	Keyring string
	Purpose Purpose
	ID      KeyID
	State   State
}

func (e *KeyStateError) Error() string { panic("contract") }
