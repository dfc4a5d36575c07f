package bench

import (
	"bytes"
	"context"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func newSealer(tb testing.TB) (*envelope.Sealer, *schema.EventSchema) {
	tb.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{orderType + ".v1.json": {Data: []byte(orderSchema)}})
	if err != nil {
		tb.Fatal(err)
	}
	sealer, err := envelope.NewSealer(reg, keyringtest.NewSet(tb, "default"), envelope.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	e, err := reg.Event(orderType, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return sealer, e
}

func order() envelope.Event {
	return envelope.Event{Type: orderType, AggregateID: "1", Payload: orderPayload()}
}

// Both ways must do the work that is compared: the three values gone from the output, two indexes made.
func TestBothWaysSealTheOrder(t *testing.T) {
	t.Parallel()
	sealer, _ := newSealer(t)
	sealed, err := sealer.Seal(context.Background(), order())
	if err != nil {
		t.Fatal(err)
	}
	n, err := newNaive()
	if err != nil {
		t.Fatal(err)
	}
	out, indexes, err := n.seal(orderPayload())
	if err != nil {
		t.Fatal(err)
	}
	if len(orderPayload()) != orderSize || len(indexes) != 2 || len(sealed.BlindIndexes()) != 2 {
		t.Errorf("%d bytes, %d and %d indexes", len(orderPayload()), len(indexes), len(sealed.BlindIndexes()))
	}
	for _, secret := range []string{"ada.lovelace@example.org", "Ada Lovelace", "12345678901"} {
		if bytes.Contains(out, []byte(secret)) || bytes.Contains(sealed.Wire().Payload, []byte(secret)) {
			t.Errorf("%s is left in clear", secret)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	sealer, e := newSealer(b)
	b.Run("way=fieldcrypt", func(b *testing.B) {
		b.ReportAllocs()
		event := order()
		for b.Loop() {
			if _, err := sealer.Seal(context.Background(), event); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("way=validation-alone", func(b *testing.B) {
		b.ReportAllocs()
		payload := orderPayload()
		for b.Loop() {
			if err := e.Validate(payload); err != nil {
				b.Fatal(err)
			}
		}
	})
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
}
