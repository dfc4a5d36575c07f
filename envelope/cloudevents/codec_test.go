package cloudevents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
)

func TestEveryFormGivesTheEventBackByteForByte(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, e := range map[string]envelope.Event{
		"all that an event has": invoice(),
		"the least":             {Type: "invoice.issued", AggregateID: "1", Payload: []byte(`{}`)},
		"a negative version":    {Type: "invoice.issued", AggregateID: "1", AggregateVersion: pointer(int64(math.MinInt64)), Payload: []byte(`{}`)},
		"sealed as a whole":     {Type: "whole", AggregateID: "1", Payload: []byte(` [ 1, 2 ] `)},
		"a clear string":        {Type: "clear", AggregateID: "1", Payload: []byte(`"a \u0041 b"`)},
		"null":                  {Type: "clear", AggregateID: "1", Payload: []byte(`null`)},
		"a number":              {Type: "clear", AggregateID: "1", Payload: []byte(`-1.50e+10`)},
	} {
		sealed := s.seal(t, e)
		for form, f := range forms {
			message, err := f.write(newCodec(t, Options{}), sealed)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			received, err := f.read(newCodec(t, Options{}), message)
			if err != nil {
				t.Fatalf("%s, %s: %v\n%s", name, form, err, textOf(t, message))
			}
			same(t, received.Wire(), sealed.Wire())
			opened, err := s.opener.Open(context.Background(), received, envelope.OpenOptions{})
			if err != nil || len(opened.StillSealed) > 0 {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			want := string(e.Payload)
			if form != "broker" && form != "HTTP" {
				want = strings.TrimSpace(want)
			}
			if string(opened.Event.Payload) != want {
				t.Errorf("%s, %s: opened %q, want %q", name, form, opened.Event.Payload, want)
			}
			// A Received is relayed as a Sealed is.
			again, err := f.write(newCodec(t, Options{}), received)
			if err != nil || textOf(t, again) != strings.TrimSpace(textOf(t, message)) && textOf(t, again) != textOf(t, message) {
				t.Errorf("%s, %s: relayed as\n%s\nnot as\n%s (%v)", name, form, textOf(t, again), textOf(t, message), err)
			}
		}
	}
}

func TestTheBrokerFormIsThatOfTheDocument(t *testing.T) {
	t.Parallel()
	sealed := newShop(t).seal(t, invoice())
	m, err := newCodec(t, Options{}).Message(sealed)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"ce_specversion: 1.0",
		"ce_id: " + testID,
		"ce_type: invoice.issued",
		"ce_source: " + testSource,
		`ce_subject: müşteri 42% "x"`,
		"ce_aggregatetype: billing",
		"ce_aggregateversion: 9007199254740992",
		"ce_time: 2026-11-30T12:00:00.123456Z",
		"ce_dataschema: fieldcrypt:invoice.issued/2",
		"content-type: application/json",
		"tenant: İstanbul şubesi",
		"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"",
	}, "\n")
	if got := textOf(t, m); got != want+string(sealed.Wire().Payload) {
		t.Errorf("got\n%s", got)
	}
	header, _, err := newCodec(t, Options{}).HTTP(sealed)
	if err != nil {
		t.Fatal(err)
	}
	if got := header["Ce-Subject"]; !slices.Equal(got, []string{"m%C3%BC%C5%9Fteri%2042%25%20%22x%22"}) {
		t.Errorf("subject %q", got)
	}
	for name := range header {
		if http.CanonicalHeaderKey(name) != name {
			t.Errorf("%s is not canonical", name)
		}
	}
	text, err := newCodec(t, Options{}).AppendJSON([]byte("before "), sealed)
	if err != nil || !bytes.HasPrefix(text, []byte(`before {"specversion":"1.0","id":"`)) || !bytes.Contains(text, []byte(`,"datacontenttype":"application/json","tenant":"İstanbul şubesi","traceparent":"00-`)) {
		t.Errorf("%s, %v", text, err)
	}
	if !bytes.HasSuffix(text, []byte(`"data":`+strings.TrimSpace(string(sealed.Wire().Payload))+"}")) {
		t.Errorf("the payload is not spliced: %s", text)
	}
}

func TestBlindIndexesStandInNoMessage(t *testing.T) {
	t.Parallel()
	sealed := newShop(t).seal(t, invoice())
	indexes := sealed.BlindIndexes()
	if len(indexes) != 2 {
		t.Fatalf("indexes %v", slices.Collect(maps.Keys(indexes)))
	}
	for form, f := range forms {
		message, err := f.write(newCodec(t, Options{}), sealed)
		if err != nil {
			t.Fatal(err)
		}
		text := textOf(t, message)
		for name, values := range indexes {
			for _, stored := range values {
				for _, shape := range []string{string(stored), fmt.Sprintf("%x", stored), blindindex.Text(stored), fmt.Sprintf("%x", stored[4:])} {
					if strings.Contains(text, shape) {
						t.Errorf("%s holds the index %s", form, name)
					}
				}
			}
		}
		if strings.Contains(text, "bi1:") || strings.Contains(text, "ada@example.org") || strings.Contains(text, "5321112233") {
			t.Errorf("%s: %s", form, text)
		}
	}
}

func TestOnlySealedAndReceivedBecomeMessages(t *testing.T) {
	t.Parallel()
	wanted := reflect.TypeFor[envelope.InWireForm]()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[envelope.Event](), reflect.TypeFor[*envelope.Event](), reflect.TypeFor[envelope.Wire](), reflect.TypeFor[*envelope.Wire](),
		reflect.TypeFor[envelope.Opened](), reflect.TypeFor[*envelope.Opened](),
	} {
		if typ.Implements(wanted) {
			t.Errorf("%v becomes a message", typ)
		}
	}
	sealed := newShop(t).seal(t, invoice())
	// A type of the caller's own that holds a Sealed and says something else.
	var disguised envelope.InWireForm = embedding{sealed}
	for _, e := range []envelope.InWireForm{nil, envelope.Sealed{}, envelope.Received{}, (*envelope.Sealed)(nil), disguised} {
		for form, f := range forms {
			if _, err := f.write(newCodec(t, Options{}), e); !errors.Is(err, envelope.ErrZero) {
				t.Errorf("%s: %T: %v", form, e, err)
			}
		}
	}
}

type embedding struct{ envelope.Sealed }

func (embedding) Wire() envelope.Wire {
	return envelope.Wire{ID: testID, Type: "clear", Version: 1, AggregateID: "1", Payload: []byte(`"in clear"`)}
}

func TestHeadersThatAreNoAttributesAreRefusedOrMapped(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	event := func(headers map[string]string) envelope.Sealed {
		e := invoice()
		e.Headers = headers
		return s.seal(t, e)
	}
	for name, header := range map[string]struct{ name, value string }{
		"a hyphen":         {"correlation-id", "1"},
		"upper case":       {"Tenant", "1"},
		"not ASCII":        {"kiracı", "1"},
		"a known name":     {"subject", "1"},
		"data":             {"data", "1"},
		"our own name":     {"aggregatetype", "1"},
		"the base64 one":   {"data_base64", "1"},
		"a control":        {"tenant", canary + "\n"},
		"a noncharacter":   {"tenant", canary + "\ufdd0"},
		"DEL":              {"tenant", canary + "\x7f"},
		"the last plane's": {"tenant", canary + "\U0010ffff"},
	} {
		sealed := event(map[string]string{"a": "first", header.name: header.value})
		for form, f := range forms {
			_, err := f.write(newCodec(t, Options{}), sealed)
			if form == "broker" {
				if err != nil {
					t.Errorf("%s: on a broker: %v", name, err)
				}
				continue
			}
			at := 1
			if slices.Sorted(slices.Values([]string{"a", header.name}))[0] != "a" {
				at = 0
			}
			refused(t, err, headerLabel(at), KindUnfit)
		}
	}

	opts := Options{HeaderAttributes: map[string]string{"correlation-id": "correlationid", "time": "eventtime", "X-Internal": ""}}
	sealed := event(map[string]string{"correlation-id": "c 1", "time": "noon", "X-Internal": "left out", "tenant": "t"})
	for form, f := range forms {
		message, err := f.write(newCodec(t, opts), sealed)
		if err != nil {
			t.Fatal(err)
		}
		received, err := f.read(newCodec(t, opts), message)
		if err != nil {
			t.Fatal(err)
		}
		want := sealed.Wire()
		if form != "broker" {
			delete(want.Headers, "X-Internal")
		}
		same(t, received.Wire(), want)
	}
	// The attribute of one header is the name of another, which could not be told from it again.
	_, err := newCodec(t, opts).AppendJSON(nil, event(map[string]string{"a": "1", "correlationid": "2"}))
	refused(t, err, "header 2", KindUnfit)
	opts.HeaderAttributes["correlationid"] = "another"
	if _, err := newCodec(t, opts).AppendJSON(nil, event(map[string]string{"correlation-id": "1", "correlationid": "2"})); err != nil {
		t.Error(err)
	}
}

func TestWhatNoMessageCanCarryIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, test := range map[string]struct {
		change    func(e *envelope.Event)
		attribute string
		kind      Kind
	}{
		"a control character in the aggregate id": {func(e *envelope.Event) { e.AggregateID = canary + "\n" }, "subject", KindUnfit},
		"C1 in the aggregate type":                {func(e *envelope.Event) { e.AggregateType = canary + "\u0085" }, "aggregatetype", KindUnfit},
		"too many headers": {func(e *envelope.Event) {
			e.Headers = map[string]string{"a": strings.Repeat("x", maxAttributes/2), "b": strings.Repeat("x", maxAttributes/2)}
		}, "headers", KindTooLarge},
		"a long aggregate id": {func(e *envelope.Event) { e.AggregateID = strings.Repeat("x", maxAttributes) }, "headers", KindTooLarge},
	} {
		e := invoice()
		test.change(&e)
		sealed := s.seal(t, e)
		for form, f := range forms {
			_, err := f.write(newCodec(t, Options{}), sealed)
			if err == nil {
				t.Errorf("%s, %s: is written", name, form)
			}
			refused(t, err, test.attribute, test.kind)
		}
	}
}

// What is just small enough to be written is read, whatever else the form adds to it.
func TestTheLargestHeadersThatAreWrittenAreRead(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := newCodec(t, Options{HeaderAttributes: map[string]string{"a-b": "averylongnameofanattribute"}})
	for name, f := range forms {
		write := func(n int) (envelope.Sealed, any, error) {
			e := invoice()
			e.Headers = map[string]string{"a-b": "", "large": strings.Repeat("x", n)}
			sealed := s.seal(t, e)
			message, err := f.write(c, sealed)
			return sealed, message, err
		}
		most := sort.Search(maxAttributes, func(n int) bool { _, _, err := write(n); return err != nil }) - 1
		if most < maxAttributes-1000 {
			t.Fatalf("%s: %d bytes at most", name, most)
		}
		sealed, message, err := write(most)
		if err != nil {
			t.Fatal(err)
		}
		received, err := f.read(c, message)
		if err != nil {
			t.Fatalf("%s: %d bytes are written and not read: %v", name, most, err)
		}
		same(t, received.Wire(), sealed.Wire())
	}
}

func TestOptionsThatCannotBeKeptAreRefused(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string]Options{
		"option Source: is no URI":                                {Source: "https://" + canary + ".example/a b"},
		"option Source: is no URI reference":                      {Source: "https://" + canary + ".example/ü"},
		"option Source: is no URI reference of":                   {Source: "http://[" + canary},
		"option Limits.MaxWire: is negative":                      {Limits: envelope.Limits{MaxWire: -1}},
		"option Limits.MaxDepth: is above":                        {Limits: envelope.Limits{MaxDepth: 1 << 20}},
		"option HeaderAttributes: names an attribute that is not": {HeaderAttributes: map[string]string{"a": canary + "_"}},
		"option HeaderAttributes: names an attribute that has":    {HeaderAttributes: map[string]string{"a": "subject"}},
		"option HeaderAttributes: names one attribute":            {HeaderAttributes: map[string]string{"a": canary, "b": canary}},
		"option HeaderAttributes: names a header":                 {HeaderAttributes: map[string]string{"": canary}},
	} {
		c, err := New(opts)
		var option *envelope.OptionError
		if !errors.As(err, &option) || !strings.HasPrefix(err.Error(), want) || c != nil {
			t.Errorf("%v, want %s", err, want)
		}
		silent(t, err)
	}
	sealed := newShop(t).seal(t, invoice())
	reader, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	message, err := newCodec(t, Options{}).Message(sealed)
	if err != nil {
		t.Fatal(err)
	}
	if received, err := new(Codec).ParseMessage(message); err != nil || new(Codec).MaxBody() != reader.MaxBody() {
		t.Errorf("the zero value does not read: %v", err)
	} else {
		same(t, received.Wire(), sealed.Wire())
	}
	var option *envelope.OptionError
	if _, err := reader.Message(sealed); !errors.As(err, &option) || option.Option != "Source" {
		t.Errorf("writing without a source: %v", err)
	}
	if c, err := New(Options{Limits: envelope.Limits{MaxWire: math.MaxInt}}); err != nil || c.MaxBody() != math.MaxInt {
		t.Errorf("the largest limit: %v", err)
	}
}

