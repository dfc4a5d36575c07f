package envelope

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

var fuzzTypes = []string{customer, sealPolicy, clearPolicy, wholeRoot, health}

// FuzzWalk seals any bytes: either a typed error, or an event that opens to the same bytes.
func FuzzWalk(f *testing.F) {
	b := newBench(f)
	for _, seed := range []string{
		full, `{"any":{"a":[{}]},"list":[1,{"x":2}],"other":null}`, ` null `, `{"a":1,"\u0061":2}`, `{"id":"\ud800"}`, "{\"id\":\"\xff\"}", `{"secret":1e5000000}`,
		`{"person":{"tax_id":"1","tax_id":"2"}}`, `{"id":` + `"` + tokenText("0f3a9c01", 44) + `"}`, `{"phones":["1","2","3"],"tags":[{"of":"x"}]}`, `[`, `{"email":"a"`,
		`{"email":"a","blood":"0+"}`, "\ufeff{}", `{"rest":{"":1,"a/b":"x","~":[]}}`,
	} {
		for i := range fuzzTypes {
			f.Add(uint8(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		typ := fuzzTypes[int(which)%len(fuzzTypes)]
		given := bytes.Clone(payload)
		e := event(typ, "")
		e.Payload = payload
		sealed, err := b.sealer.Seal(context.Background(), e)
		if !bytes.Equal(given, payload) {
			t.Fatal("the caller's payload was changed")
		}
		if err != nil {
			checkRefusal(t, err, len(payload))
			return
		}
		if got := b.open(t, sealed.Wire()); got != string(given) {
			t.Fatalf("%q opens to %q", given, got)
		}
	})
}

// checkRefusal checks that an error is one of the documented types, and its place within the payload.
func checkRefusal(t *testing.T, err error, size int) {
	t.Helper()
	place, placed := PlaceOf(err)
	var invalid *schema.ValidationError
	if !placed && !errors.As(err, &invalid) {
		t.Fatalf("%T: %v", err, err)
	}
	if placed && (place.Offset < 0 || place.Offset > size) {
		t.Fatalf("at byte %d of %d: %v", place.Offset, size, err)
	}
}

// FuzzOpen parses and opens any bytes as a wire form. Whatever opens must be what it was: sealed again it opens to the same.
func FuzzOpen(f *testing.F) {
	// Keys with fixed ids and bytes, so that a kept corpus goes on opening.
	b := newFixedBench(f)
	for i, payload := range map[int]string{0: full, 1: `{"any":{"a":1},"list":[{}],"x":1}`, 3: `"root"`, 4: `{"email":"a","blood":"0+"}`} {
		f.Add(uint8(i), b.seal(f, fuzzTypes[i], payload).Wire().Payload)
	}
	for _, seed := range []string{`{"email":null}`, `{"email":"fc1:"}`, `{"secret":` + b.forge(f, customer, "/secret", `1 2`, 16) + `}`, `{}`, `[`} {
		f.Add(uint8(0), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		typ := fuzzTypes[int(which)%len(fuzzTypes)]
		ctx := context.Background()
		w := wireOf(typ, string(payload))
		report, err := b.verifier.Verify(ctx, w, StoredIndexes{Unknown: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Parse(w, Limits{})
		if err != nil {
			checkRefusal(t, err, len(payload))
			if len(report.Findings) == 0 {
				t.Fatalf("Parse says %v, verify finds nothing", err)
			}
			return
		}
		opened, err := b.opener.Open(ctx, r, OpenOptions{})
		if err != nil {
			checkRefusal(t, err, len(payload))
			if len(report.Findings) == 0 {
				t.Fatalf("Open says %v, verify finds nothing", err)
			}
			return
		}
		again, _, err := b.resealer.Reseal(ctx, r, nil)
		if err != nil {
			var location *LocationError
			if errors.As(err, &location) && (location.Kind == KindIndexTwice || location.Kind == KindIndexType) {
				return // an opener computes no indexes
			}
			t.Fatalf("opens, and does not reseal: %v", err)
		}
		if got := b.open(t, again.Wire()); got != string(opened.Event.Payload) {
			t.Fatalf("%q, resealed %q", opened.Event.Payload, got)
		}
	})
}

type fixedBench struct {
	bench
	verifier *Verifier
}

func newFixedBench(t testing.TB) *fixedBench {
	t.Helper()
	key := func(n byte) keyringtest.Options {
		return keyringtest.Options{Name: map[byte]string{1: "default", 3: "health"}[n], Keys: fixedKeys(n)}
	}
	b := &fixedBench{bench: bench{reg: testRegistry(t)}}
	b.rings = setOf(t, keyringtest.New(t, key(1)), keyringtest.New(t, key(3)))
	var err error
	if b.sealer, err = NewSealer(b.reg, b.rings, Options{}); err == nil {
		b.opener, err = NewOpener(b.reg, b.rings, Options{})
	}
	if err == nil {
		b.resealer, err = NewResealer(b.reg, b.rings, Options{})
	}
	if err == nil {
		b.verifier, err = NewVerifier(b.reg, VerifierOptions{Keyrings: b.rings})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fixedKeys(n byte) []keyringtest.Key {
	return []keyringtest.Key{
		{ID: 0x0f3a9c00 + keyring.KeyID(n), Purpose: keyring.Seal, State: keyring.Primary, Bytes: [32]byte{n}},
		{ID: 0x5b2e7700 + keyring.KeyID(n), Purpose: keyring.Index, State: keyring.Primary, Bytes: [32]byte{n + 1}},
	}
}
