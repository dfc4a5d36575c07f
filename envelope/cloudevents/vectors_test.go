package cloudevents

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// vector is one of testvectors/v1/cloudevents.json, which Node wrote with code that shares nothing with this package.
type vector struct {
	Name    string      `json:"name"`
	Kind    string      `json:"kind"`
	Valid   bool        `json:"valid"`
	Form    string      `json:"form"`
	Source  string      `json:"source"`
	Event   vectorEvent `json:"wire_event"`
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"`
	Refused string      `json:"refused"`
}

type vectorEvent struct {
	ID               string            `json:"id"`
	Type             string            `json:"type"`
	Version          int               `json:"version"`
	AggregateType    string            `json:"aggregate_type"`
	AggregateID      string            `json:"aggregate_id"`
	AggregateVersion *int64            `json:"aggregate_version,string"`
	OccurredAt       time.Time         `json:"occurred_at"`
	Headers          map[string]string `json:"headers"`
	Payload          string            `json:"payload"`
}

func (e vectorEvent) wire() envelope.Wire {
	return envelope.Wire{
		ID: e.ID, Type: e.Type, Version: e.Version, AggregateType: e.AggregateType, AggregateID: e.AggregateID, AggregateVersion: e.AggregateVersion,
		OccurredAt: e.OccurredAt.UTC(), Headers: e.Headers, Payload: []byte(e.Payload),
	}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../testvectors/v1/cloudevents.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Format  string   `json:"format"`
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(text, &file); err != nil || file.Format != "fieldcrypt-testvectors/1" || len(file.Vectors) < 150 {
		t.Fatalf("%d vectors of %s: %v", len(file.Vectors), file.Format, err)
	}
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			if v.Kind != "cloudevent-read" {
				v.checkWritten(t)
			}
			if v.Kind != "cloudevent-write" {
				v.checkRead(t)
			}
		})
	}
}

func (v vector) checkWritten(t *testing.T) {
	received, err := envelope.Parse(v.Event.wire(), envelope.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Source: v.Source})
	if err != nil {
		t.Fatal(err)
	}
	headers, body, err := v.write(c, received)
	if !v.Valid {
		if v.reason(err) != v.Refused {
			t.Errorf("%v, want %s", err, v.Refused)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := v.sorted(v.Headers); !reflect.DeepEqual(headers, want) || body != v.Body {
		t.Errorf("written as\n%q\n%s\nnot\n%q\n%s", headers, body, want, v.Body)
	}
}

func (v vector) write(c *Codec, received envelope.Received) (headers [][2]string, body string, err error) {
	switch v.Form {
	case "broker":
		m, err := c.Message(received)
		for _, h := range m.Headers {
			headers = append(headers, [2]string{h.Key, string(h.Value)})
		}
		return headers, string(m.Body), err
	case "http":
		header, body, err := c.HTTP(received)
		for name, values := range header {
			headers = append(headers, [2]string{strings.ToLower(name), strings.Join(values, "\n")})
		}
		return v.sorted(headers), string(body), err
	}
	text, err := c.AppendJSON(nil, received)
	return nil, string(text), err
}

// sorted gives HTTP's headers an order; on a broker they have one.
func (v vector) sorted(headers [][2]string) [][2]string {
	if v.Form != "http" {
		return headers
	}
	return slices.SortedFunc(slices.Values(headers), func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
}

func (v vector) checkRead(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	received, err := v.read(c)
	if !v.Valid {
		if v.reason(err) != v.Refused {
			t.Errorf("%v, want %s", err, v.Refused)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got, want := received.Wire(), v.Event.wire()
	if v.Form == "json" {
		want.Payload = []byte(strings.TrimSpace(v.Event.Payload))
	}
	if !reflect.DeepEqual(wireFields(got), wireFields(want)) {
		t.Errorf("read as\n%v, not\n%v", wireFields(got), wireFields(want))
	}
}

func (v vector) read(c *Codec) (envelope.Received, error) {
	switch v.Form {
	case "broker":
		m := Message{Body: []byte(v.Body)}
		for _, h := range v.Headers {
			m.Headers = append(m.Headers, Header{h[0], []byte(h[1])})
		}
		return c.ParseMessage(m)
	case "http":
		header := map[string][]string{}
		for _, h := range v.Headers {
			header[h[0]] = append(header[h[0]], h[1])
		}
		return c.ParseHTTP(header, []byte(v.Body))
	}
	return c.ParseJSON([]byte(v.Body))
}

// reason is an error in the vectors' words.
func (v vector) reason(err error) string {
	var own *Error
	var field *envelope.EventError
	var syntax *envelope.SyntaxError
	switch {
	case errors.As(err, &own):
		return string(own.Kind)
	case errors.As(err, &field):
		return "identifier"
	case errors.As(err, &syntax):
		return "json"
	}
	return "nothing"
}
