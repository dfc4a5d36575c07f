package vaultkeyring_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// Namespaces are Vault Enterprise's: what can be seen here is that every request asks for the right one, logins and renewals too.
func TestEveryRequestNamesTheNamespace(t *testing.T) {
	v := testenv.Vault(t)
	created(t, v)
	role := v.AppRole(shortTTL, rolePolicies(t, v, vaultkeyring.Rotator)...)
	var mu sync.Mutex
	seen := map[string]string{}
	proxy := newLossy(t, v.Address, func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path] = r.Header.Get("X-Vault-Namespace")
		r.Header.Del("X-Vault-Namespace") // this Vault has none
		return false
	})
	clearEnvironment(t)
	t.Setenv("VAULT_ADDR", proxy.URL)
	t.Setenv("VAULT_NAMESPACE", "team/shop")
	t.Setenv("VAULT_ROLE_ID", role.RoleID)
	t.Setenv("VAULT_SECRET_ID", role.SecretID)
	vault, err := vaultkeyring.New(location(v), vaultkeyring.Options{AppRole: &vaultkeyring.AppRole{Mount: role.Mount, RoleID: role.RoleID, SecretID: role.SecretID}})
	if err != nil {
		t.Fatal(err)
	}
	defer vault.Close()
	// The keyring was made without a namespace, so that only calls below the keyring can be made here.
	if err := load(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	if err := encrypt(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	until(t, "a renewal", func() bool {
		mu.Lock()
		defer mu.Unlock()
		_, ok := seen["/v1/auth/token/renew-self"]
		return ok
	})
	mu.Lock()
	defer mu.Unlock()
	for path, namespace := range seen {
		if namespace != "team/shop" {
			t.Errorf("%s names the namespace %q", path, namespace)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d requests: %v", len(seen), seen)
	}
}
