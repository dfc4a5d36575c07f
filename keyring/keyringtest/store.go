package keyringtest

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Store keeps a document in memory, with check-and-set. Its zero value is empty.
// Safe for concurrent use.
type Store struct {
	mu       sync.Mutex
	document []byte
	writes   uint64
	loads    int
	err      error
}

var _ keyring.Store = (*Store)(nil)

// Load returns the document.
func (s *Store) Load(ctx context.Context) ([]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	switch {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case s.err != nil:
		return nil, "", s.err
	case s.document == nil:
		return nil, "", keyring.ErrNotFound
	}
	return bytes.Clone(s.document), s.version(), nil
}

// Save replaces the document if it still has this version.
func (s *Store) Save(ctx context.Context, document []byte, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.err != nil:
		return s.err
	case version != s.version():
		return keyring.ErrChanged
	}
	s.put(document)
	return nil
}

func (s *Store) version() string {
	if s.document == nil {
		return ""
	}
	return strconv.FormatUint(s.writes, 10)
}

func (s *Store) put(document []byte) {
	s.document = bytes.Clone(document)
	s.writes++
}

// Put replaces the document whatever it is: what an intruder or a wrong restore
// would do. nil empties the store.
func (s *Store) Put(document []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(document)
}

// Fail makes every Load and Save return err until it is called with nil.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Loads counts the loads so far.
func (s *Store) Loads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}
