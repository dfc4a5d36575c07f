package audittrail

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"regexp"
)

// Rows are the rows, or lines, that an operation was about. Add collects them in bounded memory.
type Rows struct {
	// Count is the number of all.
	Count int64
	// IDs are the ids of the first MaxRowIDs.
	IDs []string
	// Last is the id of the last one.
	Last string

	sum    hash.Hash // of all ids so far; nil if none was added
	parsed []byte    // the digest of an entry that was read
}

// uuid is the form of a row's id.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// notUUID stands for an id of another form, which may be anything, a value too.
const notUUID = "not-a-uuid"

// Add takes one more row. An id that is no UUID in lower case is kept as not-a-uuid.
func (r *Rows) Add(id string) {
	if !uuid.MatchString(id) {
		id = notUUID
	}
	if r.sum == nil {
		r.sum = sha256.New()
	}
	r.Count++
	if len(r.IDs) < MaxRowIDs {
		r.IDs = append(r.IDs, id)
	}
	r.Last = id
	r.sum.Write(binary.BigEndian.AppendUint32(nil, uint32(len(id))))
	r.sum.Write([]byte(id))
}

// Digest is the SHA-256 hash of all ids in their order, each preceded by its length (four bytes, big-endian); nil where only a number is known.
func (r Rows) Digest() []byte { return r.digest() }

func (r Rows) digest() []byte {
	if r.sum != nil {
		return r.sum.Sum(nil)
	}
	return r.parsed
}

func (r Rows) check() error {
	wrong := func(detail string) error { return &EntryError{"rows", detail} }
	digest := r.digest()
	switch {
	case r.Count < 0:
		return wrong("are less than none")
	case r.Count == 0 && (len(r.IDs) > 0 || r.Last != "" || len(digest) > 0):
		return wrong("are none and named")
	case len(r.IDs) > MaxRowIDs || int64(len(r.IDs)) > r.Count:
		return wrong("name too many ids")
	case len(r.IDs) > 0 && len(digest) != sha256.Size, len(r.IDs) == 0 && len(digest) > 0:
		return wrong("lack their digest or their ids")
	case (r.Last == "") != (len(r.IDs) == 0):
		return wrong("lack the last id or the first ones")
	}
	for _, id := range append(r.IDs[:len(r.IDs):len(r.IDs)], r.Last) {
		if id != "" && id != notUUID && !uuid.MatchString(id) {
			return wrong("name an id that is no UUID")
		}
	}
	return nil
}

func (r rows) parse() (Rows, error) {
	digest, err := hex.DecodeString(r.Digest)
	if err != nil {
		return Rows{}, errLine
	}
	if len(digest) == 0 {
		digest = nil
	}
	return Rows{Count: r.Count, IDs: r.IDs, Last: r.Last, parsed: digest}, nil
}

// String says how many rows there are.
func (r Rows) String() string { return fmt.Sprintf("%d rows", r.Count) }

var _ encoding.TextMarshaler = Hash{}

// MarshalText writes the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }
