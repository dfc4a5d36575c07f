package validate

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func TestSealedLinesAreCheckedWithoutKeys(t *testing.T) {
	t.Parallel()
	reg, err := schema.LoadFS(fstest.MapFS{"a.v1.json": {Data: []byte(`{"type": "object", "required": ["n"], "properties": {
		"n": {"type": "integer"}, "mail": {"type": "string", "format": "email", "x-gdpr-sensitive": true, "x-blind-index": true}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	rings, closeAll, err := throwawayKeyrings(t.Context(), reg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	sealer, err := envelope.NewSealer(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealer.Seal(t.Context(), envelope.Event{Type: "a", AggregateID: "1", Payload: []byte(`{"n":1,"mail":"zvqwx@jkqpz.test"}`)})
	if err != nil {
		t.Fatal(err)
	}
	line, err := eventline.AppendSealed(nil, sealed.Wire(), sealed.KeyIDs(), sealed.BlindIndexes())
	if err != nil {
		t.Fatal(err)
	}
	payload := string(sealed.Wire().Payload)
	with := func(payload2 string) string { return strings.Replace(string(line), payload, payload2, 1) }
	events, err := NewWireEvents(t.Context(), reg, EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for name, c := range map[string]struct {
		line string
		want []string
	}{
		"as sealed":                      {string(line), nil},
		"a plaintext":                    {with(`{"n":1,"mail":"zvqwx@jkqpz.test"}`), []string{"/mail plaintext error", "payload index-orphan error"}},
		"a clear value of another type":  {with(strings.Replace(payload, `"n":1`, `"n":"zvqwx"`, 1)), []string{"/n schema-mismatch error"}},
		"a clear member that is missing": {with(strings.Replace(payload, `"n":1,`, ``, 1)), []string{"payload schema-mismatch error"}},
		"an undeclared member":           {with(strings.Replace(payload, `"n":1`, `"n":1,"zvqwx":1`, 1)), []string{"/* undeclared error"}},
		"an index without its token":     {with(`{"n":1}`), []string{"payload index-orphan error"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			count, err := events.Check(context.Background(), "f", bytes.NewReader([]byte(c.line)), func(f Finding) error {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Location, f.Rule, f.Severity)))
				if strings.Contains(fmt.Sprint(f), "zvqwx") {
					t.Errorf("a value in %v", f)
				}
				return nil
			})
			if err != nil || !slices.Equal(got, c.want) || count.Lines != 1 || (count.Refused == 1) != (len(c.want) > 0) {
				t.Errorf("%q, %+v, %v", got, count, err)
			}
		})
	}
}
