package envelope

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// typedSchema flags what profile holds, but for no and note.
const typedSchema = `{
  "type": "object",
  "x-gdpr-undeclared": "clear",
  "properties": {
    "no": {"type": "integer"},
    "note": {"type": "string"},
    "name": {"type": "string", "x-gdpr-sensitive": true},
    "nick": {"type": "string", "x-gdpr-sensitive": true},
    "age": {"type": "integer", "x-gdpr-sensitive": true},
    "vip": {"type": "boolean", "x-gdpr-sensitive": true},
    "city": {"type": "string", "x-gdpr-sensitive": true},
    "phone": {"type": ["string", "null"], "x-gdpr-sensitive": true},
    "second_phone": {"type": ["string", "null"], "x-gdpr-sensitive": true},
    "photo": {"type": ["string", "null"], "x-gdpr-sensitive": true},
    "born": {"type": "string", "format": "date-time", "x-gdpr-sensitive": true},
    "extra": {"x-gdpr-sensitive": true},
    "weight": {"type": "number", "x-gdpr-sensitive": true},
    "address": {"type": ["object", "null"], "x-gdpr-sensitive": true},
    "lines": {"type": ["array", "null"], "items": {"type": "object", "properties": {"to": {"type": "string", "x-gdpr-sensitive": true}, "n": {"type": "integer"}}}},
    "labels": {"type": ["object", "null"], "additionalProperties": {"type": "string", "x-gdpr-sensitive": true}}
  }
}`

const typedHealth = `{
  "type": "object",
  "properties": {
    "email": {"type": "string", "x-gdpr-sensitive": true},
    "blood": {"type": "string", "x-gdpr-sensitive": true, "x-gdpr-keyring": "health"},
    "visits": {"type": "integer", "x-gdpr-sensitive": true, "x-gdpr-keyring": "health"}
  }
}`

type nickname string

// person and residence are embedded, one by value and one by pointer.
type person struct {
	Name string   `json:"name"`
	Nick nickname `json:"nick,omitempty"`
	Age  int      `json:"age,omitempty"`
	VIP  bool     `json:"vip,omitempty"`
}

type Residence struct {
	City string `json:"city,omitempty"`
}

type address struct {
	Street string `json:"street"`
	No     uint64 `json:"no"`
}

type line struct {
	To string `json:"to"`
	N  int    `json:"n"`
}

type profile struct {
	No   int    `json:"no"`
	Note string `json:"note"`
	person
	*Residence
	Phone       *string              `json:"phone"`
	SecondPhone **string             `json:"second_phone,omitempty"`
	Photo       []byte               `json:"photo"`
	Born        time.Time            `json:"born"`
	Extra       any                  `json:"extra,omitempty"`
	Weight      float64              `json:"weight,omitempty"`
	Address     *address             `json:"address,omitempty"`
	Lines       []line               `json:"lines,omitempty"`
	Labels      map[nickname]*string `json:"labels,omitempty"`
}

type typedBench struct {
	sealer *Sealer
	opener *Opener
	// poor lacks the keyring "health".
	poor *Opener
}

