package keyring

import (
	"encoding/hex"
)

// KeyID names a key within one keyring; its text is 8 lower-case hex digits.
// It is also the id of the key in Tink's keyset. A key id alone never names a
// key: always look it up in the keyring that a location belongs to.
type KeyID uint32

// String writes the id as it stands in tokens and documents.
func (id KeyID) String() string {
	var text [8]byte
	return string(id.Append(text[:0]))
}

// Append appends what String returns.
func (id KeyID) Append(dst []byte) []byte {
	b := [4]byte{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)}
	return hex.AppendEncode(dst, b[:])
}

// ParseKeyID reads 8 lower-case hex digits and nothing else.
func ParseKeyID(s string) (KeyID, error) {
	var b [4]byte
	if len(s) != 8 || !isLowerHex(s) {
		return 0, &KeyIDError{}
	}
	if _, err := hex.Decode(b[:], []byte(s)); err != nil {
		return 0, &KeyIDError{}
	}
	return KeyID(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])), nil
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
