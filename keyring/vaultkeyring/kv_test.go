package vaultkeyring_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

func TestTheDocumentIsOneStringFieldInVault(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	document, version, err := open(t, v, v.RootToken, vaultkeyring.Options{}).Load(t.Context())
	if err != nil || version != "1" {
		t.Fatalf("version %q (%v), want KV's 1", version, err)
	}
	data, _ := v.Must(http.MethodGet, dataPath(v), nil).Data["data"].(map[string]any)
	if len(data) != 1 || data["document"] != string(document) {
		t.Errorf("Vault holds %d fields, want the document alone", len(data))
	}
	d, err := keyring.InspectDocument(ringName, document)
	if err != nil {
		t.Fatal(err)
	}
	if want := "vault-transit:" + v.Transit + "/" + v.Key; d.KEKURI() != want {
		t.Errorf("the document names the KEK %q, want %q", d.KEKURI(), want)
	}
}

// A keyring that somebody deleted must neither open nor be made anew over it.
func TestADeletedDocumentIsNoEmptyPlace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		gone func(*testenv.VaultServer)
		back func(*testenv.VaultServer)
	}{
		"deleted": {
			gone: func(v *testenv.VaultServer) { v.Must(http.MethodDelete, dataPath(v), nil) },
			back: func(v *testenv.VaultServer) {
				v.Must(http.MethodPost, v.KV+"/undelete/"+testPath, testenv.Body{"versions": []int{1}})
			},
		},
		"destroyed": {
			gone: func(v *testenv.VaultServer) {
				v.Must(http.MethodPut, v.KV+"/destroy/"+testPath, testenv.Body{"versions": []int{1}})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := testenv.Vault(t)
			created(t, v)
			test.gone(v)
			vault := open(t, v, v.RootToken, vaultkeyring.Options{})
			for what, do := range map[string]action{"load": load, "open": openRing, "create": createRing, "stage": stage} {
				err := do(t.Context(), vault)
				wantError(t, what, err, vaultkeyring.ErrDeleted, v.RootToken)
				if errors.Is(err, keyring.ErrNotFound) {
					t.Errorf("%s: %v is keyring.ErrNotFound", what, err)
				}
			}
			if got := storedVersion(t, v); got != 1 {
				t.Errorf("the document has version %d, want 1", got)
			}
			if test.back == nil {
				return
			}
			test.back(v)
			if err := openRing(t.Context(), vault); err != nil {
				t.Errorf("after undelete: %v", err)
			}
		})
	}
}

func TestAMissingKeyringAndAMissingMountAreToldApart(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	e := wantError(t, "nothing stored", load(t.Context(), open(t, v, v.RootToken, vaultkeyring.Options{})), keyring.ErrNotFound)
	if e.Path != dataPath(v) {
		t.Errorf("the error names %s, want %s", e.Path, dataPath(v))
	}
	l := location(v)
	l.Mount = "elsewhere"
	for name, do := range map[string]action{"load": load, "create": createRing} {
		wantError(t, name, do(t.Context(), openAt(t, l, v.Address, v.RootToken, vaultkeyring.Options{})), vaultkeyring.ErrNoMount)
	}
	l = location(v)
	l.TransitMount = "elsewhere"
	for name, do := range map[string]action{"encrypt": encrypt, "decrypt": everything["decrypt"], "create": createRing} {
		wantError(t, name, do(t.Context(), openAt(t, l, v.Address, v.RootToken, vaultkeyring.Options{})), vaultkeyring.ErrNoMount)
	}
}

// KV version 1 takes a write to MOUNT/data/PATH, and ignores the check-and-set.
func TestKVVersion1IsRefusedBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	v := testenv.PrivateVault(t)
	v.Must(http.MethodPost, "sys/mounts/kv1", testenv.Body{"type": "kv", "options": testenv.Body{"version": "1"}})
	l := location(v.VaultServer)
	l.Mount = "kv1"
	for name, mount := range map[string]string{"KV version 1": "kv1", "no KV at all": v.Transit} {
		l.Mount = mount
		vault := openAt(t, l, v.Address, v.RootToken, vaultkeyring.Options{})
		err := vault.Save(t.Context(), []byte("{}"), "")
		wantError(t, name, err, vaultkeyring.ErrNotKV2, v.RootToken)
	}
	var refused *testenv.CallError
	if _, err := v.Call(t.Context(), v.RootToken, http.MethodGet, "kv1/data/"+testPath, nil); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("what KV version 1 holds afterwards: %v, want nothing", err)
	}
}

func TestASecretOfAnotherFormIsMalformed(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]testenv.Body{
		"another field":         {"password": "canary"},
		"a further field":       {"document": "{}", "password": "canary"},
		"an object":             {"document": testenv.Body{"format": "canary"}},
		"a number":              {"document": 1},
		"no field":              {},
		"a keyring's own form":  {"format": "fieldcrypt-keyring/1", "clear": "canary", "keysets": testenv.Body{}},
		"null in place of text": {"document": nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := testenv.Vault(t)
			v.Must(http.MethodPost, dataPath(v), testenv.Body{"data": data})
			vault := open(t, v, v.RootToken, vaultkeyring.Options{})
			for what, do := range map[string]action{"load": load, "create": createRing} {
				wantError(t, what, do(t.Context(), vault), vaultkeyring.ErrMalformed, "canary", v.RootToken)
			}
		})
	}
}

// Vault would delete the keyring by itself: that must not be found out then.
func TestAMountThatDeletesByItselfIsRefused(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	v.Must(http.MethodPost, v.KV+"/config", testenv.Body{"delete_version_after": "24h"})
	err := createRing(t.Context(), open(t, v, v.RootToken, vaultkeyring.Options{}))
	wantError(t, "create", err, vaultkeyring.ErrExpires, v.RootToken)
}

func TestSaveRefusesWhatItCannotStoreAsItIs(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	vault := open(t, v, v.RootToken, vaultkeyring.Options{})
	for name, test := range map[string]struct{ document, version string }{
		"not UTF-8":             {"\xff", ""},
		"a version of a file's": {"{}", "2c26b46b68ffc68f"},
		"a negative version":    {"{}", "-1"},
	} {
		err := vault.Save(t.Context(), []byte(test.document), test.version)
		wantError(t, name, err, vaultkeyring.ErrMalformed)
	}
	if err := vault.Save(context.Background(), []byte("{}"), "7"); !errors.Is(err, keyring.ErrChanged) {
		t.Errorf("a version where nothing is: %v, want keyring.ErrChanged", err)
	}
}