func newTypedBench(t testing.TB) *typedBench {
	t.Helper()
	reg, err := schema.LoadFS(fstest.MapFS{
		"profile.v1.json":       {Data: []byte(typedSchema)},
		"profile.v2.json":       {Data: []byte(typedSchema)},
		"typed.health.v1.json":  {Data: []byte(typedHealth)},
		"typed.clear.v1.json":   {Data: []byte(`{"type": "object", "x-gdpr-undeclared": "clear"}`)},
		"typed.root.v1.json":    {Data: []byte(rootSchema)},
		"typed.reject.v1.json":  {Data: []byte(`{"type": "object", "properties": {"email": {"type": "string", "x-gdpr-sensitive": true}}}`)},
		"typed.clearly.v1.json": {Data: []byte(`{"x-gdpr-undeclared": "clear", "properties": {"email": {"type": "string", "x-gdpr-sensitive": true}, "who": {"properties": {"email": {"x-gdpr-sensitive": true}}}}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	health := keyringtest.NewRing(t, keyringtest.Options{Name: "health"})
	b := &typedBench{}
	if b.sealer, err = NewSealer(reg, setOf(t, ring.Keyring, health.Keyring), Options{}); err != nil {
		t.Fatal(err)
	}
	if b.opener, err = NewOpener(reg, setOf(t, ring.Keyring, health.Keyring), Options{}); err != nil {
		t.Fatal(err)
	}
	if b.poor, err = NewOpener(reg, setOf(t, ring.Keyring), Options{}); err != nil {
		t.Fatal(err)
	}
	return b
}

var typedEvent = Event{AggregateID: "42"}

func pointer[T any](v T) *T { return &v }

// tokensOf gives the payload's members that are tokens.
func tokensOf(t *testing.T, payload []byte) map[string]bool {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal(payload, &members); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]bool{}
	for name, value := range members {
		if text, ok := value.(string); ok && strings.HasPrefix(text, tokenPrefix) && len(text) >= minTokenText {
			tokens[name] = true
		}
	}
	return tokens
}

func TestGoValuesComeBackEqualAndTheirFlaggedFieldsAreTokens(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	born := time.Date(1815, 12, 10, 4, 5, 6, 789, time.UTC)
	for name, test := range map[string]struct {
		value  profile
		tokens string // of the payload's own members
		clear  string // texts that must not stand in the payload
	}{
		"zero values: omitempty leaves out, the rest is sealed": {profile{}, "name photo phone born", ""},
		"omitempty, set": {
			profile{person: person{Name: "Ada", Nick: "countess", Age: 36, VIP: true}, Weight: 54.25, Born: born},
			"name nick age vip weight photo phone born", "countess 54.25",
		},
		"an embedded struct":                 {profile{person: person{Name: "Ada Lovelace"}}, "name photo phone born", "Lovelace"},
		"an embedded pointer":                {profile{Residence: &Residence{City: "Ankara"}}, "name city photo phone born", "Ankara"},
		"an embedded pointer, nothing in it": {profile{Residence: nil}, "name photo phone born", ""},
		"a pointer":                          {profile{Phone: pointer("+905321112233")}, "name photo phone born", "5321112233"},
		"a pointer to a pointer":             {profile{SecondPhone: pointer(pointer("+905321112233"))}, "name photo phone second_phone born", "5321112233"},
		"bytes":                              {profile{Photo: []byte("\x00\xff<&> photograph")}, "name photo phone born", "photograph " + base64.StdEncoding.EncodeToString([]byte("\x00\xff<&> photograph"))},
		"no bytes":                           {profile{Photo: []byte{}}, "name photo phone born", ""},
		"a time":                             {profile{Born: born}, "name photo phone born", "1815"},
		"a time with an offset":              {profile{Born: born.In(time.FixedZone("", 3*3600))}, "name photo phone born", "1815"},
		"any: a string":                      {profile{Extra: "a secret of its own"}, "name photo phone born extra", "secret"},
		"any: an integer of 40 digits":       {profile{Extra: json.Number("1234567890123456789012345678901234567890")}, "name photo phone born extra", "1234567890"},
		"any: an integer above 2^53":         {profile{Extra: json.Number("9007199254740993")}, "name photo phone born extra", "9007199254740993"},
		"any: 1.0 stays 1.0":                 {profile{Extra: json.Number("1.0")}, "name photo phone born extra", ""},
		"any: an object": {
			profile{Extra: map[string]any{"tc": "11122233344", "list": []any{true, nil, json.Number("7")}, "": map[string]any{}}},
			"name photo phone born extra", "11122233344 list",
		},
		"an object behind a pointer": {profile{Address: &address{"Tunalı Hilmi Caddesi", math.MaxUint64}}, "name photo phone born address", "Hilmi 18446744073709551615"},
		"items of a slice":           {profile{Lines: []line{{"ada@example.org", 1}, {"grace@example.org", 2}}}, "name photo phone born", "ada@ grace@"},
		"a map of pointers":          {profile{Labels: map[nickname]*string{"home": pointer("Çankaya"), "": pointer("x y z")}}, "name photo phone born", "Çankaya"},
		"clear text that HTML would escape": {
			profile{Note: "<b>R&D</b> \u2028"}, "name photo phone born", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profiles := Typed[profile]{Type: "profile"}
			before, _ := json.Marshal(test.value)
			sealed, err := profiles.Seal(context.Background(), b.sealer, typedEvent, test.value)
			if err != nil {
				t.Fatal(err)
			}
			if after, _ := json.Marshal(test.value); !bytes.Equal(before, after) {
				t.Error("the caller's value was changed")
			}
			payload := sealed.Wire().Payload
			if got, want := bytes.Count(payload, []byte(`"`+tokenPrefix)), len(strings.Fields(test.tokens))+len(test.value.Lines)+len(test.value.Labels); got != want {
				t.Errorf("%d tokens, want %d", got, want)
			}
			want := map[string]bool{}
			for _, name := range strings.Fields(test.tokens) {
				want[name] = true
			}
			if got := tokensOf(t, payload); !reflect.DeepEqual(got, want) {
				t.Errorf("tokens %v, want %v", got, want)
			}
			for _, text := range strings.Fields(test.clear) {
				if bytes.Contains(payload, []byte(text)) {
					t.Errorf("%q stands in clear", text)
				}
			}
			if !bytes.Contains(payload, []byte(`"note":"`+strings.ReplaceAll(test.value.Note, "\u2028", `\u2028`)+`"`)) {
				t.Errorf("the clear text is not as it was: %s", payload)
			}
			got, opened, err := profiles.Open(context.Background(), b.opener, received(t, sealed.Wire()), OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.value) {
				if at, _ := json.Marshal(got.Born); !got.Born.Equal(test.value.Born) || name != "a time with an offset" {
					t.Errorf("opened %+v, sealed %+v (%s)", got, test.value, at)
				}
			}
			if opened.Event.AggregateID != "42" || opened.Event.Version != 1 {
				t.Errorf("opened event %v", opened.Event)
			}
		})
	}
}

