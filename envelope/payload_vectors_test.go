package envelope

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// place is a value of a payload vector: its pointer, and where its text begins and ends.
type place struct {
	Pointer    string
	Start, End int
}

func (p *place) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.Pointer, &p.Start, &p.End})
}

// flagAt writes a schema that flags the value at a pointer of this payload and lets everything else pass.
func flagAt(t *testing.T, payload []byte, pointer string) string {
	t.Helper()
	var within any
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber() // 1e1000 is no float
	if err := decoder.Decode(&within); err != nil {
		t.Fatal(err)
	}
	root := map[string]any{}
	at := root
	for _, part := range strings.Split(pointer, "/")[1:] {
		name := strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		next := map[string]any{}
		switch v := within.(type) {
		case map[string]any:
			at["properties"] = map[string]any{name: next}
			within = v[name]
		case []any:
			var i int
			if _, err := fmt.Sscanf(name, "%d", &i); err != nil {
				t.Fatal(err)
			}
			items := make([]any, i+1)
			for j := range items {
				items[j] = true
			}
			items[i] = next
			at["prefixItems"] = items
			within = v[i]
		default:
			t.Fatalf("%s leads through a %T", pointer, v)
		}
		at = next
	}
	at["x-gdpr-sensitive"] = true
	root["x-gdpr-undeclared"] = "clear"
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A payload of the vectors is refused by the writer and by the reader, or a flag at each of its pointers seals exactly the bytes that the vector names.
func TestPayloadVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		vectorHead
		Payload    string   `json:"payload"`
		PayloadHex hexBytes `json:"payload_hex"`
		Places     []place  `json:"places"`
	}
	rings := setOf(t, keyringtest.New(t))
	nothing := loadOne(t, "any.thing.v1.json", `{"x-gdpr-undeclared":"clear"}`)
	plain, err := NewSealer(nothing, rings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	eachVector(t, "payloads.json", "payload", func(t *testing.T, v vector) {
		payload := []byte(v.Payload)
		if v.PayloadHex != nil {
			payload = v.PayloadHex
		}
		sealed, sealErr := plain.Seal(ctx, Event{ID: testID, Type: "any.thing", AggregateID: "1", Payload: payload})
		_, parseErr := Parse(Wire{ID: testID, Type: "any.thing", Version: 1, AggregateID: "1", Payload: payload}, Limits{})
		if !v.Valid {
			checkRefused(t, sealErr, v.Refused)
			checkRefused(t, parseErr, v.Refused)
			return
		}
		if sealErr != nil || parseErr != nil || !bytes.Equal(sealed.Wire().Payload, payload) {
			t.Fatalf("%v, %v", sealErr, parseErr)
		}
		for i, p := range v.Places {
			if i > 20 && i < len(v.Places)-1 {
				continue // a schema for each level of 200 has 200 levels itself
			}
			sealer, err := NewSealer(loadOne(t, "any.thing.v1.json", flagAt(t, payload, p.Pointer)), rings, Options{})
			if err != nil {
				t.Fatal(err)
			}
			sealed, err := sealer.Seal(ctx, Event{ID: testID, Type: "any.thing", AggregateID: "1", Payload: payload})
			if err != nil {
				t.Fatalf("%s: %v", p.Pointer, err)
			}
			wire := sealed.Wire().Payload
			before, after := payload[:p.Start], payload[p.End:]
			if !bytes.HasPrefix(wire, before) || !bytes.HasSuffix(wire, after) || !oneToken.Match(wire[len(before):len(wire)-len(after)]) {
				t.Errorf("a flag at %s, bytes %d to %d, gives %s", p.Pointer, p.Start, p.End, wire)
			}
		}
	})
}
