package envelope

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// customerSchema has each kind of location that the walk treats apart: plain flags, a bounded value, a flagged object with an index inside, arrays of
// flagged items, a multi index, an open map, an undeclared member (refused), and a clear rest.
const customerSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "note": true,
    "rest": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null", "array"]}},
    "email": {"type": ["string", "null"], "x-gdpr-sensitive": true, "x-blind-index": {"name": "email", "normalize": ["trim", "nfkc", "casefold"]}},
    "age": {"type": ["integer", "null"], "x-gdpr-sensitive": true, "x-blind-index": {"name": "age", "bits": 32}},
    "vip": {"type": "boolean", "x-gdpr-sensitive": true},
    "tier": {"enum": ["gold", "a very long tier name of 33 bytes"], "x-gdpr-sensitive": true},
    "secret": {"x-gdpr-sensitive": true},
    "person": {
      "type": "object", "x-gdpr-sensitive": true,
      "properties": {"tax_id": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "tax_id"}}, "rest": {}}
    },
    "phones": {"type": "array", "items": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "phone", "normalize": ["digits"], "multi": true}}},
    "tags": {"type": "array", "items": {"type": "object", "properties": {"of": {"type": "string", "x-gdpr-sensitive": true}, "kind": {"type": "string"}}}}
  }
}`

// clearSchema flags nothing.
const clearSchema = `{"type": "object", "properties": {"id": {"type": "string"}}, "x-gdpr-undeclared": "clear"}`

// sealPolicySchema seals what it does not declare.
const sealPolicySchema = `{
  "x-gdpr-undeclared": "seal",
  "type": "object",
  "properties": {"id": {"type": "string"}, "any": {}, "list": {"type": "array", "items": {}}}
}`

// healthSchema uses two keyrings.
const healthSchema = `{
  "type": "object",
  "properties": {
    "email": {"type": "string", "x-gdpr-sensitive": true},
    "blood": {"type": "string", "x-gdpr-sensitive": true, "x-gdpr-keyring": "health", "x-blind-index": {"name": "blood"}}
  }
}`

// rootSchema flags the whole payload.
const rootSchema = `{"x-gdpr-sensitive": true}`

const (
	testID      = "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55"
	customer    = "customer.changed"
	sealPolicy  = "policy.seal"
	clearPolicy = "policy.clear"
	health      = "health.noted"
	wholeRoot   = "whole.root"
)

func testRegistry(t testing.TB) *schema.Registry {
	t.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{
		"customer.changed.v1.json": {Data: []byte(customerSchema)},
		"policy.clear.v1.json":     {Data: []byte(clearSchema)},
		"policy.seal.v1.json":      {Data: []byte(sealPolicySchema)},
		"health.noted.v1.json":     {Data: []byte(healthSchema)},
		"whole.root.v1.json":       {Data: []byte(rootSchema)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// bench is what most tests work with.
type bench struct {
	reg      *schema.Registry
	ring     *keyringtest.Ring
	health   *keyringtest.Ring
	rings    *keyring.Set
	sealer   *Sealer
	opener   *Opener
	resealer *Resealer
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{
		reg:    testRegistry(t),
		ring:   keyringtest.NewRing(t, keyringtest.Options{}),
		health: keyringtest.NewRing(t, keyringtest.Options{Name: "health"}),
	}
	b.rings = setOf(t, b.ring.Keyring, b.health.Keyring)
	opts := Options{Now: func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC) }}
	var err error
	if b.sealer, err = NewSealer(b.reg, b.rings, opts); err != nil {
		t.Fatal(err)
	}
	if b.opener, err = NewOpener(b.reg, b.rings, opts); err != nil {
		t.Fatal(err)
	}
	if b.resealer, err = NewResealer(b.reg, b.rings, opts); err != nil {
		t.Fatal(err)
	}
	return b
}

func setOf(t testing.TB, rings ...*keyring.Keyring) *keyring.Set {
	t.Helper()
	set, err := keyring.NewSet(rings...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func event(typ, payload string) Event {
	return Event{ID: testID, Type: typ, AggregateID: "42", Payload: []byte(payload)}
}

func (b *bench) seal(t testing.TB, typ, payload string) Sealed {
	t.Helper()
	s, err := b.sealer.Seal(context.Background(), event(typ, payload))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// received takes a Sealed through its wire form.
func received(t testing.TB, w Wire) Received {
	t.Helper()
	r, err := Parse(w, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) open(t testing.TB, w Wire) string {
	t.Helper()
	o, err := b.opener.Open(context.Background(), received(t, w), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.StillSealed) > 0 {
		t.Fatalf("still sealed: %v", o.StillSealed)
	}
	return string(o.Event.Payload)
}

func loadText(name, text string) (*schema.Registry, error) {
	return schema.LoadFS(fstest.MapFS{name: {Data: []byte(text)}})
}

// loadTwin gives customerSchema under a second version and a second type.
func loadTwin(t testing.TB) *schema.Registry {
	t.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{
		"customer.changed.v1.json":  {Data: []byte(customerSchema)},
		"customer.changed.v2.json":  {Data: []byte(customerSchema)},
		"customer.changed2.v1.json": {Data: []byte(customerSchema)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}
