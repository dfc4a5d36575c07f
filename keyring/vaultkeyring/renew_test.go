package vaultkeyring_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

const shortTTL = 5 * time.Second

// until asks again and again, for as long as a test may take.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for !done() {
		select {
		case <-deadline.C:
			t.Fatalf("not within a minute: %s", what)
		case <-tick.C:
		}
	}
}

// counted is a Vault whose requests to a path's end are counted.
func counted(t *testing.T, v *testenv.VaultServer, suffix string) (address string, n *atomic.Int32) {
	n = new(atomic.Int32)
	proxy := newLossy(t, v.Address, func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, suffix) {
			n.Add(1)
		}
		return false
	})
	return proxy.URL, n
}

// inEnvironment takes everything from Vault's own variables. Not for parallel tests.
func inEnvironment(t *testing.T, l vaultkeyring.Location, address, token string) *vaultkeyring.Vault {
	t.Helper()
	t.Setenv("VAULT_ADDR", address)
	t.Setenv("VAULT_TOKEN", token)
	vault, err := vaultkeyring.New(l, vaultkeyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return vault
}

func TestAConfiguredTokenIsRenewedAndOutlivesItsTime(t *testing.T) {
	v := testenv.Vault(t)
	created(t, v)
	answer := v.Must(http.MethodPost, "auth/token/create", testenv.Body{
		"policies": rolePolicies(t, v, vaultkeyring.Consumer), "ttl": "5s", "renewable": true, "no_parent": true,
	})
	token := answer.Auth.ClientToken
	address, renewals := counted(t, v, "/auth/token/renew-self")
	vault := inEnvironment(t, location(v), address, token)
	if err := load(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	until(t, "it is twice as old as its time", func() bool { return time.Since(began) > 2*shortTTL && renewals.Load() >= 2 })
	if err := openRing(t.Context(), vault); err != nil {
		t.Errorf("after twice its time: %v", err)
	}
	if err := vault.Close(); err != nil {
		t.Fatal(err)
	}
	expire(t, v, token)
	wantError(t, "nobody renews it any more", load(t.Context(), vault), vaultkeyring.ErrToken, token)
}

func TestALoginsTokenIsRenewedAndThenReplaced(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	role := v.AppRole(shortTTL, rolePolicies(t, v, vaultkeyring.Consumer)...)
	// It can be renewed up to 12 s; then there is a new login.
	v.Must(http.MethodPost, "auth/"+role.Mount+"/role/test", testenv.Body{"token_ttl": "5s", "token_max_ttl": "12s"})
	address, logins := counted(t, v, "/login")
	vault := openAt(t, location(v), address, "", vaultkeyring.Options{AppRole: &vaultkeyring.AppRole{Mount: role.Mount, RoleID: role.RoleID, SecretID: role.SecretID}})
	defer vault.Close()
	began := time.Now()
	failed := 0
	until(t, "a second login, and no failed call before", func() bool {
		if err := load(t.Context(), vault); err != nil {
			failed++
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		return logins.Load() >= 2 || failed > 3
	})
	if lived := time.Since(began); lived < shortTTL {
		t.Errorf("a second login after %s: the first token was not renewed", lived)
	}
}

// What is learnt of a token is kept: it is not asked for again with each call.
func TestATokenIsLookedUpOnce(t *testing.T) {
	v := testenv.Vault(t)
	created(t, v)
	for name, made := range map[string]testenv.Body{
		"not renewable":              {"ttl": "1h", "renewable": false},
		"may not look itself up":     {"ttl": "1h", "no_default_policy": true},
		"renewable for a long time":  {"ttl": "1h", "renewable": true},
		"without an end (root does)": nil,
	} {
		token := v.RootToken
		if made != nil {
			made["policies"], made["no_parent"] = rolePolicies(t, v, vaultkeyring.Consumer), true
			token = v.Must(http.MethodPost, "auth/token/create", made).Auth.ClientToken
		}
		address, lookups := counted(t, v, "/auth/token/lookup-self")
		vault := inEnvironment(t, location(v), address, token)
		if err := load(t.Context(), vault); err != nil {
			t.Fatal(name, err)
		}
		until(t, name+": it is looked up", func() bool { return lookups.Load() > 0 })
		for range 50 {
			if err := load(t.Context(), vault); err != nil {
				t.Fatal(name, err)
			}
		}
		if n := lookups.Load(); n != 1 {
			t.Errorf("%s: looked up %d times", name, n)
		}
		vault.Close()
	}
}

// One secret id for one login: all keyrings of a process use its token, and it is renewed until the last of them is closed.
func TestKeyringsInOneVaultShareALogin(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	second := location(v)
	second.Path += "-second"
	if err := createRing(t.Context(), openAt(t, second, v.Address, v.RootToken, vaultkeyring.Options{})); err != nil {
		t.Fatal(err)
	}
	hcl, err := vaultkeyring.Policy(vaultkeyring.Consumer, second)
	if err != nil {
		t.Fatal(err)
	}
	role := v.AppRole(shortTTL, append(rolePolicies(t, v, vaultkeyring.Consumer), v.Policy(hcl))...)
	v.Must(http.MethodPost, "auth/"+role.Mount+"/role/test", testenv.Body{"token_ttl": "5s", "token_max_ttl": "1h", "secret_id_num_uses": 1})
	once := v.Must(http.MethodPost, "auth/"+role.Mount+"/role/test/secret-id", testenv.Body{}).Data["secret_id"].(string)
	proxy, logins := counted(t, v, "/login")
	first := openAt(t, location(v), proxy, "", vaultkeyring.Options{AppRole: &vaultkeyring.AppRole{Mount: role.Mount, RoleID: role.RoleID, SecretID: once}})
	other, err := first.At(second)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		for _, vault := range []*vaultkeyring.Vault{first, other} {
			all.Go(func() {
				if err := openRing(t.Context(), vault); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if n := logins.Load(); n != 1 {
		t.Errorf("%d logins", n)
	}
	// The errors of each name its own place.
	denied := second
	denied.Path = "fieldcrypt/third"
	third, err := other.At(denied)
	if err != nil {
		t.Fatal(err)
	}
	if e := wantError(t, "a keyring that the policies do not name", load(t.Context(), third), vaultkeyring.ErrDenied); !strings.Contains(e.Path, "fieldcrypt/third") {
		t.Errorf("%v", e)
	}
	// Closed twice it counts once.
	for range 2 {
		first.Close()
		third.Close()
	}
	began := time.Now()
	until(t, "the token is twice as old as its time, and renewed", func() bool { return time.Since(began) > 2*shortTTL })
	if err := openRing(t.Context(), other); err != nil || logins.Load() != 1 {
		t.Errorf("after twice its time: %v, %d logins", err, logins.Load())
	}
	other.Close()
}

func TestATokenThatCannotBeRenewedIsLeftAlone(t *testing.T) {
	v := testenv.Vault(t)
	created(t, v)
	answer := v.Must(http.MethodPost, "auth/token/create", testenv.Body{
		"policies": rolePolicies(t, v, vaultkeyring.Consumer), "ttl": "5s", "renewable": false, "no_parent": true,
	})
	token := answer.Auth.ClientToken
	address, renewals := counted(t, v, "/auth/token/renew-self")
	vault := inEnvironment(t, location(v), address, token)
	defer vault.Close()
	if err := load(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	expire(t, v, token)
	wantError(t, "it has ended", load(t.Context(), vault), vaultkeyring.ErrToken, token)
	if n := renewals.Load(); n != 0 {
		t.Errorf("%d renewals of a token that cannot be renewed", n)
	}
}
