package testenv_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

// Not parallel: the environment is the process's.
func TestAGivenPostgresIsUsedInPlaceOfTheSharedOne(t *testing.T) {
	given := testenv.PrivatePostgres(t)
	t.Setenv(testenv.EnvPostgresURL, given.URL())
	want, err := url.Parse(given.URL())
	if err != nil {
		t.Fatal(err)
	}
	made := testenv.Postgres(t)
	got, err := url.Parse(made)
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != want.Host || got.Path == want.Path {
		t.Errorf("a database %s at %s, want a new one at %s", got.Path, got.Host, want.Host)
	}
	query(t, made, "CREATE TABLE x (y int)")
}

func TestAGivenVaultIsUsedInPlaceOfTheSharedOne(t *testing.T) {
	given := testenv.PrivateVault(t)
	t.Setenv(testenv.EnvVaultAddress, given.Address)
	t.Setenv(testenv.EnvVaultToken, given.RootToken)
	v := testenv.Vault(t)
	if v.Address != given.Address {
		t.Errorf("the Vault at %s, want the given one at %s", v.Address, given.Address)
	}
	if status := call(t, given.VaultServer, given.RootToken, http.MethodGet, v.KV+"/config", nil); status != http.StatusOK {
		t.Errorf("the test's mount at the given Vault: %d, want 200", status)
	}
}
