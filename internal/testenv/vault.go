package testenv

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/server"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/share"
)

const (
	// EnvVaultAddress names a Vault server to use instead of a shared one.
	EnvVaultAddress = "FIELDCRYPT_TEST_VAULT_ADDR"
	// EnvVaultToken is a root token of that server.
	EnvVaultToken = "FIELDCRYPT_TEST_VAULT_TOKEN"
)

// VaultServer is a Vault server as one test has it: the server may be shared,
// the mounts and the Transit key are the test's own.
type VaultServer struct {
	// Address is the server's, as in VAULT_ADDR.
	Address string
	// RootToken is for setting up: what is tested gets a token that [VaultServer.Token] or
	// [VaultServer.AppRole] makes.
	RootToken string
	// KV is the test's own KV v2 mount.
	KV string
	// Transit is the test's own Transit mount.
	Transit string
	// Key is a Transit key there: aes256-gcm96, not derived, not exportable.
	Key string

	t testing.TB
}

// Vault returns a Vault server with mounts and a Transit key of the test's own;
// they are removed with the test.
func Vault(t testing.TB) *VaultServer {
	t.Helper()
	v := &VaultServer{Address: os.Getenv(EnvVaultAddress), RootToken: os.Getenv(EnvVaultToken), t: t}
	switch {
	case v.Address == "":
		shared := vaultLease.join(t, share.Vault)
		v.Address, v.RootToken = shared.Address, shared.RootToken
	case v.RootToken == "":
		t.Fatalf("%s is set and %s is not", EnvVaultAddress, EnvVaultToken)
	}
	v.mount()
	t.Cleanup(v.unmount)
	return v
}

// mount makes the test's mounts and its Transit key.
func (v *VaultServer) mount() {
	v.t.Helper()
	name := unique()
	v.KV, v.Transit, v.Key = "kv-"+name, "transit-"+name, "fieldcrypt"
	v.Must(http.MethodPost, "sys/mounts/"+v.KV, Body{"type": "kv", "options": Body{"version": "2"}})
	v.Must(http.MethodPost, "sys/mounts/"+v.Transit, Body{"type": "transit"})
	v.NewKey(v.Key, Body{})
	v.awaitKV()
}

// awaitKV waits until the KV v2 mount is set up, which Vault does in the
// background.
func (v *VaultServer) awaitKV() {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), setUpWait)
	defer cancel()
	tick := time.NewTicker(mountEvery)
	defer tick.Stop()
	for {
		_, err := v.Call(ctx, v.RootToken, http.MethodGet, v.KV+"/config", nil)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			v.t.Fatalf("the KV v2 mount did not get ready: %v", err)
		case <-tick.C:
		}
	}
}

// mountEvery is how often a mount that is being set up is looked at.
const mountEvery = 20 * time.Millisecond

func (v *VaultServer) unmount() {
	for _, mount := range []string{v.KV, v.Transit} {
		v.remove("sys/mounts/" + mount)
	}
}

// remove is for clean-ups, where the test's context has ended.
func (v *VaultServer) remove(path string) {
	ctx, cancel := context.WithTimeout(context.Background(), setUpWait)
	defer cancel()
	if _, err := v.Call(ctx, v.RootToken, http.MethodDelete, path, nil); err != nil {
		v.t.Errorf("clearing up after the test: %v", err)
	}
}

// URL names the keyring at a path of the test's KV mount, sealed by the test's
// Transit key.
func (v *VaultServer) URL(path string) string {
	return fmt.Sprintf("vault://%s/%s?transit=%s/%s", v.KV, path, v.Transit, v.Key)
}

// NewKey makes a Transit key with these settings.
func (v *VaultServer) NewKey(name string, settings Body) {
	v.t.Helper()
	v.Must(http.MethodPost, v.Transit+"/keys/"+name, settings)
}

// Policy writes a policy, in HCL, under a name that no other test has, and
// returns the name. It is removed with the test.
func (v *VaultServer) Policy(hcl string) string {
	v.t.Helper()
	name := "fieldcrypt-" + unique()
	v.Must(http.MethodPut, "sys/policies/acl/"+name, Body{"policy": hcl})
	v.t.Cleanup(func() { v.remove("sys/policies/acl/" + name) })
	return name
}

