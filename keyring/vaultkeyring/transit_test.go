package vaultkeyring_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

func TestAnUnsuitableTransitKeySealsNothing(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	for name, settings := range map[string]testenv.Body{
		"chacha20-poly1305":      {"type": "chacha20-poly1305"},
		"aes128-gcm96":           {"type": "aes128-gcm96"},
		"rsa-2048":               {"type": "rsa-2048"},
		"ed25519":                {"type": "ed25519"},
		"derived":                {"derived": true},
		"convergent":             {"derived": true, "convergent_encryption": true},
		"exportable":             {"exportable": true},
		"allow-plaintext-backup": {"allow_plaintext_backup": true},
	} {
		v.NewKey(name, settings)
		l := location(v)
		l.Key, l.Path = name, name
		vault := openAt(t, l, v.Address, v.RootToken, vaultkeyring.Options{})
		for what, do := range map[string]action{"create": createRing, "encrypt": encrypt, "check key": checkKey} {
			e := wantError(t, name+": "+what, do(t.Context(), vault), vaultkeyring.ErrUnsuitableKey, v.RootToken)
			if e.Detail == "" {
				t.Errorf("%s: %v does not say why", name, e)
			}
		}
		if err := load(t.Context(), vault); !errors.Is(err, keyring.ErrNotFound) {
			t.Errorf("%s: what is stored afterwards: %v, want nothing", name, err)
		}
	}
	if err := checkKey(t.Context(), open(t, v, v.RootToken, vaultkeyring.Options{})); err != nil {
		t.Errorf("a key as it must be: %v", err)
	}
}

// A key that was made exportable later is noticed by the next process.
func TestATransitKeyThatBecameExportableSealsNothingMore(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	v.Must(http.MethodPost, v.Transit+"/keys/"+v.Key+"/config", testenv.Body{"exportable": true})
	vault := open(t, v, v.RootToken, vaultkeyring.Options{})
	wantError(t, "stage", stage(t.Context(), vault), vaultkeyring.ErrUnsuitableKey)
	if err := openRing(t.Context(), vault); err != nil {
		t.Errorf("opening what is there: %v", err)
	}
}

// Vault before 1.13 ignores associated_data: a proxy takes it out of each
// request, and create must find that out.
func TestAVaultThatIgnoresAssociatedDataIsFoundOut(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	target, err := url.Parse(v.Address)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)
	var taken atomic.Int32
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var body map[string]any
		if json.Unmarshal(text, &body) == nil && body["associated_data"] != nil {
			taken.Add(1)
			delete(body, "associated_data")
			if text, err = json.Marshal(body); err != nil {
				t.Error(err)
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(old.Close)
	vault := openAt(t, location(v), old.URL, v.RootToken, vaultkeyring.Options{})
	err = createRing(t.Context(), vault)
	var unbound *keyring.KEKUnboundError
	if !errors.As(err, &unbound) || taken.Load() == 0 {
		t.Errorf("%v (associated data taken out %d times), want a *keyring.KEKUnboundError", err, taken.Load())
	}
	if err := load(t.Context(), open(t, v, v.RootToken, vaultkeyring.Options{})); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("what is stored afterwards: %v, want nothing", err)
	}
}

func TestAChangedDocumentOrAnotherKeyIsNotAuthentic(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	document, version, err := open(t, v, v.RootToken, vaultkeyring.Options{}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(document), "a test", "a tesT", 1)
	if changed == string(document) {
		t.Fatalf("the document does not hold the author: %s", document)
	}
	vault := open(t, v, v.RootToken, vaultkeyring.Options{})
	if err := vault.Save(t.Context(), []byte(changed), version); err != nil {
		t.Fatal(err)
	}
	wantError(t, "a changed clear part", openRing(t.Context(), vault), vaultkeyring.ErrNotAuthentic, v.RootToken)

	// The same name, and another key behind it.
	v.Must(http.MethodPost, v.Transit+"/keys/"+v.Key+"/config", testenv.Body{"deletion_allowed": true})
	v.Must(http.MethodDelete, v.Transit+"/keys/"+v.Key, nil)
	wantError(t, "no key any more", openRing(t.Context(), vault), vaultkeyring.ErrNoKey, v.RootToken)
	v.NewKey(v.Key, testenv.Body{})
	if err := vault.Save(t.Context(), document, "2"); err != nil {
		t.Fatal(err)
	}
	wantError(t, "another key of that name", openRing(t.Context(), vault), vaultkeyring.ErrNotAuthentic, v.RootToken)
}

func TestARotatedTransitKeyStillOpensAndATooOldVersionSaysSo(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	vault := open(t, v, v.RootToken, vaultkeyring.Options{})
	v.Must(http.MethodPost, v.Transit+"/keys/"+v.Key+"/rotate", testenv.Body{})
	if err := openRing(t.Context(), vault); err != nil {
		t.Errorf("after the transit key was rotated: %v", err)
	}
	v.Must(http.MethodPost, v.Transit+"/keys/"+v.Key+"/config", testenv.Body{"min_decryption_version": 2})
	wantError(t, "its version is not allowed", openRing(t.Context(), vault), vaultkeyring.ErrKeyVersion, v.RootToken)
}

// Two texts of one ciphertext would be two documents with one meaning.
func TestOnlyTheCanonicalTextOfACiphertextOpens(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	vault := open(t, v, v.RootToken, vaultkeyring.Options{})
	for size := range 3 { // all lengths of base64's padding
		plaintext := bytes.Repeat([]byte{7}, 32+size)
		sealed, err := vault.EncryptWithContext(t.Context(), plaintext, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := vault.DecryptWithContext(t.Context(), sealed, nil); err != nil {
			t.Fatal(err)
		}
		text := string(sealed)
		body := text[strings.LastIndexByte(text, ':')+1:]
		raw, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]string{
			"a new line":       text[:20] + "\n" + text[20:],
			"a leading zero":   strings.Replace(text, ":v1:", ":v01:", 1),
			"a plus sign":      strings.Replace(text, ":v1:", ":v+1:", 1),
			"version 0":        strings.Replace(text, ":v1:", ":v0:", 1),
			"without padding":  strings.Replace(text, body, base64.RawStdEncoding.EncodeToString(raw)+strings.Repeat(" ", 1), 1),
			"a space":          text + " ",
			"another scheme":   "x" + text,
			"base64 alone":     body,
			"nothing after it": text[:strings.LastIndexByte(text, ':')+1],
			"nothing":          "",
		} {
			_, err := vault.DecryptWithContext(t.Context(), []byte(other), nil)
			wantError(t, name, err, vaultkeyring.ErrNotAuthentic, body)
		}
	}
}