// What else T can be: pointers, maps, any, and types with JSON of their own.
func TestAnyGoTypeIsSealed(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	roundTrip(t, b, "profile", &profile{person: person{Name: "Ada Lovelace"}})
	roundTrip(t, b, "profile", map[string]any{"name": "Ada Lovelace", "extra": []any{json.Number("1e400"), "x"}})
	roundTrip[any](t, b, "profile", map[string]any{"name": "Ada Lovelace"})
	roundTrip(t, b, "profile", json.RawMessage(`{"name":"Ada \u004covelace","weight":1.50}`))
	roundTrip(t, b, "typed.root", "Ada Lovelace")
	roundTrip(t, b, "typed.root", []int{1815, 1852})
	roundTrip(t, b, "typed.root", (*profile)(nil))
	roundTrip(t, b, "typed.root", upper("ADA LOVELACE"))
	roundTrip(t, b, "typed.root", *big.NewInt(1815)) // its methods are those of *big.Int
	roundTrip(t, b, "typed.root", struct{ N big.Int }{*new(big.Int).Lsh(big.NewInt(1815), 200)})
	roundTrip(t, b, "typed.clear", map[string]string{"nothing": "is sealed"})
}

func roundTrip[T any](t *testing.T, b *typedBench, typ string, v T) {
	t.Helper()
	values := Typed[T]{Type: typ}
	sealed, err := values.Seal(context.Background(), b.sealer, typedEvent, v)
	if err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	if payload := sealed.Wire().Payload; bytes.Contains(payload, []byte("ovelace")) || bytes.Contains(payload, []byte("1815")) {
		t.Errorf("%T: %s", v, payload)
	}
	got, _, err := values.Open(context.Background(), b.opener, received(t, sealed.Wire()), OpenOptions{})
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%T: opened %+v, %v", v, got, err)
	}
}

// upper has JSON of its own.
type upper string

func (u upper) MarshalJSON() ([]byte, error) { return json.Marshal(strings.ToLower(string(u))) }

func (u *upper) UnmarshalJSON(text []byte) error {
	var s string
	err := json.Unmarshal(text, &s)
	*u = upper(strings.ToUpper(s))
	return err
}

