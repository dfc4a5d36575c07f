package eventline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func tools(t testing.TB) (*envelope.Sealer, *envelope.Opener) {
	t.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{"invoice.issued.v1.json": {Data: []byte(`{
		"type": "object", "required": ["total"],
		"properties": {"email": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}, "total": {"type": "number"}, "note": {}}
	}`)}})
	if err != nil {
		t.Fatal(err)
	}
	rings, err := keyring.NewSet(keyringtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := envelope.NewSealer(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opener, err := envelope.NewOpener(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return sealer, opener
}

func TestRefusalsGetTheirPlaceInTheLine(t *testing.T) {
	t.Parallel()
	sealer, _ := tools(t)
	const head = `{"type":"invoice.issued","version":1,"aggregate_id":"42","payload": `
	for name, c := range map[string]struct {
		line string
		want []string
	}{
		"a lone surrogate":   {head + `{"note":"\ud800"}}`, []string{fmt.Sprintf("-:1:%d: /note: not strict JSON: an escape that is half a surrogate pair", len(head)+10)}},
		"an unknown member":  {head + `{"total":1,"` + canary + `":1}}`, []string{fmt.Sprintf("-:1:%d: /*: the schema does not declare this member", len(head)+12)}},
		"the payload itself": {head + `nul}`, []string{fmt.Sprintf("-:1:%d: payload: not strict JSON: the text ends too early", len(head)+4)}},
		"an unknown type":    {strings.Replace(head, "invoice", "receipt", 1) + `{}}`, []string{"-:1:9: type: no schema for event type receipt.issued"}},
		"an unknown version": {strings.Replace(head, "1", "2", 1) + `{}}`, []string{"-:1:36: version: no schema for version 2 of event type invoice.issued (known: 1)"}},
		"an id":              {strings.Replace(head, "{", `{"id":"`+canary+`",`, 1) + `{"total":1}}`, []string{"-:1:7: id: is no UUID of 36 characters"}},
		"a header":           {strings.Replace(head, "{", `{"headers":{"ce_id":"`+canary+`"},`, 1) + `{"total":1}}`, []string{"-:1:12: headers: a name begins with ce_ or content-type"}},
		"the aggregate id": {strings.Replace(head, "42", "ada@b.example", 1) + `{"total":1,"email":"ada@b.example"}}`,
			[]string{fmt.Sprintf("-:1:%d: /email: the flagged value also stands in the aggregate id, which is not sealed", len(head)+11+20)}},
		"two violations": {head + `{"email":7,"total":"` + canary + `"}}`, []string{
			fmt.Sprintf("-:1:%d: /email: ", len(head)+10), fmt.Sprintf("-:1:%d: /total: ", len(head)+20)}},
		"a missing member": {head + `{}}`, []string{fmt.Sprintf("-:1:%d: payload: ", len(head)+1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, err := readerOf(c.line, Plaintext).Next()
			if err != nil {
				t.Fatal(err)
			}
			_, sealErr := sealer.Seal(context.Background(), line.Event())
			refused := line.Refuse(sealErr)
			if len(refused) != len(c.want) {
				t.Fatalf("%v: %v", sealErr, refused)
			}
			for i, e := range refused {
				if !strings.HasPrefix(e.Error(), c.want[i]) {
					t.Errorf("got  %s\nwant %s", e, c.want[i])
				}
				if e.Hint() == "" {
					t.Errorf("no hint: %s", e)
				}
				if !errors.Is(e, sealErr) {
					t.Errorf("%v does not unwrap to %v", e, sealErr)
				}
				if text := fmt.Sprintf("%+v %#v %s", e, e.Position, e.Hint()); strings.Contains(text, canary) || strings.Contains(e.Hint(), "ada@") || strings.Contains(e.Error(), "ada@") {
					t.Errorf("the error holds a value: %s", text)
				}
			}
		})
	}
	line, err := readerOf("\n\n "+least, Plaintext).Next()
	if err != nil {
		t.Fatal(err)
	}
	if got := line.Refuse(context.Canceled); len(got) != 1 || got[0].Error() != "-:3:2: context canceled" || !errors.Is(got[0], context.Canceled) {
		t.Errorf("%v", got)
	}
	if line.Refuse(nil) != nil {
		t.Error("no error is refused")
	}
	own := &Error{What: "x"}
	if got := line.Refuse(fmt.Errorf("wrapped: %w", own)); len(got) != 1 || got[0] != own {
		t.Errorf("%v", got)
	}
}

func TestLinesGoThroughSealAndOpenByteForByte(t *testing.T) {
	t.Parallel()
	sealer, opener := tools(t)
	payload := `{ "total" : 1.0e1 ,	"email":"\u0061da" , "note":[ "\u003c<>&` + "\u2028" + `\/" , -0 ] }`
	in := `{"id":"` + testID + `","type":"invoice.issued","version":1,"aggregate_type":"invoice","aggregate_id":"<4&2>","aggregate_version":7,` +
		`"occurred_at":"2026-11-30T12:00:00.5Z","headers":{"a":"é` + "\u2028" + `","b":"\n"},"payload":` + payload + "}\n"
	line, err := readerOf(in, Plaintext).Next()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealer.Seal(context.Background(), line.Event())
	if err != nil {
		t.Fatal(err)
	}
	wire, err := AppendSealed(nil, sealed.Wire(), sealed.KeyIDs(), sealed.BlindIndexes())
	if err != nil {
		t.Fatal(err)
	}
	line, err = readerOf(string(wire), Sealed).Next()
	if err != nil {
		t.Fatalf("%s: %v", wire, err)
	}
	r, err := envelope.Parse(line.Wire(), envelope.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := opener.Open(context.Background(), r, envelope.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := AppendPlaintext([]byte("before\n"), opened.Event)
	if err != nil || string(out) != "before\n"+in {
		t.Errorf("got  %s\nwant %s%v", out, in, err)
	}
	if len(line.KeyIDs) != 2 || len(line.BlindIndexes["email"]) != 1 {
		t.Errorf("%v, %v", line.KeyIDs, line.BlindIndexes)
	}
}
