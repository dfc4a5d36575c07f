package vaultkeyring_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// deed is something that a role may or may not do.
type deed struct {
	// fresh: it needs that there is no keyring yet.
	fresh bool
	// do is done with the package, raw with Vault's API.
	do  action
	raw func(v *testenv.VaultServer) (method, path string, body testenv.Body)
}

var deeds = map[string]deed{
	"create the keyring":    {fresh: true, do: createRing},
	"read the document":     {do: load},
	"open the keyring":      {do: openRing},
	"stage a key":           {do: stage},
	"encrypt":               {do: encrypt},
	"check the transit key": {do: checkKey},

	"destroy a key": {do: destroyKey},

	"overwrite the document": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.KV + "/data/" + testPath, testenv.Body{"data": testenv.Body{"document": "x"}, "options": testenv.Body{"cas": 1}}
	}},
	"write another document": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.KV + "/data/elsewhere", testenv.Body{"data": testenv.Body{"document": "x"}}
	}},
	"read another document": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodGet, v.KV + "/data/elsewhere", nil
	}},
	"read the metadata": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodGet, v.KV + "/metadata/" + testPath, nil
	}},
	"delete the document": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodDelete, v.KV + "/data/" + testPath, nil
	}},
	"destroy a version": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.KV + "/destroy/" + testPath, testenv.Body{"versions": []int{1}}
	}},
	"delete the metadata": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodDelete, v.KV + "/metadata/" + testPath, nil
	}},
	"make a transit key by encrypting": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.Transit + "/encrypt/misspelt", testenv.Body{"plaintext": "eA=="}
	}},
	"make a transit key": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.Transit + "/keys/other", testenv.Body{}
	}},
	"rotate the transit key": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.Transit + "/keys/" + v.Key + "/rotate", testenv.Body{}
	}},
	"make the transit key exportable": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.Transit + "/keys/" + v.Key + "/config", testenv.Body{"exportable": true}
	}},
	"delete the transit key": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodDelete, v.Transit + "/keys/" + v.Key, nil
	}},
	"rewrap": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.Transit + "/rewrap/" + v.Key, testenv.Body{"ciphertext": "vault:v1:AA=="}
	}},
	"decrypt under another key": {raw: func(v *testenv.VaultServer) (string, string, testenv.Body) {
		return http.MethodPost, v.Transit + "/decrypt/other", testenv.Body{"ciphertext": "vault:v1:AA=="}
	}},
}

// allowed is what each role may do; everything else is refused.
var allowed = map[vaultkeyring.Role][]string{
	vaultkeyring.Producer: {"read the document", "open the keyring"},
	vaultkeyring.Consumer: {"read the document", "open the keyring"},
	vaultkeyring.Rotator:  {"read the document", "open the keyring", "stage a key", "encrypt", "check the transit key", "overwrite the document"},
	vaultkeyring.Auditor:  {"read the document", "check the transit key", "read the metadata"},
	vaultkeyring.Destroyer: {"read the document", "open the keyring", "stage a key", "encrypt", "check the transit key", "overwrite the document", "read the metadata",
		"destroy a version", "rotate the transit key", "destroy a key"},
	vaultkeyring.Creator: {"create the keyring", "read the document", "open the keyring", "encrypt", "check the transit key"},
}

func TestEachRoleMayDoItsWorkAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, role := range vaultkeyring.Roles() {
		for _, name := range allowed[role] {
			if _, ok := deeds[name]; !ok {
				t.Fatalf("%s may %q, which no deed is", role, name)
			}
		}
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			// What is denied changes nothing, so it needs no keyring of its own.
			v := testenv.Vault(t)
			created(t, v)
			token := roleToken(t, v, long, role)
			for name, d := range deeds {
				if slices.Contains(allowed[role], name) {
					t.Run("may "+name, func(t *testing.T) {
						t.Parallel()
						mayDo(t, role, d)
					})
					continue
				}
				v, token := v, token
				if d.fresh {
					v = testenv.Vault(t)
					token = roleToken(t, v, long, role)
				}
				if denied, err := try(t, v, d, token); !denied {
					t.Errorf("%s is not denied: %v", name, err)
				}
			}
		})
	}
}

