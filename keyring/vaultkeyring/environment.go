package vaultkeyring

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/vault/api"
)

// The variables of an AppRole login and of a Kubernetes login. Vault's own tools
// have none for them.
const (
	envRoleID       = "VAULT_ROLE_ID"
	envRoleIDFile   = "VAULT_ROLE_ID_FILE"
	envSecretID     = "VAULT_SECRET_ID"
	envSecretIDFile = "VAULT_SECRET_ID_FILE"
	envK8sRole      = "VAULT_K8S_ROLE"
	envK8sMount     = "VAULT_K8S_MOUNT"
	envK8sTokenFile = "VAULT_K8S_TOKEN_FILE"
)

// tokenFile is where `vault login` leaves a token, in the home directory.
const tokenFile = ".vault-token"

// environmentClient makes a client from Vault's own variables.
func environmentClient() (*api.Client, error) {
	config := api.DefaultConfig()
	if config.Error != nil {
		return nil, &SettingsError{Detail: "the environment cannot be used", Err: config.Error}
	}
	if os.Getenv(api.EnvVaultClientTimeout) == "" {
		config.Timeout = 0 // not set, so that the package's own default counts
	}
	client, err := api.NewClient(config)
	if err != nil {
		// Not err itself: it repeats the address, in which a password may stand.
		return nil, &SettingsError{Detail: "VAULT_ADDR, VAULT_AGENT_ADDR or VAULT_HEADERS is not valid"}
	}
	return client, nil
}

// environmentLogin is the AppRole if one is set, else the Kubernetes role, else
// nil.
func environmentLogin() login {
	if r := environmentAppRole(); r != nil {
		return r
	}
	if role := os.Getenv(envK8sRole); role != "" {
		return &Kubernetes{Role: role, Mount: os.Getenv(envK8sMount), TokenFile: os.Getenv(envK8sTokenFile)}
	}
	return nil
}

// environmentAppRole returns nil if no role is set.
func environmentAppRole() *AppRole {
	r := &AppRole{
		RoleID:       os.Getenv(envRoleID),
		RoleIDFile:   os.Getenv(envRoleIDFile),
		SecretID:     os.Getenv(envSecretID),
		SecretIDFile: os.Getenv(envSecretIDFile),
	}
	if r.RoleID == "" && r.RoleIDFile == "" {
		return nil
	}
	return r
}

// loginToken returns the token that `vault login` left, "" if there is none.
func loginToken() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", nil // no home, no token
	}
	text, err := os.ReadFile(filepath.Join(home, tokenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", &SettingsError{Detail: "the token of vault login cannot be read", Err: err}
	}
	return strings.TrimSpace(string(text)), nil
}
