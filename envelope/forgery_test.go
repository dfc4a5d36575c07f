package envelope_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// forgeSchema has one schema for several types and versions, so that tokens can be carried from one to the other.
const forgeSchema = `{"type":"object","properties":{"a":{"x-gdpr-sensitive":true},"b":{"x-gdpr-sensitive":true},"list":{"type":"array","items":{"x-gdpr-sensitive":true}}}}`

func forgeServices(t *testing.T, text string, rings *keyring.Set, names ...string) (*envelope.Sealer, *envelope.Opener) {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range names {
		files[name+".json"] = &fstest.MapFile{Data: []byte(text)}
	}
	reg, err := schema.LoadFS(files)
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

func openPayload(opener *envelope.Opener, w envelope.Wire) (string, error) {
	r, err := envelope.Parse(w, envelope.Limits{})
	if err != nil {
		return "", err
	}
	o, err := opener.Open(context.Background(), r, envelope.OpenOptions{})
	return string(o.Event.Payload), err
}

// oneError demands the error of everything that does not open: its type, its text and its hint say where and which key, and nothing else.
func oneError(t *testing.T, err error, location, kid string) {
	t.Helper()
	var open *envelope.OpenError
	if !errors.As(err, &open) || errors.Unwrap(err) != nil {
		t.Fatalf("%T: %v", err, err)
	}
	want := envelope.OpenError{Place: envelope.Place{Location: location, Offset: open.Offset}, Keyring: "default", KeyID: kid}
	if *open != want || err.Error() != want.Error() || envelope.HintOf(err) != want.Hint() {
		t.Fatalf("%#v, not %#v", *open, want)
	}
}

// Each bit of nonce, ciphertext and tag, and each bit of a token's text, changed by itself. What still has the form of a token under the same key is
// refused with one and the same error; what has not is refused for its form or its key.
func TestLawEverySingleBitChangeOfATokenIsRefused(t *testing.T) {
	t.Parallel()
	rings, err := keyring.NewSet(keyringtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	sealer, opener := forgeServices(t, forgeSchema, rings, "forge.a.v1")
	const step = min(lawScale, 7) // with the race detector each seventh bit, which falls on all bits of a byte
	bodies, texts := 0, 0
	for _, value := range []string{`1`, `"ada@example.com"`, `{"city":"İzmir","lines":["a",null]}`, `"` + strings.Repeat("x", 300) + `"`} {
		sealed, err := sealer.Seal(context.Background(), envelope.Event{ID: lawID, Type: "forge.a", AggregateID: "1", Payload: []byte(`{"a":` + value + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		w := sealed.Wire()
		token := strings.TrimSuffix(strings.TrimPrefix(string(w.Payload), `{"a":"`), `"}`)
		kid, text := token[4:12], token[13:]
		body, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		open := func(token string) error {
			quoted, err := json.Marshal(token)
			if err != nil {
				t.Fatal(err)
			}
			bad := w
			bad.Payload = []byte(`{"a":` + string(quoted) + `}`)
			_, err = openPayload(opener, bad)
			return err
		}
		if err := open(token); err != nil {
			t.Fatal(err)
		}
		for bit := 0; bit < 8*len(body); bit += step {
			changed := bytes.Clone(body)
			changed[bit/8] ^= 1 << (bit % 8)
			oneError(t, open("fc1:"+kid+":"+base64.RawURLEncoding.EncodeToString(changed)), "/a", kid)
			bodies++
		}
		for bit := 0; bit < 8*len(token); bit += step {
			changed := []byte(token)
			changed[bit/8] ^= 1 << (bit % 8)
			err := open(string(changed))
			var location *envelope.LocationError
			var key *envelope.KeyError
			switch still, decodeErr := base64.RawURLEncoding.Strict().DecodeString(string(changed[13:])); {
			case errors.As(err, &location) && (location.Kind == envelope.KindMalformed || location.Kind == envelope.KindPlaintext):
			case errors.As(err, &key) && bit/8 >= 4 && bit/8 < 12:
			case string(changed[:13]) == token[:13] && decodeErr == nil && !bytes.Equal(still, body):
				oneError(t, err, "/a", kid)
			default:
				t.Fatalf("bit %d of %q: %T %v", bit, token, err, err)
			}
			texts++
		}
	}
	t.Logf("%d bits of bodies, %d of texts", bodies, texts)
}

// A token that is moved opens nowhere: neither in another event, type or version, nor at another location, nor under another key of the same id.
func TestEveryMovedTokenIsRefusedWithTheSameError(t *testing.T) {
	t.Parallel()
	fixed := func(b byte) *keyring.Set {
		set, err := keyring.NewSet(keyringtest.New(t, keyringtest.Options{Keys: []keyringtest.Key{
			{ID: 0x0f3a9c01, Purpose: keyring.Seal, State: keyring.Primary, Bytes: [32]byte{b}},
			{ID: 0x5b2e7701, Purpose: keyring.Index, State: keyring.Primary, Bytes: [32]byte{b}},
		}}))
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	schemas := []string{"forge.a.v1", "forge.a.v2", "forge.b.v1"}
	sealer, opener := forgeServices(t, forgeSchema, fixed(1), schemas...)
	_, stranger := forgeServices(t, forgeSchema, fixed(2), schemas...)
	event := envelope.Event{ID: lawID, Type: "forge.a", Version: 1, AggregateID: "1", Payload: []byte(`{"a":"same","b":"same","list":["same","same"]}`)}
	sealed, err := sealer.Seal(context.Background(), event)
	if err != nil {
		t.Fatal(err)
	}
	w := sealed.Wire()
	tokens := lawToken.FindAllString(string(w.Payload), -1)
	payload := func(a, b, c, d string) []byte {
		return []byte(`{"a":` + a + `,"b":` + b + `,"list":[` + c + `,` + d + `]}`)
	}
	for name, forge := range map[string]struct {
		location string
		opener   *envelope.Opener
		change   func(w *envelope.Wire)
	}{
		"another id":        {location: "/a", change: func(w *envelope.Wire) { w.ID = "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e56" }},
		"another version":   {location: "/a", change: func(w *envelope.Wire) { w.Version = 2 }},
		"another type":      {location: "/a", change: func(w *envelope.Wire) { w.Type = "forge.b" }},
		"another key":       {location: "/a", opener: stranger, change: func(*envelope.Wire) {}},
		"another member":    {location: "/a", change: func(w *envelope.Wire) { w.Payload = payload(tokens[1], tokens[1], tokens[2], tokens[3]) }},
		"exchanged":         {location: "/a", change: func(w *envelope.Wire) { w.Payload = payload(tokens[1], tokens[0], tokens[2], tokens[3]) }},
		"another item":      {location: "/list/0", change: func(w *envelope.Wire) { w.Payload = payload(tokens[0], tokens[1], tokens[3], tokens[2]) }},
		"an item less":      {location: "/list/0", change: func(w *envelope.Wire) { w.Payload = bytes.Replace(w.Payload, []byte(tokens[2]+","), nil, 1) }},
		"an item as member": {location: "/b", change: func(w *envelope.Wire) { w.Payload = payload(tokens[0], tokens[2], tokens[2], tokens[3]) }},
	} {
		bad := w
		bad.Payload = bytes.Clone(w.Payload)
		forge.change(&bad)
		with := opener
		if forge.opener != nil {
			with = forge.opener
		}
		_, err := openPayload(with, bad)
		if err == nil {
			t.Fatalf("%s: opens", name)
		}
		oneError(t, err, forge.location, "0f3a9c01")
	}
	if got, err := openPayload(opener, w); err != nil || got != string(event.Payload) {
		t.Fatalf("%s, %v", got, err)
	}
}

// All forgeries of the published vectors give one error, whatever was changed.
func TestEveryForgeryOfTheVectorsIsRefusedWithTheSameError(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testvectors/v1/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Name, Refused, Kid, Type, ID, Token, Key string
			Pointer                                  string
			Version                                  int
		} `json:"vectors"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, v := range file.Vectors {
		if v.Refused != "authentication" {
			continue
		}
		key, err := hex.DecodeString(v.Key)
		if err != nil {
			t.Fatal(err)
		}
		id, err := keyring.ParseKeyID(v.Kid)
		if err != nil {
			t.Fatal(err)
		}
		rings, err := keyring.NewSet(keyringtest.New(t, keyringtest.Options{Keys: []keyringtest.Key{
			{ID: id, Purpose: keyring.Seal, State: keyring.Primary, Bytes: [32]byte(key)}, keyringtest.NewKey(keyring.Index, keyring.Primary),
		}}))
		if err != nil {
			t.Fatal(err)
		}
		// The vectors' pointers of forgeries are the root, members, and items of /lines.
		flagged := `{"x-event-type":"` + v.Type + `","x-event-version":` + strconv.Itoa(v.Version) + `,`
		payload := `"` + v.Token + `"`
		switch name, isItem := strings.CutPrefix(v.Pointer, "/lines/"); {
		case v.Pointer == "":
			flagged += `"x-gdpr-sensitive":true}`
		case isItem:
			flagged += `"properties":{"lines":{"prefixItems":[{"type":"null"},{"x-gdpr-sensitive":true}]}}}`
			payload = `{"lines":[null,` + payload + `]}`
			if name != "1" {
				t.Fatalf("%s: item %s", v.Name, name)
			}
		default:
			flagged += `"properties":{"` + v.Pointer[1:] + `":{"x-gdpr-sensitive":true}}}`
			payload = `{"` + v.Pointer[1:] + `":` + payload + `}`
		}
		_, opener := forgeServices(t, flagged, rings, "schema")
		_, err = openPayload(opener, envelope.Wire{ID: v.ID, Type: v.Type, Version: v.Version, AggregateID: "1", Payload: []byte(payload)})
		if err == nil {
			t.Fatalf("%s: opens", v.Name)
		}
		oneError(t, err, v.Pointer, v.Kid)
		seen++
	}
	if seen < 15 {
		t.Errorf("only %d forgeries", seen)
	}
}
