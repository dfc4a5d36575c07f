package blindindex

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// The stored form, a bytea:
//
//	| kid (4 bytes, big-endian) | value (1 to 32 bytes) |
//
// and its text: bi1:<kid, 8 lower-case hex digits>:<value, base64url without padding>.
const (
	kidSize     = 4
	minStored   = kidSize + MinBits/8
	maxStored   = kidSize + sha256.Size
	textPrefix  = "bi1:"
	kidTextSize = 2 * kidSize
)

// valueText is canonical: strict, so that unused bits must be zero and a value has one text.
var valueText = base64.RawURLEncoding.Strict()

const base64URLAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// KeyID reads the key id of a stored value, or gives a *[StoredError].
func KeyID(stored []byte) (keyring.KeyID, error) {
	if len(stored) < minStored || len(stored) > maxStored {
		return 0, &StoredError{Reason: fmt.Sprintf("it has %d bytes, a stored value %d to %d", len(stored), minStored, maxStored)}
	}
	return keyring.KeyID(binary.BigEndian.Uint32(stored)), nil
}

// CheckStored says whether a stored value has the form of an index of so many bits: their bytes after a key id, and zeros in the bits that are left over. It gives a
// *[StoredError], which repeats nothing of the value.
func CheckStored(stored []byte, bits int) error {
	if want := kidSize + (bits+7)/8; len(stored) != want {
		return &StoredError{Reason: fmt.Sprintf("it has %d bytes, and a stored value of %d bits has %d", len(stored), bits, want)}
	}
	if binary.BigEndian.Uint32(stored) == 0 {
		return &StoredError{Reason: "its key id is 00000000, which no key has"}
	}
	if over := (8 - bits%8) % 8; stored[len(stored)-1]&(1<<over-1) != 0 {
		return &StoredError{Reason: fmt.Sprintf("not all of the %d bits after its %d are zero", over, bits)}
	}
	return nil
}

// Text writes a stored value as bi1:<kid>:<base64url>. What is no stored value has no text: "".
func Text(stored []byte) string {
	kid, err := KeyID(stored)
	if err != nil {
		return ""
	}
	return textPrefix + kid.String() + ":" + valueText.EncodeToString(stored[kidSize:])
}

// ParseText reads what [Text] writes, and nothing else: each stored value has exactly one text. It gives a *[StoredError].
func ParseText(text string) ([]byte, error) {
	rest, ok := strings.CutPrefix(text, textPrefix)
	if !ok {
		return nil, &StoredError{Reason: fmt.Sprintf("it does not start with %q", textPrefix)}
	}
	kid, value, ok := strings.Cut(rest, ":")
	if !ok || len(kid) != kidTextSize {
		return nil, &StoredError{Reason: fmt.Sprintf("no key id of %d hex digits and a colon follow %q", kidTextSize, textPrefix)}
	}
	id, err := keyring.ParseKeyID(kid)
	if err != nil {
		return nil, &StoredError{Reason: "its key id is not 8 lower-case hex digits"}
	}
	// Go's decoder skips CR and LF; what is left of TrimLeft starts with a byte outside the alphabet.
	if strings.TrimLeft(value, base64URLAlphabet) != "" {
		return nil, &StoredError{Reason: "its value is not base64url without padding"}
	}
	decoded, err := valueText.DecodeString(value)
	if err != nil {
		return nil, &StoredError{Reason: "its value is not canonical base64url (a length that no value has, or unused bits that are not zero)"}
	}
	stored := binary.BigEndian.AppendUint32(make([]byte, 0, kidSize+len(decoded)), uint32(id))
	stored = append(stored, decoded...)
	if _, err := KeyID(stored); err != nil {
		return nil, err
	}
	return stored, nil
}

// StoredError says why bytes or a text are no stored blind index. It does not hold them.
type StoredError struct{ Reason string }

func (e *StoredError) Error() string {
	return "not a blind index value: " + e.Reason + "; expected bi1:KID:BASE64URL, or the bytes of a bidx_ column"
}
