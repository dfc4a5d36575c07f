package cloudevents

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// pairs are the attributes of a message, to be spoilt; the content type's name is "content-type".
func pairs() [][2]string {
	return [][2]string{
		{"specversion", "1.0"}, {"id", testID}, {"type", "invoice.issued"}, {"source", "/shop"}, {"subject", "42"}, {"aggregatetype", "invoice"},
		{"aggregateversion", "7"}, {"time", "2026-11-30T12:00:00Z"}, {"dataschema", "fieldcrypt:invoice.issued/1"}, {"content-type", "application/json"},
		{"tenant", "t1"},
	}
}

// The three below read one and the same message in three forms; own names go as they are in JSON, and as extension attributes elsewhere.

func readBroker(t testing.TB, c *Codec, list [][2]string, body string) error {
	t.Helper()
	m := Message{Body: []byte(body)}
	for _, p := range list {
		name := "ce_" + p[0]
		if p[0] == "content-type" {
			name = p[0]
		}
		m.Headers = append(m.Headers, Header{name, []byte(p[1])})
	}
	_, err := c.ParseMessage(m)
	return err
}

func readHTTP(t testing.TB, c *Codec, list [][2]string, body string) error {
	t.Helper()
	h := http.Header{"X-Request-Id": {"1", "2"}}
	for _, p := range list {
		if p[0] == "content-type" {
			h.Add(p[0], p[1])
			continue
		}
		h.Add("Ce-"+p[0], percentEncode(p[1]))
	}
	_, err := c.ParseHTTP(h, []byte(body))
	return err
}

func readJSON(t testing.TB, c *Codec, list [][2]string, body string) error {
	t.Helper()
	_, err := c.ParseJSON([]byte(jsonOf(list, body)))
	return err
}

