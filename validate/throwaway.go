package validate

import (
	"context"
	"crypto/rand"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// throwawayKeyrings makes, in memory, every keyring that the schemas name. Sealing under keys that nobody keeps is how an event is checked:
// the verdict is the Sealer's own, and no second opinion can drift away from it. Nothing that was sealed leaves the check.
func throwawayKeyrings(ctx context.Context, reg *schema.Registry) (*keyring.Set, func(), error) {
	var rings []*keyring.Keyring
	closeAll := func() {
		for _, ring := range rings {
			ring.Close()
		}
	}
	var others []*keyring.Description
	made := map[string]bool{}
	for _, event := range reg.Events() {
		for _, name := range event.Plan().Keyrings() {
			if made[name] {
				continue
			}
			made[name] = true
			ring, err := throwawayKeyring(ctx, name, others)
			if err != nil {
				closeAll()
				return nil, nil, err
			}
			rings, others = append(rings, ring), append(others, ring.Describe())
		}
	}
	set, err := keyring.NewSet(rings...)
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return set, closeAll, nil
}

func throwawayKeyring(ctx context.Context, name string, others []*keyring.Description) (*keyring.Keyring, error) {
	key := make([]byte, 32)
	rand.Read(key)
	aead, err := subtle.NewAESGCM(key)
	if err != nil {
		return nil, err
	}
	kek := throwawayKEK{aead: aead, uri: "throwaway:" + name}
	store := &throwawayStore{}
	manager, err := keyring.NewManager(name, store, kek, keyring.ManagerOptions{Actor: "fieldcrypt validate"})
	if err != nil {
		return nil, err
	}
	if _, err := manager.Create(ctx, keyring.CreateOptions{Others: others}); err != nil {
		return nil, err
	}
	return keyring.Open(ctx, name, store, kek, keyring.Options{})
}

// throwawayKEK is an AES-256-GCM key that lives as long as the check.
type throwawayKEK struct {
	aead *subtle.AESGCM
	uri  string
}

var _ keyring.KEK = throwawayKEK{}

func (k throwawayKEK) URI() string { return k.uri }

func (k throwawayKEK) EncryptWithContext(_ context.Context, plaintext, associatedData []byte) ([]byte, error) {
	return k.aead.Encrypt(plaintext, associatedData)
}

func (k throwawayKEK) DecryptWithContext(_ context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	return k.aead.Decrypt(ciphertext, associatedData)
}

// throwawayStore holds the one document that a keyring is created with; nobody writes a second.
type throwawayStore struct{ document []byte }

var _ keyring.Store = (*throwawayStore)(nil)

func (s *throwawayStore) Load(context.Context) ([]byte, string, error) {
	if s.document == nil {
		return nil, "", keyring.ErrNotFound
	}
	return s.document, "1", nil
}

func (s *throwawayStore) Save(_ context.Context, document []byte, version string) error {
	if version != "" || s.document != nil {
		return keyring.ErrChanged
	}
	s.document = document
	return nil
}