// Token makes a token with these policies, and Vault's default one, that
// expires after ttl and is not renewed.
func (v *VaultServer) Token(ttl time.Duration, policies ...string) string {
	v.t.Helper()
	answer := v.Must(http.MethodPost, "auth/token/create", Body{
		"policies": policies, "ttl": ttl.String(), "explicit_max_ttl": ttl.String(), "renewable": false, "no_parent": true,
	})
	return answer.Auth.ClientToken
}

// Revoke ends a token.
func (v *VaultServer) Revoke(token string) {
	v.t.Helper()
	v.Must(http.MethodPost, "auth/token/revoke", Body{"token": token})
}

// Login mounts a login of a kind, below auth/, for this test: "approle" or
// "kubernetes".
func (v *VaultServer) Login(kind string) (mount string) {
	v.t.Helper()
	mount = kind + "-" + unique()
	v.Must(http.MethodPost, "sys/auth/"+mount, Body{"type": kind})
	v.t.Cleanup(func() { v.remove("sys/auth/" + mount) })
	return mount
}

// AppRole is a role of a test's own.
type AppRole struct {
	// Mount is the login's mount, below auth/.
	Mount    string
	RoleID   string
	SecretID string
}

// AppRole makes a role whose tokens have these policies and live for ttl.
func (v *VaultServer) AppRole(ttl time.Duration, policies ...string) AppRole {
	v.t.Helper()
	role := AppRole{Mount: v.Login("approle")}
	path := "auth/" + role.Mount + "/role/test"
	v.Must(http.MethodPost, path, Body{"token_policies": policies, "token_ttl": ttl.String(), "token_max_ttl": ttl.String()})
	role.RoleID = v.Must(http.MethodGet, path+"/role-id", nil).text("role_id")
	role.SecretID = v.Must(http.MethodPost, path+"/secret-id", Body{}).text("secret_id")
	return role
}

// PrivateVault starts a Vault server of the test's own, which the test may
// stop, start, kill, pause, seal and unseal.
func PrivateVault(t testing.TB) *PrivateVaultServer {
	t.Helper()
	root, err := server.Repository()
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.NewVault(root)
	if err != nil {
		t.Fatalf("a Vault of the test's own: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Errorf("removing the test's Vault: %v", err)
		}
	})
	v := &PrivateVaultServer{VaultServer: &VaultServer{t: t}, server: s}
	v.start(false)
	v.mount()
	return v
}

// PrivateVaultServer is a Vault server of a test's own. Its storage, its address
// and its tokens stay when it is stopped and started.
type PrivateVaultServer struct {
	*VaultServer
	server *server.Vault
}

// Start starts it, unsealed.
func (v *PrivateVaultServer) Start() {
	v.t.Helper()
	v.start(false)
	v.awaitKV()
}

// StartSealed starts it as Vault does in production: sealed.
func (v *PrivateVaultServer) StartSealed() {
	v.t.Helper()
	v.start(true)
}

func (v *PrivateVaultServer) start(sealed bool) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), readyWait)
	defer cancel()
	if err := v.server.Start(ctx, sealed); err != nil {
		v.t.Fatalf("starting the test's Vault: %v", err)
	}
	v.Address, v.RootToken = v.server.Address, v.server.RootToken
}

// Stop ends it in order.
func (v *PrivateVaultServer) Stop() {
	v.t.Helper()
	if err := v.server.Stop(); err != nil {
		v.t.Fatalf("stopping the test's Vault: %v", err)
	}
}

// Kill ends it at once.
func (v *PrivateVaultServer) Kill() { v.server.Kill() }

// Pause stops its process: it takes connections and never answers.
func (v *PrivateVaultServer) Pause() {
	v.t.Helper()
	if err := v.server.Pause(); err != nil {
		v.t.Fatalf("pausing the test's Vault: %v", err)
	}
}

// Resume lets it go on after Pause.
func (v *PrivateVaultServer) Resume() {
	v.t.Helper()
	if err := v.server.Resume(); err != nil {
		v.t.Fatalf("resuming the test's Vault: %v", err)
	}
}

// Seal seals it.
func (v *PrivateVaultServer) Seal() {
	v.t.Helper()
	v.Must(http.MethodPut, "sys/seal", nil)
}

// Unseal unseals it and waits until its mounts are ready.
func (v *PrivateVaultServer) Unseal() {
	v.t.Helper()
	v.Must(http.MethodPut, "sys/unseal", Body{"key": v.server.UnsealKey})
	v.awaitKV()
}
