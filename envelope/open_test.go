package envelope

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// full is a payload with each kind of location.
const full = `{"id":"clear","email":"ada@b.example","age":41,"vip":true,"tier":"gold","secret":[null],"person":{"tax_id":"123","rest":{}},` +
	`"phones":["+90 1","2"],"tags":[{"of":"x","kind":"k"}],"rest":{"a b":1}}`

func mustParse(t testing.TB, w Wire) Received {
	t.Helper()
	return received(t, w)
}

func TestOpeningFollowsThePlan(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := string(b.seal(t, customer, full).Wire().Payload)
	token := oneToken.FindString(good)
	second := oneToken.FindAllString(good, 2)[1]
	subject := `"` + tokenText("s0123456789abcdef", 44) + `"`
	sealWhole := string(b.seal(t, sealPolicy, `{"any":{"q":1}}`).Wire().Payload)
	for name, c := range map[string]struct {
		typ      string
		payload  string
		kind     Kind
		location string
	}{
		"a plaintext":                 {customer, strings.Replace(good, token, `"Zyx#Wvu7"`, 1), KindPlaintext, "/email"},
		"null":                        {customer, strings.Replace(good, token, `null`, 1), KindPlaintext, "/email"},
		"an object around the token":  {customer, strings.Replace(good, token, `{"a":`+token+`}`, 1), KindPlaintext, "/email"},
		"an array around the token":   {customer, strings.Replace(good, token, `[`+token+`]`, 1), KindPlaintext, "/email"},
		"a cut token":                 {customer, strings.Replace(good, token, token[:40]+`"`, 1), KindMalformed, "/email"},
		"an escaped token":            {customer, strings.Replace(good, token, `"\u0066`+token[2:], 1), KindMalformed, "/email"},
		"an escape within the token":  {customer, strings.Replace(good, token, token[:30]+`\u0041`+token[31:], 1), KindMalformed, "/email"},
		"unused bits":                 {customer, strings.Replace(good, token, token[:len(token)-2]+nextChar(token[len(token)-2])+`"`, 1), KindMalformed, "/email"},
		"a space":                     {customer, strings.Replace(good, token, token[:len(token)-1]+` "`, 1), KindMalformed, "/email"},
		"a per-subject token":         {customer, strings.Replace(good, token, subject, 1), KindUnsupported, "/email"},
		"a token in a clear place":    {customer, strings.Replace(good, `"clear"`, token, 1), KindMisplaced, "/id"},
		"an escaped one there":        {customer, strings.Replace(good, `"clear"`, `"\u0066`+token[2:], 1), KindMisplaced, "/id"},
		"a per-subject token there":   {customer, strings.Replace(good, `"clear"`, subject, 1), KindMisplaced, "/id"},
		"a token in an open map":      {customer, strings.Replace(good, `"a b":1`, `"Zyx#Wvu7":`+token, 1), KindMisplaced, "/rest/*"},
		"a plaintext in an array":     {customer, strings.Replace(good, `"phones":[`, `"phones":[7,`, 1), KindPlaintext, "/phones/0"},
		"an undeclared member":        {customer, strings.Replace(good, `"id"`, `"Zyx#Wvu7":1,"id"`, 1), KindUndeclared, "/*"},
		"an object, to be sealed":     {sealPolicy, `{"any":{"q":1}}`, KindPlaintext, "/any"},
		"a token, broken, there":      {sealPolicy, strings.Replace(sealWhole, `:"fc1:`, `:"\u0066c1:`, 1), KindMalformed, "/any"},
		"an undeclared one, in clear": {sealPolicy, `{"Zyx#Wvu7":1}`, KindPlaintext, "/*"},
		"the root in clear":           {wholeRoot, `"Zyx#Wvu7"`, KindPlaintext, ""},
		"the second token, elsewhere": {customer, strings.Replace(good, token, second, 1), "", "/email"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mustParse(t, wireOf(c.typ, c.payload))
			o, err := b.opener.Open(context.Background(), r, OpenOptions{})
			_, _, again := b.resealer.Reseal(context.Background(), r, nil)
			_, redacted := b.opener.Open(context.Background(), r, OpenOptions{Redact: true})
			if err == nil || len(o.Event.Payload) > 0 {
				t.Fatalf("opens to %s", o.Event.Payload)
			}
			checkError(t, err)
			if again == nil || again.Error() != err.Error() {
				t.Errorf("the Resealer says %v", again)
			}
			if c.kind == "" {
				var open *OpenError
				if !errors.As(err, &open) || open.Location != c.location {
					t.Errorf("%v", err)
				}
				return
			}
			var location *LocationError
			if !errors.As(err, &location) || location.Kind != c.kind || location.Location != c.location {
				t.Errorf("%v, want %s at %s", err, c.kind, c.location)
			}
			if redacted == nil || redacted.Error() != err.Error() {
				t.Errorf("redacting says %v", redacted)
			}
		})
	}
}