func TestFloatsOpenAsJSONUnmarshalHasThem(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	sealed, err := Typed[any]{Type: "profile"}.Seal(context.Background(), b.sealer, typedEvent, map[string]any{"extra": 1.5, "name": "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	for floats, want := range map[bool]any{false: json.Number("1.5"), true: 1.5} {
		got, _, err := Typed[map[string]any]{Type: "profile", Floats: floats}.Open(context.Background(), b.opener, received(t, sealed.Wire()), OpenOptions{})
		if err != nil || !reflect.DeepEqual(got, map[string]any{"extra": want, "name": "Ada"}) {
			t.Errorf("%v, %v", got, err)
		}
	}
}

func TestSealingOneObjectTwiceGivesTwoEventsThatBothOpen(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	profiles := Typed[*profile]{Type: "profile"}
	value := &profile{person: person{Name: "Ada Lovelace"}, Phone: pointer("+905321112233"), Extra: map[string]any{"a": "bcdefgh"}}
	var payloads [2]string
	for i := range payloads {
		sealed, err := profiles.Seal(context.Background(), b.sealer, typedEvent, value)
		if err != nil {
			t.Fatal(err)
		}
		payloads[i] = string(sealed.Wire().Payload)
		got, _, err := profiles.Open(context.Background(), b.opener, received(t, sealed.Wire()), OpenOptions{})
		if err != nil || !reflect.DeepEqual(got, value) {
			t.Fatalf("time %d: %+v, %v", i, got, err)
		}
	}
	if payloads[0] == payloads[1] {
		t.Error("two seals give one ciphertext")
	}
	if value.Name != "Ada Lovelace" || *value.Phone != "+905321112233" {
		t.Error("the caller's value was changed")
	}
}

func TestOneValueIsSealedByManyGoroutines(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	profiles := Typed[*profile]{Type: "profile"}
	value := &profile{person: person{Name: "Ada Lovelace", Nick: "x"}, Phone: pointer("+905321112233"), Extra: map[string]any{"a": []any{"bcdefgh"}}}
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for range 50 {
				sealed, err := profiles.Seal(context.Background(), b.sealer, typedEvent, value)
				if err != nil {
					t.Error(err)
					return
				}
				if payload := sealed.Wire().Payload; bytes.Contains(payload, []byte("Lovelace")) || bytes.Contains(payload, []byte("bcdefgh")) {
					t.Error("a value stands in clear")
				}
				got, _, err := profiles.Open(context.Background(), b.opener, received(t, sealed.Wire()), OpenOptions{})
				if err != nil || !reflect.DeepEqual(got, value) {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
	group.Wait()
}

func TestAKeyringThatIsMissingIsSaidNotShownAsAToken(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	type note struct {
		Email  string  `json:"email"`
		Blood  *string `json:"blood"`
		Visits int     `json:"visits"`
	}
	value := note{"ada@example.org", pointer("AB+"), 7}
	notes := Typed[note]{Type: "typed.health"}
	sealed, err := notes.Seal(context.Background(), b.sealer, typedEvent, value)
	if err != nil {
		t.Fatal(err)
	}
	r := received(t, sealed.Wire())
	got, _, err := notes.Open(context.Background(), b.poor, r, OpenOptions{})
	var still *StillSealedError
	if !errors.As(err, &still) || still.Keyring != "health" || still.Location != "/blood" || got != (note{}) {
		t.Errorf("%+v, %v", got, err)
	}
	notes.Partial = true
	got, opened, err := notes.Open(context.Background(), b.poor, r, OpenOptions{})
	if err != nil || !reflect.DeepEqual(got, note{Email: "ada@example.org"}) || len(opened.StillSealed) != 2 || opened.StillSealed[1].Location != "/visits" {
		t.Errorf("partial: %+v, %v, %v", got, opened.StillSealed, err)
	}
	notes.Partial = false
	got, opened, err = notes.Open(context.Background(), b.opener, r, OpenOptions{Fields: []string{"/visits"}})
	if err != nil || got != (note{Visits: 7}) || len(opened.StillSealed) != 2 {
		t.Errorf("one field: %+v, %v, %v", got, opened.StillSealed, err)
	}
	if got, _, err = notes.Open(context.Background(), b.poor, r, OpenOptions{Redact: true}); err != nil || got != (note{}) {
		t.Errorf("redacted: %+v, %v", got, err)
	}
}

func TestATypedTakesItsOwnEventsAlone(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	ctx := context.Background()
	first, second := Typed[profile]{Type: "profile"}, Typed[profile]{Type: "profile", Version: 2}
	sealed, err := second.Seal(ctx, b.sealer, Event{AggregateID: "42", Type: "profile", Version: 2}, profile{})
	if err != nil {
		t.Fatal(err)
	}
	var field *EventError
	if _, _, err := first.Open(ctx, b.opener, received(t, sealed.Wire()), OpenOptions{}); !errors.As(err, &field) || field.Field != "version" {
		t.Errorf("another version: %v", err)
	}
	if _, _, err := (Typed[any]{Type: "typed.root", Version: 2}).Open(ctx, b.opener, received(t, sealed.Wire()), OpenOptions{}); !errors.As(err, &field) || field.Field != "type" {
		t.Errorf("another type: %v", err)
	}
	if _, _, err := first.Open(ctx, b.opener, Received{}, OpenOptions{}); !errors.Is(err, ErrZero) {
		t.Errorf("no event: %v", err)
	}
	for want, e := range map[string]Event{
		"type":         {AggregateID: "42", Type: "typed.root"},
		"version":      {AggregateID: "42", Version: 2},
		"payload":      {AggregateID: "42", Payload: []byte{}},
		"aggregate_id": {},
	} {
		if _, err := first.Seal(ctx, b.sealer, e, profile{}); !errors.As(err, &field) || field.Field != want {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The canaries of the tests below: what no error may hold.
const (
	secretText   = "geheimnis"
	secretNumber = "271828"
)

// chatty quotes what it is given, and what it is, in every error.
type chatty struct{ text string }

func (c chatty) MarshalJSON() ([]byte, error) {
	if c.text == "bad JSON" {
		return []byte(`{"` + secretText + `": ` + secretNumber), nil
	}
	return nil, fmt.Errorf("cannot write %s: %w", secretText, &json.UnsupportedValueError{Str: secretNumber})
}

func (c *chatty) UnmarshalJSON(text []byte) error {
	if c.text == "" {
		return fmt.Errorf("cannot read %s", text)
	}
	return nil
}

// forger makes encoding/json's error by hand.
type forger struct{}

func (forger) UnmarshalJSON(text []byte) error {
	return &json.UnmarshalTypeError{Value: string(text), Field: secretText, Offset: -1}
}

type textual struct{}

func (textual) UnmarshalText(text []byte) error { return fmt.Errorf("cannot read %s", text) }

// everyText is what an error says, in whatever way one asks.
func everyText(err error) string {
	var all strings.Builder
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&all, "%v %+v %#v %q %s\n", err, err, err, err, HintOf(err))
	}
	return all.String()
}

func checkSilent(t *testing.T, err error) {
	t.Helper()
	if text := everyText(err); strings.Contains(text, secretText) || strings.Contains(text, secretNumber) {
		t.Errorf("an error holds a value: %s", text)
	}
}

func TestWhatHasNoJSONIsRefusedWithoutItsValue(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	cycle := map[string]any{}
	cycle[secretText] = cycle
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"NaN":                     {map[string]any{secretText: math.NaN()}, "holds a value that JSON does not have"},
		"a channel":               {map[string]any{secretText: make(chan int)}, "chan int: no value of it has JSON"},
		"a cycle":                 {cycle, "holds a value that JSON does not have"},
		"a method that fails":     {map[string]any{secretText: chatty{}}, "envelope.chatty: its own MarshalJSON"},
		"a method without JSON":   {map[string]any{secretText: chatty{"bad JSON"}}, "envelope.chatty: its own MarshalJSON"},
		"a year of five digits":   {map[string]any{secretText: time.Date(27182, 8, 1, 0, 0, 0, 0, time.UTC)}, "time.Time: its own MarshalJSON"},
		"a number that is none":   {map[string]any{"extra": json.Number(secretText)}, "json.Marshal refuses the value"},
		"invalid UTF-8":           {map[string]any{"name": secretText + "\xff"}, "holds text that is not valid UTF-8"},
		"invalid UTF-8 in a name": {map[string]any{secretText + "\xff": 1}, "holds text that is not valid UTF-8"},
		"twins":                   {map[string]any{"name": secretText, "NAME": 1}, "names differ in case alone"},
		"twins by Unicode":        {map[string]any{"nick": secretText, "nic\u212a": 1}, "names differ in case alone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sealed, err := Typed[any]{Type: "profile"}.Seal(context.Background(), b.sealer, typedEvent, test.value)
			var encode *EncodeError
			if !errors.As(err, &encode) || !strings.Contains(err.Error(), test.want) || !sealed.IsZero() || errors.Unwrap(encode) != nil {
				t.Errorf("%v, want %q", err, test.want)
			}
			checkSilent(t, err)
		})
	}
	// What is escaped, or is U+FFFD itself, is no invalid UTF-8.
	for _, text := range []string{`\ufffd`, `\\ufffd`, "\ufffd", `\`, `"\u`} {
		roundTrip(t, b, "profile", map[string]any{"name": text})
	}
}

func TestAPayloadThatDoesNotFitIsRefusedWithoutItsValue(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	payload := []byte(`{"no":` + secretNumber + `,"note":"` + secretText + `","name":"` + secretText + `","age":` + secretNumber +
		`,"lines":[{"to":"x","n":1},{"to":"` + secretText + `","n":2}],"extra":{"` + secretText + `":` + secretNumber + `},"labels":{"` + secretText + `":"` + secretText + `"}}`)
	sealed, err := b.sealer.Seal(context.Background(), Event{Type: "profile", AggregateID: "42", Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	r := received(t, sealed.Wire())
	type embedded struct {
		Age []string `json:"age"`
	}
	type (
		anAge struct {
			Age int8 `json:"age"`
		}
		aName[T any] struct {
			Name T `json:"name"`
		}
		lines[T any] struct {
			Lines T `json:"lines"`
		}
		to struct {
			To bool `json:"to"`
		}
		extra[T any] struct {
			Extra T `json:"extra"`
		}
		labels struct {
			Labels map[string]bool `json:"labels"`
		}
	)
	for want, open := range map[string]func() error{
		"/age at byte 63: go type int8: does not take this number":                              opens[anAge](b, r),
		"/age at byte 63: go type []string: does not take this number":                          opens[struct{ embedded }](b, r),
		"/name at byte 50: go type int: does not take this string":                              opens[aName[int]](b, r),
		"/lines/*/to at byte 82: go type bool: does not take this string":                       opens[lines[[]to]](b, r),
		"/lines at byte 73: go type string: does not take this array":                           opens[lines[string]](b, r),
		"/extra at byte 125: go type []int: does not take this object":                          opens[extra[[]int]](b, r),
		"/extra at byte 126: go type int: does not take this number":                            opens[extra[map[int]any]](b, r),
		"/labels at byte 178: go type bool: does not take this string":                          opens[labels](b, r),
		"payload at byte 1: go type []int: does not take this object":                           opens[[]int](b, r),
		"payload at byte 0: go type struct { Name time.Time }: a time is not one of RFC 3339":   opens[struct{ Name time.Time }](b, r),
		"payload at byte 0: go type struct { Name []uint8 }: bytes are not in base64":           opens[struct{ Name []byte }](b, r),
		"payload at byte 0: go type struct { Name envelope.chatty }: a value of its own Unmars": opens[struct{ Name chatty }](b, r),
		"payload at byte 0: go type struct { Name envelope.textual }: a value of its own Unmar": opens[struct{ Name textual }](b, r),
		"/name at byte 0: go type ":                                                             opens[aName[forger]](b, r),
		"payload at byte 0: go type struct { Name json.Number }: a value of its own Unmarshal":  opens[struct{ Name json.Number }](b, r),
		"payload at byte 0: go type struct { Name int \"json:\\\",string\\\"\" }: a value of i": opens[struct {
			Name int `json:",string"`
		}](b, r),
	} {
		err := open()
		var decode *DecodeError
		if !errors.As(err, &decode) || !strings.HasPrefix(err.Error(), want) || errors.Unwrap(decode) != nil {
			t.Errorf("%v\nwant %s", err, want)
		}
		if place, ok := PlaceOf(err); !ok || place != decode.Place || WhatOf(err) == err.Error() || HintOf(err) == "" {
			t.Errorf("%v has no place, what or hint", err)
		}
		checkSilent(t, err)
	}
}

func opens[T any](b *typedBench, r Received) func() error {
	return func() error {
		v, opened, err := Typed[T]{Type: "profile"}.Open(context.Background(), b.opener, r, OpenOptions{})
		if err != nil && (!reflect.ValueOf(&v).Elem().IsZero() || opened.Event.Payload != nil) {
			return fmt.Errorf("something is given beside the error")
		}
		return err
	}
}

// encoding/json takes EMAIL for email: a clear member, which anybody who can write to the topic can add, must not win over the sealed one.
func TestAClearMemberIsNotTakenForASealedOne(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	type who struct {
		Email string `json:"email"`
	}
	type note struct {
		who
		Who who `json:"who"`
	}
	notes := Typed[note]{Type: "typed.clearly"}
	sealed, err := notes.Seal(context.Background(), b.sealer, typedEvent, note{who{"ada@example.org"}, who{"grace@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	payload := string(sealed.Wire().Payload)
	for name, forged := range map[string]string{
		"beside it, after":  strings.TrimSuffix(payload, "}") + `,"EMAIL":"` + secretText + `"}`,
		"beside it, before": `{"Email":null,` + payload[1:],
		"above it":          strings.TrimSuffix(payload, "}") + `,"Who":{"email":"` + secretText + `"}}`,
		"with an escape":    strings.TrimSuffix(payload, "}") + `,"\u0045mail":"` + secretText + `"}`,
		"in the object":     strings.Replace(payload, `"who":{`, `"who":{"emaiL":"`+secretText+`",`, 1),
	} {
		w := sealed.Wire()
		w.Payload = []byte(forged)
		r := received(t, w)
		if _, err := b.opener.Open(context.Background(), r, OpenOptions{}); err != nil {
			t.Fatalf("%s: this should open but for the typed front: %v", name, err)
		}
		got, _, err := notes.Open(context.Background(), b.opener, r, OpenOptions{})
		var decode *DecodeError
		if !errors.As(err, &decode) || !strings.Contains(err.Error(), "names differ in case alone") || got != (note{}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		checkSilent(t, err)
	}
	// Twins that have nothing to do with what is sealed are nobody's business.
	w := sealed.Wire()
	w.Payload = []byte(strings.TrimSuffix(payload, "}") + `,"a":1,"A":{"b":[],"B":2}}`)
	if _, _, err := notes.Open(context.Background(), b.opener, received(t, w), OpenOptions{}); err != nil {
		t.Error(err)
	}
}

// A sealed member that is not there, dropped or never written, is not to be had in clear under a name of another case.
func TestAClearMemberIsNotTakenForASealedOneThatIsAbsent(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	for _, forged := range []string{
		`{"EMAIL":"` + secretText + `"}`,
		`{"Email":null}`,
		`{"Who":{"email":"` + secretText + `"}}`,
		`{"who":{"\u0045mail":"` + secretText + `"}}`,
		`{"WHO":{"EMAIL":"` + secretText + `"}}`,
	} {
		w := Wire{ID: testID, Type: "typed.clearly", Version: 1, AggregateID: "42", Payload: []byte(forged)}
		got, _, err := Typed[map[string]any]{Type: "typed.clearly"}.Open(context.Background(), b.opener, received(t, w), OpenOptions{})
		var decode *DecodeError
		if !errors.As(err, &decode) || decode.What != aliasText || got != nil {
			t.Errorf("%s: %v, %v", forged, got, err)
		}
		checkSilent(t, err)
	}
	// A Go type whose field has another case than the schema does not seal it: said before it leaves.
	type who struct{ Email string }
	_, err := Typed[who]{Type: "typed.clearly"}.Seal(context.Background(), b.sealer, typedEvent, who{secretText})
	var encode *EncodeError
	if !errors.As(err, &encode) || encode.What != aliasText {
		t.Errorf("sealing: %v", err)
	}
	checkSilent(t, err)
	w := Wire{ID: testID, Type: "typed.clearly", Version: 1, AggregateID: "42", Payload: []byte(`{"Who":{"other":1},"a":{"email":1},"emails":2}`)}
	if _, _, err := (Typed[map[string]any]{Type: "typed.clearly"}).Open(context.Background(), b.opener, received(t, w), OpenOptions{}); err != nil {
		t.Error(err)
	}
}

// Whatever is added in clear to a sealed event, encoding/json either reads the token into the field, or a twin is found.
func TestNoClearMemberWinsOverATokenUnnoticed(t *testing.T) {
	t.Parallel()
	token := `"` + tokenPrefix + "0f3a9c01:" + strings.Repeat("A", 59) + `"`
	names := rapid.SampledFrom([]string{"ask", "ASK", "a\u017fk", "as\u212a", "\\u0061sk", "Ask", "ASk", "other", "\u0131sk", "who", "Who", "wh\u00f6"})
	hits := 0
	rapid.Check(t, func(t *rapid.T) {
		object := func(with string) string {
			seen, members := map[string]bool{}, []string{}
			for _, name := range rapid.SliceOfN(names, 0, 5).Draw(t, "names") {
				if plain := strings.ReplaceAll(name, `\u0061`, "a"); !seen[plain] && plain != "ask" && plain != "who" {
					seen[plain] = true
					members = append(members, fmt.Sprintf(`"%s":%s`, name, rapid.SampledFrom([]string{`"clear"`, `null`, `{"ask":"clear"}`, `["clear"]`, `{}`}).Draw(t, "value")))
				}
			}
			at := rapid.IntRange(0, len(members)).Draw(t, "at")
			members = slices.Insert(members, at, with)
			return "{" + strings.Join(members, ",") + "}"
		}
		text := object(`"ask":` + token)
		if rapid.Bool().Draw(t, "deeper") {
			text = object(`"who":` + text)
		}
		type asked struct {
			Ask any            `json:"ask"`
			Who map[string]any `json:"who"`
		}
		var flat asked
		var deep struct {
			Who asked `json:"who"`
		}
		want := strings.Trim(token, `"`)
		errFlat, errDeep := json.Unmarshal([]byte(text), &flat), json.Unmarshal([]byte(text), &deep)
		if errFlat == nil && flat.Ask == want || errDeep == nil && deep.Who.Ask == want {
			return
		}
		hits++
		if at, _ := twin([]byte(text), nil); at < 0 && errFlat == nil && errDeep == nil {
			t.Fatalf("a clear member is read instead of the token: %s", text)
		}
	})
	if hits < 5 {
		t.Errorf("a clear member won %d times only: the generator does not reach what it is for", hits)
	}
}

// Any value against any Go type: it fits, or the error says nothing of it.
func TestNoDecodeErrorHoldsAValue(t *testing.T) {
	t.Parallel()
	b := newTypedBench(t)
	type small struct {
		Extra int8 `json:"extra"`
	}
	type quoted struct {
		Extra float32 `json:"extra,string"`
	}
	type nested struct {
		Extra struct {
			A []map[string]uint8  `json:"a"`
			B map[int16]time.Time `json:"b"`
			C *[]byte             `json:"c"`
		} `json:"extra"`
	}
	readers := []func(b *typedBench, r Received) func() error{
		opens[small], opens[quoted], opens[nested], opens[extraOf[bool]], opens[extraOf[string]], opens[extraOf[time.Time]], opens[extraOf[json.Number]],
		opens[extraOf[[]byte]], opens[extraOf[map[textual]int]], opens[extraOf[map[string]time.Duration]], opens[extraOf[chatty]], opens[extraOf[forger]],
		opens[extraOf[big.Int]], opens[extraOf[netip.Addr]], opens[extraOf[[2]uint]], opens[map[string]bool],
	}
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		leaf := rapid.SampledFrom([]string{`"` + secretText + `"`, secretNumber, "-" + secretNumber + ".5e3", `"` + secretNumber + `"`, `"\u0067eheimnis ` + secretText + `"`, "true", "null", "{}", "[]"})
		name := rapid.SampledFrom([]string{"a", "b", "c", secretText, secretNumber})
		var value func(depth int) string
		value = func(depth int) string {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				if depth > 0 {
					return "[" + value(depth-1) + "," + value(depth-1) + "]"
				}
			case 1:
				if depth > 0 {
					return fmt.Sprintf(`{"%s":%s}`, name.Draw(t, "name"), value(depth-1))
				}
			}
			return leaf.Draw(t, "leaf")
		}
		sealed, err := b.sealer.Seal(context.Background(), Event{Type: "profile", AggregateID: "42", Payload: []byte(`{"extra":` + value(3) + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Parse(sealed.Wire(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for i, read := range readers {
			err := read(b, r)()
			if err == nil {
				continue
			}
			refused++
			var decode *DecodeError
			if !errors.As(err, &decode) {
				t.Fatalf("%d: %v", i, err)
			}
			if text := everyText(err); strings.Contains(text, secretText) || strings.Contains(text, secretNumber) {
				t.Fatalf("%d: an error holds a value: %s", i, text)
			}
		}
	})
	if refused < 200 {
		t.Errorf("only %d errors were looked at", refused)
	}
}

type extraOf[T any] struct {
	Extra T `json:"extra"`
}
