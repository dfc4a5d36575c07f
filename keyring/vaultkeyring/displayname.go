package vaultkeyring

import "context"

// lookUpPath is where a token looks itself up.
const lookUpPath = "auth/token/lookup-self"

// DisplayName asks Vault whom the token in use belongs to, as Vault's own audit log names it: "token-ci", "approle". A token may always look itself up unless its
// policies were made without Vault's default one: [ErrDenied] then.
func (v *Vault) DisplayName(ctx context.Context) (string, error) {
	ctx, cancel := v.session.bounded(ctx)
	defer cancel()
	r := request{operation: "look up the token", path: lookUpPath, capability: "read"}
	var found struct {
		DisplayName string `json:"display_name"`
	}
	if err := v.session.do(ctx, r, &found); err != nil {
		return "", err
	}
	if found.DisplayName == "" {
		return "", v.session.notVault(r, "it names nobody")
	}
	return found.DisplayName, nil
}
