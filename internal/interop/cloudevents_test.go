package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/IBM/sarama"
	"github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2"
	sdk "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	sdkhttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/cloudevents"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

const (
	source  = "https://shop.example/invoices"
	payload = "{\"number\": \"2026-2001\",\r\n\t\"email\" : \"ada@example.org\", \"total\": 120.50, \"big\": 9007199254740993, \"text\":\"\\u0061<&>\"}"
)

type shop struct {
	codec  *cloudevents.Codec
	opener *envelope.Opener
	sealer *envelope.Sealer
}

func newShop(t *testing.T) *shop {
	t.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{
		"invoice.issued.v2.json": {Data: []byte(`{"x-gdpr-undeclared": "clear", "properties": {"email": {"x-gdpr-sensitive": true, "type": "string", "x-blind-index": true}}}`)},
		"whole.v1.json":          {Data: []byte(`{"x-gdpr-sensitive": true}`)},
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
	if s.codec, err = cloudevents.New(cloudevents.Options{Source: source}); err != nil {
		t.Fatal(err)
	}
	return s
}

// events are what travels: one with all that an event can have, one with the least, one that is a single token.
func (s *shop) events(t *testing.T) map[string]envelope.Sealed {
	t.Helper()
	version := int64(1) << 40 // more than the SDK's integers hold
	sealed := map[string]envelope.Sealed{}
	for name, e := range map[string]envelope.Event{
		"all": {
			Type: "invoice.issued", Version: 2, AggregateType: "billing", AggregateID: "42/7", AggregateVersion: &version,
			OccurredAt: time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC),
			Headers:    map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tenant": "t1"},
			Payload:    []byte(payload),
		},
		"least": {Type: "invoice.issued", Version: 2, AggregateID: "1", Payload: []byte(`{"email":"ada@example.org"}`)},
		"whole": {Type: "whole", AggregateID: "1", Payload: []byte(`["ada@example.org"]`)},
	} {
		var err error
		if sealed[name], err = s.sealer.Seal(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	return sealed
}

// loss is what an event may lose on its way through the SDK.
type loss struct {
	// spelling: the SDK hands JSON that it was not given as bytes to json.Marshal, which drops white space and escapes <, > and &. Values, and so tokens,
	// survive; bytes do not.
	spelling bool
	// headers: what is no attribute is no part of an event to the SDK. So are an event's own headers on a broker.
	headers bool
}

// opens checks that an event that came back is the one that left, but for what may be lost, and opens it.
func (s *shop) opens(t *testing.T, received envelope.Received, sealed envelope.Sealed, may loss) {
	t.Helper()
	got, want := received.Wire(), sealed.Wire()
	if may.spelling {
		want.Payload = must(json.Marshal(json.RawMessage(want.Payload)))(t)
	}
	if may.headers {
		want.Headers = nil
	}
	for name := range got.Headers { // what the SDK's Kafka reader adds
		if strings.HasPrefix(name, "kafka") {
			delete(got.Headers, name)
		}
	}
	if len(got.Headers) == 0 && len(want.Headers) == 0 {
		got.Headers, want.Headers = nil, nil
	}
	if string(got.Payload) != string(want.Payload) {
		t.Fatalf("payload %s\nnot %s", got.Payload, want.Payload)
	}
	if !got.OccurredAt.Equal(want.OccurredAt) {
		t.Errorf("time %v, not %v", got.OccurredAt, want.OccurredAt)
	}
	got.OccurredAt, want.OccurredAt = time.Time{}, time.Time{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, not %#v", fields(got), fields(want))
	}
	opened, err := s.opener.Open(context.Background(), received, envelope.OpenOptions{})
	if err != nil || len(opened.StillSealed) > 0 {
		t.Fatal(err)
	}
	if !bytes.Contains(opened.Event.Payload, []byte(`"ada@example.org"`)) {
		t.Error("opened, the value is not there")
	}
}

func fields(w envelope.Wire) []any {
	return []any{w.ID, w.Type, w.Version, w.AggregateType, w.AggregateID, w.AggregateVersion, w.Headers}
}

// is checks what the SDK read against what was sealed, attribute by attribute.
func is(t *testing.T, e *event.Event, sealed envelope.Sealed, may loss) {
	t.Helper()
	if err := e.Validate(); err != nil {
		t.Fatalf("the SDK does not validate it: %v", err)
	}
	w := sealed.Wire()
	extensions := map[string]any{"aggregatetype": w.AggregateType}
	if w.AggregateVersion != nil {
		extensions["aggregateversion"] = "1099511627776"
	}
	for name, value := range w.Headers {
		if !may.headers {
			extensions[name] = value
		}
	}
	got := e.Extensions()
	for name := range got {
		if strings.HasPrefix(name, "kafka") {
			delete(got, name)
		}
	}
	if !reflect.DeepEqual(got, extensions) {
		t.Errorf("extensions %v, not %v", got, extensions)
	}
	schema := "fieldcrypt:invoice.issued/2"
	if w.Type == "whole" {
		schema = "fieldcrypt:whole/1"
	}
	for name, pair := range map[string][2]string{
		"specversion": {e.SpecVersion(), "1.0"}, "id": {e.ID(), w.ID}, "type": {e.Type(), w.Type}, "source": {e.Source(), source}, "subject": {e.Subject(), w.AggregateID},
		"dataschema": {e.DataSchema(), schema}, "datacontenttype": {e.DataContentType(), "application/json"}, "data": {string(e.Data()), string(w.Payload)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: the SDK reads %q, not %q", name, pair[0], pair[1])
		}
	}
	if !e.Time().Equal(w.OccurredAt) {
		t.Errorf("time: the SDK reads %v, not %v", e.Time(), w.OccurredAt)
	}
}

// way is one of the forms, with our writer and reader and theirs.
type way struct {
	write func(t *testing.T, s *shop, e envelope.InWireForm) any
	read  func(s *shop, message any) (envelope.Received, error)
	// theirs
	sdkRead  func(t *testing.T, message any) *event.Event
	sdkWrite func(t *testing.T, e event.Event) any
	// what of an event the SDK does not read, and what it does not write as it is where it was not given bytes.
	reads, writes loss
}

func ofConsumer(m cloudevents.Message) *sarama.ConsumerMessage {
	out := &sarama.ConsumerMessage{Topic: "invoices", Offset: 7, Value: m.Body}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, &sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
	}
	return out
}

func kafkaRead(t *testing.T, message any) *event.Event {
	t.Helper()
	e, err := binding.ToEvent(context.Background(), kafka_sarama.NewMessageFromConsumerMessage(ofConsumer(message.(cloudevents.Message))))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func kafkaWrite(ctx context.Context) func(t *testing.T, e event.Event) any {
	return func(t *testing.T, e event.Event) any {
		t.Helper()
		var to sarama.ProducerMessage
		if err := kafka_sarama.WriteProducerMessage(ctx, binding.ToMessage(&e), &to); err != nil {
			t.Fatal(err)
		}
		body, err := to.Value.Encode()
		if err != nil {
			t.Fatal(err)
		}
		m := cloudevents.Message{Body: body}
		for _, h := range to.Headers {
			m.Headers = append(m.Headers, cloudevents.Header{Key: string(h.Key), Value: h.Value})
		}
		return m
	}
}

type request struct {
	header http.Header
	body   []byte
}

func (r request) http(t *testing.T) *http.Request {
	t.Helper()
	out, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", bytes.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	out.Header = r.header
	return out
}

func httpRead(t *testing.T, message any) *event.Event {
	t.Helper()
	e, err := sdkhttp.NewEventFromHTTPRequest(message.(request).http(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func httpWrite(ctx context.Context) func(t *testing.T, e event.Event) any {
	return func(t *testing.T, e event.Event) any {
		t.Helper()
		to, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sdkhttp.WriteRequest(ctx, binding.ToMessage(&e), to); err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(to.Body)
		if err != nil {
			t.Fatal(err)
		}
		return request{to.Header, body}
	}
}

func ways() map[string]way {
	structured := binding.WithForceStructured(context.Background())
	return map[string]way{
		"Kafka, binary": {
			func(t *testing.T, s *shop, e envelope.InWireForm) any { return must(s.codec.Message(e))(t) },
			func(s *shop, m any) (envelope.Received, error) {
				return s.codec.ParseMessage(m.(cloudevents.Message))
			},
			kafkaRead, kafkaWrite(context.Background()), loss{headers: true}, loss{},
		},
		"Kafka, structured": {
			func(t *testing.T, s *shop, e envelope.InWireForm) any {
				return cloudevents.Message{Headers: []cloudevents.Header{{Key: "content-type", Value: []byte(cloudevents.MediaType)}}, Body: must(s.codec.AppendJSON(nil, e))(t)}
			},
			func(s *shop, m any) (envelope.Received, error) {
				return s.codec.ParseMessage(m.(cloudevents.Message))
			},
			kafkaRead, kafkaWrite(structured), loss{}, loss{spelling: true},
		},
		"HTTP, binary": {
			func(t *testing.T, s *shop, e envelope.InWireForm) any {
				header, body, err := s.codec.HTTP(e)
				return must(request{header, body}, err)(t)
			},
			func(s *shop, m any) (envelope.Received, error) {
				return s.codec.ParseHTTP(m.(request).header, m.(request).body)
			},
			httpRead, httpWrite(context.Background()), loss{}, loss{},
		},
		"HTTP, structured": {
			func(t *testing.T, s *shop, e envelope.InWireForm) any {
				return request{http.Header{"Content-Type": {cloudevents.MediaType}}, must(s.codec.AppendJSON(nil, e))(t)}
			},
			func(s *shop, m any) (envelope.Received, error) {
				return s.codec.ParseHTTP(m.(request).header, m.(request).body)
			},
			httpRead, httpWrite(structured), loss{}, loss{spelling: true},
		},
		"JSON": {
			func(t *testing.T, s *shop, e envelope.InWireForm) any { return must(s.codec.AppendJSON(nil, e))(t) },
			func(s *shop, m any) (envelope.Received, error) { return s.codec.ParseJSON(m.([]byte)) },
			func(t *testing.T, m any) *event.Event {
				t.Helper()
				e := new(event.Event)
				if err := json.Unmarshal(m.([]byte), e); err != nil {
					t.Fatal(err)
				}
				return e
			},
			func(t *testing.T, e event.Event) any { t.Helper(); return must(e.MarshalJSON())(t) }, // not json.Marshal
			loss{}, loss{},
		},
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestWhatFieldcryptWritesTheSDKReadsAndValidates(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for form, w := range ways() {
		for name, sealed := range s.events(t) {
			t.Run(form+", "+name, func(t *testing.T) {
				t.Parallel()
				is(t, w.sdkRead(t, w.write(t, s, sealed)), sealed, w.reads)
			})
		}
	}
}

func TestWhatTheSDKWritesFieldcryptReadsAndOpens(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for form, w := range ways() {
		for name, sealed := range s.events(t) {
			for kind, data := range map[string]any{"bytes, which it writes as base64 in JSON": []byte(nil), "raw JSON": json.RawMessage(nil)} {
				t.Run(form+", "+name+", "+kind, func(t *testing.T) {
					t.Parallel()
					wire := sealed.Wire()
					e := sdk.NewEvent()
					e.SetID(wire.ID)
					e.SetType(wire.Type)
					e.SetSource(source)
					e.SetSubject(wire.AggregateID)
					e.SetTime(wire.OccurredAt)
					e.SetDataSchema("fieldcrypt:invoice.issued/2")
					if wire.Type == "whole" {
						e.SetDataSchema("fieldcrypt:whole/1")
					}
					e.SetExtension("aggregatetype", wire.AggregateType)
					if wire.AggregateVersion != nil {
						e.SetExtension("aggregateversion", "1099511627776")
					}
					for name, value := range wire.Headers {
						e.SetExtension(name, value)
					}
					may := loss{}
					if _, raw := data.(json.RawMessage); raw {
						may = w.writes
						e.SetDataContentType("application/json")
						e.DataEncoded = wire.Payload // SetData would encode it again
					} else if err := e.SetData("application/json", wire.Payload); err != nil {
						t.Fatal(err)
					}
					received, err := w.read(s, w.sdkWrite(t, e))
					if err != nil {
						t.Fatal(err)
					}
					s.opens(t, received, sealed, may)
				})
			}
		}
	}
}

// A bridge that knows nothing of fieldcrypt reads an event in one form and writes it in another.
func TestABridgeOfTheSDKBetweenAnyTwoFormsLosesNoValue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for from, in := range ways() {
		for to, out := range ways() {
			for name, sealed := range s.events(t) {
				t.Run(from+" to "+to+", "+name, func(t *testing.T) {
					t.Parallel()
					received, err := out.read(s, out.sdkWrite(t, *in.sdkRead(t, in.write(t, s, sealed))))
					if err != nil {
						t.Fatal(err)
					}
					s.opens(t, received, sealed, loss{spelling: out.writes.spelling, headers: in.reads.headers})
				})
			}
		}
	}
}

// Over a connection, with the SDK's client and server.
func TestTheSDKsClientAndServerExchangeEventsWithFieldcrypt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sealed := s.events(t)["all"]

	type answer struct {
		received envelope.Received
		err      error
	}
	answers := make(chan answer, 1)
	ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.codec.MaxBody())))
		if err != nil {
			t.Error(err)
		}
		received, err := s.codec.ParseHTTP(r.Header, body)
		answers <- answer{received, err}
	}))
	defer ours.Close()
	client, err := sdk.NewClientHTTP(sdk.WithTarget(ours.URL))
	if err != nil {
		t.Fatal(err)
	}
	for _, ctx := range []context.Context{t.Context(), binding.WithForceStructured(t.Context())} {
		if result := client.Send(ctx, *httpRead(t, ways()["HTTP, binary"].write(t, s, sealed))); !sdk.IsACK(result) {
			t.Fatal(result)
		}
		got := <-answers
		if got.err != nil {
			t.Fatal(got.err)
		}
		s.opens(t, got.received, sealed, loss{spelling: ctx != t.Context()})
	}

	events := make(chan event.Event, 1)
	handler, err := sdk.NewHTTPReceiveHandler(t.Context(), must(sdk.NewHTTP())(t), func(e event.Event) { events <- e })
	if err != nil {
		t.Fatal(err)
	}
	theirs := httptest.NewServer(handler)
	defer theirs.Close()
	for _, form := range []string{"HTTP, binary", "HTTP, structured"} {
		m := ways()[form].write(t, s, sealed).(request)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, theirs.URL, bytes.NewReader(m.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = m.header
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode/100 != 2 {
			t.Fatalf("%s: %s", form, response.Status)
		}
		e := <-events
		is(t, &e, sealed, loss{})
	}
}

