package vaultkeyring_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

func TestATokenThatHasExpiredIsToldFromOneThatMayNot(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	const ttl = 2 * time.Second
	token := roleToken(t, v, ttl, vaultkeyring.Consumer)
	vault := open(t, v, token, vaultkeyring.Options{})
	expire(t, v, token)
	for name, do := range everything {
		wantError(t, name, do(t.Context(), vault), vaultkeyring.ErrToken, token, v.RootToken)
	}
}

// expire waits until Vault does not know a token any more.
func expire(t *testing.T, v *testenv.VaultServer, token string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := v.Call(t.Context(), token, http.MethodGet, "auth/token/lookup-self", nil)
		var refused *testenv.CallError
		if errors.As(err, &refused) && refused.Status == http.StatusForbidden {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the token does not expire")
		case <-tick.C:
		}
	}
}

func TestATokenThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	for _, token := range []string{"hvs.0123456789abcdef0123456789abcdef", "nonsense", "with\nnew line", "café"} {
		wantError(t, token, load(t.Context(), open(t, v, token, vaultkeyring.Options{})), vaultkeyring.ErrToken, token)
	}
	wantError(t, "no token", load(t.Context(), open(t, v, "", vaultkeyring.Options{})), vaultkeyring.ErrNoToken)
}

// The default policy lets a token look itself up; without it Vault's 403 says
// nothing about the token.
func TestATokenWithoutTheDefaultPolicyStillGetsAnErrorThatNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	answer := v.Must(http.MethodPost, "auth/token/create", testenv.Body{
		"policies": rolePolicies(t, v, vaultkeyring.Consumer), "ttl": "1h", "no_default_policy": true, "no_parent": true,
	})
	token := answer.Auth.ClientToken
	vault := open(t, v, token, vaultkeyring.Options{})
	if err := openRing(t.Context(), vault); err != nil {
		t.Errorf("a consumer without the default policy: %v", err)
	}
	e := wantError(t, "encrypt", encrypt(t.Context(), vault), vaultkeyring.ErrDenied, token)
	if e.Detail == "" {
		t.Errorf("%v: want that it says that Vault does not tell", e)
	}
	if e.Capability != "read" || e.Path != v.Transit+"/keys/"+v.Key {
		t.Errorf("%v: want that it names read on the transit key", e)
	}
}

func TestAClientsTokenIsAskedForWithEachCall(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	client := newClient(t, v.Address, "hvs.gone")
	vault, err := vaultkeyring.New(location(v), vaultkeyring.Options{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, "with a wrong token", load(t.Context(), vault), vaultkeyring.ErrToken)
	client.SetToken(roleToken(t, v, long, vaultkeyring.Consumer)) // as a LifetimeWatcher's owner does
	if err := openRing(t.Context(), vault); err != nil {
		t.Errorf("with the right token: %v", err)
	}
}

func TestAppRoleLogsInOnceAndAgainWhenItsTokenIsGone(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	role := v.AppRole(long, rolePolicies(t, v, vaultkeyring.Rotator)...)
	var logins atomic.Int32
	counting := newLossy(t, v.Address, func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/login") {
			logins.Add(1)
		}
		return false
	})
	vault := openAt(t, location(v), counting.URL, "", vaultkeyring.Options{
		AppRole: &vaultkeyring.AppRole{Mount: role.Mount, RoleID: role.RoleID, SecretID: role.SecretID},
	})
	for range 2 {
		if err := stage(t.Context(), vault); err != nil {
			t.Fatal(err)
		}
	}
	if n := logins.Load(); n != 1 {
		t.Errorf("%d logins for calls within the token's life, want 1", n)
	}
	// Every token of the mount ends, as at the end of its time.
	v.Must(http.MethodPut, "sys/leases/revoke-prefix/auth/"+role.Mount+"/login", testenv.Body{"sync": true})
	if err := stage(t.Context(), vault); err != nil {
		t.Errorf("after the token's end: %v", err)
	}
	if n := logins.Load(); n != 2 {
		t.Errorf("%d logins in all, want 2", n)
	}
	if got := storedVersion(t, v); got != 4 {
		t.Errorf("the document has version %d after three changes, want 4", got)
	}
}

