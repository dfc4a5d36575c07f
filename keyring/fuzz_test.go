package keyring_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Whatever stands in a store, reading it is a typed error or a description that
// keeps the format's rules.
func FuzzInspectDocument(f *testing.F) {
	v, kek := readVector(f)
	f.Add([]byte(v.Document))
	f.Add([]byte(strings.Replace(v.Document, `\"disabled\"`, `\"active\"`, 1)))
	f.Add([]byte(`{"format":"fieldcrypt-keyring/1","clear":"{\"name\":\"default\"}","keysets":{"seal":"AAAA","index":"AAAA"}}`))
	f.Add([]byte(`{"format":"fieldcrypt-keyring/1","format":"x"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		d, err := keyring.InspectDocument("default", document)
		if err != nil {
			var fault *keyring.DocumentError
			var name *keyring.NameError
			if !errors.As(err, &fault) && !errors.As(err, &name) {
				t.Fatalf("not a typed error: %v", err)
			}
			if fault != nil && (fault.Rule == "" || fault.Detail == "") {
				t.Fatalf("an error that says nothing: %+v", fault)
			}
			return
		}
		if d.Name() != "default" || d.Revision() == 0 || d.KEKURI() == "" || d.Propagation() < 0 {
			t.Fatalf("took %s, revision %d, KEK %q, propagation %s", d.Name(), d.Revision(), d.KEKURI(), d.Propagation())
		}
		ids := map[keyring.KeyID]bool{}
		primaries := map[keyring.Purpose]int{}
		for _, k := range d.Keys() {
			if ids[k.ID] || k.ID == 0 || !k.Purpose.Valid() || !k.State.Valid() || k.Author == "" {
				t.Fatalf("took key %+v", k)
			}
			ids[k.ID] = true
			if k.State == keyring.Primary {
				primaries[k.Purpose]++
			}
			if h := d.History(k.Purpose, k.ID); len(h) == 0 || h[len(h)-1].State != k.State {
				t.Fatalf("key %+v has history %v", k, h)
			}
		}
		for _, p := range keyring.Purposes() {
			if primaries[p] != 1 {
				t.Fatalf("took %d primary %s keys", primaries[p], p)
			}
			if _, err := d.Plan(p, keyring.PlanOptions{Now: noon}); err != nil {
				t.Fatal(err)
			}
		}
		// Without the KEK's blessing nothing but the vector itself opens.
		ring, err := open(t, "default", document, kek)
		if err == nil && (ring.Revision() != v.Revision || len(ring.Usable(keyring.Seal)) != 3) {
			t.Fatalf("opened a changed document: %v", ring.Keys())
		}
	})
}
