package eventline

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// FuzzLines reads any bytes in both forms: an answer for each line that is not blank, positions within the line, and what was read is written and
// read again alike.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		least, least + "\r\n\n" + least, `{"id":"` + testID + `","type":"a","aggregate_id":"1","payload":{},"key_ids":["seal:0f3a9c01"],"blind_indexes":{"a":["bi1:5b2e77d0:AQ"]}}`,
		`{"type":"a","aggregate_id":"1","payload":"\"}"}`, `{"payload":[`, `{"payload":1,"payload":2}`, "\ufeff{}", `{"headers":{"a":"b"},"occurred_at":"2026-11-30T12:00:00Z"}`, "{\"type\":\"\xff\"}",
		`{"payload":tru"e"}`, `{"version":1e5,"aggregate_version":-1}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, sealed bool) {
		form := Plaintext
		if sealed {
			form = Sealed
		}
		r := NewReader(bytes.NewReader(text), form, ReaderOptions{Limits: envelope.Limits{MaxPlaintext: 1 << 16, MaxWire: 1 << 16}, Now: clock})
		answers := 0
		for {
			line, err := r.Next()
			if err == io.EOF {
				break
			}
			answers++
			var refused *Error
			if err != nil {
				if !errors.As(err, &refused) {
					t.Fatal(err)
				}
				if lines := bytes.Split(text, []byte("\n")); refused.Line < 1 || refused.Line > len(lines) || refused.Column < 1 || refused.Column > len(lines[refused.Line-1])+1 {
					t.Fatalf("%v lies outside", refused)
				}
				continue
			}
			if !bytes.Contains(text, line.Payload) || len(line.Payload) == 0 {
				t.Fatalf("payload %q", line.Payload)
			}
			written, err := AppendSealed(nil, line.Wire(), line.KeyIDs, line.BlindIndexes)
			if !sealed {
				written, err = AppendPlaintext(nil, line.Event())
			}
			if err != nil {
				t.Fatal(err)
			}
			again, err := readerOf(string(written), form).Next()
			if err != nil {
				t.Fatalf("%q is written as %q: %v", text, written, err)
			}
			if !bytes.Equal(bytes.ReplaceAll(line.Payload, []byte("\r"), []byte(" ")), again.Payload) || again.AggregateID != line.AggregateID || !again.OccurredAt.Equal(line.OccurredAt.Truncate(1000)) {
				t.Fatalf("%q reads back as %q", written, again.Payload)
			}
		}
		filled := 0
		for _, line := range bytes.Split(text, []byte("\n")) {
			if len(bytes.Trim(line, " \t\r")) > 0 {
				filled++
			}
		}
		if answers != filled {
			t.Fatalf("%d answers for %d lines", answers, filled)
		}
	})
}
