package bench

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// naive seals as one would without fieldcrypt: decode into a map, validate, encrypt known fields with Tink, hash two of them, encode.
type naive struct {
	validation *validation
	aead       tink.AEAD
	index      []byte
}

func newNaive() (*naive, error) {
	v, err := newValidation()
	if err != nil {
		return nil, err
	}
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, err
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, err
	}
	return &naive{validation: v, aead: primitive, index: []byte("an index key of thirty-two bytes")}, nil
}

func (n *naive) seal(payload []byte) ([]byte, map[string][]byte, error) {
	event, err := n.validation.decode(payload)
	if err != nil {
		return nil, nil, err
	}
	indexes := map[string][]byte{}
	for _, name := range []string{"email", "tax_id"} {
		mac := hmac.New(sha256.New, n.index)
		mac.Write([]byte(strings.ToLower(event[name].(string))))
		indexes[name] = mac.Sum(nil)[:16]
	}
	customer := event["customer"].(map[string]any)
	for _, field := range []struct {
		in   map[string]any
		name string
	}{{event, "email"}, {event, "tax_id"}, {customer, "name"}} {
		ct, err := n.aead.Encrypt([]byte(field.in[field.name].(string)), []byte(field.name))
		if err != nil {
			return nil, nil, err
		}
		field.in[field.name] = base64.RawURLEncoding.EncodeToString(ct)
	}
	out, err := json.Marshal(event)
	return out, indexes, err
}
