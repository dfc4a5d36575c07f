package cloudevents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

const (
	testID     = "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55"
	testSource = "https://shop.example/invoices"
	// canary begins every value that no error may hold.
	canary = "geheim"
)

const invoiceSchema = `{
  "type": "object",
  "properties": {
    "number": {"type": "string"},
    "total": {"type": "number"},
    "email": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "email"}},
    "phones": {"type": "array", "items": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "phone", "multi": true}}}
  }
}`

type shop struct {
	sealer *envelope.Sealer
	opener *envelope.Opener
}

func newShop(t testing.TB) *shop {
	t.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{
		"invoice.issued.v1.json": {Data: []byte(invoiceSchema)},
		"invoice.issued.v2.json": {Data: []byte(invoiceSchema)},
		"whole.v1.json":          {Data: []byte(`{"x-gdpr-sensitive": true}`)},
		"clear.v1.json":          {Data: []byte(`{"x-gdpr-undeclared": "clear"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	rings, err := keyring.NewSet(keyringtest.NewRing(t, keyringtest.Options{}).Keyring)
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{}
	if s.sealer, err = envelope.NewSealer(reg, rings, envelope.Options{}); err != nil {
		t.Fatal(err)
	}
	if s.opener, err = envelope.NewOpener(reg, rings, envelope.Options{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) seal(t testing.TB, e envelope.Event) envelope.Sealed {
	t.Helper()
	sealed, err := s.sealer.Seal(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

const invoicePayload = " {\"number\": \"2026-2001\",\r\n\t\"email\" : \"ada@example.org\", \"phones\": [\"+905321112233\"], \"total\": 120.50}\n"

// invoice is an event with all that an event can have.
func invoice() envelope.Event {
	return envelope.Event{
		ID: testID, Type: "invoice.issued", Version: 2, AggregateType: "billing", AggregateID: "müşteri 42% \"x\"", AggregateVersion: pointer(int64(1) << 53),
		OccurredAt: time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC),
		Headers:    map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tenant": "İstanbul şubesi"},
		Payload:    []byte(invoicePayload),
	}
}

func pointer[T any](v T) *T { return &v }

func newCodec(t testing.TB, opts Options) *Codec {
	t.Helper()
	if opts.Source == "" {
		opts.Source = testSource
	}
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// form is one of the ways in which an event travels.
type form struct {
	write func(c *Codec, e envelope.InWireForm) (any, error)
	read  func(c *Codec, message any) (envelope.Received, error)
}

type httpMessage struct {
	header http.Header
	body   []byte
}

var forms = map[string]form{
	"broker": {
		func(c *Codec, e envelope.InWireForm) (any, error) { return c.Message(e) },
		func(c *Codec, m any) (envelope.Received, error) { return c.ParseMessage(m.(Message)) },
	},
	"HTTP": {
		func(c *Codec, e envelope.InWireForm) (any, error) {
			header, body, err := c.HTTP(e)
			return httpMessage{header, body}, err
		},
		func(c *Codec, m any) (envelope.Received, error) {
			return c.ParseHTTP(m.(httpMessage).header, m.(httpMessage).body)
		},
	},
	"JSON": {
		func(c *Codec, e envelope.InWireForm) (any, error) { return c.AppendJSON(nil, e) },
		func(c *Codec, m any) (envelope.Received, error) { return c.ParseJSON(m.([]byte)) },
	},
	"JSON on a broker": {
		func(c *Codec, e envelope.InWireForm) (any, error) {
			text, err := c.AppendJSON(nil, e)
			return Message{[]Header{{"content-type", []byte(MediaType)}}, text}, err
		},
		func(c *Codec, m any) (envelope.Received, error) { return c.ParseMessage(m.(Message)) },
	},
	"JSON over HTTP": {
		func(c *Codec, e envelope.InWireForm) (any, error) {
			text, err := c.AppendJSON(nil, e)
			return httpMessage{http.Header{"Content-Type": {MediaType + "; charset=UTF-8"}}, text}, err
		},
		func(c *Codec, m any) (envelope.Received, error) {
			return c.ParseHTTP(m.(httpMessage).header, m.(httpMessage).body)
		},
	},
}

// textOf is all that a message holds.
func textOf(t testing.TB, message any) string {
	t.Helper()
	switch m := message.(type) {
	case Message:
		var all strings.Builder
		for _, h := range m.Headers {
			fmt.Fprintf(&all, "%s: %s\n", h.Key, h.Value)
		}
		return all.String() + string(m.Body)
	case httpMessage:
		text, err := json.Marshal(m.header)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + string(m.body)
	}
	return string(message.([]byte))
}

// same compares an event with what it was read back as. Around the payload white space may be gone.
func same(t testing.TB, got, want envelope.Wire) {
	t.Helper()
	got.Payload, want.Payload = []byte(strings.TrimSpace(string(got.Payload))), []byte(strings.TrimSpace(string(want.Payload)))
	if !reflect.DeepEqual(wireFields(got), wireFields(want)) {
		t.Errorf("read back as\n%v, not\n%v", wireFields(got), wireFields(want))
	}
}

func wireFields(w envelope.Wire) []any {
	var version any = "none"
	if w.AggregateVersion != nil {
		version = *w.AggregateVersion
	}
	headers := w.Headers
	if headers == nil {
		headers = map[string]string{}
	}
	return []any{w.ID, w.Type, w.Version, w.AggregateType, w.AggregateID, version, w.OccurredAt.UTC(), headers, string(w.Payload)}
}

// refused checks an error of this package.
func refused(t testing.TB, err error, attribute string, kind Kind) {
	t.Helper()
	var own *Error
	if !errors.As(err, &own) || own.Attribute != attribute || own.Kind != kind {
		t.Errorf("%v, want %s: %s", err, attribute, kind)
		return
	}
	if envelope.HintOf(err) == "" {
		t.Errorf("%v has no hint", err)
	}
	silent(t, err)
}

func silent(t testing.TB, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		if text := fmt.Sprintf("%v %+v %#v", e, e, e) + envelope.HintOf(e); strings.Contains(text, canary) {
			t.Errorf("an error holds a value: %s", text)
		}
	}
}
