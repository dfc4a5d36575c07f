package vaultkeyring

import "context"

// DisplayName asks Vault whom the token in use belongs to, as Vault's own audit log names it: "token-ci", "approle". A token may always look itself up unless its
// policies were made without Vault's default one: [ErrDenied] then.
func (v *Vault) DisplayName(ctx context.Context) (string, error) {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	r := request{operation: "look up the token", path: "auth/token/lookup-self", capability: "read"}
	var found struct {
		DisplayName string `json:"display_name"`
	}
	if err := v.session.do(ctx, r, &found); err != nil {
		return "", err
	}
	if found.DisplayName == "" {
		return "", v.session.fail(r, ErrMalformed)
	}
	return found.DisplayName, nil
}
