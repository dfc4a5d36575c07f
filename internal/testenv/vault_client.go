package testenv

import (
	"testing"

	"github.com/hashicorp/vault/api"
)

// VaultClient is a client of Vault's own library for a server, or for a proxy in
// front of one; nothing of the environment's counts.
func VaultClient(t testing.TB, address, token string) *api.Client {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	client.SetToken(token)
	client.SetNamespace("")
	return client
}