// nextChar gives a base64url character that differs in its lowest bit alone: an unused one, in a body of 44 bytes.
func nextChar(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, c)^1])
}

func wireOf(typ, payload string) Wire {
	return Wire{ID: testID, Type: typ, Version: 1, AggregateID: "42", Payload: []byte(payload)}
}

func TestWhereOnlyObjectsAreSealedOthersPass(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, payload := range []string{`{"any":"text"}`, `{"any":null}`, `{"any":[1,"a",[]]}`, `{"any":"fc1:"}`} {
		if got := b.open(t, wireOf(sealPolicy, payload)); got != payload {
			t.Errorf("%s opens to %s", payload, got)
		}
	}
}

func TestOpeningFailsAlikeForWhateverIsWrong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.seal(t, customer, `{"secret":"Zyx#Wvu7","phones":["1","2"]}`).Wire()
	token := oneToken.FindString(string(w.Payload))
	kid := token[5:13]
	want := ""
	check := func(name string, w Wire, opener *Opener) {
		t.Helper()
		_, err := opener.Open(context.Background(), mustParse(t, w), OpenOptions{})
		var open *OpenError
		if !errors.As(err, &open) || open.KeyID != kid || open.Keyring != "default" || open.Location != "/secret" {
			t.Errorf("%s: %v", name, err)
			return
		}
		if want == "" {
			want = err.Error() + HintOf(err)
		}
		if got := err.Error() + HintOf(err); got != want {
			t.Errorf("%s: %s\nelse %s", name, got, want)
		}
	}
	body, err := base64.RawURLEncoding.DecodeString(token[14 : len(token)-1])
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(body) * 8 {
		body[bit/8] ^= 1 << (bit % 8)
		changed := w
		changed.Payload = []byte(strings.Replace(string(w.Payload), token, token[:14]+base64.RawURLEncoding.EncodeToString(body)+`"`, 1))
		check("a changed bit", changed, b.opener)
		body[bit/8] ^= 1 << (bit % 8)
	}
	otherID := w
	otherID.ID = "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e56"
	check("another id", otherID, b.opener)

	// The same schema under another type and another version, and another key of the same id.
	twin := loadTwin(t)
	opener, err := NewOpener(twin, b.rings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	otherType, otherVersion := w, w
	otherType.Type = "customer.changed2"
	otherVersion.Version = 2
	check("another type", otherType, opener)
	check("another version", otherVersion, opener)

	id, err := keyring.ParseKeyID(kid)
	if err != nil {
		t.Fatal(err)
	}
	impostor := keyringtest.New(t, keyringtest.Options{Keys: []keyringtest.Key{
		{ID: id, Purpose: keyring.Seal, State: keyring.Primary, Bytes: [32]byte{1}}, keyringtest.NewKey(keyring.Index, keyring.Primary),
	}})
	if opener, err = NewOpener(b.reg, setOf(t, impostor), Options{}); err != nil {
		t.Fatal(err)
	}
	check("another key", w, opener)

	moved := w
	phone := oneToken.FindAllString(string(w.Payload), -1)[1]
	moved.Payload = []byte(strings.Replace(string(w.Payload), token, phone, 1))
	check("another pointer", moved, b.opener)
}

func TestItemsCannotTradePlaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.seal(t, customer, `{"phones":["1","2"]}`).Wire()
	tokens := oneToken.FindAllString(string(w.Payload), -1)
	w.Payload = []byte(`{"phones":[` + tokens[1] + `,` + tokens[0] + `]}`)
	var open *OpenError
	if _, err := b.opener.Open(context.Background(), mustParse(t, w), OpenOptions{}); !errors.As(err, &open) || open.Location != "/phones/0" {
		t.Fatalf("%v", err)
	}
}

func TestEverySingleBitOfATokensTextCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.seal(t, customer, `{"secret":"Zyx#Wvu7"}`).Wire()
	token := oneToken.FindString(string(w.Payload))
	at := strings.Index(string(w.Payload), token)
	for bit := 8; bit < (len(token)-1)*8; bit++ {
		changed := w
		changed.Payload = slices.Clone(w.Payload)
		changed.Payload[at+bit/8] ^= 1 << (bit % 8)
		r, err := Parse(changed, Limits{})
		if err == nil {
			_, err = b.opener.Open(context.Background(), r, OpenOptions{})
		}
		if err == nil {
			t.Fatalf("bit %d of %s changes nothing", bit, token)
		}
		checkError(t, err)
	}
}

func TestPointersAreBoundExactly(t *testing.T) {
	t.Parallel()
	reg := loadOne(t, "open.map.v1.json", `{"type":"object","patternProperties":{".*":{"x-gdpr-sensitive":true}}}`)
	set := setOf(t, keyringtest.New(t))
	sealer, err := NewSealer(reg, set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	opener, err := NewOpener(reg, set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{``, `a`, `a/b`, `a~1b`, `a~b`, `a~0b`, `~`, `/`, `0`, `00`, `é`, `e\u0301`, `\u0000`, `\ud83d\ude00`, `*`}
	payload := func(value func(i int) string) string {
		var members []string
		for i, name := range names {
			members = append(members, `"`+name+`":`+value(i))
		}
		return `{` + strings.Join(members, ",") + `}`
	}
	sealed, err := sealer.Seal(context.Background(), event("open.map", payload(func(int) string { return "1" })))
	if err != nil {
		t.Fatal(err)
	}
	tokens := oneToken.FindAllString(string(sealed.Wire().Payload), -1)
	for i := range names {
		for j := range names {
			swapped := slices.Clone(tokens)
			swapped[i] = tokens[j]
			w := sealed.Wire()
			w.Payload = []byte(payload(func(i int) string { return swapped[i] }))
			_, err := opener.Open(context.Background(), mustParse(t, w), OpenOptions{})
			if (err == nil) != (i == j) {
				t.Errorf("the token of %q at %q: %v", names[j], names[i], err)
			}
		}
	}
	// A name may be spelt in another way by who stands between: the pointer is of the decoded names.
	w := sealed.Wire()
	w.Payload = []byte(strings.Replace(string(w.Payload), `"a":`, `"\u0061":`, 1))
	if _, err := opener.Open(context.Background(), mustParse(t, w), OpenOptions{}); err != nil {
		t.Error(err)
	}
}

func TestUnknownAndUnusableKeysAreToldApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.seal(t, customer, `{"secret":"Zyx#Wvu7"}`).Wire()
	stranger, err := NewOpener(b.reg, setOf(t, keyringtest.New(t)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stranger.Open(context.Background(), mustParse(t, w), OpenOptions{})
	var key *KeyError
	var unknown *keyring.UnknownKeyError
	if !errors.As(err, &key) || !errors.As(err, &unknown) || !Retryable(err) || key.Location != "/secret" {
		t.Fatalf("%v", err)
	}
	checkError(t, err)

	old := w.Payload[len(`{"secret":"fc1:`) : len(`{"secret":"fc1:`)+8]
	id, err := keyring.ParseKeyID(string(old))
	if err != nil {
		t.Fatal(err)
	}
	b.ring.Rotate(keyring.Seal)
	if got := b.open(t, w); got != `{"secret":"Zyx#Wvu7"}` {
		t.Errorf("under an active key: %s", got)
	}
	for _, state := range []keyring.State{keyring.Disabled, keyring.Destroyed} {
		b.ring.SetState(keyring.Seal, id, state)
		b.ring.Refresh()
		_, err = b.opener.Open(context.Background(), mustParse(t, w), OpenOptions{})
		var unusable *keyring.KeyStateError
		if !errors.As(err, &key) || !errors.As(err, &unusable) || unusable.State != state || Retryable(err) {
			t.Fatalf("%s: %v", state, err)
		}
		checkError(t, err)
	}
}

func TestAKeyringThatIsNotThereLeavesItsLocationsSealed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.seal(t, health, `{ "email":"a@b.example", "blood":"0+" }`).Wire()
	opener, err := NewOpener(b.reg, setOf(t, b.ring.Keyring), Options{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := opener.Open(context.Background(), mustParse(t, w), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tokens := oneToken.FindAllString(string(w.Payload), -1)
	if got, want := string(o.Event.Payload), `{ "email":"a@b.example", "blood":`+tokens[1]+` }`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if want := []StillSealed{{"/blood", "health", tokens[1][5:13], ReasonNoKeyring}}; !slices.Equal(o.StillSealed, want) {
		t.Errorf("%v, want %v", o.StillSealed, want)
	}
	nobody, err := NewOpener(b.reg, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o, err = nobody.Open(context.Background(), mustParse(t, w), OpenOptions{}); err != nil || string(o.Event.Payload) != string(w.Payload) || len(o.StillSealed) != 2 {
		t.Errorf("without keyrings: %s, %v, %v", o.Event.Payload, o.StillSealed, err)
	}
	// It stays sealed only if it is a token.
	w.Payload = []byte(strings.Replace(string(w.Payload), tokens[1], `"0+"`, 1))
	var location *LocationError
	if _, err := opener.Open(context.Background(), mustParse(t, w), OpenOptions{}); !errors.As(err, &location) || location.Kind != KindPlaintext {
		t.Errorf("%v", err)
	}
}

func TestRedactingNeedsNoKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.seal(t, customer, full).Wire()
	nobody, err := NewOpener(b.reg, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := nobody.Open(context.Background(), mustParse(t, w), OpenOptions{Redact: true})
	want := `{"id":"clear","email":null,"age":null,"vip":null,"tier":null,"secret":null,"person":null,"phones":[null,null],"tags":[{"of":null,"kind":"k"}],"rest":{"a b":1}}`
	if err != nil || string(o.Event.Payload) != want || o.StillSealed != nil {
		t.Fatalf("%s, %v, %v", o.Event.Payload, o.StillSealed, err)
	}
	var option *OptionError
	if _, err := nobody.Open(context.Background(), mustParse(t, w), OpenOptions{Redact: true, Fields: []string{"/email"}}); !errors.As(err, &option) {
		t.Fatalf("%v", err)
	}
}

func TestOnlyTheFieldsAskedForAreOpened(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.seal(t, customer, full).Wire()
	r := mustParse(t, w)
	o, err := b.opener.Open(context.Background(), r, OpenOptions{Fields: []string{"/email", "/phones/1", "/person", "/email"}})
	if err != nil {
		t.Fatal(err)
	}
	got := oneToken.ReplaceAllString(string(o.Event.Payload), "TOKEN")
	want := `{"id":"clear","email":"ada@b.example","age":TOKEN,"vip":TOKEN,"tier":TOKEN,"secret":TOKEN,"person":{"tax_id":"123","rest":{}},` +
		`"phones":[TOKEN,"2"],"tags":[{"of":TOKEN,"kind":"k"}],"rest":{"a b":1}}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	var places []string
	for _, s := range o.StillSealed {
		places = append(places, s.Location+" "+s.Reason)
	}
	if want := []string{"/age not asked", "/vip not asked", "/tier not asked", "/secret not asked", "/phones/0 not asked", "/tags/0/of not asked"}; !slices.Equal(places, want) {
		t.Errorf("%v", places)
	}
	if o, err = b.opener.Open(context.Background(), r, OpenOptions{Fields: []string{}}); err != nil || string(o.Event.Payload) != string(w.Payload) {
		t.Errorf("no field asked for: %s, %v", o.Event.Payload, err)
	}
	for pointer, location := range map[string]string{
		"email": "*", "": "", "/id": "/id", "/person/tax_id": "/person/tax_id", "/phones": "/phones", "/phones/2": "/phones/2", "/phones/-": "/phones/*",
		"/" + canary: "/*", "/rest/" + canary + "/0": "/rest/*/*", "/tags/0/of/x": "/tags/0/of/*", "/vip/": "/vip/*",
		// A name of digits in an object is no index of an array: it may be anybody's number.
		"/19840612": "/*", "/person/19840612": "/person/*", "/rest/19840612": "/rest/*", "/rest/19840612/x": "/rest/*/*",
	} {
		_, err := b.opener.Open(context.Background(), r, OpenOptions{Fields: []string{"/vip", pointer}})
		var field *FieldError
		if !errors.As(err, &field) || field.Index != 1 || field.Location != location {
			t.Errorf("%q: %v", pointer, err)
			continue
		}
		checkError(t, err)
	}
	root := b.seal(t, wholeRoot, `[1]`).Wire()
	if o, err := b.opener.Open(context.Background(), mustParse(t, root), OpenOptions{Fields: []string{""}}); err != nil || string(o.Event.Payload) != `[1]` {
		t.Errorf("the root: %s, %v", o.Event.Payload, err)
	}
}

// forge seals any text at a place, as a holder of the key could.
func (b *bench) forge(t testing.TB, typ, pointer, text string, padded int) string {
	t.Helper()
	var keys eventKeys
	keys.reset(b.rings, typ, 1, testID)
	key := keys.primary("default")
	if key.err != nil {
		t.Fatal(key.err)
	}
	nonce := make([]byte, nonceLen)
	plain := []byte(text + strings.Repeat(" ", padded-len(text)))
	data := appendLP(key.head[:], pointer)
	return `"fc1:` + key.text() + ":" + base64.RawURLEncoding.EncodeToString(key.aead.Seal(nonce, nonce, plain, data)) + `"`
}

func TestAnOpenedTextIsOneStrictValueAndSpaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	open := func(text string, padded int) (string, error) {
		w := wireOf(customer, `{"secret":`+b.forge(t, customer, "/secret", text, padded)+`}`)
		o, err := b.opener.Open(context.Background(), mustParse(t, w), OpenOptions{})
		return string(o.Event.Payload), err
	}
	for _, text := range []string{`1`, `"Zyx#Wvu7"`, `{"a":[1.0,1e400]}`, `"` + tokenText("0f3a9c01", 44) + `"`} {
		for _, padded := range []int{1024, 96 * 16, paddedLen(len(text))} {
			if got, err := open(text, padded); err != nil || got != `{"secret":`+text+`}` {
				t.Errorf("%s in %d: %s, %v", text, padded, got, err)
			}
		}
	}
	for _, text := range []string{
		``, ` 1`, "1\n", "1\t", "1\x00", `1 2`, `1,`, `"Zyx#Wvu7`, `{"Zyx#Wvu7":1,"Zyx#Wvu7":2}`, `"\ud800"`, "\"\xff\"", `Zyx#Wvu7`, `[1,]`, `1}`, `1,"x":2`,
	} {
		_, err := open(text, 64)
		var location *LocationError
		if !errors.As(err, &location) || location.Kind != KindOpenedText || (location.Place != Place{"/secret", 10}) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		checkError(t, err)
	}
	for text, name := range map[string]string{
		deep(200): LimitDepth, `1e1001`: LimitExponent, strings.Repeat("1", 1001): LimitDigits, `"` + strings.Repeat("x", 1<<20) + `"`: LimitPlaintext,
	} {
		_, err := open(text, paddedLen(len(text)))
		var limit *LimitError
		if !errors.As(err, &limit) || limit.Limit != name || limit.Location != "/secret" {
			t.Errorf("%.30s: %v", text, err)
		}
	}
	if _, err := open(deep(199), 400); err != nil {
		t.Error(err)
	}
}

func TestTheSizeOfAPlaintextIsCountedWithItsSurroundings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	opener, err := NewOpener(b.reg, b.rings, Options{Limits: Limits{MaxPlaintext: 100}})
	if err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("x", 100-len(`{"id":"","phones":["1234567890","1234567890"]}`))
	for more, want := range map[string]bool{"": true, "x": false} {
		w := b.seal(t, customer, `{"id":"`+filler+more+`","phones":["1234567890","1234567890"]}`).Wire()
		if _, err := opener.Open(context.Background(), mustParse(t, w), OpenOptions{}); (err == nil) != want {
			t.Errorf("%d bytes more: %v", len(more), err)
		}
	}
}

func TestParseRefusesWhatHasNotTheForm(t *testing.T) {
	t.Parallel()
	good := wireOf(customer, `{"id":"1"}`)
	if _, err := Parse(good, Limits{}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Wire){
		"no id":           func(w *Wire) { w.ID = "" },
		"version 0":       func(w *Wire) { w.Version = 0 },
		"no type":         func(w *Wire) { w.Type = "" },
		"no payload":      func(w *Wire) { w.Payload = nil },
		"no JSON":         func(w *Wire) { w.Payload = []byte(canary) },
		"duplicates":      func(w *Wire) { w.Payload = []byte(`{"` + canary + `":1,"` + canary + `":2}`) },
		"two values":      func(w *Wire) { w.Payload = []byte(`1 1`) },
		"201 levels":      func(w *Wire) { w.Payload = []byte(deep(201)) },
		"a broker header": func(w *Wire) { w.Headers = map[string]string{"ce_id": canary} },
	} {
		w := good
		change(&w)
		r, err := Parse(w, Limits{})
		if err == nil || !r.IsZero() {
			t.Errorf("%s is taken", name)
			continue
		}
		checkError(t, err)
	}
	upper := good
	upper.ID = strings.ToUpper(testID)
	r, err := Parse(upper, Limits{})
	if err != nil || r.Wire().ID != testID {
		t.Errorf("%v, %s", err, r.Wire().ID)
	}
}

func TestZeroValuesAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err1 := b.opener.Open(context.Background(), Received{}, OpenOptions{})
	_, _, err2 := b.resealer.Reseal(context.Background(), Received{}, nil)
	_, err3 := (Sealed{}).SameContent(context.Background(), received(t, wireOf(customer, `{}`)))
	_, err4 := b.seal(t, customer, `{}`).SameContent(context.Background(), Received{})
	for i, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, ErrZero) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if !(Sealed{}).IsZero() || !(Received{}).IsZero() || b.seal(t, customer, `{}`).IsZero() {
		t.Error("IsZero")
	}
	if len((Sealed{}).KeyIDs()) != 0 || len((Sealed{}).BlindIndexes()) != 0 {
		t.Error("the zero Sealed has something")
	}
}

func TestSameContentComparesWhatIsOpened(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	seven, eight := int64(7), int64(8)
	e := event(customer, full)
	e.AggregateVersion = &seven
	seal := func(change func(*Event)) Sealed {
		t.Helper()
		e := e
		change(&e)
		s, err := b.sealer.Seal(ctx, e)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := seal(func(*Event) {})
	for name, c := range map[string]struct {
		other Sealed
		want  bool
	}{
		"itself":                    {first, true},
		"sealed again":              {seal(func(*Event) {}), true},
		"other headers":             {seal(func(e *Event) { e.Headers = map[string]string{"a": "1"} }), true},
		"another flagged value":     {seal(func(e *Event) { e.Payload = []byte(strings.Replace(full, "41", "42", 1)) }), false},
		"the same in other bytes":   {seal(func(e *Event) { e.Payload = []byte(strings.Replace(full, "41", "41.0", 1)) }), false},
		"another clear value":       {seal(func(e *Event) { e.Payload = []byte(strings.Replace(full, "clear", "other", 1)) }), false},
		"another aggregate":         {seal(func(e *Event) { e.AggregateID = "43" }), false},
		"another aggregate type":    {seal(func(e *Event) { e.AggregateType = "x" }), false},
		"another aggregate version": {seal(func(e *Event) { e.AggregateVersion = &eight }), false},
		"no aggregate version":      {seal(func(e *Event) { e.AggregateVersion = nil }), false},
		"another id":                {seal(func(e *Event) { e.ID = "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e56" }), false},
	} {
		same, err := first.SameContent(ctx, received(t, c.other.Wire()))
		if err != nil || same != c.want {
			t.Errorf("%s: %v, %v", name, same, err)
		}
	}
	broken := seal(func(*Event) {}).Wire()
	broken.Payload = []byte(strings.Replace(string(broken.Payload), `"clear"`, `"other"`, 1))
	if same, err := first.SameContent(ctx, received(t, broken)); same || err != nil {
		t.Errorf("%v, %v", same, err)
	}
	tokens := oneToken.FindAllString(string(broken.Payload), 2)
	broken.Payload = []byte(strings.Replace(string(broken.Payload), tokens[0], tokens[1], 1))
	var open *OpenError
	if same, err := first.SameContent(ctx, received(t, broken)); same || !errors.As(err, &open) {
		t.Errorf("a row that does not open: %v, %v", same, err)
	}
}

func TestHoldsComparesFullValues(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	r := received(t, b.seal(t, customer, full).Wire())
	messages := func(texts ...string) (list [][]byte) {
		for _, text := range texts {
			list = append(list, []byte(text))
		}
		return list
	}
	for _, c := range []struct {
		index string
		asked [][]byte
		want  bool
	}{
		{"email", messages("sada@b.example"), true},
		{"email", messages("x", "sada@b.example"), true},
		{"email", messages("seve@b.example"), false},
		{"email", messages("sada@b.exampl"), false},
		{"email", nil, false},
		{"age", messages("i41"), true},
		{"age", messages("s41"), false},
		{"tax_id", messages("s123"), true},
		{"phone", messages("s2"), true},
		{"phone", messages("s901"), true},
		{"phone", messages("s9012"), false},
		{"no_such", messages("s2"), false},
	} {
		if got, err := b.opener.Holds(ctx, r, c.index, c.asked); err != nil || got != c.want {
			t.Errorf("%s %s: %v, %v", c.index, c.asked, got, err)
		}
	}
	noted := b.seal(t, health, `{"email":"a@b.example","blood":"0+"}`).Wire()
	only, err := NewOpener(b.reg, setOf(t, b.health.Keyring), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := only.Holds(ctx, received(t, noted), "blood", messages("s0+")); err != nil || !got {
		t.Errorf("with the index's keyring alone: %v, %v", got, err)
	}
	other, err := NewOpener(b.reg, setOf(t, b.ring.Keyring), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var missing *MissingKeyringError
	if _, err := other.Holds(ctx, received(t, noted), "blood", messages("s0+")); !errors.As(err, &missing) {
		t.Errorf("without the index's keyring: %v", err)
	}
	tokens := oneToken.FindAllString(string(noted.Payload), 2)
	noted.Payload = []byte(strings.Replace(string(noted.Payload), tokens[1], tokens[0], 1))
	if _, err := b.opener.Holds(ctx, received(t, noted), "blood", messages("s0+")); err == nil {
		t.Error("a row that does not open holds nothing, without an error")
	}
}
