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

// eventInfo is the HKDF info of an event's key.
func eventInfo(typ string, version int, id string) []byte {
	info := appendLP(nil, eventLabel)
	info = appendLP(info, typ)
	info = binary.BigEndian.AppendUint32(info, uint32(version))
	return appendLP(info, id)
}

// appendFieldData appends the associated data of a token up to its pointer's length, which the caller knows only once it was written.
func appendFieldData(dst []byte, kid string, pointer func([]byte) []byte) []byte {
	dst = appendLP(dst, fieldLabel)
	dst = appendLP(dst, kid)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = pointer(dst)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// eventKeys are the AEADs of one event, derived once for each key that it needs.
type eventKeys struct {
	rings *keyring.Set
	info  []byte
	known []eventKey
}

type eventKey struct {
	ring string
	id   keyring.KeyID
	text string // the id as it stands in a token
	aead cipher.AEAD
	err  error
	// primary says that this event's new tokens of the keyring are under this key.
	primary bool
}

func newEventKeys(rings *keyring.Set, typ string, version int, id string) *eventKeys {
	return &eventKeys{rings: rings, info: eventInfo(typ, version, id)}
}

// ring finds a keyring; a nil set has none.
func ringOf(rings *keyring.Set, name string) (*keyring.Keyring, bool) {
	if rings == nil {
		return nil, false
	}
	return rings.Keyring(name)
}

// byID gives the AEAD of exactly that key. The error is the keyring's.
func (k *eventKeys) byID(ctx context.Context, ring *keyring.Keyring, name string, id keyring.KeyID) *eventKey {
	for i := range k.known {
		if k.known[i].id == id && k.known[i].ring == name {
			return &k.known[i]
		}
	}
	key, err := ring.Key(ctx, keyring.Seal, id)
	return k.add(name, id, key, err)
}

// primary gives the AEAD that writes under a keyring: the same one for the whole event, should a refresh bring another primary in its midst.
func (k *eventKeys) primary(name string) *eventKey {
	for i := range k.known {
		if k.known[i].primary && k.known[i].ring == name {
			return &k.known[i]
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
	for i := range k.known {
		if k.known[i].id == key.ID() && k.known[i].ring == name && k.known[i].err == nil {
			k.known[i].primary = true
			return &k.known[i]
		}
	}
	e := k.add(name, key.ID(), key, nil)
	e.primary = true
	return e
}

func (k *eventKeys) add(name string, id keyring.KeyID, key *keyring.Key, err error) *eventKey {
	e := eventKey{ring: name, id: id, text: id.String(), err: err}
	if err == nil {
		e.aead, e.err = eventAEAD(key, k.info)
	}
	k.known = append(k.known, e)
	return &k.known[len(k.known)-1]
}

// eventAEAD derives EK and makes its AES-256-GCM.
func eventAEAD(key *keyring.Key, info []byte) (cipher.AEAD, error) {
	ek, err := key.Derive(info)
	if err != nil {
		return nil, err
	}
	defer clear(ek[:])
	block, err := aes.NewCipher(ek[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
