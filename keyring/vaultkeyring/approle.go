package vaultkeyring

import (
	"fmt"
	"os"
	"strings"
)

// AppRole logs in with a role id and a secret id. Give each itself or a file
// that holds it; a file is read at each login, so that it can be replaced.
type AppRole struct {
	// Mount is the login's mount below auth/. Defaults to "approle".
	Mount string
	// RoleID names the role. Defaults to what RoleIDFile holds.
	RoleID string
	// RoleIDFile is a file that holds the role id. Defaults to none.
	RoleIDFile string
	// SecretID is the role's secret. Defaults to what SecretIDFile holds.
	SecretID string
	// SecretIDFile is a file that holds the secret id. Defaults to none, for a
	// role that needs no secret id.
	SecretIDFile string
}

func (r *AppRole) path() string { return loginPath(r.Mount, "approle") }

func (r *AppRole) hint(mount string) string {
	return fmt.Sprintf("check VAULT_ROLE_ID and VAULT_SECRET_ID (a secret id may have expired or have been used up), and that an AppRole login is mounted at %s", mount)
}

// body is that of the login request.
func (r *AppRole) body() (map[string]any, error) {
	role, err := valueOrFile(r.RoleID, r.RoleIDFile, "role id")
	if err != nil {
		return nil, err
	}
	secret, err := valueOrFile(r.SecretID, r.SecretIDFile, "secret id")
	if err != nil {
		return nil, err
	}
	body := map[string]any{"role_id": role}
	if secret != "" {
		body["secret_id"] = secret
	}
	return body, nil
}

func valueOrFile(value, file, what string) (string, error) {
	if value != "" || file == "" {
		return value, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", &SettingsError{Detail: "the " + what + " cannot be read", Err: err}
	}
	return strings.TrimSpace(string(text)), nil
}
