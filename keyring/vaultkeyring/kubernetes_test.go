package vaultkeyring_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// serviceAccount is a token as Kubernetes gives one; its signature is judged by Kubernetes, whom Vault asks.
func serviceAccount(t testing.TB, name string) string {
	t.Helper()
	// {"alg":"RS256"} . {"iss":"kubernetes/serviceaccount","kubernetes.io/serviceaccount/namespace":"shop", …} . x
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64url(text)
	}
	return part(map[string]any{"alg": "RS256"}) + "." + part(map[string]any{
		"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:shop:" + name,
		"kubernetes.io/serviceaccount/namespace": "shop", "kubernetes.io/serviceaccount/service-account.name": name,
		"kubernetes.io/serviceaccount/service-account.uid": "0193a000-0000-7000-8000-000000000001", "kubernetes.io/serviceaccount/secret.name": "x",
	}) + "." + base64url([]byte("signature"))
}

// kubernetes answers Vault's TokenReview: it knows one token.
func kubernetes(t testing.TB, good func() string) (url string, reviews *atomic.Int32) {
	reviews = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" {
			http.NotFound(w, r)
			return
		}
		reviews.Add(1)
		var asked struct {
			Spec struct{ Token string }
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		status := map[string]any{"authenticated": false}
		if asked.Spec.Token == good() {
			status = map[string]any{"authenticated": true, "user": map[string]any{
				"username": "system:serviceaccount:shop:app", "uid": "0193a000-0000-7000-8000-000000000001",
				"groups": []string{"system:serviceaccounts"},
			}}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status})
	}))
	t.Cleanup(server.Close)
	return server.URL, reviews
}

func TestAPodLogsInWithItsServiceAccount(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	token := serviceAccount(t, "app")
	url, reviews := kubernetes(t, func() string { return token })
	mount := v.Login("kubernetes")
	v.Must(http.MethodPost, "auth/"+mount+"/config", testenv.Body{
		"kubernetes_host": url, "disable_local_ca_jwt": true, "token_reviewer_jwt": token, "disable_iss_validation": true,
	})
	v.Must(http.MethodPost, "auth/"+mount+"/role/app", testenv.Body{
		"bound_service_account_names": "app", "bound_service_account_namespaces": "shop",
		"token_policies": rolePolicies(t, v, vaultkeyring.Consumer), "token_ttl": "1h",
	})
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(token)
	login := &vaultkeyring.Kubernetes{Role: "app", Mount: mount, TokenFile: file}
	vault := openAt(t, location(v), v.Address, "", vaultkeyring.Options{Kubernetes: login})
	defer vault.Close()
	for range 2 {
		if err := openRing(t.Context(), vault); err != nil {
			t.Fatal(err)
		}
	}
	if n := reviews.Load(); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}

	another := serviceAccount(t, "another")
	write(another)
	refused := openAt(t, location(v), v.Address, "", vaultkeyring.Options{Kubernetes: login})
	e := wantError(t, "another service account", load(t.Context(), refused), vaultkeyring.ErrLogin, another)
	if !strings.Contains(e.Hint(), "VAULT_K8S_ROLE") || !strings.Contains(e.Hint(), "auth/"+mount) {
		t.Errorf("the hint is %q", e.Hint())
	}
	unreadable := openAt(t, location(v), v.Address, "", vaultkeyring.Options{Kubernetes: &vaultkeyring.Kubernetes{Role: "app", TokenFile: file + "x"}})
	var settings *vaultkeyring.SettingsError
	if err := load(t.Context(), unreadable); !errors.As(err, &settings) {
		t.Errorf("a token that is not there: %v", err)
	}
}
