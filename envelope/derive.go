package envelope

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Labels that keep the uses of a key apart (docs/format.md 4.3, 4.4). They are part of the format.
const (
	eventLabel = "fieldcrypt/v1/event"
	fieldLabel = "fieldcrypt/v1/field"
)

// appendLP appends LP(x) = uint32(len(x)) ‖ x, which makes a concatenation of several parts injective.
func appendLP(dst []byte, x string) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(x)))
	return append(dst, x...)
}

// appendEventInfo appends the HKDF info of an event's key.
func appendEventInfo(dst []byte, typ string, version int, id string) []byte {
	dst = appendLP(dst, eventLabel)
	dst = appendLP(dst, typ)
	dst = binary.BigEndian.AppendUint32(dst, uint32(version))
	return appendLP(dst, id)
}

// fieldHead is the associated data of a token up to its pointer, the same for all of an event's under one key: LP(label) ‖ LP(kid).
type fieldHead [4 + len(fieldLabel) + 4 + kidLen]byte

func (h *fieldHead) set(id keyring.KeyID) {
	label := appendLP(h[:0], fieldLabel)
	id.Append(binary.BigEndian.AppendUint32(label, kidLen))
}

// kid is the key's id as it stands in a token.
func (h *fieldHead) kid() []byte { return h[len(h)-kidLen:] }

// appendFieldData appends the associated data of a token, whose pointer is that of a kept path.
func (w *walk) appendFieldData(dst []byte, head *fieldHead, path int32) []byte {
	dst = append(append(dst, head[:]...), 0, 0, 0, 0)
	at := len(dst)
	dst = w.appendPointer(dst, path)
	binary.BigEndian.PutUint32(dst[at-4:], uint32(len(dst)-at))
	return dst
}

// eventKeys are the AEADs of one event, derived once for each key that it needs.
type eventKeys struct {
	rings *keyring.Set
	info  []byte
	known []*eventKey
	spare []*eventKey // of events before, cleared
}

type eventKey struct {
	ring string
	id   keyring.KeyID
	head fieldHead
	aead cipher.AEAD
	err  error
	// primary says that this event's new tokens of the keyring are under this key.
	primary bool
	// used says that the event's key ids name it.
	used bool
}

// text is the key's id for an error; "" where it is a primary key that is missing.
func (e *eventKey) text() string {
	if e.head == (fieldHead{}) {
		return ""
	}
	return string(e.head.kid())
}

// reset starts another event.
func (k *eventKeys) reset(rings *keyring.Set, typ string, version int, id string) {
	k.clear()
	k.rings, k.info = rings, appendEventInfo(k.info[:0], typ, version, id)
}

// maxSpareKeys is for how many keys an event's memory goes on to the next: an honest event needs one for each keyring, or two in a rotation.
const maxSpareKeys = 16

// clear forgets the keys and keeps the memory.
func (k *eventKeys) clear() {
	for i, e := range k.known {
		k.known[i] = nil
		if len(k.spare) < maxSpareKeys {
			*e = eventKey{}
			k.spare = append(k.spare, e)
		}
	}
	if k.rings, k.known = nil, k.known[:0]; cap(k.known) > maxSpareKeys {
		k.known = nil
	}
}

// ring finds a keyring; a nil set has none.
func ringOf(rings *keyring.Set, name string) (*keyring.Keyring, bool) {
	if rings == nil {
		return nil, false
	}
	return rings.Keyring(name)
}

// byID gives the AEAD of exactly that key; nil: the keyring is not at hand. The error in it is the keyring's.
func (k *eventKeys) byID(ctx context.Context, name string, id keyring.KeyID) *eventKey {
	if e := k.find(name, id); e != nil {
		return e
	}
	ring, ok := ringOf(k.rings, name)
	if !ok {
		return nil
	}
	key, err := ring.Key(ctx, keyring.Seal, id)
	return k.add(name, id, key, err)
}

// find gives a key that the event has used before, or nil.
func (k *eventKeys) find(name string, id keyring.KeyID) *eventKey {
	for _, e := range k.known {
		if e.id == id && e.ring == name {
			return e
		}
	}
	return nil
}

// primary gives the AEAD that writes under a keyring: the same one for the whole event, should a refresh bring another primary in its midst.
func (k *eventKeys) primary(name string) *eventKey {
	for _, e := range k.known {
		if e.primary && e.ring == name {
			return e
		}
	}
	ring, ok := ringOf(k.rings, name)
	if !ok {
		return &eventKey{ring: name, err: fmt.Errorf("keyring %s is not configured", name)}
	}
	key, err := ring.Primary(keyring.Seal)
	if err != nil {
		return &eventKey{ring: name, err: err}
	}
	for _, e := range k.known {
		if e.id == key.ID() && e.ring == name && e.err == nil {
			e.primary = true
			return e
		}
	}
	e := k.add(name, key.ID(), key, nil)
	e.primary = true
	return e
}

func (k *eventKeys) add(name string, id keyring.KeyID, key *keyring.Key, err error) *eventKey {
	var e *eventKey
	if n := len(k.spare); n > 0 {
		e, k.spare = k.spare[n-1], k.spare[:n-1]
	} else {
		e = new(eventKey)
	}
	*e = eventKey{ring: name, id: id, err: err}
	e.head.set(id)
	if err == nil {
		e.aead, e.err = eventAEAD(key, k.info)
	}
	k.known = append(k.known, e)
	return e
}

// eventAEAD derives EK and makes its AES-256-GCM. With GODEBUG=fips140=only, where the program's own nonces are refused, its error says so: see
// SECURITY.md.
func eventAEAD(key *keyring.Key, info []byte) (cipher.AEAD, error) {
	ek, err := key.Derive(info)
	if err != nil {
		return nil, err
	}
	defer clear(ek[:])
	return newGCM(ek[:])
}

// newGCM is AES-256-GCM with nonces of 12 bytes and tags of 16.
func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
