package keyring

import (
	"crypto/sha256"
	"encoding/hex"
)

// watermark is the newest document that was seen. Its zero value has seen none.
type watermark struct {
	revision uint64
	digest   [sha256.Size]byte
}

// check refuses a document that is older than what was seen, since it may lack
// keys that data needs, and one with the same revision and other content, since
// two writers then each believe that they won.
func (w *watermark) check(d *document) error {
	if d.revision < w.revision || d.revision == w.revision && d.digest != w.digest {
		return &RollbackError{
			Keyring: d.name,
			Seen:    w.revision, Found: d.revision,
			SeenDigest: hex.EncodeToString(w.digest[:]), FoundDigest: hex.EncodeToString(d.digest[:]),
		}
	}
	return nil
}

// advance takes a checked document as the newest.
func (w *watermark) advance(d *document) {
	w.revision, w.digest = d.revision, d.digest
}
