package blindindex

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

const (
	// MinBits and MaxBits bound an index's length.
	MinBits = 8
	MaxBits = 8 * sha256.Size
	// DefaultBits is the length of an index that names none.
	DefaultBits = 128
)

// indexKeyLabel separates index keys from everything else that is derived from a key.
const indexKeyLabel = "fieldcrypt/v1/index"

// maxNameLength follows from indexName; the error text says it.
const maxNameLength = 41

var indexName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// Index computes one blind index; immutable, safe for concurrent use.
type Index struct {
	name       string
	normalizer *Normalizer   // of a simple index
	parts      []*Normalizer // of a compound one
	slow       bool          // some normaliser hashes slowly
	bits       int
	info       []byte   // HKDF's info: it names this index, and nothing else may share it
	previous   []*Index // earlier versions, of which rows may hold values
}

// New checks name, steps and bits. No steps mean raw, 0 bits mean [DefaultBits].
//
// Errors: *[NameError], *[BitsError], *[UnknownStepError], *[StepParameterError], *[StepPlaceError].
func New(name string, steps []string, bits int) (*Index, error) {
	normalizer, err := ParseNormalizer(steps)
	if err != nil {
		return nil, fmt.Errorf("blind index %q: %w", name, err)
	}
	return newIndex(Index{name: name, normalizer: normalizer, slow: normalizer.slow != nil, bits: bits}, normalizer.ID())
}

func newIndex(ix Index, normalizerID string) (*Index, error) {
	if !indexName.MatchString(ix.name) {
		return nil, &NameError{Name: ix.name}
	}
	if ix.bits == 0 {
		ix.bits = DefaultBits
	}
	if ix.bits < MinBits || ix.bits > MaxBits {
		return nil, &BitsError{Index: ix.name, Bits: ix.bits}
	}
	ix.info = indexKeyInfo(ix.name, normalizerID, ix.bits)
	return &ix, nil
}

// indexKeyInfo writes
//
//	LP("fieldcrypt/v1/index") ‖ LP(index name) ‖ LP(normaliser id) ‖ uint16(bits)
//
// where LP(x) is uint32(len(x)) ‖ x, big-endian: every part has its length in front, so no two indexes share an encoding.
func indexKeyInfo(name, normalizerID string, bits int) []byte {
	var info []byte
	for _, part := range []string{indexKeyLabel, name, normalizerID} {
		info = binary.BigEndian.AppendUint32(info, uint32(len(part)))
		info = append(info, part...)
	}
	return binary.BigEndian.AppendUint16(info, uint16(bits))
}

// Name is the index's name; the outbox column is bidx_NAME.
func (ix *Index) Name() string { return ix.name }

// Bits is the length of a value.
func (ix *Index) Bits() int { return ix.bits }

// Normalizer is what strings go through first; nil for a compound index, whose parts have one each.
func (ix *Index) Normalizer() *Normalizer { return ix.normalizer }

// Value computes the stored form of one message under an index key:
//
//	uint32(kid) ‖ the first bits of HMAC-SHA256(IK, message), the unused low bits of the last byte zero
//
// Errors: *[PurposeError], *[MessageError], or the keyring's.
func (ix *Index) Value(key *keyring.Key, message []byte) ([]byte, error) {
	return ix.AppendValue(nil, key, message)
}

// Values computes what a column holds for these messages under one key: the distinct stored forms, sorted by their bytes. The order is that
// of the hashes, which says nothing; an array in the order of its messages would give the order of the plaintexts away.
func (ix *Index) Values(key *keyring.Key, messages [][]byte) ([][]byte, error) {
	return ix.Candidates([]*keyring.Key{key}, messages)
}

// Candidates computes the stored forms of all messages under all given keys, distinct and sorted by their bytes: what a
// WHERE column = ANY($1) asks. Give it every usable index key of the index's keyring, so that a search never misses during a rotation.
func (ix *Index) Candidates(keys []*keyring.Key, messages [][]byte) ([][]byte, error) {
	candidates := make([][]byte, 0, len(keys)*len(messages))
	for _, key := range keys {
		var err error
		if candidates, err = ix.appendValues(candidates, key, messages); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(candidates, bytes.Compare)
	return slices.CompactFunc(candidates, bytes.Equal), nil
}

// appendValues computes one value for each message. The index key is not kept here: the keyring's key keeps what it is derived to, and ends it
// when it is disabled or destroyed, where a copy would go on working.
func (ix *Index) appendValues(values [][]byte, key *keyring.Key, messages [][]byte) ([][]byte, error) {
	if err := ix.checkKey(key); err != nil {
		return nil, err
	}
	for _, message := range messages {
		stored, err := ix.AppendValue(make([]byte, 0, maxStored), key, message)
		if err != nil {
			return nil, err
		}
		values = append(values, stored)
	}
	return values, nil
}

func (ix *Index) checkKey(key *keyring.Key) error {
	if key == nil {
		return &PurposeError{Index: ix.name}
	}
	if key.Purpose() != keyring.Index {
		return &PurposeError{Index: ix.name, KeyID: key.ID(), Purpose: key.Purpose()}
	}
	return nil
}

// truncate cuts the hash after the key id to its first bits, the unused low bits of the last byte zero.
func truncate(stored []byte, bits int) []byte {
	stored = stored[:kidSize+(bits+7)/8]
	if used := bits % 8; used != 0 {
		stored[len(stored)-1] &= 0xff << (8 - used)
	}
	return stored
}

// NameError says that an index cannot be named so.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("blind index name %q is not a lower-case ASCII letter followed by at most %d of a-z, 0-9 and _; give the index such a name in the schema",
		e.Name, maxNameLength-1)
}

// BitsError says that an index cannot be that long.
type BitsError struct {
	Index string
	Bits  int
}

func (e *BitsError) Error() string {
	return fmt.Sprintf("blind index %q: %d bits are outside %d to %d; leave bits out for %d", e.Index, e.Bits, MinBits, MaxBits, DefaultBits)
}

// PurposeError says that a key was given that is no index key. A seal key must never key an index: whoever searches could then open.
type PurposeError struct {
	Index   string
	KeyID   keyring.KeyID
	Purpose keyring.Purpose // "" where no key was given at all
}

func (e *PurposeError) Error() string {
	if e.Purpose == "" {
		return fmt.Sprintf("blind index %q: no key was given; use the keyring's keys of purpose %q", e.Index, keyring.Index)
	}
	return fmt.Sprintf("blind index %q: key %s is a key of purpose %q; use one of purpose %q", e.Index, e.KeyID, e.Purpose, keyring.Index)
}
