package envelope

import (
	"context"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Kinds that only a Verifier reports; plaintext, misplaced, malformed and undeclared are shared with LocationError.
const (
	KindSchemaUnknown  Kind = "schema-unknown"  // no schema for the type and version
	KindSchemaMismatch Kind = "schema-mismatch" // the wire form against the derived schema; never checked yet
	KindIndexOrphan    Kind = "index-orphan"    // a stored index without a token that it could come from
	KindKeyUnknown     Kind = "key-unknown"     // the keyring knows no such key
	KindKeyDisabled    Kind = "key-disabled"    // the key is disabled or destroyed
	KindKeyStale       Kind = "key-stale"       // a token under a key that is not the primary
	KindIndexKeyStale  Kind = "index-key-stale" // an index under a key that is not the primary
	KindIndexMissing   Kind = "index-missing"   // a token at an indexed location, and no stored index
	KindUnopenable     Kind = "unopenable"      // the key is at hand and the token does not open
	KindInvalid        Kind = "invalid"         // the plaintext violates its schema
	KindIndexMismatch  Kind = "index-mismatch"  // the stored index is not the value's
)

// Severity tells a finding, which is a fault, from a warning, which a rotation repairs or which may be none.
type Severity string

const (
	SeverityFinding Severity = "finding"
	SeverityWarning Severity = "warning"
)

// Finding is one thing that a Verifier found in an event. It never holds a value.
type Finding struct {
	Kind     Kind
	Severity Severity
	// Place is masked; for an index it is the payload's root.
	Place
	// Keyring and KeyID name the key, for kinds about one.
	Keyring string
	KeyID   string
	// Index names the blind index, for kinds about one.
	Index string
	// Detail says more, without a value.
	Detail string
}

// NotChecked is something that a Verifier could not look at.
type NotChecked struct {
	Kind Kind
	// Keyring is the one that was missing, or "".
	Keyring string
	Reason  string
}

// Report is what a Verifier says of one event.
type Report struct {
	Findings   []Finding
	NotChecked []NotChecked
}

// KeyStates gives the keys of a keyring without their bytes, as the clear part of its document says. ok is false where no such document is at hand.
type KeyStates interface {
	Keys(keyring string) (keys []keyring.KeyInfo, ok bool)
}

// KeyInfos is a KeyStates by keyring name.
type KeyInfos map[string][]keyring.KeyInfo

// Keys gives the keys of a keyring.
func (k KeyInfos) Keys(name string) ([]keyring.KeyInfo, bool) {
	keys, ok := k[name]
	return keys, ok
}

// VerifierOptions say what a Verifier has at hand.
type VerifierOptions struct {
	// Keyrings open the tokens. Defaults to none: the keyless form.
	Keyrings *keyring.Set
	// KeyStates tell the states of keys in the keyless form. Defaults to none: kinds about keys are not checked.
	KeyStates KeyStates
	// Limits of the payloads. Defaults to those of format.md 2.
	Limits Limits
}

// Verifier looks for faults in stored events. Safe for concurrent use.
type Verifier struct{}

// NewVerifier makes a Verifier; keyrings may be missing, and what they would show is then listed as not checked.
func NewVerifier(reg *schema.Registry, opts VerifierOptions) (*Verifier, error) { panic("contract") }

// NotChecked lists the kinds that this Verifier checks in no event.
func (v *Verifier) NotChecked() []NotChecked { panic("contract") }

// StoredIndexes are the blind indexes that stand beside an event.
type StoredIndexes struct {
	// Values are the stored forms by index name; a name without a value is absent.
	Values map[string][][]byte
	// Unknown says that the indexes are not at hand, as in event lines without them. Defaults to false: what Values lacks is missing.
	Unknown bool
}

// Verify reports on one event. It takes a Wire and not a Received, so that what does not parse is a finding too. An error says that the check
// itself could not be done (the context ended, a keyring's store is away), nothing about the event.
func (v *Verifier) Verify(ctx context.Context, w Wire, stored StoredIndexes) (Report, error) {
	panic("contract")
}
