package envelope

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func (b *bench) reseal(t testing.TB, w Wire, stored map[string][][]byte) (Sealed, bool) {
	t.Helper()
	s, changed, err := b.resealer.Reseal(context.Background(), received(t, w), stored)
	if err != nil {
		t.Fatal(err)
	}
	return s, changed
}

func TestResealingWhatIsNotStaleChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range [][2]string{{customer, full}, {customer, `{"id":"1"}`}, {sealPolicy, ` {"any":{"a":1}} `}, {wholeRoot, `"x"`}} {
		sealed := b.seal(t, c[0], c[1])
		again, changed := b.reseal(t, sealed.Wire(), sealed.BlindIndexes())
		if changed || string(again.Wire().Payload) != string(sealed.Wire().Payload) || !slices.Equal(again.KeyIDs(), sealed.KeyIDs()) ||
			!sameIndexes(sealed.BlindIndexes(), again.values) || again.IsZero() {
			t.Errorf("%s: changed %v, %v", c[1], changed, again.KeyIDs())
		}
	}
}

func TestResealingBringsEverythingUnderThePrimaries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealed := b.seal(t, customer, full)
	oldSeal, oldIndex := primaryID(t, b.ring.Keyring, keyring.Seal), primaryID(t, b.ring.Keyring, keyring.Index)
	b.ring.Rotate(keyring.Seal)
	b.ring.Rotate(keyring.Index)
	again, changed := b.reseal(t, sealed.Wire(), sealed.BlindIndexes())
	if !changed {
		t.Fatal("not changed")
	}
	seal, index := primaryID(t, b.ring.Keyring, keyring.Seal), primaryID(t, b.ring.Keyring, keyring.Index)
	if want := []string{"index:" + index, "seal:" + seal}; !slices.Equal(again.KeyIDs(), want) {
		t.Errorf("%v, want %v", again.KeyIDs(), want)
	}
	payload := string(again.Wire().Payload)
	if strings.Contains(payload, oldSeal) || strings.Count(payload, "fc1:"+seal) != strings.Count(payload, "fc1:") {
		t.Errorf("%s", payload)
	}
	if got := b.open(t, again.Wire()); got != full {
		t.Errorf("opens to %s", got)
	}
	fresh := b.seal(t, customer, full)
	if !sameIndexes(fresh.BlindIndexes(), again.values) {
		t.Errorf("indexes are not those of a fresh event")
	}
	w, old := again.Wire(), sealed.Wire()
	w.Payload, old.Payload = nil, nil
	if w.ID != old.ID || w.AggregateType != old.AggregateType || w.AggregateID != old.AggregateID || !w.OccurredAt.Equal(old.OccurredAt) {
		t.Errorf("the fields around the payload changed")
	}
	if once, changed := b.reseal(t, again.Wire(), again.BlindIndexes()); changed || string(once.Wire().Payload) != payload {
		t.Error("a second time changes it again")
	}
	// The old keys are not needed any more.
	for purpose, text := range map[keyring.Purpose]string{keyring.Seal: oldSeal, keyring.Index: oldIndex} {
		id, err := keyring.ParseKeyID(text)
		if err != nil {
			t.Fatal(err)
		}
		b.ring.SetState(purpose, id, keyring.Destroyed)
	}
	b.ring.Refresh()
	if got := b.open(t, again.Wire()); got != full {
		t.Errorf("opens to %s", got)
	}
}

func TestResealingLeavesTokensThatAreNotStale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := oneToken.FindAllString(string(b.seal(t, customer, `{"phones":["1","2","3"]}`).Wire().Payload), -1)
	b.ring.Rotate(keyring.Seal)
	after := oneToken.FindAllString(string(b.seal(t, customer, `{"phones":["1","2","3"]}`).Wire().Payload), -1)
	mixed := wireOf(customer, `{ "phones" : [`+before[0]+` ,`+after[1]+`,`+before[2]+"] }\n")
	again, changed := b.reseal(t, mixed, nil)
	got := string(again.Wire().Payload)
	tokens := oneToken.FindAllString(got, -1)
	if !changed || tokens[0] == before[0] || tokens[1] != after[1] || tokens[2] == before[2] {
		t.Errorf("changed %v: %s", changed, got)
	}
	if oneToken.ReplaceAllString(got, "T") != "{ \"phones\" : [T ,T,T] }\n" {
		t.Errorf("%q", got)
	}
	if opened := b.open(t, again.Wire()); opened != "{ \"phones\" : [\"1\" ,\"2\",\"3\"] }\n" {
		t.Errorf("%q", opened)
	}
}

