package keyring_test

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// documentVector is one of ../testvectors/v1/keyrings.json, which an implementation in another language wrote. This test never writes them.
type documentVector struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Valid   bool   `json:"valid"`
	Why     string `json:"why"`
	Refused string `json:"refused"`

	Keyring  string `json:"keyring"`
	Revision uint64 `json:"revision"`

	// Kind keyset-data.
	Purpose     keyring.Purpose `json:"purpose"`
	Clear       string          `json:"clear"`
	ClearDigest string          `json:"clear_digest"`
	Data        string          `json:"data"`

	// Kind keyring.
	KEK      string `json:"kek"`
	KEKKey   string `json:"kek_key"`
	Document string `json:"document"`
	Keys     []struct {
		ID      string          `json:"id"`
		Purpose keyring.Purpose `json:"purpose"`
		State   keyring.State   `json:"state"`
		Key     string          `json:"key"`
	} `json:"keys"`
}

func TestDocumentVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testvectors/v1/keyrings.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Format      string           `json:"format"`
		Description string           `json:"description"`
		Vectors     []documentVector `json:"vectors"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil || file.Format != "fieldcrypt-testvectors/1" || len(file.Vectors) == 0 {
		t.Fatalf("%q, %v", file.Format, err)
	}
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			switch v.Kind {
			case "keyset-data":
				v.checkData(t)
			case "keyring":
				v.checkDocument(t)
			default:
				t.Fatalf("unknown kind %q", v.Kind)
			}
		})
	}
}

func (v *documentVector) checkData(t *testing.T) {
	digest := sha256.Sum256([]byte(v.Clear))
	if got := hex.EncodeToString(digest[:]); got != v.ClearDigest {
		t.Errorf("the digest is %s, not %s", got, v.ClearDigest)
	}
	if got := hex.EncodeToString(keyringtest.AssociatedData(v.Purpose, v.Keyring, v.Revision, v.Clear)); got != v.Data {
		t.Errorf("the associated data is %s, not %s", got, v.Data)
	}
}

func (v *documentVector) checkDocument(t *testing.T) {
	kek, err := keyringtest.NewKEKFrom(unhex(t, v.KEKKey), v.KEK)
	if err != nil {
		t.Fatal(err)
	}
	store := &keyringtest.Store{}
	store.Put([]byte(v.Document))
	ctx := context.Background()
	ring, err := keyring.Open(ctx, v.Keyring, store, kek, keyring.Options{})
	if !v.Valid {
		checkDocumentRefused(t, err, v.Refused)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ring.Close)
	if ring.Revision() != v.Revision {
		t.Errorf("revision %d, not %d", ring.Revision(), v.Revision)
	}
	listed := ring.Keys()
	if len(listed) != len(v.Keys) {
		t.Fatalf("%d keys, not %d", len(listed), len(v.Keys))
	}
	for i, k := range v.Keys {
		id, err := keyring.ParseKeyID(k.ID)
		if err != nil {
			t.Fatal(err)
		}
		if l := listed[i]; l.ID != id || l.Purpose != k.Purpose || l.State != k.State {
			t.Errorf("key %d is %v %s %s, not %s %s %s", i, l.ID, l.Purpose, l.State, k.ID, k.Purpose, k.State)
		}
		key, err := ring.Key(ctx, k.Purpose, id)
		if !k.State.Usable() {
			if err == nil {
				t.Errorf("a %s key is given", k.State)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := key.Derive([]byte("info"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := hkdf.Key(sha256.New, unhex(t, k.Key), nil, "info", len(got))
		if err != nil || !bytes.Equal(got[:], want) {
			t.Errorf("key %s holds other bytes (%v)", k.ID, err)
		}
	}
}

// checkDocumentRefused holds an error against the reason that a vector gives.
func checkDocumentRefused(t *testing.T, err error, reason string) {
	t.Helper()
	if err == nil {
		t.Fatalf("must be refused for %q", reason)
	}
	var document *keyring.DocumentError
	var name *keyring.NameError
	var kek *keyring.KEKMismatchError
	var unseal *keyring.UnsealError
	isDocument := errors.As(err, &document)
	// What stands at /keysets before it is opened is of the document's own shape.
	shape := []keyring.Rule{keyring.RuleEncoding, keyring.RuleUnknownMember, keyring.RuleMissingMember, keyring.RuleType}
	ofKeyset := isDocument && strings.HasPrefix(document.Place, "/keysets/") && !slices.Contains(shape, document.Rule)
	refused, known := map[string]bool{
		"document":       isDocument && !ofKeyset,
		"keyset":         ofKeyset,
		"name":           errors.As(err, &name),
		"kek":            errors.As(err, &kek),
		"authentication": errors.As(err, &unseal),
	}[reason]
	if !known {
		t.Fatalf("refused for %q, which this test does not know", reason)
	}
	if !refused {
		t.Fatalf("must be refused for %q: %v", reason, err)
	}
}
