package vaultkeyring

import (
	"fmt"
	"os"
	"strings"
)

// serviceAccountToken is where Kubernetes puts a pod's token.
const serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// Kubernetes logs in with the token of the pod's service account. The file is
// read at each login, since Kubernetes replaces it.
type Kubernetes struct {
	// Role is the role of Vault's Kubernetes login.
	Role string
	// Mount is the login's mount below auth/. Defaults to "kubernetes".
	Mount string
	// TokenFile holds the service account's token. Defaults to where Kubernetes
	// puts it, /var/run/secrets/kubernetes.io/serviceaccount/token.
	TokenFile string
}

func (k *Kubernetes) path() string { return loginPath(k.Mount, "kubernetes") }

func (k *Kubernetes) body() (map[string]any, error) {
	file := k.TokenFile
	if file == "" {
		file = serviceAccountToken
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &SettingsError{Detail: "the service account's token cannot be read", Err: err}
	}
	return map[string]any{"role": k.Role, "jwt": strings.TrimSpace(string(text))}, nil
}

func (k *Kubernetes) hint(mount string) string {
	return fmt.Sprintf("check VAULT_K8S_ROLE, that the role is bound to the pod's service account and namespace, and that a Kubernetes login is mounted at %s", mount)
}
