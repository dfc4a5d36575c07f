package envelope

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
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

// measure is the event, and what is measured with it.
type measure struct {
	sealer  *Sealer // validates
	trusted *Sealer // does not
	opener  *Opener
	schema  *schema.EventSchema
	event   Event
	sealed  Received
}

func measured(tb testing.TB) *measure {
	tb.Helper()
	reg := loadOne(tb, measuredType+".v1.json", measuredSchema)
	m := &measure{event: event(measuredType, measuredPayload())}
	m.event.OccurredAt = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	rings := setOf(tb, keyringtest.New(tb))
	var err error
	if m.sealer, err = NewSealer(reg, rings, Options{}); err != nil {
		tb.Fatal(err)
	}
	if m.trusted, err = NewSealer(reg, rings, Options{SkipValidation: true}); err != nil {
		tb.Fatal(err)
	}
	if m.opener, err = NewOpener(reg, rings, Options{}); err != nil {
		tb.Fatal(err)
	}
	if m.schema, err = reg.Event(measuredType, 1); err != nil {
		tb.Fatal(err)
	}
	sealed, err := m.sealer.Seal(context.Background(), m.event)
	if err != nil {
		tb.Fatal(err)
	}
	m.sealed = received(tb, sealed.Wire())
	return m
}

// primitives gives functions that do the cryptography of one event with the standard library alone: sealing, one HMAC of a kept state (the event's
// key), one AES-256-GCM key, three nonces in one read, three seals, two HMACs of kept states (the indexes); opening, the HMAC, the key, three opens.
func (m *measure) primitives() (seal, open func()) {
	key := bytes.Repeat([]byte{7}, 32)
	macs := [3]hash.Hash{hmac.New(sha256.New, key), hmac.New(sha256.New, key), hmac.New(sha256.New, key)}
	info := append(appendEventInfo(nil, measuredType, 1, testID), 1)
	sum := make([]byte, 0, 32)
	gcm := func() cipher.AEAD {
		macs[0].Reset()
		macs[0].Write(info)
		block, err := aes.NewCipher(macs[0].Sum(sum))
		if err != nil {
			panic(err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			panic(err)
		}
		return aead
	}
	nonces := make([]byte, 3*nonceLen)
	data := make([]byte, 52)
	bodies := [3][]byte{make([]byte, 0, 64), make([]byte, 0, 64), make([]byte, 0, 64)}
	opened := make([]byte, 0, 64)
	messages := [2][]byte{[]byte("sada.lovelace@example.org"), []byte("s12345678901")}
	seal = func() {
		aead := gcm()
		rand.Read(nonces)
		for i, n := range [3]int{32, 16, 16} {
			bodies[i] = aead.Seal(bodies[i][:0], nonces[i*nonceLen:(i+1)*nonceLen], data[:n], data)
		}
		for i, message := range messages {
			macs[i+1].Reset()
			macs[i+1].Write(message)
			macs[i+1].Sum(sum)
		}
	}
	seal()
	open = func() {
		aead := gcm()
		for i := range bodies {
			if _, err := aead.Open(opened, nonces[i*nonceLen:(i+1)*nonceLen], bodies[i], data); err != nil {
				panic(err)
			}
		}
	}
	return seal, open
}

// validate is what validation costs alone: decoding with encoding/json's UseNumber, and jsonschema/v5. bench/ holds it against these themselves, which
// package schema alone may import here.
func (m *measure) validate() {
	if err := m.schema.Validate(m.event.Payload); err != nil {
		panic(err)
	}
}

func (m *measure) seal(s *Sealer) func() {
	var buf Buffer
	return func() {
		buf.Reset()
		if _, err := s.AppendSeal(context.Background(), &buf, m.event); err != nil {
			panic(err)
		}
	}
}

func (m *measure) open() func() {
	var dst []byte
	return func() {
		out, _, err := m.opener.AppendOpen(context.Background(), dst[:0], m.sealed, OpenOptions{})
		if err != nil {
			panic(err)
		}
		dst = out
	}
}

// ratio runs what is measured and what bounds it in turns, and reports the medians of both and their ratio, in the time that the thread computed.
func ratio(b *testing.B, measured func(), bounds ...func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const turn = 200
	var times [2][]float64
	for b.Loop() {
		for i, fs := range [2][]func(){{measured}, bounds} {
			start := cpuTime()
			for range turn {
				for _, f := range fs {
					f()
				}
			}
			times[i] = append(times[i], float64(cpuTime()-start)/turn)
		}
	}
	for _, t := range times {
		slices.Sort(t)
	}
	own, bound := times[0][len(times[0])/2], times[1][len(times[1])/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(own, "own-ns")
	b.ReportMetric(bound, "bound-ns")
	b.ReportMetric(own/bound, "ratio")
}

// BenchmarkRatio has the bounds of docs/performance.md: at most 2.0, 2.0 and 1.1.
func BenchmarkRatio(b *testing.B) {
	m := measured(b)
	seal, open := m.primitives()
	b.Run("seal-to-primitives", func(b *testing.B) { ratio(b, m.seal(m.trusted), seal) })
	b.Run("open-to-primitives", func(b *testing.B) { ratio(b, m.open(), open) })
	b.Run("validated-to-parts", func(b *testing.B) { ratio(b, m.seal(m.sealer), m.validate, m.seal(m.trusted)) })
}

func each(b *testing.B, f func()) {
	b.SetBytes(measuredSize)
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

func BenchmarkSeal(b *testing.B) {
	m := measured(b)
	primitives, _ := m.primitives()
	b.Run("way=primitives", func(b *testing.B) { each(b, primitives) })
	b.Run("way=trusted", func(b *testing.B) { each(b, m.seal(m.trusted)) })
	b.Run("way=validated", func(b *testing.B) { each(b, m.seal(m.sealer)) })
	b.Run("way=validation-alone", func(b *testing.B) { each(b, m.validate) })
	b.Run("way=own-memory", func(b *testing.B) {
		each(b, func() {
			if _, err := m.sealer.Seal(context.Background(), m.event); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func BenchmarkOpen(b *testing.B) {
	m := measured(b)
	_, primitives := m.primitives()
	b.Run("way=primitives", func(b *testing.B) { each(b, primitives) })
	b.Run("way=append", func(b *testing.B) { each(b, m.open()) })
	b.Run("way=own-memory", func(b *testing.B) {
		each(b, func() {
			if _, err := m.opener.Open(context.Background(), m.sealed, OpenOptions{}); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("way=parse", func(b *testing.B) {
		wire := m.sealed.Wire()
		each(b, func() {
			if _, err := Parse(wire, Limits{}); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// BenchmarkWalk is the pass over the payload alone: strict scan, plan, sites and hits.
func BenchmarkWalk(b *testing.B) {
	m := measured(b)
	w := new(walk)
	each(b, func() {
		w.reset(m.event.Payload, walkPlain, m.schema.Plan().Root(), 0, m.sealer.core.limits)
		if err := w.run(); err != nil {
			b.Fatal(err)
		}
	})
}
