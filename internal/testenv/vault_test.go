package testenv_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

func TestEachTestHasMountsAndATransitKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	one, other := testenv.Vault(t), testenv.Vault(t)
	if one.KV == other.KV || one.Transit == other.Transit {
		t.Fatalf("both tests have %s and %s", one.KV, one.Transit)
	}
	one.Must(http.MethodPost, one.KV+"/data/x", testenv.Body{"data": testenv.Body{"a": "b"}})
	if status := call(t, other, other.RootToken, http.MethodGet, other.KV+"/data/x", nil); status != http.StatusNotFound {
		t.Errorf("another test's mount answers %d, want 404", status)
	}
	sealed := one.Must(http.MethodPost, one.Transit+"/encrypt/"+one.Key, testenv.Body{"plaintext": "eA==", "associated_data": "eQ=="}).Data["ciphertext"]
	wrong := testenv.Body{"ciphertext": sealed, "associated_data": "eg=="}
	if status := call(t, one, one.RootToken, http.MethodPost, one.Transit+"/decrypt/"+one.Key, wrong); status != http.StatusBadRequest {
		t.Errorf("decrypting under other associated data: %d, want 400", status)
	}
}

func TestMountsAndPoliciesAreRemovedWithTheTest(t *testing.T) {
	t.Parallel()
	var v *testenv.VaultServer
	var policy string
	t.Run("owner", func(t *testing.T) {
		v = testenv.Vault(t)
		policy = v.Policy(`path "x" { capabilities = ["read"] }`)
	})
	still := testenv.Vault(t)
	for _, path := range []string{v.KV + "/config", v.Transit + "/keys/" + v.Key, "sys/policies/acl/" + policy} {
		if status := call(t, still, still.RootToken, http.MethodGet, path, nil); status != http.StatusNotFound {
			t.Errorf("%s after its test: %d, want 404", path, status)
		}
	}
}

func TestATokenHasItsPolicyAndAnAppRoleLogsIn(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	policy := v.Policy(`path "` + v.KV + `/data/mine" { capabilities = ["create", "read"] }`)
	role := v.AppRole(time.Hour, policy)
	answer := v.Must(http.MethodPost, "auth/"+role.Mount+"/login", testenv.Body{"role_id": role.RoleID, "secret_id": role.SecretID})
	for what, token := range map[string]string{"token": v.Token(time.Hour, policy), "role": answer.Auth.ClientToken} {
		if status := call(t, v, token, http.MethodGet, v.KV+"/data/mine", nil); status != http.StatusNotFound {
			t.Errorf("%s: reading what the policy allows: %d, want 404", what, status)
		}
		if status := call(t, v, token, http.MethodGet, v.KV+"/data/other", nil); status != http.StatusForbidden {
			t.Errorf("%s: reading what it does not allow: %d, want 403", what, status)
		}
	}
}

func TestAPrivateVaultKeepsItsDataAndTokensOverSealStopAndKill(t *testing.T) {
	t.Parallel()
	v := testenv.PrivateVault(t)
	v.Must(http.MethodPost, v.KV+"/data/x", testenv.Body{"data": testenv.Body{"a": "b"}})
	address, token := v.Address, v.RootToken
	there := func(state string) {
		t.Helper()
		if v.Address != address || v.RootToken != token {
			t.Fatalf("%s: another address or root token", state)
		}
		if status := call(t, v.VaultServer, token, http.MethodGet, v.KV+"/data/x", nil); status != http.StatusOK {
			t.Errorf("%s: %d, want 200", state, status)
		}
	}
	sealed := func(state string) {
		t.Helper()
		if status := call(t, v.VaultServer, token, http.MethodGet, v.KV+"/data/x", nil); status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d, want 503", state, status)
		}
	}
	v.Seal()
	sealed("sealed")
	v.Unseal()
	there("unsealed")
	v.Stop()
	v.StartSealed()
	sealed("started as in production")
	v.Unseal()
	there("unsealed after a start")
	v.Kill()
	v.Start()
	there("after a kill")
	v.Pause()
	v.Resume()
	there("after a pause")
}

// call returns the status of a call that Vault answers.
func call(t *testing.T, v *testenv.VaultServer, token, method, path string, body testenv.Body) int {
	t.Helper()
	_, err := v.Call(t.Context(), token, method, path, body)
	var refused *testenv.CallError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &refused):
		return refused.Status
	}
	t.Fatalf("%s %s: %v", method, path, err)
	return 0
}
