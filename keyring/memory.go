package keyring

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Seen is a document that some process has loaded or written.
type Seen struct {
	// KEK names the KEK that sealed it.
	KEK      string
	Revision uint64
	// Digest is SHA-256 of the whole document.
	Digest [sha256.Size]byte
}

// Memory remembers the newest document of each keyring that any process has
// seen, apart from where the documents are kept: in the outbox's database, say
// (fieldcrypt_keyrings). So a process that starts anew notices when the store
// has gone back, and two that each hold a document of one revision notice that
// there are two.
type Memory interface {
	// Recall returns the newest document of a keyring for each KEK that it was
	// sealed by; none if nobody has seen any.
	Recall(ctx context.Context, keyring string) ([]Seen, error)
	// Record remembers a document if it is newer than what is remembered for its
	// KEK. It never goes back.
	Record(ctx context.Context, keyring string, s Seen) error
}

// remembered is what a memory knew before a document was loaded. It is asked
// first: in the meantime another process may write a newer document and say so,
// and the older one would then look like a store that went back.
type remembered []Seen

// recall asks a memory. A nil one remembers nothing.
func recall(ctx context.Context, memory Memory, name string) (remembered, error) {
	if memory == nil {
		return nil, nil
	}
	all, err := memory.Recall(ctx, name)
	if err != nil {
		return nil, &MemoryError{Keyring: name, Err: err}
	}
	return all, nil
}

// check refuses a document that is older than what was seen under its KEK, or
// under the one of the keyring that it was restored from. A keyring that was moved
// is read at both places for a while.
func (all remembered) check(d *document) error {
	for _, s := range all {
		if !slices.Contains(d.keks(), s.KEK) {
			continue
		}
		w := watermark{revision: s.Revision, digest: s.Digest}
		if err := w.check(d); err != nil {
			return err
		}
	}
	return nil
}

// newest is the highest revision of all, 0 if nobody has seen any.
func (all remembered) newest() (revision uint64) {
	for _, s := range all {
		revision = max(revision, s.Revision)
	}
	return revision
}

// record also remembers a restored keyring for the one that was lost: whoever
// finds that one again, and puts it back, has gone back.
func record(ctx context.Context, memory Memory, d *document) error {
	if memory == nil {
		return nil
	}
	for _, kek := range d.keks() {
		if err := memory.Record(ctx, d.name, Seen{KEK: kek, Revision: d.revision, Digest: d.digest}); err != nil {
			return &MemoryError{Keyring: d.name, Err: err}
		}
	}
	return nil
}

// MemoryError says that it cannot be told whether a document is the newest one
// that was seen.
type MemoryError struct {
	Keyring string
	Err     error
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("keyring %s: what other processes have seen of it cannot be told: %v", e.Keyring, e.Err)
}

func (e *MemoryError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *MemoryError) Hint() string {
	if hint := hintOf(e.Err); hint != "" {
		return hint
	}
	return "look at the database that remembers it (fieldcrypt_keyrings), then try again"
}

// DigestText is the digest in hex.
func (s Seen) DigestText() string { return hex.EncodeToString(s.Digest[:]) }
