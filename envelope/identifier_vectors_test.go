package envelope

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func TestIdentifierVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		vectorHead
		Of        string          `json:"of"`
		Value     json.RawMessage `json:"value"`
		Canonical json.RawMessage `json:"canonical"`
	}
	eachVector(t, "identifiers.json", "identifier", func(t *testing.T, v vector) {
		text := func(raw json.RawMessage) string {
			var s string
			if v.Of == "version" || len(raw) == 0 {
				return string(raw)
			}
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		value, canonical := text(v.Value), text(v.Canonical)
		good := Wire{ID: testID, Type: "a.b", Version: 1, AggregateType: "a", AggregateID: "1", Payload: []byte("{}")}
		parse := func(w Wire) (Wire, error) {
			r, err := Parse(w, Limits{})
			var event *EventError
			if err != nil && !errors.As(err, &event) {
				t.Errorf("%T: %v", err, err)
			}
			return r.Wire(), err
		}
		var got string
		var err error
		w := good
		switch v.Of {
		case "type":
			w.Type = value
			w, err = parse(w)
			got = w.Type
		case "version":
			if w.Version, err = strconv.Atoi(value); err != nil {
				t.Fatal(err)
			}
			w, err = parse(w)
			got = strconv.Itoa(w.Version)
		case "id":
			w.ID = value
			w, err = parse(w)
			got = w.ID
		case "aggregate":
			w.AggregateType = value
			if value != "" { // the type's first part stands in for an aggregate type that is not given
				_, err = parse(w)
			}
			w = good
			w.AggregateID = value
			var idErr error
			w, idErr = parse(w)
			got = w.AggregateID
			if value != "" && (err == nil) != (idErr == nil) {
				t.Errorf("as aggregate type %v, as aggregate id %v", err, idErr)
			}
			err = idErr
		case "kid":
			var id keyring.KeyID
			if id, err = keyring.ParseKeyID(value); err == nil && id == 0 {
				err = errors.New("names no key")
			}
			got = id.String()
		case "keyring":
			if got = value; !keyring.ValidName(value) {
				err = errors.New("no name")
			}
		case "index":
			_, err = blindindex.New(value, nil, 0)
			got = value
		default:
			t.Fatalf("an identifier of %q", v.Of)
		}
		if (err == nil) != v.Valid || err == nil && got != canonical {
			t.Errorf("%q, %v", got, err)
		}
	})
}
