package outboxstore

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

func stored() Stored {
	version := int64(3)
	return Stored{
		ID: "0190aaaa-0000-7000-8000-000000000001", AggregateType: "a", AggregateID: "1", AggregateVersion: &version,
		EventType: "a.b", EventVersion: 1, Payload: []byte(`{}`), Headers: `{"h":"v"}`,
		OccurredAt: time.Unix(1, 0), CreatedAt: time.Unix(2, 0), PublishedAt: time.Unix(3, 0),
		Indexes: map[string][][]byte{"x": {{2}, {1}}}, KeyIDs: []string{"seal:2", "index:1"},
	}
}

func TestNewRowSortsWhatHasNoOrder(t *testing.T) {
	t.Parallel()
	row := NewRow(stored(), envelope.Limits{})
	if row.Err != nil || row.KeyIDs[0] != "index:1" || row.Indexes["x"][0][0] != 1 {
		t.Errorf("%+v, error %v", row, row.Err)
	}
}

// Every column that says what the event is, or under which keys, makes a row another one; what a relay or the clock writes
// does not.
func TestSameAsLooksAtEveryColumn(t *testing.T) {
	t.Parallel()
	other := map[string]any{
		"ID": "0190aaaa-0000-7000-8000-000000000002", "AggregateType": "b", "AggregateID": "2", "AggregateVersion": (*int64)(nil),
		"EventType": "b", "EventVersion": int64(2), "Payload": []byte(`{ }`), "Headers": `{"h": "v"}`, "OccurredAt": time.Unix(9, 0),
		"Indexes": map[string][][]byte{"x": {{1}}}, "KeyIDs": []string{"index:1"}, "Damage": &ColumnError{},
	}
	ignored := map[string]any{"CreatedAt": time.Unix(9, 0), "PublishedAt": time.Unix(9, 0), "Version": "9"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Stored]()) {
		value, counts := other[field.Name]
		if !counts {
			if value, counts = ignored[field.Name], false; value == nil {
				t.Errorf("this test does not know the column %s", field.Name)
				continue
			}
		}
		changed := stored()
		reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(value))
		if NewRow(stored(), envelope.Limits{}).SameAs(NewRow(changed, envelope.Limits{})) == counts {
			t.Errorf("another %s: same is %v", field.Name, !counts)
		}
	}
	if !NewRow(stored(), envelope.Limits{}).SameAs(NewRow(stored(), envelope.Limits{})) {
		t.Error("a row is not the same as itself")
	}
}

func TestRowsThatAreNoEvents(t *testing.T) {
	t.Parallel()
	const secret = "secret@example.org"
	for name, change := range map[string]func(*Stored){
		"id":              func(s *Stored) { s.ID = secret },
		"upper-case id":   func(s *Stored) { s.ID = strings.ToUpper(s.ID) },
		"type":            func(s *Stored) { s.EventType = secret + "/" },
		"version 0":       func(s *Stored) { s.EventVersion = 0 },
		"version too big": func(s *Stored) { s.EventVersion = 1 << 31 },
		"huge version":    func(s *Stored) { s.EventVersion = math.MaxInt64 },
		"headers":         func(s *Stored) { s.Headers = `{"` + secret + `":1}` },
		"payload":         func(s *Stored) { s.Payload = []byte(`{"` + secret + `"`) },
		"column":          func(s *Stored) { s.Damage = &ColumnError{Column: "payload", Reason: "too long"} },
	} {
		s := stored()
		change(&s)
		row := NewRow(s, envelope.Limits{})
		var e *RowError
		if !errors.As(row.Err, &e) || e.ID != s.ID || !row.Received.IsZero() {
			t.Errorf("%s: error %v", name, row.Err)
			continue
		}
		if strings.Contains(row.Err.Error(), secret) {
			t.Errorf("%s: a value stands in %v", name, row.Err)
		}
		_ = row.Wire() // must not panic
	}
}

func TestHeadersComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		headers := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "headers")
		text, err := EncodeHeaders(headers)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeHeaders(text)
		if err != nil || !maps.Equal(back, headers) {
			t.Errorf("%q gives %q, error %v", text, back, err)
		}
	})
}

func FuzzDecodeHeaders(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"b"}`, `{"a":null}`, `null`, `[]`, `{"a":1}`, `{"a":"b"`, `{"a":"b"}x`, `{"a":{"b":"c"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		headers, err := DecodeHeaders(text)
		if err != nil {
			var e *ColumnError
			if !errors.As(err, &e) || err.Error() != "column headers: not a JSON object of strings" {
				t.Errorf("error is %v", err)
			}
			return
		}
		again, err := EncodeHeaders(headers)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeHeaders(again); err != nil || !maps.Equal(back, headers) {
			t.Errorf("%q, %q, %v", headers, back, err)
		}
	})
}
