package envelope

import (
	"context"
	"errors"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func TestATrustedProducersPayloadIsCheckedInAllButItsSchema(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	trusting, err := NewSealer(b.reg, b.rings, Options{SkipValidation: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	invalid := event(customer, `{"id":1,"secret":2}`)
	var violation *schema.ValidationError
	if _, err := b.sealer.Seal(ctx, invalid); !errors.As(err, &violation) {
		t.Errorf("validated: %v", err)
	}
	sealed, err := trusting.Seal(ctx, invalid)
	if err != nil || b.open(t, sealed.Wire()) != string(invalid.Payload) {
		t.Errorf("trusted: %v", err)
	}
	for _, payload := range []string{`{"unknown":1}`, `{"id":"1","id":"2"}`, `{"secret":01}`, `{"email":true}`} {
		if _, err := trusting.Seal(ctx, event(customer, payload)); err == nil {
			t.Errorf("%s is sealed", payload)
		}
	}
	outside := event(customer, `{"secret":"Zyx#Wvu7Tsr"}`)
	outside.AggregateID = "Zyx#Wvu7Tsr"
	var leak *OutsideError
	if _, err := trusting.Seal(ctx, outside); !errors.As(err, &leak) {
		t.Errorf("%v", err)
	}
}

func TestOpeningValidatesWhereItIsAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	trusting, err := NewSealer(b.reg, b.rings, Options{SkipValidation: true})
	if err != nil {
		t.Fatal(err)
	}
	bad, err := trusting.Seal(ctx, event(customer, `{"id":"1","vip":"Zyx#Wvu7"}`))
	if err != nil {
		t.Fatal(err)
	}
	r := mustParse(t, bad.Wire())
	if _, err := b.opener.Open(ctx, r, OpenOptions{}); err != nil {
		t.Errorf("not asked: %v", err)
	}
	memory := make([]byte, 1024)
	var violation *schema.ValidationError
	out, opened, err := b.opener.AppendOpen(ctx, memory[:0], r, OpenOptions{Validate: true})
	if !errors.As(err, &violation) || len(out) > 0 || opened.Event.Payload != nil {
		t.Errorf("asked: %v", err)
	}
	checkError(t, err)
	for i, c := range memory {
		if c != 0 {
			t.Fatalf("byte %d of the refused plaintext is left", i)
		}
	}
	good := mustParse(t, b.seal(t, customer, full).Wire())
	if o, err := b.opener.Open(ctx, good, OpenOptions{Validate: true}); err != nil || string(o.Event.Payload) != full {
		t.Errorf("%v", err)
	}
	var option *OptionError
	for _, opts := range []OpenOptions{{Validate: true, Redact: true}, {Validate: true, Fields: []string{"/secret"}}} {
		if _, err := b.opener.Open(ctx, good, opts); !errors.As(err, &option) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	half, err := NewOpener(b.reg, setOf(t, b.ring.Keyring), Options{})
	if err != nil {
		t.Fatal(err)
	}
	two := mustParse(t, b.seal(t, health, `{"email":"a@b.example","blood":"AB"}`).Wire())
	var missing *MissingKeyringError
	if _, err := half.Open(ctx, two, OpenOptions{Validate: true}); !errors.As(err, &missing) || missing.Keyring != "health" {
		t.Errorf("%v", err)
	}
	if o, err := half.Open(ctx, two, OpenOptions{}); err != nil || len(o.StillSealed) != 1 {
		t.Errorf("%v, %v", o.StillSealed, err)
	}
}

// A key is (keyring, kid): where two keyrings have keys of one kid, each location's own is tried, and no other.
func TestAKidNamesNothingWithoutItsKeyring(t *testing.T) {
	t.Parallel()
	key := func(fill byte) []keyringtest.Key {
		seal, index := keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)
		seal.ID, index.ID = 0x0f3a9c01, 0x0f3a9c02
		for i := range seal.Bytes {
			seal.Bytes[i], index.Bytes[i] = fill, fill+1
		}
		return []keyringtest.Key{seal, index}
	}
	reg := testRegistry(t)
	ring := func(name string, fill byte) *keyring.Keyring {
		return keyringtest.NewRing(t, keyringtest.Options{Name: name, Keys: key(fill)}).Keyring
	}
	// A set refuses such a pair, so that each half of the event is sealed apart.
	if _, err := keyring.NewSet(ring("default", 1), ring("health", 2)); err == nil {
		t.Fatal("a set takes two keyrings that share a key id")
	}
	other := keyringtest.NewRing(t, keyringtest.Options{Name: "health"}).Keyring
	sealer, err := NewSealer(reg, setOf(t, ring("default", 1), other), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	sealed, err := sealer.Seal(ctx, event(health, `{"email":"a@b.example"}`))
	if err != nil {
		t.Fatal(err)
	}
	moved := sealed.Wire()
	moved.Payload = append([]byte(`{"blood"`), moved.Payload[len(`{"email"`):]...)
	opener, err := NewOpener(reg, setOf(t, keyringtest.NewRing(t, keyringtest.Options{}).Keyring, ring("health", 1)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var unopenable *OpenError
	if _, err := opener.Open(ctx, mustParse(t, moved), OpenOptions{}); !errors.As(err, &unopenable) || unopenable.Keyring != "health" {
		t.Errorf("%v", err)
	}
	var unknown *keyring.UnknownKeyError
	if _, err := opener.Open(ctx, mustParse(t, sealed.Wire()), OpenOptions{}); !errors.As(err, &unknown) || unknown.Keyring != "default" {
		t.Errorf("%v", err)
	}
}
