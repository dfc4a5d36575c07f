package vaultkeyring

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
)

// A ciphertext of Transit is vault:vN:<base64>, N being the version of the key.
const cipherPrefix = "vault:v"

// isCiphertext takes the one canonical text only: Vault's own decoder takes
// stray bits at the end of the base64.
func isCiphertext(text string) bool {
	rest, ok := strings.CutPrefix(text, cipherPrefix)
	version, body, cut := strings.Cut(rest, ":")
	if n, err := strconv.ParseUint(version, 10, 31); !ok || !cut || err != nil || n == 0 || strconv.FormatUint(n, 10) != version {
		return false
	}
	b, err := base64.StdEncoding.Strict().DecodeString(body)
	return err == nil && len(b) > 0 && base64.StdEncoding.EncodeToString(b) == body
}

// EncryptWithContext seals a keyset with the Transit key. The ciphertext is
// Transit's text, vault:vN:<base64>.
func (v *Vault) EncryptWithContext(ctx context.Context, plaintext, associatedData []byte) ([]byte, error) {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	if err := v.needSuitableKey(ctx); err != nil {
		return nil, err
	}
	r := request{operation: "encrypt", path: v.location.encryptPath(), capability: "update", absent: ErrNoKey}
	r.body = map[string]any{
		"plaintext":       base64.StdEncoding.EncodeToString(plaintext),
		"associated_data": base64.StdEncoding.EncodeToString(associatedData),
	}
	var sealed struct {
		Ciphertext string `json:"ciphertext"`
	}
	if err := v.session.do(ctx, r, &sealed); err != nil {
		return nil, err
	}
	if !isCiphertext(sealed.Ciphertext) {
		return nil, v.session.notVault(r, "it holds no ciphertext")
	}
	return []byte(sealed.Ciphertext), nil
}

// DecryptWithContext opens what EncryptWithContext made.
func (v *Vault) DecryptWithContext(ctx context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	r := request{operation: "decrypt", path: v.location.decryptPath(), capability: "update", absent: ErrNoKey}
	if !isCiphertext(string(ciphertext)) {
		e := v.session.fail(r, ErrNotAuthentic)
		e.Detail = "it was not sealed by a transit key"
		return nil, e
	}
	r.body = map[string]any{
		"ciphertext":      string(ciphertext),
		"associated_data": base64.StdEncoding.EncodeToString(associatedData),
	}
	var opened struct {
		Plaintext string `json:"plaintext"`
	}
	if err := v.session.do(ctx, r, &opened); err != nil {
		return nil, err
	}
	plaintext, err := base64.StdEncoding.DecodeString(opened.Plaintext)
	if err != nil || len(plaintext) == 0 {
		return nil, v.session.notVault(r, "it holds no plaintext")
	}
	return plaintext, nil
}