func TestWhatTheSDKWritesOfOtherKindsIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sealed := s.events(t)["all"]
	ours := func() event.Event { return *httpRead(t, ways()["HTTP, binary"].write(t, s, sealed)) }

	batch, err := sdkhttp.NewHTTPRequestFromEvents(t.Context(), "http://localhost/", []event.Event{ours(), ours()})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(batch.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.codec.ParseHTTP(batch.Header, body)
	refused(t, err, "content-type", cloudevents.KindUnsupported)

	for form, w := range ways() {
		for name, test := range map[string]struct {
			change    func(e *event.Event)
			attribute string
			kind      cloudevents.Kind
		}{
			"an event of version 0.3":   {func(e *event.Event) { e.SetSpecVersion("0.3") }, "specversion", cloudevents.KindUnsupported},
			"an event of somebody else": {func(e *event.Event) { e.SetDataSchema("https://example.org/schema") }, "dataschema", cloudevents.KindUnsupported},
			"no aggregate type":         {func(e *event.Event) { e.SetExtension("aggregatetype", nil) }, "aggregatetype", cloudevents.KindMissing},
			"text": {func(e *event.Event) {
				if err := e.SetData("text/plain", "text"); err != nil {
					t.Fatal(err)
				}
			}, "content-type", cloudevents.KindUnsupported},
		} {
			e := ours()
			test.change(&e)
			_, err := w.read(s, w.sdkWrite(t, e))
			attribute := test.attribute
			var own *cloudevents.Error
			if name == "an event of version 0.3" && errors.As(err, &own) {
				attribute = own.Attribute // 0.3 has an attribute schemaurl instead of dataschema
			}
			if err == nil {
				t.Errorf("%s: %s is read", form, name)
				continue
			}
			refused(t, err, attribute, test.kind)
		}
	}
}