func jsonOf(list [][2]string, body string) string {
	var to strings.Builder
	to.WriteString("{")
	for _, p := range list {
		name := p[0]
		if name == "content-type" {
			name = "datacontenttype"
		}
		fmt.Fprintf(&to, "%q:%s,", name, quote(p[1]))
	}
	return to.String() + `"data":` + body + "}"
}

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\x00", `\u0000`).Replace(text) + `"`
}

var readers = map[string]func(t testing.TB, c *Codec, list [][2]string, body string) error{"broker": readBroker, "HTTP": readHTTP, "JSON": readJSON}

func set(name, value string) func([][2]string) [][2]string {
	return func(list [][2]string) [][2]string {
		for i := range list {
			if list[i][0] == name {
				list[i][1] = value
				return list
			}
		}
		return append(list, [2]string{name, value})
	}
}

func without(name string) func([][2]string) [][2]string {
	return func(list [][2]string) [][2]string {
		return slices.DeleteFunc(list, func(p [2]string) bool { return p[0] == name })
	}
}

func add(name, value string) func([][2]string) [][2]string {
	return func(list [][2]string) [][2]string { return append(list, [2]string{name, value}) }
}

func TestASpoiltMessageIsRefusedInEveryForm(t *testing.T) {
	t.Parallel()
	c := newCodec(t, Options{})
	for form, read := range readers {
		if err := read(t, c, pairs(), `{}`); err != nil {
			t.Fatalf("%s: the message that is to be spoilt: %v", form, err)
		}
	}
	type fault struct {
		spoil     func([][2]string) [][2]string
		attribute string
		kind      Kind
	}
	faults := map[string]fault{}
	for _, name := range required {
		faults[name+" is missing"] = fault{without(name), name, KindMissing}
		faults[name+" is empty"] = fault{set(name, ""), name, KindMalformed}
		faults[name+" stands twice"] = fault{add(name, canary), name, KindDuplicate}
		faults[name+" has a control character"] = fault{set(name, canary+"\n"), name, KindMalformed}
		faults[name+" has a NUL"] = fault{set(name, canary+"\x00"), name, KindMalformed}
	}
	faults["specversion is empty"] = fault{set("specversion", ""), "specversion", KindUnsupported}
	for name, f := range map[string]fault{
		"another specversion":                 {set("specversion", "0.3"), "specversion", KindUnsupported},
		"a specversion with space":            {set("specversion", "1.0 "), "specversion", KindUnsupported},
		"a schema of somebody else":           {set("dataschema", "https://"+canary+".example/schema.json"), "dataschema", KindUnsupported},
		"a schema without a version":          {set("dataschema", "fieldcrypt:invoice.issued"), "dataschema", KindUnsupported},
		"a schema of another type":            {set("dataschema", "fieldcrypt:invoice.paid/1"), "dataschema", KindMismatch},
		"a schema of a longer type":           {set("dataschema", "fieldcrypt:invoice.issued/1/1"), "dataschema", KindMismatch},
		"another type":                        {set("type", "invoice.paid"), "dataschema", KindMismatch},
		"a type in another case":              {set("type", "Invoice.issued"), "dataschema", KindMismatch},
		"a version of 0":                      {set("dataschema", "fieldcrypt:invoice.issued/0"), "dataschema", KindMalformed},
		"a version with a leading zero":       {set("dataschema", "fieldcrypt:invoice.issued/01"), "dataschema", KindMalformed},
		"a version with a sign":               {set("dataschema", "fieldcrypt:invoice.issued/+1"), "dataschema", KindMalformed},
		"a version above 2^31 - 1":            {set("dataschema", "fieldcrypt:invoice.issued/2147483648"), "dataschema", KindMalformed},
		"no version":                          {set("dataschema", "fieldcrypt:invoice.issued/"), "dataschema", KindMalformed},
		"a time that is none":                 {set("time", canary), "time", KindMalformed},
		"a time without a zone":               {set("time", "2026-11-30T12:00:00"), "time", KindMalformed},
		"a time with a comma":                 {set("time", "2026-11-30T12:00:00,5Z"), "time", KindMalformed},
		"an empty time":                       {set("time", ""), "time", KindMalformed},
		"a time twice":                        {add("time", "2026-11-30T12:00:00Z"), "time", KindDuplicate},
		"an aggregate version in words":       {set("aggregateversion", canary), "aggregateversion", KindMalformed},
		"an aggregate version with a zero":    {set("aggregateversion", "07"), "aggregateversion", KindMalformed},
		"an aggregate version of 65 bits":     {set("aggregateversion", "9223372036854775808"), "aggregateversion", KindMalformed},
		"minus zero":                          {set("aggregateversion", "-0"), "aggregateversion", KindMalformed},
		"a source that is none":               {set("source", "http://["+canary), "source", KindMalformed},
		"XML":                                 {set("content-type", "application/xml"), "content-type", KindUnsupported},
		"a media type that is none":           {set("content-type", canary+"/;"), "content-type", KindMalformed},
		"a charset":                           {set("content-type", "application/json; charset=iso-8859-9"), "content-type", KindUnsupported},
		"an extension with an upper case":     {add("Tenants", canary), "attribute 12", KindMalformed},
		"an extension with an underscore":     {add("ten_ant", canary), "attribute 12", KindMalformed},
		"an extension without a name":         {add("", canary), "attribute 12", KindMalformed},
		"an extension twice":                  {add("tenant", canary), "attribute 12", KindDuplicate},
		"an extension with a control":         {add("other", canary+"\n"), "attribute 12", KindMalformed},
		"an extension with a noncharacter":    {add("other", canary+"\uffff"), "attribute 12", KindMalformed},
		"more than 64 KiB in one attribute":   {add("other", strings.Repeat(canary, maxAttributes/6)), "headers", KindTooLarge},
		"more than 64 KiB in many attributes": {func(l [][2]string) [][2]string { return append(l, many(3000)...) }, "headers", KindTooLarge},
	} {
		faults[name] = f
	}
	for name, f := range faults {
		for form, read := range readers {
			if form == "HTTP" && name == "an extension with an upper case" {
				continue // HTTP's names have no case
			}
			err := read(t, c, f.spoil(pairs()), `{}`)
			if err == nil {
				t.Errorf("%s: %s: is read", form, name)
				continue
			}
			attribute, kind := f.attribute, f.kind
			if form == "HTTP" && strings.HasPrefix(attribute, "attribute ") {
				var own *Error // the counting is by name there
				if !errors.As(err, &own) || !strings.HasPrefix(own.Attribute, "attribute ") {
					t.Errorf("%s: %v", name, err)
				}
				attribute = own.Attribute
			}
			t.Run(form+": "+name, func(t *testing.T) { refused(t, err, attribute, kind) })
		}
	}
}

func many(n int) (list [][2]string) {
	for i := range n {
		list = append(list, [2]string{fmt.Sprintf("x%d", i), canary + canary + canary + canary})
	}
	return list
}

// What envelope.Parse says of identifiers and payload comes through.
func TestWhatParseRefusesIsRefused(t *testing.T) {
	t.Parallel()
	c := newCodec(t, Options{Limits: envelope.Limits{MaxWire: 100, MaxDepth: 3}})
	for form, read := range readers {
		for field, spoil := range map[string]func([][2]string) [][2]string{
			"id":   set("id", canary),
			"type": func(l [][2]string) [][2]string { return set("dataschema", "fieldcrypt:a b/1")(set("type", "a b")(l)) },
		} {
			err := read(t, c, spoil(pairs()), `{}`)
			var refused *envelope.EventError
			if !errors.As(err, &refused) || refused.Field != field {
				t.Errorf("%s: %v", form, err)
			}
			silent(t, err)
		}
		var syntax *envelope.SyntaxError
		if err := read(t, c, pairs(), `{"`+canary+`":1,"`+canary+`":2}`); !errors.As(err, &syntax) || syntax.Rule == "" {
			t.Errorf("%s: duplicate names in the payload: %v", form, err)
		} else {
			silent(t, err)
		}
		var limit *envelope.LimitError
		if err := read(t, c, pairs(), `[[[[]]]]`); !errors.As(err, &limit) || limit.Limit != envelope.LimitDepth {
			t.Errorf("%s: depth: %v", form, err)
		}
		if err := read(t, c, pairs(), `"`+strings.Repeat("x", 100)+`"`); !errors.As(err, &limit) || limit.Limit != envelope.LimitWire {
			t.Errorf("%s: size: %v", form, err)
		}
		err := read(t, c, pairs(), `"`+strings.Repeat("x", c.MaxBody())+`"`)
		refused(t, err, "body", KindTooLarge)
	}
	refused(t, readBroker(t, c, pairs(), ""), "data", KindMissing) // a tombstone
	refused(t, readHTTP(t, c, pairs(), ""), "data", KindMissing)
}

func TestHeadersOfABrokerAreNotMixedUp(t *testing.T) {
	t.Parallel()
	c := newCodec(t, Options{})
	good, err := c.Message(newShop(t).seal(t, invoice()))
	if err != nil {
		t.Fatal(err)
	}
	parse := func(change func(h []Header) []Header) error {
		_, err := c.ParseMessage(Message{change(slices.Clone(good.Headers)), good.Body})
		return err
	}
	with := func(name, value string) func(h []Header) []Header {
		return func(h []Header) []Header { return append(h, Header{name, []byte(value)}) }
	}
	refused(t, parse(with("CE_type", canary)), "header 13", KindMalformed)
	refused(t, parse(with("Content-Type", canary)), "header 13", KindMalformed)
	refused(t, parse(with("content-type", canary)), "content-type", KindDuplicate)
	refused(t, parse(with("ce_datacontenttype", canary)), "datacontenttype", KindMalformed)
	refused(t, parse(with("ce_data", canary)), "data", KindMalformed)
	refused(t, parse(with("ce_", canary)), "attribute 13", KindMalformed)
	refused(t, parse(with("tenant", canary)), "header 13", KindDuplicate)
	refused(t, parse(with("ce_tenant", canary)), "attribute 13", KindDuplicate)
	refused(t, parse(with("large", strings.Repeat(canary, maxAttributes/6))), "headers", KindTooLarge)
	refused(t, parse(func(h []Header) []Header { return nil }), "content-type", KindMissing)
	for name, value := range map[string]string{"latin1": canary + "\xfc", "": canary} {
		var field *envelope.EventError
		if err := parse(with(name, value)); !errors.As(err, &field) || field.Field != "headers" {
			t.Errorf("%q: %v", name, err)
		} else {
			silent(t, err)
		}
	}
	refused(t, parse(with("ce_other", canary+"\xfc")), "attribute 13", KindMalformed)
	if err := parse(with("kafka_dlt", "\x00")); err != nil {
		t.Errorf("a header of a broker's own: %v", err)
	}

	// What others add can be left out.
	some := newCodec(t, Options{KeepHeader: func(name string) bool { return name == "tenant" || name == "other" }})
	dirty := append(slices.Clone(good.Headers), Header{"latin1", []byte{0xfc}}, Header{"twice", nil}, Header{"twice", nil}, Header{"ce_traceid", nil}, Header{"ce_other", []byte("1")})
	received, err := some.ParseMessage(Message{dirty, good.Body})
	if err != nil {
		t.Fatal(err)
	}
	if h := received.Wire().Headers; len(h) != 2 || h["tenant"] == "" || h["other"] != "1" {
		t.Errorf("kept %v", h)
	}
}

func TestModesAreToldApart(t *testing.T) {
	t.Parallel()
	c := newCodec(t, Options{})
	text := []byte(jsonOf(pairs(), `{}`))
	for contentType, want := range map[string]Kind{
		"application/cloudevents+json":                 "",
		"application/cloudevents+json; charset=utf-8":  "",
		"Application/CloudEvents+JSON":                 "",
		"application/cloudevents+json; charset=latin1": KindUnsupported,
		"application/cloudevents-batch+json":           KindUnsupported,
		"application/cloudevents+avro":                 KindUnsupported,
		"application/cloudevents":                      KindUnsupported,
	} {
		_, broker := c.ParseMessage(Message{[]Header{{"content-type", []byte(contentType)}, {"ignored", []byte("1")}}, text})
		_, web := c.ParseHTTP(http.Header{"Content-Type": {contentType}}, text)
		for _, err := range []error{broker, web} {
			if want == "" {
				if err != nil {
					t.Errorf("%s: %v", contentType, err)
				}
				continue
			}
			refused(t, err, "content-type", want)
		}
	}
	refused(t, func() error {
		_, err := c.ParseHTTP(http.Header{"Content-Type": {MediaType, MediaType}}, text)
		return err
	}(), "content-type", KindDuplicate)
	refused(t, func() error {
		_, err := c.ParseHTTP(http.Header{"Content-Type": {MediaType}, "content-type": {MediaType}}, text)
		return err
	}(), "content-type", KindDuplicate)
	refused(t, func() error { _, err := c.ParseHTTP(nil, text); return err }(), "content-type", KindMissing)
	refused(t, func() error {
		_, err := c.ParseHTTP(http.Header{"Content-Type": {"application/json"}, "Ce-Id": {testID}, "ce-id": {testID}}, text)
		return err
	}(), "id", KindDuplicate)
	refused(t, func() error {
		_, err := c.ParseHTTP(http.Header{"Content-Type": {"application/json"}, "Ce-Datacontenttype": {testID}}, text)
		return err
	}(), "datacontenttype", KindMalformed)

	// In structured mode the headers may repeat attributes, and must not contradict them.
	for name, test := range map[string]struct {
		attribute, value, wrong string
	}{
		"the same type":         {"type", "invoice.issued", ""},
		"the same extension":    {"tenant", "t1", ""},
		"another type":          {"type", canary, "type"},
		"another extension":     {"tenant", canary, "attribute *"},
		"one that is not there": {"other", canary, "attribute *"},
	} {
		_, broker := c.ParseMessage(Message{[]Header{{"content-type", []byte(MediaType)}, {"ce_" + test.attribute, []byte(test.value)}}, text})
		_, web := c.ParseHTTP(http.Header{"Content-Type": {MediaType}, "Ce-" + test.attribute: {test.value}}, text)
		for _, err := range []error{broker, web} {
			if test.wrong == "" {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			refused(t, err, test.wrong, KindMismatch)
		}
	}
}

func TestJSONThatIsNoEventIsRefused(t *testing.T) {
	t.Parallel()
	c := newCodec(t, Options{})
	base := strings.TrimSuffix(jsonOf(pairs(), ""), `"data":}`)
	encoded := base64.StdEncoding.EncodeToString([]byte(`{"a": 1}`))
	for text, want := range map[string]struct {
		attribute string
		kind      Kind
	}{
		``:                                                                           {"body", KindMalformed},
		`null`:                                                                       {"body", KindMalformed},
		`"` + canary + `"`:                                                           {"body", KindMalformed},
		`[` + base + `"data":1}]`:                                                    {"body", KindUnsupported},
		"\ufeff" + base + `"data":1}`:                                                {"body", KindMalformed},
		base + `"data":1`:                                                            {"body", KindMalformed},
		base + `"data":1} 2`:                                                         {"body", KindMalformed},
		base + `"data":1}` + canary:                                                  {"body", KindMalformed},
		base + `"data":1,}`:                                                          {"body", KindMalformed},
		base + `"data":` + canary + `}`:                                              {"body", KindMalformed},
		base + `"data":"` + canary + "\xff\"}":                                       {"body", KindMalformed},
		base + `"data":"` + canary + `\ud800"}`:                                      {"body", KindMalformed},
		base + `"data":{"a":` + canary + `}}`:                                        {"body", KindMalformed},
		base + `"` + canary + "\xff\":1}":                                            {"body", KindMalformed},
		strings.TrimSuffix(base, ",") + "}":                                          {"data", KindMissing},
		base + `"data_base64":""}`:                                                   {"data", KindMissing},
		base + `"data":1,"data":1}`:                                                  {"data", KindDuplicate},
		base + `"data":1,"data_base64":"MQ=="}`:                                      {"data", KindDuplicate},
		base + `"data_base64":"MQ==","data":1}`:                                      {"data", KindDuplicate},
		base + `"data_base64":null}`:                                                 {"data", KindMalformed},
		base + `"data_base64":{"` + canary + `":1}}`:                                 {"data", KindMalformed},
		base + `"data_base64":"` + canary + `"}`:                                     {"data", KindMalformed},
		base + `"data_base64":"MQ"}`:                                                 {"data", KindMalformed},
		base + `"data_base64":"MR=="}`:                                               {"data", KindMalformed},
		base + `"data_base64":"MQ==\n"}`:                                             {"data", KindMalformed},
		base + `"data":1,"other":{"` + canary + `":1}}`:                              {"attribute 13", KindMalformed},
		base + `"data":1,"other":["` + canary + `"]}`:                                {"attribute 13", KindMalformed},
		base + `"data":1,"other":1.0}`:                                               {"attribute 13", KindMalformed},
		base + `"data":1,"other":1e2}`:                                               {"attribute 13", KindMalformed},
		base + `"data":1,"other":-0}`:                                                {"attribute 13", KindMalformed},
		base + `"data":1,"other":9223372036854775808}`:                               {"attribute 13", KindMalformed},
		base + `"data":1,"other":null,"other":"1"}`:                                  {"attribute 14", KindDuplicate},
		base + `"data":1,"other":"1","other":null}`:                                  {"attribute 14", KindDuplicate},
		base + `"data":1,"\u006fther":"1","other":"1"}`:                              {"attribute 14", KindDuplicate},
		base + `"data":1,"` + canary + `_":null}`:                                    {"attribute 13", KindMalformed},
		base + `"data":1,"\u0069d":"` + canary + `"}`:                                {"id", KindDuplicate},
		strings.Replace(base, `"1.0"`, `1.0`, 1) + `"data":1}`:                       {"specversion", KindMalformed},
		strings.Replace(base, `"1.0"`, `true`, 1) + `"data":1}`:                      {"specversion", KindMalformed},
		strings.Replace(base, `"1.0"`, `null`, 1) + `"data":1}`:                      {"specversion", KindMissing},
		strings.Replace(base, `"42"`, `42`, 1) + `"data":1}`:                         {"subject", KindMalformed},
		base + `"data":1,"other":"` + strings.Repeat(`\u0061`, maxAttributes) + `"}`: {"headers", KindTooLarge},
	} {
		received, err := c.ParseJSON([]byte(text))
		if err == nil || !received.IsZero() {
			t.Errorf("is read: %s", text)
			continue
		}
		refused(t, err, want.attribute, want.kind)
		if t.Failed() {
			t.Fatalf("%.2000s", text)
		}
	}

	for text, want := range map[string]string{
		base + `"data" :  {"a": [1, 2.50]}  }`:                                                                                      `{"a": [1, 2.50]}`,
		` {"data":{"a":"\u0061"},` + base[1:len(base)-1] + "}\n":                                                                    `{"a":"\u0061"}`,
		base + `"data_base64":"` + encoded + `"}`:                                                                                   `{"a": 1}`,
		base + `"data_base64":"` + strings.Replace(encoded, "e", `\u0065`, 1) + `"}`:                                                `{"a": 1}`,
		base + `"data":null}`:                                                                                                       `null`,
		strings.Replace(base, `"datacontenttype":"application/json",`, ``, 1) + `"data":1}`:                                         `1`,
		strings.Replace(base, `"application/json"`, `null`, 1) + `"data":1}`:                                                        `1`,
		strings.Replace(base, `"application/json"`, `"application/vnd.shop+json;charset=UTF-8"`, 1) + `"data":1}`:                   `1`,
		strings.Replace(base, `"aggregateversion":"7"`, `"aggregateversion":7`, 1) + `"data":1,"n":-5,"b":true,"c":false,"z":null}`: `1`,
	} {
		received, err := c.ParseJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		w := received.Wire()
		if string(w.Payload) != want || w.AggregateVersion == nil || *w.AggregateVersion != 7 || w.AggregateID != "42" {
			t.Errorf("%s is read as %v", text, wireFields(w))
		}
		if strings.Contains(text, `"n":-5`) && fmt.Sprint(w.Headers) != "map[b:true c:false n:-5 tenant:t1]" {
			t.Errorf("headers %v", w.Headers)
		}
	}
}

