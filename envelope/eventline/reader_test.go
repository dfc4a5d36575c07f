package eventline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

const (
	testID = "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55"
	least  = `{"type":"invoice.issued","aggregate_id":"42","payload":{}}`
	canary = "Zyx#Wvu7"
)

func clock() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func readerOf(text string, form Form) *Reader {
	return NewReader(strings.NewReader(text), form, ReaderOptions{Now: clock})
}

// all reads every line; what is refused is given as text in its place.
func all(t *testing.T, r *Reader) (list []string) {
	t.Helper()
	for {
		line, err := r.Next()
		var refused *Error
		switch {
		case err == io.EOF:
			return list
		case errors.As(err, &refused):
			list = append(list, refused.Error())
		case err != nil:
			t.Fatal(err)
		default:
			list = append(list, fmt.Sprintf("%s %s", line.Position, line.Payload))
		}
	}
}

func TestALineIsReadWhole(t *testing.T) {
	t.Parallel()
	text := `  {"id":"` + testID + `","type":"invoice.issued","version":3,"aggregate_type":"inv\u006fice","aggregate_id":"4\"2","aggregate_version":-7,` +
		`"occurred_at":"2026-11-30T13:00:00.123456+02:00","headers":{"trace\u0070arent":"\u00e9","":""},"payload": [1.0 , -0,{"a" : "\u0041"}] }`
	seven := int64(-7)
	line, err := readerOf(text, Plaintext).Next()
	if err != nil {
		t.Fatal(err)
	}
	want := envelope.Event{
		ID: testID, Type: "invoice.issued", Version: 3, AggregateType: "invoice", AggregateID: `4"2`, AggregateVersion: &seven,
		OccurredAt: line.OccurredAt, Headers: map[string]string{"traceparent": "é", "": ""}, Payload: []byte(`[1.0 , -0,{"a" : "\u0041"}]`),
	}
	if got := line.Event(); !reflect.DeepEqual(Line{Payload: got.Payload}, Line{Payload: want.Payload}) || !reflect.DeepEqual(got.Headers, want.Headers) ||
		got.ID != want.ID || got.Type != want.Type || got.Version != want.Version || got.AggregateType != want.AggregateType || got.AggregateID != want.AggregateID ||
		*got.AggregateVersion != seven {
		t.Errorf("%+v", line)
	}
	if !line.OccurredAt.Equal(time.Date(2026, 11, 30, 11, 0, 0, 123456000, time.UTC)) || line.Position != (Position{"-", 1, 3}) {
		t.Errorf("%v at %v", line.OccurredAt, line.Position)
	}
	// Members come in any order, names in any spelling.
	line, err = readerOf(`{"payload":null,"\u0074ype":"a.b","aggregate_id":"1"}`, Plaintext).Next()
	if err != nil || line.Type != "a.b" || string(line.Payload) != "null" {
		t.Errorf("%v, %v", line, err)
	}
}

func TestAbsentMembersHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	line, err := readerOf(least, Plaintext).Next()
	if err != nil {
		t.Fatal(err)
	}
	if line.ID != "" || line.Version != 1 || line.AggregateType != "invoice" || line.AggregateVersion != nil || !line.OccurredAt.Equal(clock()) ||
		line.Headers != nil || line.KeyIDs != nil || line.BlindIndexes != nil {
		t.Errorf("%#v", line)
	}
}

func TestASealedLineHasKeyIDsAndIndexes(t *testing.T) {
	t.Parallel()
	text := `{"id":"` + testID + `","type":"a","aggregate_id":"1","payload":{},"key_ids":["seal:0f3a9c01" , "index:5b2e77d0"],` +
		`"blind_indexes":{"tax_id":"bi1:5b2e77d0:AQIDBA","phone":["bi1:5b2e77d0:AQ","bi1:5b2e77d0:Ag"],"none":[]}}`
	line, err := readerOf(text, Sealed).Next()
	if err != nil {
		t.Fatal(err)
	}
	stored := func(b ...byte) []byte { return append([]byte{0x5b, 0x2e, 0x77, 0xd0}, b...) }
	if want := []string{"seal:0f3a9c01", "index:5b2e77d0"}; !reflect.DeepEqual(line.KeyIDs, want) {
		t.Errorf("%v", line.KeyIDs)
	}
	if want := map[string][][]byte{"tax_id": {stored(1, 2, 3, 4)}, "phone": {stored(1), stored(2)}}; !reflect.DeepEqual(line.BlindIndexes, want) {
		t.Errorf("%x", line.BlindIndexes)
	}
}

