package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/cloudevents"
)

// The two messages that format.md shows are what the code writes of one and the same event.
func TestTheFormatsMessagesAreWhatTheCodeWrites(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "docs/format.md"), "\n### 10.1 On a broker\n")
	section, _, _ = strings.Cut(section, "\n### 10.4 Reading\n")
	version := int64(7)
	received, err := envelope.Parse(envelope.Wire{
		ID: "01935d2c-8a40-7c3e-9b1f-5d2e7a90c4b1", Type: "invoice.issued", Version: 1, AggregateID: "42", AggregateVersion: &version,
		OccurredAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Headers:    map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		Payload:    []byte("{}"),
	}, envelope.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	codec, err := cloudevents.New(cloudevents.Options{Source: "https://shop.example/invoices"})
	if err != nil {
		t.Fatal(err)
	}
	message, err := codec.Message(received)
	if err != nil {
		t.Fatal(err)
	}
	var headers strings.Builder
	for _, h := range message.Headers {
		fmt.Fprintf(&headers, "    %s: %s\n", h.Key, h.Value)
	}
	if got := regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindString(section); got != headers.String() {
		t.Errorf("the document says\n%s\nthe code writes\n%s", got, headers.String())
	}
	text, err := codec.AppendJSON(nil, received)
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(section, "```json\n")
	got, _, _ = strings.Cut(got, "\n```")
	if got = strings.Replace(got, "{…}", "{}", 1); got != string(text) {
		t.Errorf("the document says\n%s\nthe code writes\n%s", got, text)
	}
}
