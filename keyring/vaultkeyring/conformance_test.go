package vaultkeyring_test

import (
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/backendtest"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

func TestVaultPassesTheConformanceSuite(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t testing.TB) backendtest.Backend {
		v := testenv.Vault(t)
		token := roleToken(t, v, long, vaultkeyring.Creator, vaultkeyring.Rotator)
		return backendtest.Backend{Open: func(t testing.TB) (keyring.Store, keyring.KEK) {
			// Many of them are busy at once on a small machine.
			vault := open(t, v, token, vaultkeyring.Options{Timeout: time.Minute})
			return vault, vault
		}}
	})
}
