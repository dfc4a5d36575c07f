package envelope

import (
	"context"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// The event that is measured: 612 bytes, 12 fields, 3 of them flagged (one nested), 2 indexed.
const (
	measuredType   = "order.placed"
	measuredSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["order_id", "customer"],
  "properties": {
    "order_id": {"type": "string"}, "created": {"type": "string"}, "currency": {"enum": ["TRY", "EUR"]}, "total": {"type": "number"},
    "items": {"type": "integer"}, "channel": {"type": "string"}, "campaign": {"type": ["string", "null"]}, "warehouse": {"type": "string"}, "comment": {"type": "string"},
    "email": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["trim", "casefold"]}},
    "customer": {
      "type": "object",
      "properties": {"name": {"type": "string", "x-gdpr-sensitive": true}, "segment": {"type": "string"}}
    },
    "tax_id": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}
  }
}`
	measuredSize = 612
)

func measuredPayload() string {
	payload := `{"order_id":"0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55","created":"2026-11-30T12:00:00Z","currency":"TRY","total":1249.90,"items":3,` +
		`"channel":"web","campaign":null,"warehouse":"IST-2","email":"ada.lovelace@example.org","customer":{"name":"Ada Lovelace","segment":"gold"},` +
		`"tax_id":"12345678901","comment":"`
	return payload + strings.Repeat("x", measuredSize-len(payload)-2) + `"}`
}

func measured(b *testing.B) (*Sealer, *Opener, Event) {
	b.Helper()
	reg := loadOne(b, measuredType+".v1.json", measuredSchema)
	rings := setOf(b, keyringtest.New(b))
	sealer, err := NewSealer(reg, rings, Options{})
	if err != nil {
		b.Fatal(err)
	}
	opener, err := NewOpener(reg, rings, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return sealer, opener, event(measuredType, measuredPayload())
}

func BenchmarkSeal(b *testing.B) {
	sealer, _, e := measured(b)
	b.SetBytes(measuredSize)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sealer.Seal(context.Background(), e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	sealer, opener, e := measured(b)
	sealed, err := sealer.Seal(context.Background(), e)
	if err != nil {
		b.Fatal(err)
	}
	r := received(b, sealed.Wire())
	b.SetBytes(measuredSize)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := opener.Open(context.Background(), r, OpenOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalk is the pass over the payload alone: strict scan, plan, sites and hits.
func BenchmarkWalk(b *testing.B) {
	sealer, _, e := measured(b)
	es, err := sealer.core.registry.Event(measuredType, 1)
	if err != nil {
		b.Fatal(err)
	}
	w := new(walk)
	b.SetBytes(measuredSize)
	b.ReportAllocs()
	for b.Loop() {
		w.reset(e.Payload, walkPlain, es.Plan().Root(), 0, sealer.core.limits)
		if err := w.run(); err != nil {
			b.Fatal(err)
		}
	}
}
