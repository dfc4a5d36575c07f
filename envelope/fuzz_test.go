package envelope

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/metrics"
	"strings"
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
		var sealed Sealed
		var err error
		bounded(t, len(payload), func() { sealed, err = b.sealer.Seal(context.Background(), e) })
		if !bytes.Equal(given, payload) {
			t.Fatal("the caller's payload was changed")
		}
		e.Payload = marked(payload)
		_, markedErr := b.sealer.Seal(context.Background(), e)
		holdsNoValue(t, markedErr)
		if err != nil {
			checkRefusal(t, err, len(payload))
			return
		}
		w := sealed.Wire()
		if got := b.open(t, w); got != string(given) {
			t.Fatalf("%q opens to %q", given, got)
		}
		if len(w.Payload) > len(payload)+200*(1+bytes.Count(w.Payload, []byte(tokenPrefix)))+2*len(payload) {
			t.Fatalf("%d bytes of wire form for %d", len(w.Payload), len(payload))
		}
	})
}

// marker is put into every string of a payload, names too. No error may hold it: it says nothing of the schema.
const marker = "\u0416\u00a4\u0416"

// marked puts the marker in front of each quotation mark that is not escaped, which ends every string in it, and begins some with it.
func marked(payload []byte) []byte {
	var out []byte
	for i, c := range payload {
		if c == '"' && (i == 0 || payload[i-1] != '\\') {
			out = append(out, marker...)
		}
		out = append(out, c)
		if c == '"' && i+1 < len(payload) && payload[i+1] != ':' && i%3 == 0 {
			out = append(out, marker...)
		}
	}
	return out
}

func holdsNoValue(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if text := fmt.Sprintf("%v %+v %q %s %s", err, err, err, HintOf(err), WhatOf(err)); strings.Contains(text, "\u0416") || strings.Contains(text, `\u0416`) {
		t.Fatalf("an error holds a value: %s", text)
	}
}

// bounded runs what is given and fails if it allocates more than a payload of this size can need. The metric is of the whole process and lags behind:
// the bound is far above what is needed, and far below what an attack would want.
func bounded(t *testing.T, size int, run func()) {
	t.Helper()
	const least, factor = 64 << 20, 4096
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	run()
	metrics.Read(sample)
	if used := sample[0].Value.Uint64() - before; used > least+factor*uint64(size) {
		t.Fatalf("%d bytes are allocated for %d", used, size)
	}
}

// FuzzOpenedText puts any bytes into an authentic token: a holder of the key may be hostile, too. They are refused, or are one JSON value and spaces,
// and stand in the payload as they are.
func FuzzOpenedText(f *testing.F) {
	b := newFixedBench(f)
	for _, seed := range []string{
		`1`, `"a"`, ` "a"`, "1\n", `1 2`, `1,"b":2`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", `1e5000000`, strings.Repeat("[", 300), `{"a":[{"b":null}]}`, "", "\x00", "\ufeff1", `1}`, `"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		padded := max(16, (len(text)+15)/16*16)
		if padded > 1<<16 {
			return
		}
		w := wireOf(customer, `{"note":[1],"secret":`+b.forge(t, customer, "/secret", string(text), padded)+`}`)
		r, err := Parse(w, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var opened Opened
		bounded(t, padded, func() { opened, err = b.opener.Open(context.Background(), r, OpenOptions{}) })
		if err != nil {
			checkRefusal(t, err, len(w.Payload))
			holdsNoValue(t, err)
			return
		}
		value := strings.TrimRight(string(text), " ")
		if got := string(opened.Event.Payload); got != `{"note":[1],"secret":`+value+`}` || !json.Valid([]byte(value)) {
			t.Fatalf("%q opens to %s", text, got)
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
		if bad, err := Parse(wireOf(typ, string(marked(payload))), Limits{}); err != nil {
			holdsNoValue(t, err)
		} else {
			_, err := b.opener.Open(ctx, bad, OpenOptions{})
			holdsNoValue(t, err)
		}
		r, err := Parse(w, Limits{})
		if err != nil {
			checkRefusal(t, err, len(payload))
			if len(report.Findings) == 0 {
				t.Fatalf("Parse says %v, verify finds nothing", err)
			}
			return
		}
		var opened Opened
		bounded(t, len(payload), func() { opened, err = b.opener.Open(ctx, r, OpenOptions{}) })
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
