package envelope

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// canary stands in every bad payload and must stand in no error.
const canary = "Zyx#Wvu7"

// checkError checks what every error of this package promises.
func checkError(t *testing.T, err error, canaries ...string) {
	t.Helper()
	text := err.Error() + "\n" + HintOf(err) + "\n" + WhatOf(err)
	for _, c := range append(canaries, canary) {
		if strings.Contains(text, c) {
			t.Errorf("the error holds a value: %s", text)
		}
	}
	if strings.HasSuffix(err.Error(), ".") || err.Error() == "" {
		t.Errorf("form of the error: %q", err)
	}
	if HintOf(err) == "" {
		var unhinted interface{ Hint() string }
		if !errors.As(err, &unhinted) {
			t.Errorf("no hint: %v", err)
		}
	}
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestBadPayloadsAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	token := `"` + tokenText("0f3a9c01", 44) + `"`
	const at = `{"id":"` + canary + `","note":`
	for name, c := range map[string]struct {
		payload  string
		kind     error
		location string
		at       int
		what     string
	}{
		"empty":                  {``, &SyntaxError{}, "", 0, "ends too early"},
		"not JSON":               {canary, &SyntaxError{}, "", 0, "a value was expected"},
		"two values":             {`{} {}`, &SyntaxError{}, "", 3, "something follows"},
		"a duplicate":            {`{"id":"` + canary + `","id":1}`, &SyntaxError{}, "/id", 17, "duplicate"},
		"an escaped duplicate":   {`{"id":"` + canary + `","\u0069d":1}`, &SyntaxError{}, "/id", 17, "duplicate"},
		"a duplicate in clear":   {`{"rest":{"` + canary + `":1,"` + canary + `":1}}`, &SyntaxError{}, "/rest/*", 22, "duplicate"},
		"a duplicate in flagged": {`{"person":{"tax_id":"1","x":[{"` + canary + `":1,"` + canary + `":1}]}}`, &SyntaxError{}, "/person/*/0/*", 43, "duplicate"},
		"invalid UTF-8":          {at + "\"\xff\"}", &SyntaxError{}, "/note", len(at) + 1, "UTF-8"},
		"half a surrogate":       {at + `"\ud800"}`, &SyntaxError{}, "/note", len(at) + 1, "surrogate"},
		"half, in a name":        {`{"rest":{"\udc00":1}}`, &SyntaxError{}, "/rest", 10, "surrogate"},
		"a huge exponent":        {at + `1e5000000}`, &LimitError{}, "/note", len(at), "exponent of a number, at most 1000"},
		"a huge one, flagged":    {`{"secret":1e5000000}`, &LimitError{}, "/secret", 10, "exponent of a number, at most 1000"},
		"a long number":          {at + strings.Repeat("1", 1001) + `}`, &LimitError{}, "/note", len(at), "digits of a number, at most 1000"},
		"20,000 levels":          {at + deep(20_000) + `}`, &LimitError{}, "/note" + strings.Repeat("/0", 199), len(at) + 199, "depth, at most 200"},
		"200 levels below one":   {`{"secret":` + deep(200) + `}`, &LimitError{}, "/secret" + strings.Repeat("/0", 199), 209, "depth, at most 200"},
		"over the size":          {`{"id":"` + strings.Repeat("x", 1<<20) + `"}`, &LimitError{}, "", 1 << 20, "plaintext size, at most 1048576"},
		"undeclared":             {`{"id":"1","` + canary + `":1}`, &LocationError{Kind: KindUndeclared}, "/*", 10, "does not declare"},
		"undeclared in an item":  {`{"tags":[{},{"` + canary + `":1}]}`, &LocationError{Kind: KindUndeclared}, "/tags/1/*", 13, "does not declare"},
		"a token in clear":       {`{"id":` + token + `}`, &LocationError{Kind: KindLooksLikeToken}, "/id", 6, "looks like a token"},
		"an escaped token":       {`{"rest":{"` + canary + `":["\u0066` + token[2:] + `]}}`, &LocationError{Kind: KindLooksLikeToken}, "/rest/*/0", 21, "looks like a token"},
		"a per-subject token":    {`{"id":"` + tokenText("s0123456789abcdef", 44) + `"}`, &LocationError{Kind: KindLooksLikeToken}, "/id", 6, "looks like a token"},
		"an invalid value":       {`{"email":["` + canary + `"]}`, &schema.ValidationError{}, "", 0, "/email"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := b.sealer.Seal(context.Background(), event(customer, c.payload))
			if err == nil || !s.IsZero() {
				t.Fatalf("%v, %v", s, err)
			}
			if reflect.TypeOf(err) != reflect.TypeOf(c.kind) {
				t.Fatalf("%T: %v", err, err)
			}
			checkError(t, err)
			if !strings.Contains(err.Error(), c.what) {
				t.Errorf("%v: want %q in it", err, c.what)
			}
			if want, ok := c.kind.(*LocationError); ok && err.(*LocationError).Kind != want.Kind {
				t.Errorf("kind %s, want %s", err.(*LocationError).Kind, want.Kind)
			}
			if place, ok := PlaceOf(err); ok && (place != Place{c.location, c.at}) {
				t.Errorf("at %+v, want %+v", place, Place{c.location, c.at})
			}
		})
	}
}

