package envelope

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func TestWhatIsAppendedIsWhatSealMakes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	memory := append(make([]byte, 0, 64), "before"...)
	buf := NewBuffer(memory)
	var all []Sealed
	var want []string
	for range 20 { // the memory moves on the way
		for _, c := range [][2]string{{customer, full}, {customer, `{"id":"1"}`}, {clearPolicy, `{"id":"1"}`}, {wholeRoot, ` [1] `}, {health, `{"blood":"AB"}`}} {
			s, err := b.sealer.AppendSeal(ctx, buf, event(c[0], c[1]))
			if err != nil {
				t.Fatal(err)
			}
			all, want = append(all, s), append(want, c[1])
		}
	}
	if string(memory) != "before" || !bytes.HasPrefix(buf.bytes, []byte("before")) || buf.Len() != len(buf.bytes) {
		t.Errorf("%q", memory)
	}
	for i, s := range all {
		plain, err := b.sealer.Seal(ctx, event(s.Wire().Type, want[i]))
		if err != nil {
			t.Fatal(err)
		}
		if got := b.open(t, s.Wire()); got != want[i] {
			t.Fatalf("event %d opens to %s", i, got)
		}
		if !slices.Equal(s.KeyIDs(), plain.KeyIDs()) || !sameIndexes(plain.BlindIndexes(), s.values) || !sameIndexes(s.BlindIndexes(), plain.values) {
			t.Fatalf("event %d: %v, %v; %v, %v", i, s.KeyIDs(), plain.KeyIDs(), s.BlindIndexes(), plain.BlindIndexes())
		}
	}
}

func TestARefusedEventLeavesNothingInItsBuffer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	small, err := NewSealer(b.reg, b.rings, Options{Limits: Limits{MaxWire: 300}})
	if err != nil {
		t.Fatal(err)
	}
	var buf Buffer
	if _, err := b.sealer.AppendSeal(ctx, &buf, event(customer, `{"secret":1}`)); err != nil {
		t.Fatal(err)
	}
	before := buf
	broken, err := NewSealer(b.reg, b.rings, Options{Random: bytes.NewReader(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for name, seal := range map[string]func() (Sealed, error){
		"no strict JSON": func() (Sealed, error) { return b.sealer.AppendSeal(ctx, &buf, event(customer, `{"secret":1`)) },
		"invalid":        func() (Sealed, error) { return b.sealer.AppendSeal(ctx, &buf, event(customer, `{"id":1}`)) },
		"too large":      func() (Sealed, error) { return small.AppendSeal(ctx, &buf, event(customer, full)) },
		"no randomness":  func() (Sealed, error) { return broken.AppendSeal(ctx, &buf, event(customer, full)) },
	} {
		s, err := seal()
		if err == nil || !s.IsZero() || buf.Len() != before.Len() || len(buf.keys) != len(before.keys) || len(buf.values) != len(before.values) {
			t.Errorf("%s: %v, %d bytes, %d before", name, err, buf.Len(), before.Len())
		}
	}
	var option *OptionError
	if _, err := b.sealer.AppendSeal(ctx, nil, event(customer, `{}`)); !errors.As(err, &option) {
		t.Errorf("a nil buffer: %v", err)
	}
	if _, _, err := b.resealer.AppendReseal(ctx, nil, Received{}, nil); !errors.As(err, &option) {
		t.Errorf("a nil buffer: %v", err)
	}
}

func TestWhatAResetBufferHeldIsNoEventAnyMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	var buf Buffer
	s, err := b.sealer.AppendSeal(ctx, &buf, event(customer, full))
	if err != nil {
		t.Fatal(err)
	}
	row := mustParse(t, s.Wire())
	indexes, ids := s.BlindIndexes(), s.KeyIDs()
	kept, err := b.sealer.Seal(ctx, event(customer, full))
	if err != nil {
		t.Fatal(err)
	}
	buf.Reset()
	if !s.IsZero() || s.Wire().ID != "" || s.Wire().Payload != nil || s.KeyIDs() != nil || s.BlindIndexes() != nil {
		t.Errorf("after a reset: %+v", s.Wire())
	}
	if _, err := s.SameContent(ctx, row); !errors.Is(err, ErrZero) {
		t.Errorf("%v", err)
	}
	again, err := b.sealer.AppendSeal(ctx, &buf, event(customer, `{"secret":1}`))
	if err != nil || again.IsZero() || !s.IsZero() || kept.IsZero() {
		t.Errorf("%v", err)
	}
	// What was asked for before is the caller's own.
	if len(ids) != 2 || !sameIndexes(indexes, kept.values) {
		t.Errorf("%v, %v", ids, indexes)
	}
}

func TestResealingAppendsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	sealed := b.seal(t, customer, full)
	r := mustParse(t, sealed.Wire())
	var buf Buffer
	s, changed, err := b.resealer.AppendReseal(ctx, &buf, r, sealed.BlindIndexes())
	if err != nil || changed || &s.wire.Payload[0] != &r.wire.Payload[0] || buf.Len() > 200 {
		t.Errorf("fresh: changed %v, %d bytes, %v", changed, buf.Len(), err)
	}
	b.ring.Rotate(keyring.Seal)
	s, changed, err = b.resealer.AppendReseal(ctx, &buf, r, sealed.BlindIndexes())
	if err != nil || !changed || b.open(t, s.Wire()) != full || !slices.Equal(s.KeyIDs(), b.seal(t, customer, full).KeyIDs()) {
		t.Errorf("stale: changed %v, %v, %v", changed, s.KeyIDs(), err)
	}
	buf.Reset()
	if !s.IsZero() {
		t.Error("still there after a reset")
	}
}

func TestOpeningAppendsBehindWhatIsThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	r := mustParse(t, b.seal(t, customer, full).Wire())
	for _, room := range []int{0, 10, 4096} {
		dst := append(make([]byte, 0, len("before")+room), "before"...)
		out, opened, err := b.opener.AppendOpen(ctx, dst, r, OpenOptions{})
		if err != nil || string(out) != "before"+full || string(opened.Event.Payload) != full || cap(opened.Event.Payload) != len(full) {
			t.Errorf("room %d: %q, %v", room, out, err)
		}
	}
	// Nothing of an event that does not open is left in the caller's memory.
	w := b.seal(t, customer, full).Wire()
	at := bytes.LastIndex(w.Payload, []byte("fc1:")) + 30
	other := byte('A')
	if w.Payload[at] == other {
		other = 'B'
	}
	w.Payload = bytes.Clone(w.Payload)
	w.Payload[at] = other
	memory := make([]byte, 4096)
	out, opened, err := b.opener.AppendOpen(ctx, memory[:0], mustParse(t, w), OpenOptions{})
	var open *OpenError
	if !errors.As(err, &open) || len(out) != 0 || opened.Event.Payload != nil || !bytes.Equal(memory, make([]byte, 4096)) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestMemoryThatIsUsedAgainHoldsNoPlaintext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const secret = `Zyx#Wvu7Tsr#Qpo5`
	payload := `{"id":"1","secret":"\u005ayx#Wvu7Tsr#Qpo5","email":"` + secret + `@example.org","phones":["+90 ` + secret + `"],"person":{"\u0072est":"` + secret + `"}}`
	c := b.sealer.core
	m := c.work()
	e := event(customer, payload)
	e.AggregateID = "an aggregate id that is long"
	w := &m.walk
	es, err := b.reg.Event(customer, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.reset(e.Payload, walkPlain, es.Plan().Root(), 0, c.limits)
	m.outside.reset(e.AggregateID, nil)
	w.outside = &m.outside
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	m.indexes.reset(c)
	if err := m.indexes.add(w, func(hit) Place { return Place{} }); err != nil {
		t.Fatal(err)
	}
	m.body = append(m.room(100), secret...)
	w.bodies = append(w.bodies, secret...)
	held := func() (n int) {
		for _, memory := range [][]byte{w.scratch[:cap(w.scratch)], m.indexes.arena[:cap(m.indexes.arena)], m.body[:cap(m.body)], w.bodies[:cap(w.bodies)]} {
			n += bytes.Count(memory, []byte("Wvu7")) + bytes.Count(memory, []byte("wvu7"))
		}
		return n
	}
	if held() < 4 {
		t.Fatalf("the memory holds %d pieces before: the test looks in the wrong places", held())
	}
	c.release(m)
	if n := held(); n > 0 {
		t.Errorf("%d pieces of plaintext are left", n)
	}
}
