package vaultkeyring

import (
	"context"
	"fmt"
	"regexp"
)

// keyType is the type that the format names.
const keyType = "aes256-gcm96"

// needSuitableKey checks the Transit key before the first encrypt. Without that,
// Vault would make a missing key for a token with the capability create, and a
// misspelt name would go unnoticed.
func (v *Vault) needSuitableKey(ctx context.Context) error {
	v.mu.Lock()
	checked := v.keyChecked
	v.mu.Unlock()
	if checked {
		return nil
	}
	if err := v.checkKey(ctx); err != nil {
		return err
	}
	v.mu.Lock()
	v.keyChecked = true
	v.mu.Unlock()
	return nil
}

// CheckKey asks Vault whether the Transit key may seal a keyring: of type
// aes256-gcm96, not derived, neither exportable nor with plaintext backup. The
// first encrypt does so by itself.
func (v *Vault) CheckKey(ctx context.Context) error {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	return v.checkKey(ctx)
}

func (v *Vault) checkKey(ctx context.Context) error {
	r := request{operation: "check key", path: v.location.keyPath(), capability: "read", absent: ErrNoKey}
	var key struct {
		Type            string `json:"type"`
		Derived         bool   `json:"derived"`
		Exportable      bool   `json:"exportable"`
		PlaintextBackup bool   `json:"allow_plaintext_backup"`
		SoftDeleted     bool   `json:"soft_deleted"`
	}
	if err := v.session.do(ctx, r, &key); err != nil {
		return err
	}
	unsuitable := func(format string, args ...any) error {
		e := v.session.fail(r, ErrUnsuitableKey)
		e.Detail = fmt.Sprintf(format, args...)
		return e
	}
	switch {
	case key.Type != keyType:
		return unsuitable("its type is %s, want %s", typeName(key.Type), keyType)
	case key.Derived:
		return unsuitable("it is a derived key")
	case key.Exportable:
		return unsuitable("it is exportable: its bytes can leave vault")
	case key.PlaintextBackup:
		return unsuitable("it allows plaintext backup: its bytes can leave vault")
	case key.SoftDeleted:
		return unsuitable("it is deleted")
	}
	return nil
}

// keyTypes is the form of Transit's own names.
var keyTypes = regexp.MustCompile(`^[a-z0-9]{2,10}(-[a-z0-9]{1,10}){0,2}$`)

// typeName repeats what an answer holds only if it looks like a type.
func typeName(s string) string {
	if keyTypes.MatchString(s) {
		return s
	}
	return "an unknown one"
}
