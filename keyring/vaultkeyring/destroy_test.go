package vaultkeyring_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"filippo.io/age"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/agebackup"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

func kvPath(operation string) func(*testenv.VaultServer) string {
	return func(v *testenv.VaultServer) string { return v.KV + "/" + operation + "/" + testPath }
}

func keyPath(operation string) func(*testenv.VaultServer) string {
	return func(v *testenv.VaultServer) string { return v.Transit + "/keys/" + v.Key + "/" + operation }
}

// destroyKey makes a key that never was primary, and destroys it.
var destroyKey = manage(func(ctx context.Context, m *keyring.Manager) error {
	staged, err := m.Stage(ctx, keyring.Seal, keyring.StageOptions{})
	if err != nil {
		return err
	}
	id := staged.Key.ID
	if _, err := m.Disable(ctx, keyring.Seal, id, keyring.DisableOptions{AssumeUnused: true}); err != nil {
		return err
	}
	_, err = m.Destroy(ctx, keyring.Seal, id, keyring.DestroyOptions{AssumeUnused: true})
	return err
})

func TestADestroyedKeyIsInNoVersionThatVaultKeepsAndNoCopyOpens(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	vault := open(t, v, v.RootToken, vaultkeyring.Options{})
	if err := stage(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	copied, _, err := vault.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := destroyKey(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	// Every version but the two that were written without the key is destroyed.
	metadata := v.Must(http.MethodGet, v.KV+"/metadata/"+testPath, nil)
	versions := metadata.Data["versions"].(map[string]any)
	if len(versions) != 6 {
		t.Fatalf("%d versions, want 6: created, staged twice, disabled, removed, sealed anew", len(versions))
	}
	for n := 1; n <= 6; n++ {
		version := versions[fmt.Sprint(n)].(map[string]any)
		if got, want := version["destroyed"].(bool), n < 5; got != want {
			t.Errorf("version %d: destroyed is %t, want %t", n, got, want)
		}
	}
	// A copy of the document of before does not open any more, wherever it is kept.
	opened, err := keyring.Open(t.Context(), ringName, &oldStore{copied}, vault, keyring.Options{})
	if err == nil {
		opened.Close()
	}
	if !errors.Is(err, vaultkeyring.ErrKeyVersion) {
		t.Errorf("a copy: %v", err)
	}
	if err := openRing(t.Context(), vault); err != nil {
		t.Errorf("the document: %v", err)
	}
	// Once more, as after an interruption, and it still opens.
	if err := destroyKey(t.Context(), vault); err != nil {
		t.Error(err)
	}
	if err := openRing(t.Context(), open(t, v, v.RootToken, vaultkeyring.Options{})); err != nil {
		t.Errorf("the document: %v", err)
	}
}

// oldStore is somebody's copy of a document.
type oldStore struct{ document []byte }

func (s *oldStore) Load(context.Context) ([]byte, string, error) { return s.document, "1", nil }
func (s *oldStore) Save(context.Context, []byte, string) error   { return keyring.ErrChanged }

func TestADestroyThatIsInterruptedSaysSoAndGoesOn(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	hcl, err := vaultkeyring.Policy(vaultkeyring.Destroyer, location(v))
	if err != nil {
		t.Fatal(err)
	}
	weak := open(t, v, v.Token(long, v.Policy(without(t, hcl, keyPath("config")(v), "update"))), vaultkeyring.Options{})
	var half *keyring.HalfDestroyedError
	if err := destroyKey(t.Context(), weak); !errors.As(err, &half) || !errors.Is(err, vaultkeyring.ErrDenied) || half.Hint() == "" {
		t.Fatalf("got %v", err)
	}
	again := manage(func(ctx context.Context, m *keyring.Manager) error {
		changed, err := m.Destroy(ctx, keyring.Seal, half.ID, keyring.DestroyOptions{})
		if err == nil && changed.Key.State != keyring.Destroyed {
			err = fmt.Errorf("the key is %s", changed.Key.State)
		}
		return err
	})
	if err := again(t.Context(), open(t, v, v.RootToken, vaultkeyring.Options{})); err != nil {
		t.Error(err)
	}
}

func TestAKeyringThatWasDeletedInVaultIsRestored(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(*testenv.VaultServer){
		"deleted": func(v *testenv.VaultServer) { v.Must(http.MethodDelete, dataPath(v), nil) },
		"destroyed": func(v *testenv.VaultServer) {
			v.Must(http.MethodPut, v.KV+"/destroy/"+testPath, testenv.Body{"versions": []int{1, 2}})
		},
		"deleted with its metadata": func(v *testenv.VaultServer) {
			v.Must(http.MethodDelete, v.KV+"/metadata/"+testPath, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := testenv.Vault(t)
			created(t, v)
			vault := open(t, v, v.RootToken, vaultkeyring.Options{})
			if err := stage(t.Context(), vault); err != nil {
				t.Fatal(err)
			}
			running, err := keyring.Open(t.Context(), ringName, vault, vault, keyring.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer running.Close()
			backup := backUp(t, vault)
			gone(v)
			if err := manage(func(ctx context.Context, m *keyring.Manager) error {
				plan, err := m.PlanRestore(ctx, backup, keyring.RestoreOptions{})
				if err != nil {
					return err
				}
				defer plan.Close()
				_, err = m.Restore(ctx, plan)
				return err
			})(t.Context(), vault); err != nil {
				t.Fatal(err)
			}
			if err := running.Refresh(t.Context()); err != nil || running.Revision() != 3 {
				t.Errorf("the running process has revision %d, %v", running.Revision(), err)
			}
			if err := openRing(t.Context(), open(t, v, v.RootToken, vaultkeyring.Options{})); err != nil {
				t.Error(err)
			}
		})
	}
}

func backUp(t testing.TB, vault *vaultkeyring.Vault) *keyring.Backup {
	t.Helper()
	m, err := keyring.NewManager(ringName, vault, vault, keyring.ManagerOptions{Actor: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	made, err := agebackup.Write(t.Context(), m, &file, identity.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	backup, err := agebackup.Read(&file, identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backup.Close)
	return backup
}
