package cloudevents

import (
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// FuzzParse reads any message in each form: a typed error that says something, or an event that each form gives back as it is.
func FuzzParse(f *testing.F) {
	lines := func(list [][2]string) string {
		var to strings.Builder
		for _, p := range list {
			name := "ce_" + p[0]
			if p[0] == "content-type" {
				name = p[0]
			}
			to.WriteString(name + ":" + p[1] + "\n")
		}
		return to.String()
	}
	for _, body := range []string{`{}`, ` "fc1:0f3a9c01:" `, `[`, jsonOf(pairs(), `{"a":1}`), strings.Replace(jsonOf(pairs(), `"MQ=="`), `"data"`, `"data_base64"`, 1)} {
		f.Add(lines(pairs()), []byte(body))
		f.Add(lines(set("content-type", MediaType)(pairs())), []byte(body))
		f.Add("content-type:"+MediaType+"; charset=UTF-8\n", []byte(body))
	}
	f.Add(lines(set("subject", `"a\"b%20%C3%BC"`)(pairs())), []byte(`{}`))
	f.Add(lines(add("id", "1")(pairs()))+"Content-Type:1\nCE_id:2\n", []byte(`{}`))
	f.Add("content-type:application/cloudevents-batch+json\n", []byte(`[{}]`))
	c, err := New(Options{
		Source: "/fuzz", Limits: envelope.Limits{MaxWire: 1 << 12, MaxDepth: 20}, HeaderAttributes: map[string]string{"a-b": "ab", "gone": ""},
		KeepHeader: func(name string) bool { return name != "dropped" },
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, headers string, body []byte) {
		m, h := Message{Body: body}, http.Header{}
		for line := range strings.SplitSeq(headers, "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok {
				m.Headers = append(m.Headers, Header{name, []byte(value)})
				name = strings.Replace(name, "ce_", "ce-", 1)
				h[name] = append(h[name], value)
			}
		}
		before := bytes.Clone(body)
		for _, read := range []func() (envelope.Received, error){
			func() (envelope.Received, error) { return c.ParseMessage(m) },
			func() (envelope.Received, error) { return c.ParseHTTP(h, body) },
			func() (envelope.Received, error) { return c.ParseJSON(body) },
		} {
			received, err := read()
			if !bytes.Equal(body, before) {
				t.Fatal("the body was changed")
			}
			if err != nil {
				if envelope.HintOf(err) == "" || !received.IsZero() {
					t.Fatalf("%v, without a hint or with an event", err)
				}
				continue
			}
			for name, form := range forms {
				message, err := form.write(c, received)
				if err != nil {
					if envelope.HintOf(err) == "" {
						t.Fatalf("%s: %v has no hint", name, err)
					}
					continue
				}
				again, err := form.read(c, message)
				if err != nil {
					t.Fatalf("%s: what was read is not read again: %v\n%s", name, err, textOf(t, message))
				}
				got, want := again.Wire(), received.Wire()
				delete(want.Headers, "gone")
				delete(got.Headers, "gone")
				delete(want.Headers, "dropped")
				got.Payload, want.Payload = bytes.TrimSpace(got.Payload), bytes.TrimSpace(want.Payload)
				if !reflect.DeepEqual(wireFields(got), wireFields(want)) {
					t.Fatalf("%s: %v is read again as %v", name, wireFields(want), wireFields(got))
				}
			}
		}
	})
}
