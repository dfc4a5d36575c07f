package bench

import (
	"bytes"
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// subject is an event that is measured, with what seals and opens it.
type subject struct {
	validating, trusting *envelope.Sealer
	opener               *envelope.Opener
	event                envelope.Event
	received             envelope.Received
}

const orderID = "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55"

func newSubject(tb testing.TB, typ, text string, payload []byte) *subject {
	tb.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{typ + ".v1.json": {Data: []byte(text)}})
	if err != nil {
		tb.Fatal(err)
	}
	rings := keyringtest.NewSet(tb, "default")
	s := &subject{event: envelope.Event{
		ID: orderID, Type: typ, AggregateID: "1", OccurredAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Payload: payload,
	}}
	if s.validating, err = envelope.NewSealer(reg, rings, envelope.Options{}); err != nil {
		tb.Fatal(err)
	}
	if s.trusting, err = envelope.NewSealer(reg, rings, envelope.Options{SkipValidation: true}); err != nil {
		tb.Fatal(err)
	}
	if s.opener, err = envelope.NewOpener(reg, rings, envelope.Options{}); err != nil {
		tb.Fatal(err)
	}
	sealed, err := s.validating.Seal(context.Background(), s.event)
	if err != nil {
		tb.Fatal(err)
	}
	if s.received, err = envelope.Parse(sealed.Wire(), envelope.Limits{}); err != nil {
		tb.Fatal(err)
	}
	return s
}

func newOrder(tb testing.TB) *subject {
	tb.Helper()
	return newSubject(tb, orderType, orderSchema, orderPayload())
}

// seal measures sealing into memory that is used again.
func (s *subject) seal(b *testing.B, with *envelope.Sealer) {
	b.ReportAllocs()
	b.SetBytes(int64(len(s.event.Payload)))
	var buffer envelope.Buffer
	for b.Loop() {
		buffer.Reset()
		if _, err := with.AppendSeal(context.Background(), &buffer, s.event); err != nil {
			b.Fatal(err)
		}
	}
}

func (s *subject) open(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(s.event.Payload)))
	var out []byte
	for b.Loop() {
		var err error
		if out, _, err = s.opener.AppendOpen(context.Background(), out[:0], s.received, envelope.OpenOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Each way must do the work that is compared: the three values gone from the output, two indexes made.
func TestEachWaySealsTheOrder(t *testing.T) {
	t.Parallel()
	s := newOrder(t)
	n, err := newNaive()
	if err != nil {
		t.Fatal(err)
	}
	out, indexes, err := n.seal(orderPayload())
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string][]byte{"naive": out}
	for name, sealer := range map[string]*envelope.Sealer{"validating": s.validating, "trusting": s.trusting} {
		var buffer envelope.Buffer
		sealed, err := sealer.AppendSeal(context.Background(), &buffer, s.event)
		if err != nil {
			t.Fatal(err)
		}
		outputs[name] = bytes.Clone(sealed.Wire().Payload)
		if len(sealed.BlindIndexes()) != 2 {
			t.Errorf("%s: %d indexes", name, len(sealed.BlindIndexes()))
		}
	}
	if len(orderPayload()) != orderSize || len(indexes) != 2 {
		t.Errorf("%d bytes, %d indexes", len(orderPayload()), len(indexes))
	}
	for name, out := range outputs {
		for _, secret := range []string{"ada.lovelace@example.org", "Ada Lovelace", "12345678901"} {
			if bytes.Contains(out, []byte(secret)) {
				t.Errorf("%s: %s is left in clear", name, secret)
			}
		}
	}
	opened, _, err := s.opener.AppendOpen(context.Background(), nil, s.received, envelope.OpenOptions{})
	if err != nil || !bytes.Equal(opened, orderPayload()) {
		t.Errorf("opens to %s, %v", opened, err)
	}
}

// BenchmarkOrder is one event of 612 bytes, 12 fields, 3 of them flagged and 2 indexed: what it is made of, fieldcrypt, and other ways.
func BenchmarkOrder(b *testing.B) {
	s := newOrder(b)
	b.Run("part=seal-primitives", func(b *testing.B) {
		p := newPrimitives()
		b.ReportAllocs()
		for b.Loop() {
			p.seal()
		}
	})
	b.Run("way=seal-unvalidated", func(b *testing.B) { s.seal(b, s.trusting) })
	b.Run("part=open-primitives", func(b *testing.B) {
		p := newPrimitives()
		b.ReportAllocs()
		for b.Loop() {
			if err := p.open(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("way=open", s.open)
	b.Run("part=validation", func(b *testing.B) {
		v, err := newValidation()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		payload := orderPayload()
		for b.Loop() {
			if _, err := v.decode(payload); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("way=seal", func(b *testing.B) { s.seal(b, s.validating) })
	b.Run("way=naive", func(b *testing.B) {
		n, err := newNaive()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		payload := orderPayload()
		for b.Loop() {
			if _, _, err := n.seal(payload); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("way=confluent", func(b *testing.B) { benchmarkConfluent(b, 0) })
	b.Run("way=confluent-kms-1ms", func(b *testing.B) { benchmarkConfluent(b, time.Millisecond) })
}