func TestStoredIndexesAreStaleUnlessTheyAreWhatWouldBeWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealed := b.seal(t, customer, full)
	good := sealed.BlindIndexes()
	with := func(change func(map[string][][]byte)) map[string][][]byte {
		m := maps.Clone(good)
		for name := range m {
			m[name] = slices.Clone(m[name])
		}
		change(m)
		return m
	}
	for name, c := range map[string]struct {
		stored map[string][][]byte
		want   bool
	}{
		"as written":           {good, false},
		"in another order":     {with(func(m map[string][][]byte) { slices.Reverse(m["phone"]) }), false},
		"an empty one":         {with(func(m map[string][][]byte) { m["other"] = nil }), false},
		"none":                 {nil, true},
		"one missing":          {with(func(m map[string][][]byte) { delete(m, "email") }), true},
		"a value missing":      {with(func(m map[string][][]byte) { m["phone"] = m["phone"][:1] }), true},
		"a value twice":        {with(func(m map[string][][]byte) { m["email"] = append(m["email"], m["email"][0]) }), true},
		"one too many":         {with(func(m map[string][][]byte) { m["other"] = m["email"] }), true},
		"another's value":      {with(func(m map[string][][]byte) { m["email"] = m["tax_id"] }), true},
		"cut by an older bits": {with(func(m map[string][][]byte) { m["email"] = [][]byte{m["email"][0][:8]} }), true},
	} {
		again, changed := b.reseal(t, sealed.Wire(), c.stored)
		if changed != c.want || !sameIndexes(good, again.values) || string(again.Wire().Payload) != string(sealed.Wire().Payload) {
			t.Errorf("%s: changed %v", name, changed)
		}
	}
	b.ring.Rotate(keyring.Index)
	again, changed := b.reseal(t, sealed.Wire(), good)
	if !changed || string(again.Wire().Payload) != string(sealed.Wire().Payload) || sameIndexes(good, again.values) {
		t.Error("a new index key changes the indexes alone")
	}
}

func TestAnOldEventNeedNotMatchItsSchemaToBeResealed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := `{"type":"object","properties":{"email":{"type":"string","x-gdpr-sensitive":true},"n":{}}}`
	after := `{"type":"object","required":["n"],"properties":{"email":{"type":"string","maxLength":3,"x-gdpr-sensitive":true},"n":{"type":"string"}}}`
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	set := setOf(t, ring.Keyring)
	sealer, err := NewSealer(loadOne(t, "old.row.v1.json", before), set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	resealer, err := NewResealer(loadOne(t, "old.row.v1.json", after), set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := sealer.Seal(context.Background(), event("old.row", `{"email":"long enough"}`))
	if err != nil {
		t.Fatal(err)
	}
	ring.Rotate(keyring.Seal)
	again, changed, err := resealer.Reseal(context.Background(), received(t, sealed.Wire()), nil)
	if err != nil || !changed || string(again.Wire().Payload) == string(sealed.Wire().Payload) {
		t.Fatalf("%v, %v", changed, err)
	}
	forged := wireOf(customer, `{"secret":`+b.forge(t, customer, "/secret", `{"a":1,"a":2}`, 16)+`}`)
	_, _, err = b.resealer.Reseal(context.Background(), received(t, forged), nil)
	var location *LocationError
	if !errors.As(err, &location) || location.Kind != KindOpenedText {
		t.Errorf("what is opened must be strict: %v", err)
	}
}

func TestResealNeedsEveryKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.seal(t, customer, full).Wire()
	resealer, err := NewResealer(loadTwin(t), setOf(t, keyringtest.New(t)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s, _, err := resealer.Reseal(context.Background(), received(t, w), nil); !Retryable(err) || !s.IsZero() {
		t.Errorf("%v", err)
	}
	var unknown *schema.UnknownEventError
	if _, _, err := resealer.Reseal(context.Background(), received(t, wireOf("no.such", `{}`)), nil); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

func TestResealedEventsAreComparedWithTheirOwnKeyrings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sealed := b.seal(t, customer, full)
	b.ring.Rotate(keyring.Seal)
	again, _ := b.reseal(t, sealed.Wire(), sealed.BlindIndexes())
	for _, pair := range [][2]Sealed{{again, sealed}, {sealed, again}} {
		if same, err := pair[0].SameContent(context.Background(), received(t, pair[1].Wire())); err != nil || !same {
			t.Errorf("%v, %v", same, err)
		}
	}
}
