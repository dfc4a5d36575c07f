package envelope

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The published vectors of ../testvectors, which an implementation in another language wrote. This test never writes them.

// hexBytes is a member in hex.
type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	decoded, err := hex.DecodeString(s)
	*h = decoded
	return err
}

// vectorHead is what every vector has.
type vectorHead struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Valid   bool   `json:"valid"`
	Why     string `json:"why"`
	Refused string `json:"refused"`
}

// eachVector runs a subtest for each vector of a kind in a file of ../testvectors/v1. V holds all members of the kind, a vectorHead among them.
func eachVector[V any](t *testing.T, file, kind string, run func(t *testing.T, v V)) {
	t.Helper()
	text, err := os.ReadFile("../testvectors/v1/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Format  string            `json:"format"`
		Vectors []json.RawMessage `json:"vectors"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if read.Format != "fieldcrypt-testvectors/1" {
		t.Fatalf("%s is of the format %q", file, read.Format)
	}
	ran := 0
	for _, raw := range read.Vectors {
		var head vectorHead
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue
		}
		var v V
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&v); err != nil {
			t.Fatalf("%s: %s: %v", file, head.Name, err)
		}
		ran++
		t.Run(head.Name, func(t *testing.T) {
			t.Parallel()
			run(t, v)
		})
	}
	if ran == 0 {
		t.Fatalf("%s holds no vectors of kind %s", file, kind)
	}
}

// vectorKey is a key of a vector's keyring.
type vectorKey struct {
	ID      string          `json:"id"`
	Purpose keyring.Purpose `json:"purpose"`
	State   keyring.State   `json:"state"`
	Key     hexBytes        `json:"key"`
}

func (k vectorKey) testKey(t *testing.T) keyringtest.Key {
	t.Helper()
	id, err := keyring.ParseKeyID(k.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Key) != 32 {
		t.Fatalf("key %s has %d bytes", k.ID, len(k.Key))
	}
	return keyringtest.Key{ID: id, Purpose: k.Purpose, State: k.State, Bytes: [32]byte(k.Key)}
}

// ringOfKey is a keyring whose only seal key is the given one.
func ringOfKey(t *testing.T, kid string, key hexBytes) *keyring.Keyring {
	t.Helper()
	return keyringtest.New(t, keyringtest.Options{Keys: []keyringtest.Key{
		vectorKey{kid, keyring.Seal, keyring.Primary, key}.testKey(t), keyringtest.NewKey(keyring.Index, keyring.Primary),
	}})
}

func TestEventKeyVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		vectorHead
		Key      hexBytes `json:"key"`
		Type     string   `json:"type"`
		Version  int      `json:"version"`
		ID       string   `json:"id"`
		Info     hexBytes `json:"info"`
		EventKey hexBytes `json:"event_key"`
	}
	eachVector(t, "derivation.json", "event-key", func(t *testing.T, v vector) {
		info := appendEventInfo(nil, v.Type, v.Version, v.ID)
		if !bytes.Equal(info, v.Info) {
			t.Errorf("info is %x, not %x", info, v.Info)
		}
		key, err := ringOfKey(t, "0f3a9c01", v.Key).Primary(keyring.Seal)
		if err != nil {
			t.Fatal(err)
		}
		derived, err := key.Derive(info)
		if err != nil || !bytes.Equal(derived[:], v.EventKey) {
			t.Errorf("the event key is %x, not %x (%v)", derived, v.EventKey, err)
		}
	})
}

func TestAssociatedDataVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		vectorHead
		Kid     string   `json:"kid"`
		Pointer string   `json:"pointer"`
		AAD     hexBytes `json:"aad"`
	}
	eachVector(t, "derivation.json", "aad", func(t *testing.T, v vector) {
		id, err := keyring.ParseKeyID(v.Kid)
		if err != nil {
			t.Fatal(err)
		}
		var head fieldHead
		head.set(id)
		got := appendLP(head[:], v.Pointer)
		if !bytes.Equal(got, v.AAD) {
			t.Errorf("got %x, not %x", got, v.AAD)
		}
	})
}

func TestPaddingVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		vectorHead
		Length int `json:"length"`
		Padded int `json:"padded"`
	}
	eachVector(t, "padding.json", "padded-length", func(t *testing.T, v vector) {
		if got := paddedLen(v.Length); got != v.Padded {
			t.Errorf("P(%d) is %d, not %d", v.Length, got, v.Padded)
		}
	})
}

// around writes a payload in which text stands at a pointer, and a schema that flags this location alone. A name of digits is an array index.
func around(pointer, text string) (payload string, flagged any) {
	flagged = map[string]any{"x-gdpr-sensitive": true}
	parts := strings.Split(pointer, "/")[1:]
	for i := len(parts) - 1; i >= 0; i-- {
		name := strings.ReplaceAll(strings.ReplaceAll(parts[i], "~1", "/"), "~0", "~")
		if n, err := strconv.Atoi(name); err == nil {
			items := make([]any, n+1)
			for j := range items {
				items[j] = map[string]any{"type": "null"}
			}
			items[n] = flagged
			flagged = map[string]any{"type": "array", "prefixItems": items}
			text = "[" + strings.Repeat("null,", n) + text + "]"
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			panic(err)
		}
		flagged = map[string]any{"type": "object", "properties": map[string]any{name: flagged}}
		text = "{" + string(quoted) + ":" + text + "}"
	}
	return text, flagged
}

func TestTokenVectors(t *testing.T) {
	t.Parallel()
	type vector struct {
		vectorHead
		Key       hexBytes `json:"key"`
		Kid       string   `json:"kid"`
		Type      string   `json:"type"`
		Version   int      `json:"version"`
		ID        string   `json:"id"`
		Pointer   string   `json:"pointer"`
		Nonce     hexBytes `json:"nonce"`
		Plaintext string   `json:"plaintext"`
		Padded    int      `json:"padded"`
		Token     string   `json:"token"`
	}
	eachVector(t, "tokens.json", "token", func(t *testing.T, v vector) {
		quoted, err := json.Marshal(v.Token)
		if err != nil {
			t.Fatal(err)
		}
		wire, flagged := around(v.Pointer, string(quoted))
		root := flagged.(map[string]any)
		root["x-event-type"], root["x-event-version"] = v.Type, v.Version
		reg := loadSchemas(t, map[string]any{"schema.json": root})
		rings := setOf(t, ringOfKey(t, v.Kid, v.Key))

		opened, err := openWire(t, reg, rings, Wire{ID: v.ID, Type: v.Type, Version: v.Version, AggregateID: "1", Payload: []byte(wire)})
		if !v.Valid {
			checkRefused(t, err, v.Refused)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		payload, _ := around(v.Pointer, v.Plaintext)
		if string(opened.Payload) != payload {
			t.Errorf("opened to %s, not %s", opened.Payload, payload)
		}
		if v.Padded != paddedLen(len(v.Plaintext)) {
			return // a Sealer pads no further where the schema bounds nothing
		}
		sealer, err := NewSealer(reg, rings, Options{Random: bytes.NewReader(v.Nonce)})
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := sealer.Seal(context.Background(), Event{ID: v.ID, Type: v.Type, Version: v.Version, AggregateID: "1", Payload: []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(sealed.Wire().Payload); got != wire {
			t.Errorf("sealed to %s, not %s", got, wire)
		}
	})
}

// vectorEvent is a vector of a whole event.
type vectorEvent struct {
	vectorHead
	Schemas  map[string]any `json:"schemas"`
	Keyrings []struct {
		Name string      `json:"name"`
		Keys []vectorKey `json:"keys"`
	} `json:"keyrings"`
	Event struct {
		ID               string            `json:"id"`
		Type             string            `json:"type"`
		Version          int               `json:"version"`
		AggregateType    string            `json:"aggregate_type"`
		AggregateID      string            `json:"aggregate_id"`
		AggregateVersion int64             `json:"aggregate_version"`
		OccurredAt       time.Time         `json:"occurred_at"`
		Headers          map[string]string `json:"headers"`
		Payload          string            `json:"payload"`
	} `json:"event"`
	Plan struct {
		Sealed []struct {
			Keyring string `json:"keyring"`
			Pointer string `json:"pointer"`
			Longest int    `json:"longest"`
		} `json:"sealed"`
		Indexes map[string]struct {
			Keyring  string     `json:"keyring"`
			Steps    []string   `json:"steps"`
			Bits     int        `json:"bits"`
			Pointers []string   `json:"pointers"`
			Parts    [][]string `json:"parts"`
		} `json:"indexes"`
	} `json:"plan"`
	Nonces       hexBytes            `json:"nonces"`
	Wire         string              `json:"wire"`
	KeyIDs       []string            `json:"key_ids"`
	BlindIndexes map[string][]string `json:"blind_indexes"`
}

func (v *vectorEvent) rings(t *testing.T) *keyring.Set {
	t.Helper()
	var rings []*keyring.Keyring
	for _, r := range v.Keyrings {
		var keys []keyringtest.Key
		for _, k := range r.Keys {
			keys = append(keys, k.testKey(t))
		}
		rings = append(rings, keyringtest.New(t, keyringtest.Options{Name: r.Name, Keys: keys}))
	}
	return setOf(t, rings...)
}

func (v *vectorEvent) plaintext() Event {
	e := v.Event
	return Event{
		ID: e.ID, Type: e.Type, Version: e.Version, AggregateType: e.AggregateType, AggregateID: e.AggregateID, AggregateVersion: &e.AggregateVersion,
		OccurredAt: e.OccurredAt, Headers: e.Headers, Payload: []byte(e.Payload),
	}
}

func (v *vectorEvent) seal(t *testing.T, reg *schema.Registry, rings *keyring.Set) (Sealed, error) {
	t.Helper()
	nonces := bytes.NewReader(v.Nonces)
	sealer, err := NewSealer(reg, rings, Options{Random: nonces})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealer.Seal(context.Background(), v.plaintext())
	if err == nil && nonces.Len() > 0 {
		t.Errorf("%d of the nonces' %d bytes are left", nonces.Len(), len(v.Nonces))
	}
	return sealed, err
}

func (v *vectorEvent) open(t *testing.T, reg *schema.Registry, rings *keyring.Set) (Event, error) {
	t.Helper()
	wire := Wire(v.plaintext())
	wire.Payload = []byte(v.Wire)
	return openWire(t, reg, rings, wire)
}

func TestEventVectorsSealAndOpen(t *testing.T) {
	t.Parallel()
	eachVector(t, "events.json", "event", func(t *testing.T, v vectorEvent) {
		reg, rings := loadSchemas(t, v.Schemas), v.rings(t)
		sealed, err := v.seal(t, reg, rings)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(sealed.Wire().Payload); got != v.Wire {
			t.Errorf("sealed to\n%s, not\n%s", got, v.Wire)
		}
		if got := sealed.KeyIDs(); !slices.Equal(got, v.KeyIDs) {
			t.Errorf("key ids %q, not %q", got, v.KeyIDs)
		}
		indexes := map[string][]string{}
		for name, stored := range sealed.BlindIndexes() {
			for _, value := range stored {
				indexes[name] = append(indexes[name], blindindex.Text(value))
			}
		}
		if !maps.EqualFunc(indexes, v.BlindIndexes, slices.Equal) {
			t.Errorf("blind indexes %q, not %q", indexes, v.BlindIndexes)
		}
		opened, err := v.open(t, reg, rings)
		if err != nil {
			t.Fatal(err)
		}
		if string(opened.Payload) != v.Event.Payload {
			t.Errorf("opened to %s, not %s", opened.Payload, v.Event.Payload)
		}
	})
}

func TestEventVectorsThatOnlyOpenOrMustNot(t *testing.T) {
	t.Parallel()
	eachVector(t, "events.json", "open", func(t *testing.T, v vectorEvent) {
		opened, err := v.open(t, loadSchemas(t, v.Schemas), v.rings(t))
		switch {
		case !v.Valid:
			checkRefused(t, err, v.Refused)
		case err != nil:
			t.Fatal(err)
		case string(opened.Payload) != v.Event.Payload:
			t.Errorf("opened to %s, not %s", opened.Payload, v.Event.Payload)
		}
	})
}

func TestEventVectorsThatMustNotBeSealed(t *testing.T) {
	t.Parallel()
	eachVector(t, "events.json", "seal", func(t *testing.T, v vectorEvent) {
		if v.Valid {
			t.Fatal("a valid event is of the kind event")
		}
		sealed, err := v.seal(t, loadSchemas(t, v.Schemas), v.rings(t))
		checkRefused(t, err, v.Refused)
		if !sealed.IsZero() {
			t.Error("something is left of a refused event")
		}
	})
}

// loadSchemas makes a registry of schemas by file name.
func loadSchemas(t *testing.T, schemas map[string]any) *schema.Registry {
	t.Helper()
	files := fstest.MapFS{}
	for name, content := range schemas {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	reg, err := schema.LoadFS(files)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func openWire(t *testing.T, reg *schema.Registry, rings *keyring.Set, wire Wire) (Event, error) {
	t.Helper()
	received, err := Parse(wire, Limits{})
	if err != nil {
		return Event{}, err
	}
	opener, err := NewOpener(reg, rings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := opener.Open(context.Background(), received, OpenOptions{})
	if err == nil && len(opened.StillSealed) > 0 {
		return Event{}, fmt.Errorf("locations stay sealed: %v", opened.StillSealed)
	}
	return opened.Event, err
}

// checkRefused holds an error against the reason that a vector gives.
func checkRefused(t *testing.T, err error, reason string) {
	t.Helper()
	if err == nil {
		t.Fatalf("must be refused for %q", reason)
	}
	var location *LocationError
	isKind := func(kinds ...Kind) bool { return errors.As(err, &location) && slices.Contains(kinds, location.Kind) }
	var syntax *SyntaxError
	var limit *LimitError
	var open *OpenError
	var key *KeyError
	var outside *OutsideError
	refused, known := map[string]bool{
		"form":           isKind(KindPlaintext, KindMalformed),
		"key":            errors.As(err, &key) || isKind(KindUnsupported),
		"authentication": errors.As(err, &open),
		"json":           errors.As(err, &syntax) || errors.As(err, &limit) || isKind(KindOpenedText),
		"unflagged":      isKind(KindLooksLikeToken, KindMisplaced),
		"outside":        errors.As(err, &outside),
	}[reason]
	if !known {
		t.Fatalf("refused for %q, which this test does not know", reason)
	}
	if !refused {
		t.Fatalf("must be refused for %q: %v", reason, err)
	}
}