func TestPercentEncodingIsThatOfTheHTTPBinding(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                   "",
		"Euro € 😀":           "Euro%20%E2%82%AC%20%F0%9F%98%80", // the specification's own example
		"a\"b%c\\d~e!":       `a%22b%25c\d~e!`,
		"\u00a0\u0000\u007f": "%C2%A0%00%7F",
	} {
		if got := percentEncode(value); got != want {
			t.Errorf("%q is written as %q", value, got)
		}
		if got, ok := percentDecode(want); !ok || got != value {
			t.Errorf("%q is read as %q", want, got)
		}
	}
	for text, want := range map[string]string{
		"%e2%82%ac":        "€",
		"a b":              "a b",
		"€":                "€",
		`"a b"`:            "a b",
		`"a \"b\" \\ %41"`: `a "b" \ A`,
		`a"b`:              `a"b`,
		`%2541`:            `%41`, // once
	} {
		if got, ok := percentDecode(text); !ok || got != want {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	for _, text := range []string{"%", "a%4", "%4g", "%g4", "100%", `"a`, `"a"b`, `"a\"`, `"`} {
		if got, ok := percentDecode(text); ok {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	// Overlong UTF-8 is no UTF-8.
	c := newCodec(t, Options{})
	for value, want := range map[string]string{"%C0%A0": "subject", "%FF": "subject", "%": "subject"} {
		h := http.Header{"Content-Type": {"application/json"}}
		for _, p := range pairs()[:9] {
			h.Set("Ce-"+p[0], p[1])
		}
		h.Set("Ce-Subject", value)
		_, err := c.ParseHTTP(h, []byte(`{}`))
		refused(t, err, want, KindMalformed)
	}
}