func TestManyCallsAtOnceShareOneLogin(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	role := v.AppRole(long, rolePolicies(t, v, vaultkeyring.Consumer)...)
	var logins atomic.Int32
	counting := newLossy(t, v.Address, func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/login") {
			logins.Add(1)
		}
		return false
	})
	vault := openAt(t, location(v), counting.URL, "", vaultkeyring.Options{
		AppRole: &vaultkeyring.AppRole{Mount: role.Mount, RoleID: role.RoleID, SecretID: role.SecretID},
	})
	const calls = 16
	errs := make([]error, calls)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() { errs[i] = openRing(t.Context(), vault) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if n := logins.Load(); n != 1 {
		t.Errorf("%d logins for %d calls at once, want 1", n, calls)
	}
}

func TestAnAppRoleThatIsRefusedSaysSo(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	role := v.AppRole(long)
	for name, test := range map[string]struct {
		role vaultkeyring.AppRole
		want error
	}{
		"a wrong secret id": {vaultkeyring.AppRole{Mount: role.Mount, RoleID: role.RoleID, SecretID: "0f3a9c01-0000-4000-8000-canary000000"}, vaultkeyring.ErrLogin},
		"no secret id":      {vaultkeyring.AppRole{Mount: role.Mount, RoleID: role.RoleID}, vaultkeyring.ErrLogin},
		"a wrong role id":   {vaultkeyring.AppRole{Mount: role.Mount, RoleID: "nobody", SecretID: role.SecretID}, vaultkeyring.ErrLogin},
		"a wrong mount":     {vaultkeyring.AppRole{Mount: "elsewhere", RoleID: role.RoleID, SecretID: role.SecretID}, vaultkeyring.ErrLogin},
		"no policy for it":  {vaultkeyring.AppRole{Mount: role.Mount, RoleID: role.RoleID, SecretID: role.SecretID}, vaultkeyring.ErrDenied},
	} {
		vault := openAt(t, location(v), v.Address, "", vaultkeyring.Options{AppRole: &test.role})
		wantError(t, name, load(t.Context(), vault), test.want, role.SecretID, "canary")
	}
	missing := vaultkeyring.AppRole{RoleID: "x", SecretIDFile: filepath.Join(t.TempDir(), "missing")}
	var settings *vaultkeyring.SettingsError
	if err := load(t.Context(), openAt(t, location(v), v.Address, "", vaultkeyring.Options{AppRole: &missing})); !errors.As(err, &settings) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a secret id file that is not there: %v, want a *SettingsError", err)
	}
}

// Not parallel: the environment is the process's.
func TestTheEnvironmentNamesAddressTokenAndRole(t *testing.T) {
	v := testenv.Vault(t)
	created(t, v)
	consumer := roleToken(t, v, long, vaultkeyring.Consumer)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file(".vault-token", consumer)
	empty := t.TempDir()
	for name, test := range map[string]struct {
		env  map[string]string
		want error
	}{
		"VAULT_TOKEN":               {map[string]string{"VAULT_TOKEN": consumer}, nil},
		"a wrong VAULT_TOKEN":       {map[string]string{"VAULT_TOKEN": "hvs.wrong"}, vaultkeyring.ErrToken},
		"nothing":                   {nil, vaultkeyring.ErrNoToken},
		"what vault login left":     {map[string]string{"HOME": dir}, nil},
		"VAULT_TOKEN before a role": {map[string]string{"VAULT_TOKEN": consumer, "VAULT_ROLE_ID": "wrong"}, nil},
		"a role before vault login": {map[string]string{"HOME": dir, "VAULT_ROLE_ID": "wrong"}, vaultkeyring.ErrLogin},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			t.Setenv("HOME", empty)
			t.Setenv("VAULT_ADDR", v.Address)
			for k, val := range test.env {
				t.Setenv(k, val)
			}
			vault, err := vaultkeyring.New(location(v), vaultkeyring.Options{})
			if err != nil {
				t.Fatal(err)
			}
			err = openRing(t.Context(), vault)
			if test.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, name, err, test.want, consumer, "hvs.wrong")
		})
	}
}

// The AppRole variables name no mount: the login is at auth/approle, which only
// a Vault of the test's own may have.
func TestTheEnvironmentsAppRoleLogsIn(t *testing.T) {
	v := testenv.PrivateVault(t)
	created(t, v.VaultServer)
	v.Must(http.MethodPost, "sys/auth/approle", testenv.Body{"type": "approle"})
	v.Must(http.MethodPost, "auth/approle/role/r", testenv.Body{"token_policies": rolePolicies(t, v.VaultServer, vaultkeyring.Consumer)})
	roleID, _ := v.Must(http.MethodGet, "auth/approle/role/r/role-id", nil).Data["role_id"].(string)
	secretID, _ := v.Must(http.MethodPost, "auth/approle/role/r/secret-id", testenv.Body{}).Data["secret_id"].(string)
	dir := t.TempDir()
	for name, text := range map[string]string{"role": roleID, "secret": secretID} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, env := range map[string]map[string]string{
		"values": {"VAULT_ROLE_ID": roleID, "VAULT_SECRET_ID": secretID},
		"files":  {"VAULT_ROLE_ID_FILE": filepath.Join(dir, "role"), "VAULT_SECRET_ID_FILE": filepath.Join(dir, "secret")},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			t.Setenv("VAULT_ADDR", v.Address)
			for k, val := range env {
				t.Setenv(k, val)
			}
			vault, err := vaultkeyring.New(location(v.VaultServer), vaultkeyring.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := openRing(t.Context(), vault); err != nil {
				t.Error(err)
			}
		})
	}
}