func mayDo(t *testing.T, role vaultkeyring.Role, d deed) {
	v := testenv.Vault(t)
	if !d.fresh {
		created(t, v)
	}
	if _, err := try(t, v, d, roleToken(t, v, long, role)); err != nil {
		t.Errorf("it fails: %v", err)
	}
}

// try says whether Vault denied it.
func try(t *testing.T, v *testenv.VaultServer, d deed, token string) (denied bool, err error) {
	t.Helper()
	if d.do != nil {
		err := d.do(t.Context(), open(t, v, token, vaultkeyring.Options{}))
		return errors.Is(err, vaultkeyring.ErrDenied), err
	}
	method, path, body := d.raw(v)
	_, err = v.Call(t.Context(), token, method, path, body)
	var refused *testenv.CallError
	return errors.As(err, &refused) && refused.Status == http.StatusForbidden, err
}

// With every capability of a policy taken away in turn, what needs it fails; the
// error names it, and the hint, pasted into the policy, makes it work.
func TestTheHintForAMissingCapabilityGrantsIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		role  vaultkeyring.Role
		begin bool
		do    action
		path  func(*testenv.VaultServer) string
		lacks string
	}{
		"reading the document":  {vaultkeyring.Consumer, true, load, dataPath, "read"},
		"opening the keysets":   {vaultkeyring.Consumer, true, openRing, transitPath("decrypt"), "update"},
		"creating the document": {vaultkeyring.Creator, false, createRing, dataPath, "create"},
		"updating the document": {vaultkeyring.Rotator, true, stage, dataPath, "update"},
		"sealing the keysets":   {vaultkeyring.Rotator, true, stage, transitPath("encrypt"), "update"},
		"checking the key":      {vaultkeyring.Rotator, true, stage, transitPath("keys"), "read"},

		"looking for versions":    {vaultkeyring.Destroyer, true, destroyKey, kvPath("metadata"), "read"},
		"destroying versions":     {vaultkeyring.Destroyer, true, destroyKey, kvPath("destroy"), "update"},
		"rotating the key":        {vaultkeyring.Destroyer, true, destroyKey, keyPath("rotate"), "update"},
		"retiring older versions": {vaultkeyring.Destroyer, true, destroyKey, keyPath("config"), "update"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := testenv.Vault(t)
			if test.begin {
				created(t, v)
			}
			hcl, err := vaultkeyring.Policy(test.role, location(v))
			if err != nil {
				t.Fatal(err)
			}
			policy := v.Policy(without(t, hcl, test.path(v), test.lacks))
			token := v.Token(long, policy)
			vault := open(t, v, token, vaultkeyring.Options{})

			e := wantError(t, name, test.do(t.Context(), vault), vaultkeyring.ErrDenied, token, v.RootToken)
			if e.Path != test.path(v) || e.Capability != test.lacks || !strings.Contains(e.Error(), "lacks the capability "+test.lacks) {
				t.Fatalf("%v: path %q lacks %q, want %q to lack %q", e, e.Path, e.Capability, test.path(v), test.lacks)
			}
			_, snippet, ok := strings.Cut(e.Hint(), "policy of the token: ")
			if !ok {
				t.Fatalf("the hint %q holds no policy", e.Hint())
			}
			more := v.Policy(snippet)
			again := open(t, v, v.Token(long, policy, more), vaultkeyring.Options{})
			if err := test.do(t.Context(), again); err != nil {
				t.Errorf("with what the hint says (%s): %v", snippet, err)
			}
		})
	}
}

func dataPath(v *testenv.VaultServer) string { return v.KV + "/data/" + testPath }

func transitPath(what string) func(*testenv.VaultServer) string {
	return func(v *testenv.VaultServer) string { return v.Transit + "/" + what + "/" + v.Key }
}

