package vaultkeyring_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

func TestACallerWhoseContextEndsDoesNotWaitForAnothersLogin(t *testing.T) {
	arrived := make(chan struct{}, 8)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices that its client has gone only once the body is read
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	t.Setenv("VAULT_ADDR", s.URL)
	t.Setenv("VAULT_TOKEN", "")
	l, err := vaultkeyring.ParseURL("vault://secret/a?transit=transit/k")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vaultkeyring.New(l, vaultkeyring.Options{AppRole: &vaultkeyring.AppRole{RoleID: "a", SecretID: "b"}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	first, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		_, _, _ = v.Load(first)
		close(done)
	}()
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := v.Load(ctx); err == nil || ctx.Err() == nil {
		t.Errorf("%v; want the end of the caller's own time", err)
	}
	select {
	case <-done:
		t.Error("the first login was over: the test does not reach what it claims")
	default:
	}
	stop()
	<-done
}

// between stands in front of the real Vault and spoils what passes.
func between(t *testing.T, address string, handle func(w http.ResponseWriter, r *http.Request, vault http.Handler)) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	vault := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, vault) }))
	t.Cleanup(s.Close)
	return s.URL
}

func isKVWrite(r *http.Request) bool {
	return (r.Method == http.MethodPut || r.Method == http.MethodPost) && strings.Contains(r.URL.Path, "/data/")
}

// managerThrough makes a keyring straight, and gives a manager of it whose calls go through another address.
func managerThrough(t *testing.T, address func(vault string) string) *keyring.Manager {
	t.Helper()
	server := testenv.Vault(t)
	l, err := vaultkeyring.ParseURL(server.URL("hostile"))
	if err != nil {
		t.Fatal(err)
	}
	manager := func(addr string) *keyring.Manager {
		t.Setenv("VAULT_ADDR", addr)
		t.Setenv("VAULT_TOKEN", server.RootToken)
		v, err := vaultkeyring.New(l, vaultkeyring.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := keyring.NewManager("default", v, v, keyring.ManagerOptions{Actor: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if _, err := manager(server.Address).Create(t.Context(), keyring.CreateOptions{Propagation: -1}); err != nil {
		t.Fatal(err)
	}
	return manager(address(server.Address))
}

func TestAWriteWhoseAnswerNamesNoVersionIsReadBack(t *testing.T) {
	m := managerThrough(t, func(vault string) string {
		return between(t, vault, func(w http.ResponseWriter, r *http.Request, vault http.Handler) {
			if !isKVWrite(r) {
				vault.ServeHTTP(w, r)
				return
			}
			vault.ServeHTTP(httptest.NewRecorder(), r) // carried out, and the answer lost
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		})
	})
	if _, err := m.Stage(t.Context(), keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Errorf("a write that was carried out: %v", err)
	}
}

func TestARedirectedCallKeepsItsBody(t *testing.T) {
	m := managerThrough(t, func(vault string) string {
		return between(t, vault, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, vault+r.URL.RequestURI(), http.StatusTemporaryRedirect) // as a standby does
		})
	})
	if _, err := m.Stage(t.Context(), keyring.Seal, keyring.StageOptions{}); err != nil {
		t.Errorf("through a redirect: %v", err)
	}
}