// Not parallel: the environment is the process's.
func TestACertificateIsCheckedAgainstVAULTCACERT(t *testing.T) {
	v := testenv.Vault(t)
	created(t, v)
	token := roleToken(t, v, long, vaultkeyring.Consumer)
	target, err := url.Parse(v.Address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake is what is tested
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, known := range map[string]bool{"a known authority": true, "an unknown one": false} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			t.Setenv("VAULT_ADDR", server.URL)
			t.Setenv("VAULT_TOKEN", token)
			if known {
				t.Setenv("VAULT_CACERT", ca)
			}
			vault, err := vaultkeyring.New(location(v), vaultkeyring.Options{})
			if err != nil {
				t.Fatal(err)
			}
			err = openRing(t.Context(), vault)
			if known {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := wantError(t, name, err, vaultkeyring.ErrUnreachable, token); !strings.Contains(e.Detail, "certificate") {
				t.Errorf("%v does not say that it is about the certificate", e)
			}
		})
	}
}

func TestABadEnvironmentIsASettingsErrorWithoutASecret(t *testing.T) {
	l := vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "transit", Key: "k"}
	for name, value := range map[string]string{
		"VAULT_ADDR":           "http://user:canary-password@[::1",
		"VAULT_CACERT":         "/does/not/exist",
		"VAULT_CLIENT_TIMEOUT": "soon",
		"VAULT_HEADERS":        `{"X-Vault-Token":"canary-token"}`,
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			t.Setenv(name, value)
			_, err := vaultkeyring.New(l, vaultkeyring.Options{})
			var settings *vaultkeyring.SettingsError
			if !errors.As(err, &settings) || settings.Hint() == "" {
				t.Fatalf("%v, want a *SettingsError with a hint", err)
			}
			noSecret(t, name, err, "canary")
		})
	}
}

// clearEnvironment takes out what the developer's own Vault would bring in.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "VAULT_") {
			t.Setenv(name, value) // restores it
			os.Unsetenv(name)
		}
	}
}

func TestTheKEKsURINamesNamespaceMountAndKeyAlone(t *testing.T) {
	t.Parallel()
	l := vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "team/transit", Key: "k"}
	for namespace, want := range map[string]string{"": "vault-transit:team/transit/k", "/ns1/sub/": "vault-transit:ns1/sub/team/transit/k"} {
		client := newClient(t, "http://user:password@vault.example:8200", "hvs.canary")
		client.SetNamespace(namespace)
		vault, err := vaultkeyring.New(l, vaultkeyring.Options{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		if got := vault.URI(); got != want {
			t.Errorf("namespace %q: %q, want %q", namespace, got, want)
		}
		for _, text := range []string{vault.String(), fmt.Sprintf("%v %+v %#v %s", vault, vault, vault, vault), vault.LogValue().String()} {
			if strings.Contains(text, "canary") || strings.Contains(text, "password") {
				t.Errorf("%q holds a secret", text)
			}
		}
	}
}

func TestTheNamespaceGoesWithEachRequest(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 100)
	proxy := newLossy(t, "http://127.0.0.1:9", func(r *http.Request) bool {
		sent <- r.Header.Get(api.NamespaceHeaderName)
		return true
	})
	client := newClient(t, proxy.URL, "hvs.token")
	client.SetMaxRetries(0)
	client.SetNamespace("team-a/")
	vault, err := vaultkeyring.New(vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "transit", Key: "k"}, vaultkeyring.Options{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range everything {
		_ = do(t.Context(), vault)
	}
	if len(sent) < len(everything) {
		t.Fatalf("%d requests were sent for %d calls", len(sent), len(everything))
	}
	for range len(sent) {
		if namespace := <-sent; namespace != "team-a/" {
			t.Errorf("a request with the namespace %q, want team-a/", namespace)
		}
	}
}
