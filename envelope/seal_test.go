package envelope

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// oneToken matches a token within a payload.
var oneToken = regexp.MustCompile(`"fc1:[0-9a-f]{8}:[A-Za-z0-9_-]{59,}"`)

func TestSealedEventsKeepEveryOtherByte(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ typ, payload, want string }{
		{customer, "\t{ \"id\" : \"\\u0041\" ,\r\n\"email\"\t:  \"a@b.example\" , \"note\":[1.0,-0,1E400, [\"email\"]]}\n ",
			"\t{ \"id\" : \"\\u0041\" ,\r\n\"email\"\t:  TOKEN , \"note\":[1.0,-0,1E400, [\"email\"]]}\n "},
		{customer, `{"email":null,"age":null,"vip":false,"secret":""}`, `{"email":TOKEN,"age":TOKEN,"vip":TOKEN,"secret":TOKEN}`},
		{customer, `{"person":{"tax_id":"1","rest":[{"email":"x"}]},"phones":["1", "2" ],"tags":[{"of":"a","kind":"k"},{}]}`,
			`{"person":TOKEN,"phones":[TOKEN, TOKEN ],"tags":[{"of":TOKEN,"kind":"k"},{}]}`},
		{customer, `{"\u0065mail":"a"}`, `{"\u0065mail":TOKEN}`},
		{customer, `{}`, `{}`},
		{clearPolicy, `{"id":"1","x":{"y":[{}]}}`, `{"id":"1","x":{"y":[{}]}}`},
		{sealPolicy, `{"id":"1","x":{"y":1},"any":{"z":1},"list":[1,{"a":2},"s",null]}`, `{"id":"1","x":TOKEN,"any":TOKEN,"list":[1,TOKEN,"s",null]}`},
		{sealPolicy, `{"any":"text","list":[[{}],[[]]]}`, `{"any":"text","list":[[TOKEN],[[]]]}`},
		{wholeRoot, " [1, {\"a\":2}]\n", " TOKEN\n"},
	} {
		sealed := b.seal(t, c.typ, c.payload)
		got := oneToken.ReplaceAllString(string(sealed.Wire().Payload), "TOKEN")
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.payload, got, c.want)
		}
		if opened := b.open(t, sealed.Wire()); opened != c.payload {
			t.Errorf("opened %q, want %q", opened, c.payload)
		}
	}
}

func TestSealFillsInDefaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealed, err := b.sealer.Seal(context.Background(), Event{Type: clearPolicy, AggregateID: "42", Payload: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	w := sealed.Wire()
	if w.Version != 1 || w.AggregateType != "policy" || w.OccurredAt.Format(time.RFC3339Nano) != "2026-11-30T12:00:00.123456Z" || w.ID[14] != '7' {
		t.Errorf("version %d, aggregate type %s, occurred at %s, id %s", w.Version, w.AggregateType, w.OccurredAt.Format(time.RFC3339Nano), w.ID)
	}
	if len(sealed.KeyIDs()) != 0 || len(sealed.BlindIndexes()) != 0 {
		t.Errorf("an event without flags needs %v, %v", sealed.KeyIDs(), sealed.BlindIndexes())
	}
	upper := event(clearPolicy, `{}`)
	upper.ID = strings.ToUpper(testID)
	if sealed, err = b.sealer.Seal(context.Background(), upper); err != nil || sealed.Wire().ID != testID {
		t.Errorf("an upper-case id: %v, %s", err, sealed.Wire().ID)
	}
}

func TestEventsWithoutFlagsNeedNoKeyring(t *testing.T) {
	t.Parallel()
	sealer, err := NewSealer(loadOne(t, "policy.clear.v1.json", clearSchema), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealer.Seal(context.Background(), event(clearPolicy, `{"a":1}`)); err != nil {
		t.Fatal(err)
	}
}

func TestASealerNeedsEveryKeyringOfItsSchemas(t *testing.T) {
	t.Parallel()
	_, err := NewSealer(testRegistry(t), setOf(t, keyringtest.New(t)), Options{})
	var missing *MissingKeyringError
	if !errors.As(err, &missing) || missing.Keyring != "health" || missing.Type != health {
		t.Fatalf("%v", err)
	}
	if _, err := NewResealer(testRegistry(t), nil, Options{}); !errors.As(err, &missing) {
		t.Fatalf("%v", err)
	}
}

func TestKeyIDsNameWhatTheEventNeeds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	seal, index := primaryID(t, b.ring.Keyring, keyring.Seal), primaryID(t, b.ring.Keyring, keyring.Index)
	healthSeal, healthIndex := primaryID(t, b.health.Keyring, keyring.Seal), primaryID(t, b.health.Keyring, keyring.Index)
	for _, c := range []struct {
		typ, payload string
		want         []string
	}{
		{customer, `{"id":"1"}`, nil},
		{customer, `{"vip":true,"secret":1}`, []string{"seal:" + seal}},
		{customer, `{"email":"a","age":2}`, []string{"index:" + index, "seal:" + seal}},
		{customer, `{"email":null}`, []string{"seal:" + seal}},
		{health, `{"email":"a","blood":"0+"}`, []string{"index:" + healthIndex, "seal:" + healthSeal, "seal:" + seal}},
	} {
		slices.Sort(c.want)
		if got := b.seal(t, c.typ, c.payload).KeyIDs(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.payload, got, c.want)
		}
	}
}

