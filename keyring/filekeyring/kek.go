package filekeyring

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
)

// derivedKey is the key-encryption key: AES-256-GCM under Argon2id's 32 bytes,
// with a random nonce in front (nonce(12) ‖ ciphertext ‖ tag(16)).
type derivedKey struct {
	aead cipher.AEAD
	// proven is true once it has opened something: the passphrase is right.
	proven bool
}

// EncryptWithContext seals a keyset.
func (f *File) EncryptWithContext(ctx context.Context, plaintext, associatedData []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, err := f.derive(ctx)
	if err != nil {
		return nil, err
	}
	return k.aead.Seal(nil, nil, plaintext, associatedData), nil
}

// DecryptWithContext opens a keyset. The error is [ErrDamaged] if the
// passphrase has opened something under this salt before, else
// [ErrWrongPassphrase].
func (f *File) DecryptWithContext(ctx context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, err := f.derive(ctx)
	if err != nil {
		return nil, err
	}
	plaintext, err := k.aead.Open(nil, nil, ciphertext, associatedData)
	switch {
	case err == nil:
		k.proven = true
		return plaintext, nil
	case k.proven:
		return nil, f.fail(ErrDamaged, nil)
	default:
		return nil, f.fail(ErrWrongPassphrase, nil)
	}
}

// derive asks for the passphrase and runs Argon2id once for each header, also
// if that fails: a person is asked once, not once for each keyset.
func (f *File) derive(ctx context.Context) (*derivedKey, error) {
	if f.kek == nil && f.kekErr == nil {
		f.kek, f.kekErr = f.deriveAnew(ctx)
	}
	return f.kek, f.kekErr
}

func (f *File) deriveAnew(ctx context.Context) (*derivedKey, error) {
	if f.passphrase == nil {
		return nil, f.fail(ErrNoPassphrase, nil)
	}
	passphrase, err := f.passphrase(ctx)
	if err != nil {
		return nil, err
	}
	defer clear(passphrase)
	if len(passphrase) == 0 {
		return nil, f.fail(ErrEmptyPassphrase, nil)
	}
	h := f.current()
	key := h.params.key(passphrase, []byte(h.salt))
	defer clear(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &derivedKey{aead: aead}, nil
}
