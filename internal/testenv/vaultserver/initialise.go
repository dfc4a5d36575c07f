package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/vault/vault"
)

// initKeys is what the first start made, kept in data/init.json.
type initKeys struct {
	RootToken string `json:"root_token"`
	// UnsealKey is standard base64, as Vault's API takes it.
	UnsealKey string `json:"unseal_key"`
}

// initialise makes the root token and the one unseal key, or reads those of an
// earlier start.
func initialise(ctx context.Context, core *vault.Core, data string) (initKeys, error) {
	done, err := core.Initialized(ctx)
	if err != nil {
		return initKeys{}, err
	}
	path := filepath.Join(data, "init.json")
	if done {
		return readKeys(path)
	}
	result, err := core.Initialize(ctx, &vault.InitParams{
		BarrierConfig:  &vault.SealConfig{SecretShares: 1, SecretThreshold: 1},
		RecoveryConfig: &vault.SealConfig{SecretShares: 1, SecretThreshold: 1},
	})
	if err != nil {
		return initKeys{}, fmt.Errorf("initialising: %w", err)
	}
	keys := initKeys{RootToken: result.RootToken, UnsealKey: base64.StdEncoding.EncodeToString(result.SecretShares[0])}
	text, err := json.Marshal(keys)
	if err != nil {
		return initKeys{}, err
	}
	return keys, os.WriteFile(path, text, 0o600)
}

func readKeys(path string) (keys initKeys, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return keys, fmt.Errorf("the storage is initialised, but its keys are gone: %w", err)
	}
	return keys, json.Unmarshal(text, &keys)
}

func unseal(core *vault.Core, keys initKeys) error {
	key, err := base64.StdEncoding.DecodeString(keys.UnsealKey)
	if err != nil {
		return err
	}
	unsealed, err := core.Unseal(key)
	if err == nil && !unsealed {
		err = errors.New("the key did not unseal it")
	}
	return err
}
