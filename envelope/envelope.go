// Package envelope: see doc.go (being written by the envelope owner).
package envelope

import (
	"context"
	"io"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Event is a caller's plaintext event.
type Event struct {
	ID               string // UUID text; "" makes a UUIDv7
	Type             string
	Version          int    // 0 means 1
	AggregateType    string // "" means the type up to its first dot
	AggregateID      string
	AggregateVersion *int64
	OccurredAt       time.Time // zero means now
	Headers          map[string]string
	Payload          []byte // JSON text, plaintext
}

// Wire is an event whose payload is in wire form: what a row, a broker's message or a file holds. Nothing in it is trusted yet.
type Wire struct {
	ID               string
	Type             string
	Version          int
	AggregateType    string
	AggregateID      string
	AggregateVersion *int64
	OccurredAt       time.Time
	Headers          map[string]string
	Payload          []byte
}

// Received is a Wire event whose form (id, type, version, strict JSON, limits) was checked. It can be verified, opened, re-sealed and relayed, not written.
type Received struct{}

// Parse checks a Wire event. It needs neither schema nor keys.
func Parse(w Wire, limits Limits) (Received, error) { panic("contract") }

func (r Received) Wire() Wire { panic("contract") } // a copy that shares Payload: read only

// Sealed is made by a Sealer or a Resealer alone. Its zero value is refused by every store.
type Sealed struct{}

func (s Sealed) IsZero() bool { panic("contract") }
func (s Sealed) Wire() Wire   { panic("contract") } // Payload in wire form; read only

// KeyIDs: sorted "seal:KID" and "index:KID".
func (s Sealed) KeyIDs() []string { panic("contract") }

// BlindIndexes: stored forms by index name; more than one only for a multi index. A name without a value is absent.
func (s Sealed) BlindIndexes() map[string][][]byte { panic("contract") }

// SameContent says whether a stored event is this one: same type, version, aggregate type, id and version, and the same payload bytes once both are opened
// with the keyrings of the Sealer that made s. An event that does not open returns that error.
func (s Sealed) SameContent(ctx context.Context, stored Received) (bool, error) { panic("contract") }

// Limits of format.md 2; zero fields mean the defaults.
type Limits struct {
	MaxPlaintext int // bytes; default 1 MiB
	MaxWire      int // bytes; default 8 MiB
	MaxDepth     int // default 200
	MaxDigits    int // default 1000
	MaxExponent  int // default 1000
	MaxSealed    int // flagged values; default 10000
}

// Options for Sealer, Opener and Resealer.
type Options struct {
	Limits Limits
	Now    func() time.Time // default time.Now
	Random io.Reader        // default crypto/rand; for vectors only
}

type Sealer struct{}

// NewSealer refuses a registry some plan of which names a keyring that the set lacks.
func NewSealer(reg *schema.Registry, rings *keyring.Set, opts Options) (*Sealer, error) {
	panic("contract")
}
func (s *Sealer) Seal(ctx context.Context, e Event) (Sealed, error) { panic("contract") }

type Opener struct{}

func NewOpener(reg *schema.Registry, rings *keyring.Set, opts Options) (*Opener, error) {
	panic("contract")
}

// OpenOptions choose what is opened.
type OpenOptions struct {
	Fields []string // JSON pointers; nil: all. A pointer that is not a sealed location of this event is an error
	Redact bool     // every flagged value becomes null; needs no keys
}

// Opened is an opened event.
type Opened struct {
	Event       Event
	StillSealed []StillSealed // locations left sealed, sorted by place
}

// StillSealed says why a location was left sealed.
type StillSealed struct {
	Location string // JSON pointer, masked
	Keyring  string
	KeyID    string
	Reason   string // "no keyring" or "not asked"
}

func (o *Opener) Open(ctx context.Context, r Received, opts OpenOptions) (Opened, error) {
	panic("contract")
}

type Resealer struct{}

func NewResealer(reg *schema.Registry, rings *keyring.Set, opts Options) (*Resealer, error) {
	panic("contract")
}

// Reseal gives the event under today's primaries. changed is false if nothing was stale (ciphertexts and the given stored indexes alike).
func (r *Resealer) Reseal(ctx context.Context, e Received, storedIndexes map[string][][]byte) (s Sealed, changed bool, err error) {
	panic("contract")
}

// SealError refuses an event; it says where (masked pointer, byte offset in the payload) and why, never a value.
// The owner of this package adds typed errors (with errors.Is/As) for: *SyntaxError (offset, rule), *LimitError (limit's name, limit), *LocationError (pointer, offset, kind), *OpenError (pointer, kid) ...

// Holds opens the event in memory and says whether the blind index of that name meets one of the messages (blindindex.Index.Query or Messages):
// the full comparison behind a truncated index. An event whose type has no such index holds none.
func (o *Opener) Holds(ctx context.Context, r Received, index string, messages [][]byte) (bool, error) {
	panic("contract")
}
