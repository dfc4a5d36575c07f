package eventline

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// AppendPlaintext writes an event as a plaintext line, with its line feed. The payload must be JSON text: it is spliced as it is.
func AppendPlaintext(dst []byte, e envelope.Event) ([]byte, error) {
	w := writer{dst: append(dst, '{')}
	w.event(envelope.Wire(e))
	return w.end()
}

// AppendSealed writes an event in wire form as a sealed line, with its line feed. With indexes not nil the line has blind_indexes: a string for
// one value, an array for several.
func AppendSealed(dst []byte, e envelope.Wire, keyIDs []string, indexes map[string][][]byte) ([]byte, error) {
	w := writer{dst: append(dst, '{')}
	w.event(e)
	w.name(memberKeyIDs)
	w.dst = append(w.dst, '[')
	for i, id := range keyIDs {
		w.comma(i)
		w.text(id)
	}
	w.dst = append(w.dst, ']')
	if indexes != nil {
		w.indexes(indexes)
	}
	return w.end()
}

// writer appends a line; the first error stays.
type writer struct {
	dst   []byte
	err   error
	wrote bool
}

func (w *writer) event(e envelope.Wire) {
	w.member(memberID, e.ID)
	w.member(memberType, e.Type)
	if e.Version != 0 {
		w.name(memberVersion)
		w.dst = strconv.AppendInt(w.dst, int64(e.Version), 10)
	}
	w.member(memberAggregateType, e.AggregateType)
	w.member(memberAggregateID, e.AggregateID)
	if e.AggregateVersion != nil {
		w.name(memberAggregateVersion)
		w.dst = strconv.AppendInt(w.dst, *e.AggregateVersion, 10)
	}
	if !e.OccurredAt.IsZero() {
		w.name(memberOccurredAt)
		w.dst = append(w.dst, '"')
		w.dst = e.OccurredAt.UTC().Truncate(time.Microsecond).AppendFormat(w.dst, time.RFC3339Nano)
		w.dst = append(w.dst, '"')
	}
	w.headers(e.Headers)
	w.payload(e.Payload)
}

func (w *writer) headers(headers map[string]string) {
	if len(headers) == 0 {
		return
	}
	w.name(memberHeaders)
	w.dst = append(w.dst, '{')
	for i, name := range slices.Sorted(maps.Keys(headers)) {
		w.comma(i)
		w.text(name)
		w.dst = append(w.dst, ':')
		w.text(headers[name])
	}
	w.dst = append(w.dst, '}')
}

// payload splices the payload. CR and LF stand in no string of JSON, so the ones found are white space.
func (w *writer) payload(payload []byte) {
	w.name(memberPayload)
	if len(bytes.TrimSpace(payload)) == 0 {
		w.fail(fmt.Errorf("event line: the payload is empty"))
	}
	from := len(w.dst)
	w.dst = append(w.dst, payload...)
	for i, c := range w.dst[from:] {
		if c == '\n' || c == '\r' {
			w.dst[from+i] = ' '
		}
	}
}

func (w *writer) indexes(indexes map[string][][]byte) {
	w.name(memberBlindIndexes)
	w.dst = append(w.dst, '{')
	first := 0
	for _, name := range slices.Sorted(maps.Keys(indexes)) {
		values := indexes[name]
		if len(values) == 0 {
			continue
		}
		w.comma(first)
		first++
		w.text(name)
		w.dst = append(w.dst, ':')
		if len(values) == 1 {
			w.index(name, values[0])
			continue
		}
		w.dst = append(w.dst, '[')
		for i, value := range values {
			w.comma(i)
			w.index(name, value)
		}
		w.dst = append(w.dst, ']')
	}
	w.dst = append(w.dst, '}')
}

func (w *writer) index(name string, stored []byte) {
	text := blindindex.Text(stored)
	if text == "" {
		w.fail(fmt.Errorf("event line: index %s: not a stored index value", name))
	}
	w.text(text)
}

func (w *writer) member(m member, value string) {
	if value == "" {
		return
	}
	w.name(m)
	w.text(value)
}

func (w *writer) name(m member) {
	if w.wrote {
		w.dst = append(w.dst, ',')
	}
	w.wrote = true
	w.dst = append(append(append(w.dst, '"'), m.String()...), `":`...)
}

func (w *writer) comma(i int) {
	if i > 0 {
		w.dst = append(w.dst, ',')
	}
}

func (w *writer) text(s string) {
	dst, err := jsontext.AppendQuote(w.dst, s)
	if err != nil {
		w.fail(fmt.Errorf("event line: a text is not valid UTF-8"))
	}
	w.dst = dst
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) end() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return append(w.dst, "}\n"...), nil
}
