package keyring_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func TestASetFindsKeyringsByName(t *testing.T) {
	t.Parallel()
	a, b := keyringtest.New(t, keyringtest.Options{Name: "health"}), keyringtest.New(t)
	set, err := keyring.NewSet(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := set.Keyring("health"); !ok || got != a {
		t.Fatalf("got %v, %v", got, ok)
	}
	if got, ok := set.Keyring("contacts"); ok || got != nil {
		t.Fatalf("got %v, %v", got, ok)
	}
	if got := set.Names(); !slices.Equal(got, []string{"default", "health"}) {
		t.Fatalf("got %v", got)
	}
}

func TestAnEmptyOrNilSetHoldsNothing(t *testing.T) {
	t.Parallel()
	empty, err := keyring.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []*keyring.Set{empty, nil} {
		if _, ok := set.Keyring("default"); ok || len(set.Names()) != 0 {
			t.Fatalf("got %v", set.Names())
		}
	}
}

func TestKeyringsThatShareSomethingDoNotFormASet(t *testing.T) {
	t.Parallel()
	seal, index := keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)
	ring := func(name string, keys ...keyringtest.Key) *keyring.Keyring {
		return keyringtest.New(t, keyringtest.Options{Name: name, Keys: keys})
	}
	a := keyringtest.NewRing(t, keyringtest.Options{Name: "a", Keys: []keyringtest.Key{seal, index}})
	// The same id for another purpose, and in a state without bytes.
	asIndex, asDestroyed := seal, index
	asIndex.Purpose = keyring.Index
	asDestroyed.State = keyring.Destroyed
	sameKEK := func() *keyring.Keyring {
		doc, err := keyringtest.NewDocument("b", a.KEK.URI(), noon, []keyringtest.Key{keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := doc.Seal(a.KEK)
		if err != nil {
			t.Fatal(err)
		}
		k, err := open(t, "b", raw, a.KEK)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	tests := map[string]struct {
		other *keyring.Keyring
		what  string
	}{
		"the same name":             {ring("a"), "name"},
		"the same keyring":          {a.Keyring, "name"},
		"a key id":                  {ring("b", seal, keyringtest.NewKey(keyring.Index, keyring.Primary)), "key id"},
		"a key id over purposes":    {ring("b", keyringtest.NewKey(keyring.Seal, keyring.Primary), asIndex), "key id"},
		"the id of a destroyed key": {ring("b", keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary), asDestroyed), "key id"},
		"the KEK":                   {sameKEK(), "key-encryption key"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shared *keyring.SharedError
			if _, err := keyring.NewSet(a.Keyring, tt.other); !errors.As(err, &shared) || shared.What != tt.what {
				t.Fatalf("got %v, want a *SharedError of the %s", err, tt.what)
			}
			hinted(t, shared)
		})
	}
	if _, err := keyring.NewSet(a.Keyring, nil); err == nil {
		t.Fatal("took a nil keyring")
	}
}

func TestASetNamesTheKeyringsThatListOtherStoresOnly(t *testing.T) {
	t.Parallel()
	listing, silent := keyringtest.NewRing(t, keyringtest.Options{Name: "health"}), keyringtest.New(t)
	if _, err := listing.Manager.AddStore(ctx, keyring.DataStore{URL: "postgres://app@db/shop"}); err != nil {
		t.Fatal(err)
	}
	listing.Refresh()
	set, err := keyring.NewSet(listing.Keyring, silent)
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Unlisted("postgres://producer:secret@db/shop"); len(got) != 0 {
		t.Errorf("listed, and named: %v", got)
	}
	if got := set.Unlisted("postgres://app@db/other"); !slices.Equal(got, []string{"health"}) {
		t.Errorf("got %v", got)
	}
}
