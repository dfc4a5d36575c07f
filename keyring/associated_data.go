package keyring

import (
	"crypto/sha256"
	"encoding/binary"
)

const associatedDataLabel = "fieldcrypt/v1/keyring"

// associatedData binds a sealed keyset to its purpose, to the name that the
// reader asked for, and to the revision and the text of the clear part:
//
//	LP("fieldcrypt/v1/keyring") ‖ LP(purpose) ‖ LP(name) ‖ uint64(revision) ‖ LP(SHA-256(clear))
//
// where LP(x) is uint32(len(x)) ‖ x and integers are big-endian.
func associatedData(p Purpose, name string, revision uint64, clearText string) []byte {
	digest := sha256.Sum256([]byte(clearText))
	b := make([]byte, 0, 4*4+len(associatedDataLabel)+len(p)+len(name)+8+len(digest))
	b = appendPrefixed(b, []byte(associatedDataLabel))
	b = appendPrefixed(b, []byte(p))
	b = appendPrefixed(b, []byte(name))
	b = binary.BigEndian.AppendUint64(b, revision)
	return appendPrefixed(b, digest[:])
}

func appendPrefixed(b, x []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(x)))
	return append(b, x...)
}
