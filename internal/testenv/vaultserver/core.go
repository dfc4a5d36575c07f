package main

import (
	"net/http"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/physical/file"
	"github.com/hashicorp/vault/vault"
)

// newCore makes a sealed core over file storage in data/storage.
func newCore(data string) (*vault.Core, error) {
	log := hclog.New(&hclog.LoggerOptions{Name: "vault", Level: hclog.Warn})
	storage, err := file.NewFileBackend(map[string]string{"path": filepath.Join(data, "storage")}, log)
	if err != nil {
		return nil, err
	}
	return vault.NewCore(&vault.CoreConfig{
		Physical:           storage,
		StorageType:        "file",
		Logger:             log,
		LogicalBackends:    secretEngines,
		CredentialBackends: logins,
		BuiltinRegistry:    registry{},
		// Memory of a test server may be swapped out, and mlock needs rights
		// that a container may not have.
		DisableMlock: true,
	})
}

// handler serves Vault's HTTP API.
func handler(core *vault.Core) http.Handler {
	return vaulthttp.Handler.Handler(&vault.HandlerProperties{
		Core:                  core,
		ListenerConfig:        &configutil.Listener{},
		DisablePrintableCheck: true,
	})
}