func refused(t *testing.T, err error, attribute string, kind cloudevents.Kind) {
	t.Helper()
	var own *cloudevents.Error
	if !errors.As(err, &own) || own.Attribute != attribute || own.Kind != kind {
		t.Errorf("%v, want %s: %s", err, attribute, kind)
	}
}

// CloudEvents' HTTP binding says that values are percent-encoded. This SDK neither does that nor undoes it, so it shows what we write encoded, and what it
// writes we read unless a percent sign in it would have to be guessed at. The day it learns, this test says so.
func TestTheSDKDoesNotPercentEncode(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sealed, err := s.sealer.Seal(context.Background(), envelope.Event{Type: "invoice.issued", Version: 2, AggregateID: "müşteri 42", Payload: []byte(`{"email":"ada@example.org"}`)})
	if err != nil {
		t.Fatal(err)
	}
	forms := ways()
	e := httpRead(t, forms["HTTP, binary"].write(t, s, sealed))
	if e.Subject() != "m%C3%BC%C5%9Fteri%2042" {
		t.Errorf("the SDK reads %q", e.Subject())
	}
	for _, form := range []string{"Kafka, binary", "Kafka, structured", "HTTP, structured", "JSON"} {
		if got := forms[form].sdkRead(t, forms[form].write(t, s, sealed)).Subject(); got != "müşteri 42" {
			t.Errorf("%s: the SDK reads %q", form, got)
		}
	}
	e = forms["JSON"].sdkRead(t, forms["JSON"].write(t, s, sealed))
	received, err := forms["HTTP, binary"].read(s, forms["HTTP, binary"].sdkWrite(t, *e))
	if err != nil {
		t.Fatal(err)
	}
	s.opens(t, received, sealed, loss{})
	e.SetSubject("100%")
	_, err = forms["HTTP, binary"].read(s, forms["HTTP, binary"].sdkWrite(t, *e))
	refused(t, err, "subject", cloudevents.KindMalformed)
}

// This SDK's JSON library loses its place behind a number that float64 does not have, and may cut the data there without an error. An event that holds such a
// number is read by it in binary mode alone. The day it learns, this test says so.
func TestTheSDKMisreadsNumbersBeyondFloat64InJSON(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sealed, err := s.sealer.Seal(context.Background(), envelope.Event{Type: "invoice.issued", Version: 2, AggregateID: "42", Payload: []byte(`{"email":"ada@example.org","n":1e400 ,"a":[1]}`)})
	if err != nil {
		t.Fatal(err)
	}
	forms := ways()
	e := new(event.Event)
	if err := json.Unmarshal(forms["JSON"].write(t, s, sealed).([]byte), e); err == nil && string(e.Data()) == string(sealed.Wire().Payload) {
		t.Error("the SDK reads it now")
	}
	for _, form := range []string{"Kafka, binary", "HTTP, binary"} {
		is(t, forms[form].sdkRead(t, forms[form].write(t, s, sealed)), sealed, loss{})
	}
}
