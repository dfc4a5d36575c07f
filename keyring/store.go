package keyring

import "context"

// Store keeps one keyring document.
type Store interface {
	// Load returns the document and the version that Save expects back. It
	// returns an error that is [ErrNotFound] if there is none. In a store that
	// remembers a deleted document the error is [ErrDeleted], and comes with the
	// version that Save expects if a new one is to be written over it.
	Load(ctx context.Context) (document []byte, version string, err error)
	// Save writes the document if the stored one still has this version, and
	// returns an error that is [ErrChanged] otherwise. An empty version means:
	// only if there is no document. A Save that returns nil is durable.
	Save(ctx context.Context, document []byte, version string) error
}