func primaryID(t testing.TB, ring *keyring.Keyring, p keyring.Purpose) string {
	t.Helper()
	key, err := ring.Primary(p)
	if err != nil {
		t.Fatal(err)
	}
	return key.ID().String()
}

func loadOne(t testing.TB, name, text string) *schema.Registry {
	t.Helper()
	reg, err := loadText(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestBlindIndexesAreThoseOfTheValues(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealed := b.seal(t, customer, `{"email":" ADA@b.example ","age":41.0,"person":{"tax_id":"123"},"phones":["+90 2","1","9 0 2"]}`)
	key, err := b.ring.Keyring.Primary(keyring.Index)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		steps []string
		bits  int
		want  []string
	}{
		"email":  {[]string{"trim", "nfkc", "casefold"}, 128, []string{"sada@b.example"}},
		"age":    {nil, 32, []string{"i41"}},
		"tax_id": {nil, 128, []string{"s123"}},
		"phone":  {[]string{"digits"}, 128, []string{"s902", "s1"}},
	} {
		ix, err := blindindex.New(name, c.steps, c.bits)
		if err != nil {
			t.Fatal(err)
		}
		var messages [][]byte
		for _, m := range c.want {
			messages = append(messages, []byte(m))
		}
		want, err := ix.Values(key, messages)
		if err != nil {
			t.Fatal(err)
		}
		if got := sealed.BlindIndexes()[name]; !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: %x, want %x", name, got, want)
		}
	}
	none := b.seal(t, customer, `{"email":"  ","age":null,"phones":[]}`).BlindIndexes()
	if len(none) != 0 {
		t.Errorf("null and blank values have indexes: %x", none)
	}
}

func TestTokensDoNotTellShortValuesApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	length := func(payload string) int {
		return len(oneToken.FindString(string(b.seal(t, customer, payload).Wire().Payload)))
	}
	want := length(`{"secret":1}`)
	for n := range 15 {
		if got := length(fmt.Sprintf(`{"secret":"%s"}`, strings.Repeat("x", n))); got != want {
			t.Errorf("a text of %d bytes has a token of %d, one of 1 byte of %d", n+2, got, want)
		}
	}
	if a, b := length(`{"vip":true}`), length(`{"vip":false}`); a != b {
		t.Errorf("true has %d, false %d", a, b)
	}
	if a, b := length(`{"tier":"gold"}`), length(`{"tier":"a very long tier name of 33 bytes"}`); a != b || a == want {
		t.Errorf("the members of an enum have %d and %d", a, b)
	}
	if a, b := length(`{"secret":null}`), length(`{"secret":""}`); a != b || a != want {
		t.Errorf("null has %d, an empty text %d", a, b)
	}
}

func TestEqualValuesHaveDifferentTokens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	payload := string(b.seal(t, customer, `{"phones":["1","1","1"]}`).Wire().Payload)
	tokens := oneToken.FindAllString(payload, -1)
	slices.Sort(tokens)
	if len(slices.Compact(tokens)) != 3 {
		t.Errorf("%v", tokens)
	}
}

// counting counts reads of a random source.
type counting struct {
	reads int
	sizes []int
}

func (c *counting) Read(p []byte) (int, error) {
	c.reads++
	c.sizes = append(c.sizes, len(p))
	for i := range p {
		p[i] = byte(c.reads + i)
	}
	return len(p), nil
}

func TestAnEventsNoncesAreReadAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	random := &counting{}
	sealer, err := NewSealer(b.reg, b.rings, Options{Random: random})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealer.Seal(context.Background(), event(customer, `{"vip":true,"secret":1,"phones":["1","2"]}`)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(random.sizes, []int{4 * nonceLen}) {
		t.Errorf("reads of %v bytes", random.sizes)
	}
	random.sizes = nil
	if _, err := sealer.Seal(context.Background(), event(customer, `{"id":"1"}`)); err != nil || random.sizes != nil {
		t.Errorf("nothing to seal: %v, reads of %v bytes", err, random.sizes)
	}
	broken, err := NewSealer(b.reg, b.rings, Options{Random: io.LimitReader(random, 20)})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := broken.Seal(context.Background(), event(customer, `{"vip":true,"secret":1}`)); err == nil || !s.IsZero() {
		t.Errorf("a short random source: %v, %v", s, err)
	}
}

func TestAnEndedContextEndsSealingAndOpening(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sealed := b.seal(t, customer, `{"vip":true}`)
	r := received(t, sealed.Wire())
	_, err1 := b.sealer.Seal(ctx, event(customer, `{"vip":true}`))
	_, err2 := b.opener.Open(ctx, r, OpenOptions{})
	_, _, err3 := b.resealer.Reseal(ctx, r, nil)
	_, err4 := b.opener.Holds(ctx, r, "email", nil)
	for i, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// lateContext ends after it was asked n times: in the midst of an event.
type lateContext struct {
	context.Context
	asked *int
	n     int
}

func (c lateContext) Err() error {
	if *c.asked++; *c.asked > c.n {
		return context.DeadlineExceeded
	}
	return nil
}

func TestAContextEndsInTheMidstOfAnEvent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	payload := `{"phones":["` + strings.Repeat(`1","`, 200) + `1"]}`
	sealed := b.seal(t, customer, payload)
	for n := range 5 {
		asked := 0
		ctx := lateContext{context.Background(), &asked, n}
		if n < 4 {
			if _, err := b.sealer.Seal(ctx, event(customer, payload)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("sealing, ended at look %d: %v", n, err)
			}
		}
		asked = 0
		if _, err := b.opener.Open(ctx, received(t, sealed.Wire()), OpenOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("opening, ended at look %d: %v", n, err)
		}
	}
}

func TestWhatLeavesCannotChangeASealed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	version := int64(7)
	e := event(customer, `{"email":"a@b.example"}`)
	e.Headers, e.AggregateVersion = map[string]string{"a": "1"}, &version
	sealed, err := b.sealer.Seal(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	e.Headers["a"], version, e.Payload[2] = "2", 8, 'X'
	w := sealed.Wire()
	w.Headers["a"], *w.AggregateVersion = "3", 9
	sealed.KeyIDs()[0] = "x"
	sealed.BlindIndexes()["email"][0] = nil
	delete(sealed.BlindIndexes(), "email")
	if w := sealed.Wire(); w.Headers["a"] != "1" || *w.AggregateVersion != 7 || sealed.KeyIDs()[0] == "x" || sealed.BlindIndexes()["email"][0] == nil {
		t.Errorf("%v %d %v %v", w.Headers, *w.AggregateVersion, sealed.KeyIDs(), sealed.BlindIndexes())
	}
}

func TestEventsPrintWithoutTheirContent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := event(customer, `{"id":"Zebra-clear","email":"Zebra@flagged.example"}`)
	e.AggregateID, e.Headers = "Zebra-aggregate", map[string]string{"Zebra-name": "Zebra-value"}
	sealed, err := b.sealer.Seal(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	r := received(t, sealed.Wire())
	opened, err := b.opener.Open(context.Background(), r, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	structured := slog.New(slog.NewJSONHandler(&log, nil))
	for _, v := range []any{e, sealed, r, opened, &e, []Event{e}, []*Opened{&opened}} {
		logger.Info("event", "v", v)
		structured.Info("event", "v", v)
		structured.Info("event", "v", struct{ In map[string]any }{map[string]any{"list": []any{v}}}) // encoding/json writes what lies inside
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
	}
	if strings.Contains(log.String(), "Zebra") || strings.Contains(log.String(), fmt.Sprintf("%x", "Zebra")) {
		t.Errorf("%s", log.String())
	}
	if !strings.Contains(log.String(), testID) {
		t.Errorf("the id is missing: %s", log.String())
	}
}