// without takes one capability on one path out of a policy.
func without(t *testing.T, hcl, path, capability string) string {
	t.Helper()
	block := regexp.MustCompile(`path "` + regexp.QuoteMeta(path) + `" \{[^}]*\}`)
	changed := block.ReplaceAllStringFunc(hcl, func(text string) string {
		text = strings.ReplaceAll(text, `"`+capability+`", `, "")
		text = strings.ReplaceAll(text, `, "`+capability+`"`, "")
		return strings.ReplaceAll(text, `["`+capability+`"]`, "[]")
	})
	if changed == hcl {
		t.Fatalf("the policy does not grant %s on %s:\n%s", capability, path, hcl)
	}
	return changed
}

// With create on Transit, Vault makes a key that is missing. The package must
// not let it come to that, whatever the token may do.
func TestEncryptNeverMakesAMissingTransitKey(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	l := location(v)
	l.Key = "misspelt"
	vault := openAt(t, l, v.Address, v.RootToken, vaultkeyring.Options{})
	for name, do := range map[string]action{"create": createRing, "encrypt": encrypt} {
		wantError(t, name, do(t.Context(), vault), vaultkeyring.ErrNoKey, v.RootToken)
	}
	var refused *testenv.CallError
	if _, err := v.Call(t.Context(), v.RootToken, http.MethodGet, v.Transit+"/keys/misspelt", nil); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("the transit key afterwards: %v, want that there is none", err)
	}
}

func TestPoliciesGrantUpdateAndNeverCreateOnTransit(t *testing.T) {
	t.Parallel()
	l := vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "transit", Key: "k"}
	block := regexp.MustCompile(`path "transit/(\w+)/k" \{\s*capabilities = \[([^\]]*)\]`)
	for _, role := range vaultkeyring.Roles() {
		hcl, err := vaultkeyring.Policy(role, l)
		if err != nil {
			t.Fatal(err)
		}
		found := block.FindAllStringSubmatch(hcl, -1)
		if len(found) == 0 {
			t.Errorf("%s: no path of Transit", role)
		}
		for _, m := range found {
			want := `"update"`
			if m[1] == "keys" {
				want = `"read"`
			}
			if m[2] != want {
				t.Errorf("%s: transit/%s has %s, want %s", role, m[1], m[2], want)
			}
			if m[1] == "encrypt" && role != vaultkeyring.Rotator && role != vaultkeyring.Creator && role != vaultkeyring.Destroyer {
				t.Errorf("%s may encrypt", role)
			}
		}
	}
}

// docs/policies holds the same policies for people, with the names that the
// documents use.
func TestPoliciesInDocsAreThoseOfThePackage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "docs", "policies")
	l, err := vaultkeyring.ParseURL("vault://secret/fieldcrypt/default?transit=transit/fieldcrypt-default")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range vaultkeyring.Roles() {
		want, err := vaultkeyring.Policy(role, l)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, string(role)+".hcl")
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s (%v) is not:\n%s", path, err, want)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(vaultkeyring.Roles()) {
		t.Errorf("%s holds %d files (%v), want one for each of %d roles", dir, len(files), err, len(vaultkeyring.Roles()))
	}
}

func TestPolicyRefusesUnknownRolesAndBadLocations(t *testing.T) {
	t.Parallel()
	l := vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "transit", Key: "k"}
	if _, err := vaultkeyring.Policy("admin", l); err == nil {
		t.Error("a policy for a role that is not there")
	}
	l.Path = `p" { capabilities = ["sudo"] } path "*`
	var e *vaultkeyring.URLError
	if _, err := vaultkeyring.Policy(vaultkeyring.Producer, l); !errors.As(err, &e) {
		t.Errorf("a path that would end the policy's string: %v, want a *URLError", err)
	}
}

// What Create refuses must not depend on being allowed to write.
func TestCreateOverAnExistingKeyringSaysSoWithoutWriting(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	vault := open(t, v, roleToken(t, v, long, vaultkeyring.Creator), vaultkeyring.Options{})
	if err := createRing(context.Background(), vault); !errors.Is(err, keyring.ErrExists) {
		t.Errorf("%v, want keyring.ErrExists", err)
	}
}
