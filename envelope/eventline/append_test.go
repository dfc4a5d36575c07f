package eventline

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

func TestLineEndsInAPayloadBecomeSpaces(t *testing.T) {
	t.Parallel()
	e := envelope.Event{Type: "a", AggregateID: "1", Payload: []byte("\r\n{\n\t\"a\": \"\\n\\r\",\r\n\"b\":[ ]}\n")}
	want := `{"type":"a","aggregate_id":"1","payload":  {` + " \t" + `"a": "\n\r",  "b":[ ]} }` + "\n"
	got, err := AppendPlaintext(nil, e)
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if !bytes.Contains(e.Payload, []byte("\r\n")) {
		t.Error("the caller's payload was changed")
	}
}

func TestASealedLineAlwaysSaysItsKeyIDs(t *testing.T) {
	t.Parallel()
	w := envelope.Wire{ID: testID, Type: "a", Version: 1, AggregateType: "a", AggregateID: "1", Payload: []byte("{}")}
	const head = `{"id":"` + testID + `","type":"a","version":1,"aggregate_type":"a","aggregate_id":"1","payload":{},"key_ids":`
	for want, indexes := range map[string]map[string][][]byte{
		head + "[]}\n":                         nil,
		head + `[],"blind_indexes":{}}` + "\n": {},
		head + `[],"blind_indexes":{"a":"bi1:00000001:AQ","b":["bi1:00000001:AQ","bi1:00000001:Ag"]}}` + "\n": {
			"a": {{0, 0, 0, 1, 1}}, "b": {{0, 0, 0, 1, 1}, {0, 0, 0, 1, 2}}, "c": nil},
	} {
		if got, err := AppendSealed(nil, w, nil, indexes); err != nil || string(got) != want {
			t.Errorf("%s%v", got, err)
		}
	}
}

func TestWhatCannotBeALineIsRefused(t *testing.T) {
	t.Parallel()
	good := envelope.Wire{Type: "a", AggregateID: "1", Payload: []byte("{}")}
	for name, change := range map[string]func(*envelope.Wire){
		"no payload":     func(w *envelope.Wire) { w.Payload = []byte(" \n") },
		"invalid UTF-8":  func(w *envelope.Wire) { w.AggregateID = canary + "\xff" },
		"header, Latin1": func(w *envelope.Wire) { w.Headers = map[string]string{canary + "\xe9": ""} },
	} {
		w := good
		change(&w)
		out, err := AppendSealed(nil, w, nil, nil)
		if err == nil || out != nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if _, err := AppendSealed(nil, good, nil, map[string][][]byte{"a": {{1}}}); err == nil {
		t.Error("an index of no form is written")
	}
}

func TestALineReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	text := rapid.StringN(1, 20, 60)
	rapid.Check(t, func(t *rapid.T) {
		e := envelope.Event{
			ID:            rapid.SampledFrom([]string{"", testID}).Draw(t, "id"),
			Type:          text.Draw(t, "type"),
			Version:       rapid.IntRange(1, 1<<31-1).Draw(t, "version"),
			AggregateType: text.Draw(t, "aggregate type"),
			AggregateID:   text.Draw(t, "aggregate id"),
			OccurredAt:    time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "time")).UTC(),
			Headers:       rapid.MapOfN(rapid.String(), rapid.String(), 1, 5).Draw(t, "headers"),
			Payload:       []byte(rapid.SampledFrom([]string{`null`, `"\"}"`, `{"a":["}",{}]}`, `-1.0e+5`, ` [1, 2 ]`}).Draw(t, "payload")),
		}
		if n := rapid.Int64().Draw(t, "aggregate version"); n%2 == 0 {
			e.AggregateVersion = &n
		}
		line, err := AppendPlaintext(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.IndexByte(line, '\n'); n != len(line)-1 {
			t.Fatalf("%q is not one line", line)
		}
		read, err := readerOf(string(line), Plaintext).Next()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again, err := AppendPlaintext(nil, read.Event())
		if err != nil || strings.TrimSpace(string(again)) != strings.TrimSpace(strings.Replace(string(line), `"payload": [`, `"payload":[`, 1)) {
			t.Fatalf("%s reads back as %s: %v", line, again, err)
		}
	})
}