func TestLinesEndInManyWays(t *testing.T) {
	t.Parallel()
	one := func(n int) string { return strings.Replace(least, "{}", fmt.Sprint(n), 1) }
	text := "\n" + one(2) + "\r\n \t\r\n" + one(4) + "\n\r\n" + one(6) + "  \r\n" + "  " + one(7)
	want := []string{"-:2:1 2", "-:4:1 4", "-:6:1 6", "-:7:3 7"}
	for name, in := range map[string]io.Reader{
		"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)), "with the end": iotest.DataErrReader(strings.NewReader(text)),
	} {
		if got := all(t, NewReader(in, Plaintext, ReaderOptions{})); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, text := range []string{"", "\n", "\r\n", " ", "\n\n \t\n"} {
		if got := all(t, readerOf(text, Plaintext)); len(got) > 0 {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestALineMayBeAsLongAsItsLimit(t *testing.T) {
	t.Parallel()
	limits := envelope.Limits{MaxPlaintext: 100_000, MaxWire: 300_000}
	for form, limit := range map[Form]int{Plaintext: 100_000 + 64<<10, Sealed: 300_000 + 64<<10} {
		around := len(`{"id":"` + testID + `","type":"a","aggregate_id":"1","payload":""}`)
		filled := func(n int) string {
			return `{"id":"` + testID + `","type":"a","aggregate_id":"1","payload":"` + strings.Repeat("x", n-around) + `"}`
		}
		for _, end := range []string{"\n", "\r\n"} {
			text := filled(limit) + end + filled(limit+1) + end + filled(3*limit) + end + strings.Repeat(" ", 2*limit) + end + least[:len(least)-1] + `,"id":"` + testID + `"}`
			for name, in := range map[string]io.Reader{"at once": strings.NewReader(text), "in halves": iotest.HalfReader(strings.NewReader(text))} {
				got := all(t, NewReader(in, form, ReaderOptions{Limits: limits}))
				if len(got) != 5 || len(got[0]) < limit-200 || got[4] != "-:5:1 {}" {
					t.Fatalf("%s: %d answers, %.100q", name, len(got), got)
				}
				for i, text := range got[1:4] {
					if want := fmt.Sprintf("-:%d:%d: payload: ", i+2, limit+1); !strings.HasPrefix(text, want) || !strings.Contains(text, fmt.Sprint("at most ", limit, " bytes")) {
						t.Errorf("%s: %.200q", name, text)
					}
				}
			}
		}
	}
}

// endless is a line that never ends.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

func TestALongLineIsNotHeldInMemory(t *testing.T) {
	t.Parallel()
	r := NewReader(&endless{1 << 24}, Plaintext, ReaderOptions{Limits: envelope.Limits{MaxPlaintext: 1000}})
	if got := all(t, r); len(got) != 1 {
		t.Fatalf("%q", got)
	}
	if cap(r.parts) > 4*r.limit {
		t.Errorf("%d bytes are held for a limit of %d", cap(r.parts), r.limit)
	}
}

func TestReadErrorsAreFinal(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	r := NewReader(io.MultiReader(strings.NewReader(least+"\n"+least), iotest.ErrReader(broken)), Plaintext, ReaderOptions{Name: "events.ndjson"})
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := r.Next()
		var refused *Error
		if !errors.Is(err, broken) || errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "events.ndjson:2: ") {
			t.Errorf("%v", err)
		}
	}
}

func TestLinesStayWhenTheReaderGoesOn(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, `{"type":"a","aggregate_id":"%d","payload":{"n":%d}}`+"\n", i, i)
	}
	r := readerOf(text.String(), Plaintext)
	var lines []*Line
	for {
		line, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	for i, line := range lines {
		if want := fmt.Sprintf(`{"n":%d}`, i); string(line.Payload) != want || line.AggregateID != fmt.Sprint(i) || line.Line != i+1 {
			t.Fatalf("line %d: %s, %s", i, line.Payload, line.AggregateID)
		}
	}
	if len(lines) != 2000 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestBadLinesAreRefusedWithColumn(t *testing.T) {
	t.Parallel()
	plain := func(member string) string { return least[:len(least)-1] + "," + member + "}" }
	at := len(least) + 1 // the column of a member that plain added
	for name, c := range map[string]struct {
		form     Form
		line     string
		column   int
		location string
		what     string
	}{
		"not JSON":                   {Plaintext, canary, 1, "", "not a JSON object"},
		"an array":                   {Plaintext, ` [` + least + `]`, 2, "", "not a JSON object"},
		"a byte order mark":          {Plaintext, "\ufeff" + least, 1, "", "byte order mark"},
		"cut":                        {Plaintext, least[:30], 31, "", "ends too early"},
		"two objects":                {Plaintext, least + least, len(least) + 1, "", "something follows"},
		"a comma too many":           {Plaintext, least[:len(least)-1] + ",}", at, "", "member name"},
		"an unknown member":          {Plaintext, plain(`"` + canary + `":1`), at, "*", "an unknown member"},
		"a member spelt otherwise":   {Plaintext, plain(`"AggregateVersion":1`), at, "*", "an unknown member"},
		"a duplicate":                {Plaintext, plain(`"type":"` + canary + `"`), at, "", "duplicate"},
		"an escaped duplicate":       {Plaintext, plain(`"\u0074ype":"` + canary + `"`), at, "", "duplicate"},
		"no type":                    {Plaintext, `{"aggregate_id":"1","payload":{}}`, 1, "type", "missing"},
		"no aggregate id":            {Plaintext, ` {"type":"a","payload":{}}`, 2, "aggregate_id", "missing"},
		"no payload":                 {Plaintext, `{"type":"a","aggregate_id":"1"}`, 1, "payload", "missing"},
		"nothing":                    {Plaintext, `{}`, 1, "type", "missing"},
		"no id":                      {Sealed, least, 1, "id", "missing"},
		"an id that is null":         {Plaintext, plain(`"id":null`), at + 5, "id", "must be a string"},
		"a type that is a number":    {Plaintext, `{"type":7}`, 9, "type", "must be a string"},
		"an empty aggregate id":      {Plaintext, `{"aggregate_id":""}`, 17, "aggregate_id", "is empty"},
		"an aggregate id, a number":  {Plaintext, `{"aggregate_id":42}`, 17, "aggregate_id", "must be a string"},
		"version 0":                  {Plaintext, plain(`"version":0`), at + 10, "version", "integer from 1 to 2147483647"},
		"version 1.0":                {Plaintext, plain(`"version":1.0`), at + 10, "version", "integer from 1 to 2147483647"},
		"version 1e0":                {Plaintext, plain(`"version":1e0`), at + 10, "version", "integer from 1 to 2147483647"},
		"a large version":            {Plaintext, plain(`"version":2147483648`), at + 10, "version", "integer from 1 to 2147483647"},
		"a version in quotes":        {Plaintext, plain(`"version":"1"`), at + 10, "version", "must be an integer"},
		"an aggregate version, null": {Plaintext, plain(`"aggregate_version":null`), at + 20, "aggregate_version", "must be an integer"},
		"an aggregate version, huge": {Plaintext, plain(`"aggregate_version":9223372036854775808`), at + 20, "aggregate_version", "must be an integer from"},
		"an aggregate version, vast": {Plaintext, plain(`"aggregate_version":1e5000000`), at + 20, "aggregate_version", "over the limit"},
		"a time that is none":        {Plaintext, plain(`"occurred_at":"` + canary + `"`), at + 14, "occurred_at", "no time of RFC 3339"},
		"a time without a zone":      {Plaintext, plain(`"occurred_at":"2026-11-30T12:00:00"`), at + 14, "occurred_at", "no time of RFC 3339"},
		"a time in seconds":          {Plaintext, plain(`"occurred_at":1764504000`), at + 14, "occurred_at", "must be a string"},
		"headers in an array":        {Plaintext, plain(`"headers":["` + canary + `"]`), at + 10, "headers", "an object of strings"},
		"a header that is a number":  {Plaintext, plain(`"headers":{"` + canary + `":1}`), at + 22, "headers", "must be a string"},
		"a header twice":             {Plaintext, plain(`"headers":{"` + canary + `":"1","` + canary + `":"1"}`), at + 26, "headers", "duplicate"},
		"headers that do not end":    {Plaintext, plain(`"headers":{"a":"1"`), at + 19, "", "ends too early"},
		"key ids in plaintext":       {Plaintext, plain(`"key_ids":[]`), at, "key_ids", "sealed lines"},
		"indexes in plaintext":       {Plaintext, plain(`"blind_indexes":{}`), at, "blind_indexes", "sealed lines"},
		"key ids in an object":       {Sealed, plain(`"key_ids":{}`), at + 10, "key_ids", "array of strings"},
		"a key id of no form":        {Sealed, plain(`"key_ids":["seal:0f3a9c01","` + canary + `"]`), at + 27, "key_ids", "array of strings"},
		"a key id, a number":         {Sealed, plain(`"key_ids":[1]`), at + 11, "key_ids", "array of strings"},
		"key ids that go on":         {Sealed, plain(`"key_ids":["seal:0f3a9c01" 1]`), at + 27, "key_ids", "comma"},
		"an index of no form":        {Sealed, plain(`"blind_indexes":{"a":"` + canary + `"}`), at + 21, "blind_indexes", "must be an object"},
		"an index in no array":       {Sealed, plain(`"blind_indexes":{"a":[["x"]]}`), at + 22, "blind_indexes", "must be an object"},
		"an index's name":            {Sealed, plain(`"blind_indexes":{"` + canary + `":[]}`), at + 17, "blind_indexes", "no index can have"},
		"indexes in an array":        {Sealed, plain(`"blind_indexes":[]`), at + 16, "blind_indexes", "must be an object"},
		"a payload that goes on":     {Plaintext, `{"payload":{"a":"` + canary, 17, "payload", "does not end"},
		"a payload cut":              {Plaintext, `{"payload":{"a":[1`, 19, "payload", "ends within"},
		"a payload of nothing":       {Plaintext, `{"payload":}`, 12, "payload", "a value was expected"},
		"a payload of nothing, then": {Plaintext, `{"payload":,"type":"a"}`, 12, "payload", "a value was expected"},
		"a string cut by an escape":  {Plaintext, `{"payload":"\`, 12, "payload", "does not end"},
		"invalid UTF-8 in a name":    {Plaintext, "{\"\xff\":1}", 3, "", "UTF-8"},
		"half a surrogate":           {Plaintext, `{"type":"\ud800"}`, 10, "type", "surrogate"},
		"no colon":                   {Plaintext, `{"type" "a"}`, 9, "", "colon"},
		"something behind a payload": {Plaintext, `{"payload":{}x}`, 14, "", "comma or the object's end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := readerOf(c.line+"\n"+strings.Replace(least, "{", `{"id":"`+testID+`",`, 1), c.form)
			line, err := r.Next()
			var refused *Error
			if !errors.As(err, &refused) {
				t.Fatalf("%v, %v", line, err)
			}
			if refused.Position != (Position{"-", 1, c.column}) || refused.Location != c.location || !strings.Contains(refused.What, c.what) {
				t.Errorf("%v\nwant %d, %q, %q", err, c.column, c.location, c.what)
			}
			if text := fmt.Sprintf("%v %+v %#v %s", err, err, refused, refused.Hint()); strings.Contains(text, canary) {
				t.Errorf("the error holds a value: %s", text)
			}
			if line, err := r.Next(); err != nil || line.Line != 2 {
				t.Errorf("the next line: %v", err)
			}
		})
	}
}

func TestAMemberSpeltOtherwiseIsRecognised(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"aggregateId", "aggregate-id", "AGGREGATE_ID"} {
		_, err := readerOf(`{"`+name+`":"1"}`, Plaintext).Next()
		var refused *Error
		if !errors.As(err, &refused) || refused.Hint() != "did you mean aggregate_id?" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALineIsLoggedWithoutWhatItHolds(t *testing.T) {
	t.Parallel()
	line, err := readerOf(`{"type":"a.b","aggregate_id":"zebra-1","headers":{"h":"zebra-2"},"payload":{"n":"zebra-3"}}`, Plaintext).Next()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("line", "v", line, "value", *line)
	fmt.Fprintf(&log, "%v %+v %#v %s %d %x", line, *line, line, *line, *line, *line)
	if strings.Contains(log.String(), "zebra") || strings.Contains(log.String(), fmt.Sprintf("%x", "zebra")) || !strings.Contains(log.String(), ":1:1") {
		t.Errorf("%s", log.String())
	}
}
