package outboxstore

import (
	"encoding/hex"
	"fmt"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// KeyBuckets says how the values of an index that one key computed fall into buckets. A value has another bucket under each key, and everybody
// sees by the key id in front which is which, so that each key is a picture of its own.
type KeyBuckets struct {
	KeyID   keyring.KeyID
	Buckets []blindindex.BucketCount // by rows, ascending
}

// AppendBuckets adds a row of a dialect's query, in the order of key ids: the key id's 4 bytes in hex, in either case, the rows of a bucket, and
// how many buckets have so many.
//
// Error: *[IndexValueError].
func AppendBuckets(all []KeyBuckets, index, kid string, count blindindex.BucketCount) ([]KeyBuckets, error) {
	raw, err := hex.DecodeString(kid)
	if err != nil || len(raw) != 4 {
		return nil, &IndexValueError{Index: index}
	}
	id := keyring.KeyID(uint32(raw[0])<<24 | uint32(raw[1])<<16 | uint32(raw[2])<<8 | uint32(raw[3]))
	if len(all) == 0 || all[len(all)-1].KeyID != id {
		all = append(all, KeyBuckets{KeyID: id})
	}
	last := &all[len(all)-1]
	last.Buckets = append(last.Buckets, count)
	return all, nil
}

// IndexValueError says that the column of a blind index holds something that no index computes. It does not hold it.
type IndexValueError struct{ Index string }

func (e *IndexValueError) Error() string {
	return fmt.Sprintf("the column of blind index %s holds something that is no value of an index", e.Index)
}

// Hint says what to do next.
func (e *IndexValueError) Hint() string {
	return "run `fieldcrypt verify`, which names the rows, and restore or re-encrypt them"
}