func TestMessagesKeepOutOfLogs(t *testing.T) {
	t.Parallel()
	m := Message{[]Header{{canary, []byte(canary)}}, []byte(canary)}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("message", "message", m)
	if text := fmt.Sprintf("%v %+v %#v %s %q %x", m, m, m, m, m, m) + log.String(); strings.Contains(text, canary) || !strings.Contains(text, "1 headers and a body of 6 bytes") {
		t.Error(text)
	}
}

// A real server and client: what net/http does to headers on the way is part of the form.
func TestARequestCarriesAnEvent(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	codec := newCodec(t, Options{})
	got := make(chan envelope.Received, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, int64(codec.MaxBody()))); err != nil {
			t.Error(err)
		}
		received, err := codec.ParseHTTP(r.Header, body.Bytes())
		if err != nil {
			t.Error(err)
		}
		got <- received
	}))
	defer server.Close()
	sealed := s.seal(t, invoice())
	header, body, err := codec.HTTP(sealed)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	same(t, (<-got).Wire(), sealed.Wire())
}

func TestAnyEventComesBackInEveryForm(t *testing.T) {
	t.Parallel()
	text := rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return isString(string(r)) }))
	payloads := []string{`null`, `"\"}"`, `{"a":["}",{}],"b":"\u0000"}`, `-1.0e+5`, "[1,\t2 ]", `{"data":{"data":1}}`, `"fc1:no"`, `"😀"`}
	rapid.Check(t, func(t *rapid.T) {
		w := envelope.Wire{
			ID: testID, Type: rapid.StringMatching(`[A-Za-z0-9._-]{1,255}`).Draw(t, "type"), Version: rapid.IntRange(1, math.MaxInt32).Draw(t, "version"),
			AggregateType: text.Filter(func(s string) bool { return s != "" }).Draw(t, "aggregate type"),
			AggregateID:   text.Filter(func(s string) bool { return s != "" }).Draw(t, "aggregate id"),
			Headers:       rapid.MapOfN(rapid.StringMatching(`[a-z0-9]{1,20}`).Filter(func(s string) bool { return !isReserved(s) }), text, 0, 4).Draw(t, "headers"),
			Payload:       []byte(rapid.SampledFrom(payloads).Draw(t, "payload")),
		}
		if rapid.Bool().Draw(t, "counted") {
			w.AggregateVersion = pointer(rapid.Int64().Draw(t, "aggregate version"))
		}
		if rapid.Bool().Draw(t, "timed") {
			w.OccurredAt = time.UnixMicro(rapid.Int64Range(-1<<55, 1<<57).Draw(t, "time")).UTC()
		}
		received, err := envelope.Parse(w, envelope.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(Options{Source: testSource})
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range forms {
			message, err := f.write(c, received)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := f.read(c, message)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !reflect.DeepEqual(wireFields(again.Wire()), wireFields(received.Wire())) {
				t.Fatalf("%s: %v, not %v", name, wireFields(again.Wire()), wireFields(received.Wire()))
			}
		}
	})
}

func TestOneCodecServesManyGoroutines(t *testing.T) {
	t.Parallel()
	sealed, c := newShop(t).seal(t, invoice()), newCodec(t, Options{HeaderAttributes: map[string]string{"a-b": "ab"}})
	done := make(chan struct{})
	for range 16 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 50 {
				for name, f := range forms {
					message, err := f.write(c, sealed)
					if err != nil {
						t.Error(name, err)
						return
					}
					if _, err := f.read(c, message); err != nil {
						t.Error(name, err)
						return
					}
				}
			}
		}()
	}
	for range 16 {
		<-done
	}
}
