package vaultkeyring_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

const (
	testPath = "fieldcrypt/default"
	ringName = "default"
	// long is for tokens that shall outlive their test.
	long = time.Hour
)

// location is where the keyring of a test is.
func location(v *testenv.VaultServer) vaultkeyring.Location {
	return vaultkeyring.Location{Mount: v.KV, Path: testPath, TransitMount: v.Transit, Key: v.Key}
}

func newClient(t testing.TB, address, token string) *api.Client {
	t.Helper()
	config := api.DefaultConfig()
	config.Address = address
	client, err := api.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	client.SetToken(token)
	return client
}

func open(t testing.TB, v *testenv.VaultServer, token string, opts vaultkeyring.Options) *vaultkeyring.Vault {
	t.Helper()
	return openAt(t, location(v), v.Address, token, opts)
}

func openAt(t testing.TB, l vaultkeyring.Location, address, token string, opts vaultkeyring.Options) *vaultkeyring.Vault {
	t.Helper()
	opts.Client = newClient(t, address, token)
	vault, err := vaultkeyring.New(l, opts)
	if err != nil {
		t.Fatal(err)
	}
	return vault
}

// roleToken makes a token with the published policies of these roles.
func roleToken(t testing.TB, v *testenv.VaultServer, ttl time.Duration, roles ...vaultkeyring.Role) string {
	t.Helper()
	return v.Token(ttl, rolePolicies(t, v, roles...)...)
}

func rolePolicies(t testing.TB, v *testenv.VaultServer, roles ...vaultkeyring.Role) (names []string) {
	t.Helper()
	for _, role := range roles {
		hcl, err := vaultkeyring.Policy(role, location(v))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, v.Policy(hcl))
	}
	return names
}

// created makes the keyring of a test, as who may do so.
func created(t testing.TB, v *testenv.VaultServer) {
	t.Helper()
	create(t, open(t, v, roleToken(t, v, long, vaultkeyring.Creator), vaultkeyring.Options{}))
}

func create(t testing.TB, vault *vaultkeyring.Vault) {
	t.Helper()
	if _, err := newManager(t, vault).Create(t.Context(), keyring.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func newManager(t testing.TB, vault *vaultkeyring.Vault) *keyring.Manager {
	t.Helper()
	m, err := keyring.NewManager(ringName, vault, vault, keyring.ManagerOptions{Actor: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What is done with a keyring.
var (
	load = func(ctx context.Context, v *vaultkeyring.Vault) error {
		_, _, err := v.Load(ctx)
		return err
	}
	openRing = func(ctx context.Context, v *vaultkeyring.Vault) error {
		ring, err := keyring.Open(ctx, ringName, v, v, keyring.Options{})
		if err == nil {
			ring.Close()
		}
		return err
	}
	createRing = manage(func(ctx context.Context, m *keyring.Manager) error {
		_, err := m.Create(ctx, keyring.CreateOptions{})
		return err
	})
	stage = manage(func(ctx context.Context, m *keyring.Manager) error {
		_, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{})
		return err
	})
	encrypt = func(ctx context.Context, v *vaultkeyring.Vault) error {
		_, err := v.EncryptWithContext(ctx, []byte("plaintext"), []byte("data"))
		return err
	}
	checkKey = func(ctx context.Context, v *vaultkeyring.Vault) error { return v.CheckKey(ctx) }
)

type action = func(context.Context, *vaultkeyring.Vault) error

func manage(do func(context.Context, *keyring.Manager) error) action {
	return func(ctx context.Context, v *vaultkeyring.Vault) error {
		m, err := keyring.NewManager(ringName, v, v, keyring.ManagerOptions{Actor: "a test"})
		if err != nil {
			return err
		}
		return do(ctx, m)
	}
}

// wantError checks that an error is one clear *Error with a hint, and holds no
// secret.
func wantError(t testing.TB, what string, err, problem error, secrets ...string) *vaultkeyring.Error {
	t.Helper()
	if !errors.Is(err, problem) {
		t.Fatalf("%s: %v, want %q", what, err, problem)
	}
	var e *vaultkeyring.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v, want a *vaultkeyring.Error", what, err)
	}
	if e.Hint() == "" {
		t.Errorf("%s: %v has no hint", what, err)
	}
	if e.Path == "" || e.Operation == "" || !strings.Contains(err.Error(), e.Operation+" "+e.Path) {
		t.Errorf("%s: %q does not name the operation %q and the path %q", what, err, e.Operation, e.Path)
	}
	if strings.ContainsAny(err.Error(), "\n\r") || strings.HasSuffix(err.Error(), ".") {
		t.Errorf("%s: %q is not one line without a final period", what, err)
	}
	noSecret(t, what, err, secrets...)
	return e
}

// noSecret looks through an error, its hint, and every error behind it.
func noSecret(t testing.TB, what string, err error, secrets ...string) {
	t.Helper()
	var walk func(error)
	walk = func(err error) {
		if err == nil {
			return
		}
		texts := []string{err.Error(), fmt.Sprintf("%v %+v %s", err, err, err)}
		if h, ok := err.(interface{ Hint() string }); ok {
			texts = append(texts, h.Hint())
		}
		for _, secret := range secrets {
			for _, text := range texts {
				if secret != "" && strings.Contains(text, secret) {
					t.Errorf("%s: the error %q (%T) holds the secret %q", what, text, err, secret)
				}
			}
		}
		switch err := err.(type) {
		case interface{ Unwrap() []error }:
			for _, e := range err.Unwrap() {
				walk(e)
			}
		case interface{ Unwrap() error }:
			walk(err.Unwrap())
		}
	}
	walk(err)
}