func TestBadFieldsAreRefusedByName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct {
		change func(*Event)
		field  string
	}{
		"an id that is no UUID":     {func(e *Event) { e.ID = canary }, "id"},
		"36 bytes that are no UUID": {func(e *Event) { e.ID = strings.Replace(testID, "0", "g", 1) }, "id"},
		"a braced id":               {func(e *Event) { e.ID = "{" + testID + "}" }, "id"},
		"an id without hyphens":     {func(e *Event) { e.ID = strings.ReplaceAll(testID, "-", "") }, "id"},
		"a urn id":                  {func(e *Event) { e.ID = "urn:uuid:" + testID }, "id"},
		"the nil id":                {func(e *Event) { e.ID = "00000000-0000-0000-0000-000000000000" }, "id"},
		"the max id":                {func(e *Event) { e.ID = "FFFFFFFF-ffff-ffff-ffff-ffffffffffff" }, "id"},
		"no type":                   {func(e *Event) { e.Type = "" }, "type"},
		"a type with a space":       {func(e *Event) { e.Type = canary + " x" }, "type"},
		"a type that is too long":   {func(e *Event) { e.Type = strings.Repeat("x", 256) }, "type"},
		"a negative version":        {func(e *Event) { e.Version = -1 }, "version"},
		"a version over 31 bits":    {func(e *Event) { e.Version = 1 << 31 }, "version"},
		"no aggregate id":           {func(e *Event) { e.AggregateID = "" }, "aggregate_id"},
		"an aggregate id in Latin1": {func(e *Event) { e.AggregateID = canary + "\xe9" }, "aggregate_id"},
		"an aggregate id with NUL":  {func(e *Event) { e.AggregateID = canary + "\x00" }, "aggregate_id"},
		"an aggregate type in …":    {func(e *Event) { e.AggregateType = canary + "\xe9" }, "aggregate_type"},
		"a time no calendar has":    {func(e *Event) { e.OccurredAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "occurred_at"},
		"a broker's header":         {func(e *Event) { e.Headers = map[string]string{"ce_" + canary: canary} }, "headers"},
		"a broker's header, upper":  {func(e *Event) { e.Headers = map[string]string{"CE_id": canary} }, "headers"},
		"the content type":          {func(e *Event) { e.Headers = map[string]string{"Content-Type": canary} }, "headers"},
		"a header without a name":   {func(e *Event) { e.Headers = map[string]string{"": canary} }, "headers"},
		"a header name in Latin1":   {func(e *Event) { e.Headers = map[string]string{canary + "\xe9": "x"} }, "headers"},
		"a header value in Latin1":  {func(e *Event) { e.Headers = map[string]string{"x": canary + "\xe9"} }, "headers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := event(customer, `{"id":"1"}`)
			c.change(&e)
			_, err := b.sealer.Seal(context.Background(), e)
			var field *EventError
			if !errors.As(err, &field) || field.Field != c.field {
				t.Fatalf("%v", err)
			}
			checkError(t, err)
		})
	}
	var unknown *schema.UnknownEventError
	if _, err := b.sealer.Seal(context.Background(), event("no.such", `{}`)); !errors.As(err, &unknown) || HintOf(err) == "" {
		t.Errorf("an unknown type: %v", err)
	}
	later := event(customer, `{}`)
	later.Version = 2
	if _, err := b.sealer.Seal(context.Background(), later); !errors.As(err, &unknown) {
		t.Errorf("an unknown version: %v", err)
	}
}

