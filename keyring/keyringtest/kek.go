package keyringtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// KEK is an AES-256-GCM key in memory.
type KEK struct {
	aead *subtle.AESGCM
	uri  string
}

var _ keyring.KEK = (*KEK)(nil)

// NewKEK makes a random KEK with a URI of its own.
func NewKEK() (*KEK, error) {
	key := make([]byte, 32)
	rand.Read(key)
	id := make([]byte, 8)
	rand.Read(id)
	return NewKEKFrom(key, "memory:"+hex.EncodeToString(id))
}

// NewKEKFrom makes a KEK from a given 32-byte key.
func NewKEKFrom(key []byte, uri string) (*KEK, error) {
	aead, err := subtle.NewAESGCM(key)
	if err != nil {
		return nil, err
	}
	return &KEK{aead: aead, uri: uri}, nil
}

// URI names the KEK.
func (k *KEK) URI() string { return k.uri }

// EncryptWithContext returns nonce ‖ ciphertext ‖ tag.
func (k *KEK) EncryptWithContext(_ context.Context, plaintext, associatedData []byte) ([]byte, error) {
	return k.aead.Encrypt(plaintext, associatedData)
}

// DecryptWithContext opens what EncryptWithContext made.
func (k *KEK) DecryptWithContext(_ context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	return k.aead.Decrypt(ciphertext, associatedData)
}
