package outboxstore

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// KeyringTable remembers, for all processes that use a database, the newest document of each keyring that one of them has
// seen: (name, kek, revision, digest). See keyring.Memory. It stands beside the outbox, in Postgres in its schema.
const KeyringTable = "fieldcrypt_keyrings"

// KeyUse says how many rows need a key.
type KeyUse struct {
	Rows int64
	// Oldest is when the oldest of them was created; zero if there is none.
	Oldest time.Time
}

// Remembered makes a keyring.Seen of a row of KeyringTable.
func Remembered(kek string, revision int64, digest []byte) (keyring.Seen, error) {
	if revision < 1 || len(digest) != sha256.Size {
		return keyring.Seen{}, fmt.Errorf("a row of %s was changed: its revision or its digest is not one that fieldcrypt writes", KeyringTable)
	}
	return keyring.Seen{KEK: kek, Revision: uint64(revision), Digest: [sha256.Size]byte(digest)}, nil
}