func TestLimitsHoldExactlyAtTheirValue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	limits := Limits{MaxPlaintext: 400, MaxDepth: 5, MaxDigits: 4, MaxExponent: 9, MaxSealed: 3}
	sealer, err := NewSealer(b.reg, b.rings, Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	filled := func(n int) string { return `{"id":"` + strings.Repeat("x", n-len(`{"id":""}`)) + `"}` }
	for _, c := range []struct{ within, beyond, limit string }{
		{filled(400), filled(401), LimitPlaintext},
		{`{"note":` + deep(4) + `}`, `{"note":` + deep(5) + `}`, LimitDepth},
		{`{"secret":` + deep(4) + `}`, `{"secret":` + deep(5) + `}`, LimitDepth},
		{`{"note":12.34}`, `{"note":123.45}`, LimitDigits},
		{`{"secret":-1234}`, `{"secret":-12345}`, LimitDigits},
		{`{"note":1e-9}`, `{"note":1e-10}`, LimitExponent},
		{`{"phones":["1","2","3"]}`, `{"phones":["1","2","3","4"]}`, LimitSealed},
		{`{"secret":["1","2","3","4"]}`, `{"vip":true,"secret":1,"age":1,"email":"x"}`, LimitSealed},
	} {
		sealed, err := sealer.Seal(context.Background(), event(customer, c.within))
		if err != nil {
			t.Errorf("%s: %v", c.within, err)
			continue
		}
		opener, err := NewOpener(b.reg, b.rings, Options{Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		if o, err := opener.Open(context.Background(), received(t, sealed.Wire()), OpenOptions{}); err != nil || string(o.Event.Payload) != c.within {
			t.Errorf("%s does not open under the limits it was sealed with: %v", c.within, err)
		}
		var limit *LimitError
		if _, err := sealer.Seal(context.Background(), event(customer, c.beyond)); !errors.As(err, &limit) || limit.Limit != c.limit {
			t.Errorf("%s: %v, want %s", c.beyond, err, c.limit)
		}
		// What others sealed under wider limits is refused as well when it is opened.
		wide := b.seal(t, customer, c.beyond)
		if _, err := opener.Open(context.Background(), received(t, wide.Wire()), OpenOptions{}); !errors.As(err, &limit) || limit.Limit != c.limit {
			t.Errorf("opening %s: %v, want %s", c.beyond, err, c.limit)
		}
	}
}

func TestSealRefusesWhatItsReadersWould(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealer, err := NewSealer(b.reg, b.rings, Options{Limits: Limits{MaxWire: 200}})
	if err != nil {
		t.Fatal(err)
	}
	one, err := sealer.Seal(context.Background(), event(customer, `{"phones":["1","2"]}`))
	if err != nil {
		t.Fatal(err)
	}
	exact := len(one.Wire().Payload)
	if sealer, err = NewSealer(b.reg, b.rings, Options{Limits: Limits{MaxWire: exact - 1}}); err != nil {
		t.Fatal(err)
	}
	var limit *LimitError
	if _, err := sealer.Seal(context.Background(), event(customer, `{"phones":["1","2"]}`)); !errors.As(err, &limit) || limit.Limit != LimitWire {
		t.Errorf("%v", err)
	}
	if _, err := Parse(one.Wire(), Limits{MaxWire: exact}); err != nil {
		t.Error(err)
	}
	if _, err := Parse(one.Wire(), Limits{MaxWire: exact - 1}); !errors.As(err, &limit) || limit.Limit != LimitWire {
		t.Errorf("%v", err)
	}
	if sealer, err = NewSealer(b.reg, b.rings, Options{Limits: Limits{MaxWire: exact}}); err != nil {
		t.Fatal(err)
	}
	if _, err := sealer.Seal(context.Background(), event(customer, `{"phones":["1","2"]}`)); err != nil {
		t.Error(err)
	}
}

func TestLimitsThatCannotBeKeptAreRefused(t *testing.T) {
	t.Parallel()
	reg := testRegistry(t)
	for _, limits := range []Limits{{MaxDepth: 10_001}, {MaxDepth: -1}, {MaxExponent: 1 << 40}, {MaxWire: -1}, {MaxPlaintext: -1}, {MaxSealed: -1}, {MaxDigits: -1}} {
		var option *OptionError
		if _, err := NewOpener(reg, nil, Options{Limits: limits}); !errors.As(err, &option) {
			t.Errorf("%+v: %v", limits, err)
		}
		if _, err := Parse(Wire{}, limits); !errors.As(err, &option) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	var option *OptionError
	if _, err := NewSealer(nil, nil, Options{}); !errors.As(err, &option) {
		t.Errorf("no registry: %v", err)
	}
	if _, err := NewOpener(reg, nil, Options{Limits: Limits{MaxDepth: 10_000}}); err != nil {
		t.Error(err)
	}
}

func TestTheDeepestPayloadIsSealedAndOpened(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	opts := Options{Limits: Limits{MaxDepth: 10_000}}
	sealer, err := NewSealer(b.reg, b.rings, opts)
	if err != nil {
		t.Fatal(err)
	}
	opener, err := NewOpener(b.reg, b.rings, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"note", "secret"} {
		payload := `{"` + member + `":` + deep(9_999) + `}`
		sealed, err := sealer.Seal(context.Background(), event(customer, payload))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Parse(sealed.Wire(), opts.Limits)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := opener.Open(context.Background(), r, OpenOptions{})
		if err != nil || string(opened.Event.Payload) != payload {
			t.Fatalf("%s: %v", member, err)
		}
	}
}

func TestAnIndexWithoutMultiMeetsOneValue(t *testing.T) {
	t.Parallel()
	reg := loadOne(t, "two.places.v1.json", `{
		"type": "object",
		"properties": {
			"a": {"$ref": "#/$defs/mail"},
			"b": {"$ref": "#/$defs/mail"},
			"c": {"x-gdpr-sensitive": true, "x-blind-index": {"name": "any", "normalize": []}, "type": ["string", "null"]}
		},
		"$defs": {"mail": {"type": ["string", "null"], "x-gdpr-sensitive": true, "x-blind-index": {"name": "mail", "normalize": ["trim"]}}}
	}`)
	sealer, err := NewSealer(reg, setOf(t, keyringtest.New(t)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{`{"a":"1"}`, `{"a":"1","b":null}`, `{"a":" ","b":"1"}`} {
		if _, err := sealer.Seal(context.Background(), event("two.places", payload)); err != nil {
			t.Errorf("%s: %v", payload, err)
		}
	}
	for _, payload := range []string{`{"a":"` + canary + `","b":"2"}`, `{"a":"` + canary + `","b":"` + canary + `"}`} {
		_, err := sealer.Seal(context.Background(), event("two.places", payload))
		var location *LocationError
		if !errors.As(err, &location) || location.Kind != KindIndexTwice || location.Index != "mail" || location.Location != "/b" {
			t.Errorf("%s: %v", payload, err)
			continue
		}
		checkError(t, err)
	}
}
