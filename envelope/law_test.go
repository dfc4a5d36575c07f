package envelope_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

const (
	lawPairs = 100_000
	// lawPayloads are written for each schema.
	lawPayloads = 4
	// leakWindow is how many bytes of a flagged text count as leaked.
	leakWindow = 6
	longWindow = 2 * leakWindow

	lawType = "law.made"
	lawID   = "0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55"
)

// lawTally counts what the law saw, so that it cannot hold of nothing.
type lawTally struct {
	pairs, sealed, secrets, errors, refusedSchemas, reports int
	through                                                 map[string]int
	byDraft                                                 map[string]int
}

func (t *lawTally) add(o lawTally) {
	t.pairs += o.pairs
	t.sealed += o.sealed
	t.secrets += o.secrets
	t.errors += o.errors
	t.refusedSchemas += o.refusedSchemas
	t.reports += o.reports
	for k, n := range o.through {
		t.through[k] += n
	}
	for k, n := range o.byDraft {
		t.byDraft[k] += n
	}
}

// For random schemas over all applicators and drafts, and random payloads: no window of six bytes of a flagged text stands in what leaves, be it
// the wire form, an error, a log line or a report, unless it also stands in a clear field; names that no schema spells out stand in no error, log
// line or report; and what was sealed opens to the same bytes.
func TestLawNothingFlaggedLeavesAndOpeningIsTheInverseOfSealing(t *testing.T) {
	t.Parallel()
	workers := runtime.GOMAXPROCS(0)
	schemas := lawPairs / lawScale / lawPayloads
	var mu sync.Mutex
	total := lawTally{through: map[string]int{}, byDraft: map[string]int{}}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			l := newLaw(t)
			for i := w; i < schemas && !t.Failed(); i += workers {
				l.schema(t, seed, uint64(i))
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(l.tally)
		})
	}
	group.Wait()
	t.Logf("%d pairs, %d sealed, %d flagged texts, %d errors, %d reports; %d schemas refused; by draft %v; flagged values through %v",
		total.pairs, total.sealed, total.secrets, total.errors, total.reports, total.refusedSchemas, total.byDraft, total.through)
	if total.pairs != lawPairs/lawScale || total.sealed < total.pairs/2 || total.secrets < total.pairs || total.errors < total.pairs/2 {
		t.Error("too little of it was seen")
	}
	for _, keyword := range []string{
		"itself", "$ref", "$ref beside", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependencies", "properties", "patternProperties",
		"additionalProperties", "unevaluatedProperties", "prefixItems", "items", "additionalItems", "unevaluatedItems", "contains",
	} {
		// The rarest has about seven times as many; values come in clusters, a root that is a tree having many of one kind.
		if total.through[keyword] < 1000/lawScale {
			t.Errorf("only %d flagged values came through %s", total.through[keyword], keyword)
		}
	}
}

// law is one worker with its keys.
type law struct {
	rings *keyring.Set
	tally lawTally
	said  bytes.Buffer // errors, log lines, reports
	log   *slog.Logger
}

func newLaw(t *testing.T) *law {
	rings, err := keyring.NewSet(keyringtest.New(t), keyringtest.New(t, keyringtest.Options{Name: "health"}))
	if err != nil {
		t.Fatal(err)
	}
	l := &law{rings: rings, tally: lawTally{through: map[string]int{}, byDraft: map[string]int{}}}
	l.log = slog.New(slog.NewJSONHandler(&l.said, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // a second's fraction is that of a flagged number by chance
		}
		return a
	}}))
	return l
}

// say puts a value in all the ways in which programs write values.
func (l *law) say(v any) {
	fmt.Fprintf(&l.said, "%v %+v %#v %q\n", v, v, v, v)
	l.log.Info("said", "value", v)
}

func (l *law) sayErr(err error) {
	if err == nil {
		return
	}
	l.tally.errors++
	for ; err != nil; err = errors.Unwrap(err) {
		l.say(err)
		fmt.Fprintln(&l.said, envelope.HintOf(err), envelope.WhatOf(err))
	}
}

// lawServices are made once for each schema.
type lawServices struct {
	reg      *schema.Registry
	sealer   *envelope.Sealer
	opener   *envelope.Opener
	nobody   *envelope.Opener
	resealer *envelope.Resealer
	verifier *envelope.Verifier
}

func (l *law) services(text string) (s lawServices, err error) {
	if s.reg, err = schema.LoadFS(fstest.MapFS{lawType + ".v1.json": {Data: []byte(text)}}); err != nil {
		return s, err
	}
	var errs [5]error
	s.sealer, errs[0] = envelope.NewSealer(s.reg, l.rings, envelope.Options{})
	s.opener, errs[1] = envelope.NewOpener(s.reg, l.rings, envelope.Options{})
	s.nobody, errs[2] = envelope.NewOpener(s.reg, nil, envelope.Options{})
	s.resealer, errs[3] = envelope.NewResealer(s.reg, l.rings, envelope.Options{})
	s.verifier, errs[4] = envelope.NewVerifier(s.reg, envelope.VerifierOptions{Keyrings: l.rings})
	return s, errors.Join(errs[:]...)
}

// schema takes one random schema and its payloads. A schema that is refused, as two keyrings that meet are, is made again.
func (l *law) schema(t *testing.T, seed, n uint64) {
	g := &lawGen{r: rand.New(rand.NewPCG(seed, n))}
	var s lawServices
	var text string
	for {
		*g = lawGen{r: g.r}
		text = g.eventSchema()
		var err error
		if s, err = l.services(text); err == nil {
			break
		}
		if l.tally.refusedSchemas++; l.tally.refusedSchemas > 100 && l.tally.refusedSchemas > l.tally.pairs {
			t.Errorf("most schemas are refused, such as %s: %v", text, err)
			return
		}
	}
	l.tally.byDraft[g.draft]++
	for range lawPayloads {
		l.said.Reset()
		payload := g.payload()
		l.tally.pairs++
		wire, opened := l.pair(t, s, g, payload)
		if opened != "" && opened != payload {
			t.Errorf("seed %d, schema %d: %q opens to %q; schema %s", seed, n, payload, opened, text)
		}
		if leak := l.leak(g, wire); leak != "" {
			t.Errorf("seed %d, schema %d: %q leaves: payload %q, schema %s, wire form %q, said %q", seed, n, leak, payload, text, wire, l.said.String())
		}
	}
}

// pair seals and opens one payload, and does what goes wrong.
func (l *law) pair(t *testing.T, s lawServices, g *lawGen, payload string) (wire []byte, opened string) {
	ctx := context.Background()
	event := envelope.Event{ID: lawID, Type: lawType, AggregateID: "42", Payload: []byte(payload)}
	if len(payload) > 0 && g.r.IntN(4) == 0 {
		damaged := event
		damaged.Payload = damage(g.r, payload)
		_, err := s.sealer.Seal(ctx, damaged)
		l.sayErr(err)
	}
	if len(g.secrets) > 0 && g.r.IntN(16) == 0 {
		outside := event
		outside.Headers = map[string]string{"trace": g.secrets[g.r.IntN(len(g.secrets))]}
		_, err := s.sealer.Seal(ctx, outside)
		l.sayErr(err)
	}
	l.say(event)
	sealed, err := s.sealer.Seal(ctx, event)
	if err != nil {
		l.sayErr(err)
		return nil, ""
	}
	l.tally.sealed++
	l.tally.secrets += len(g.secrets)
	for k, n := range g.through {
		l.tally.through[k] += n
	}
	w := sealed.Wire()
	l.say(sealed)
	l.say(w)
	l.say(sealed.KeyIDs())
	fmt.Fprintf(&l.said, "%x\n", sealed.BlindIndexes()) // as bytes they hold anything by chance
	r, err := envelope.Parse(w, envelope.Limits{})
	if err != nil {
		t.Errorf("what was sealed does not parse: %v", err)
		return w.Payload, ""
	}
	l.say(r)
	o, err := s.opener.Open(ctx, r, envelope.OpenOptions{})
	if err != nil || len(o.StillSealed) > 0 {
		t.Errorf("what was sealed does not open: %v, %v; %q", err, o.StillSealed, payload)
		return w.Payload, ""
	}
	if g.r.IntN(2) == 0 {
		l.forge(s, g, w, sealed)
	}
	redacted, err := s.nobody.Open(ctx, r, envelope.OpenOptions{Redact: true})
	if err != nil {
		t.Errorf("what was sealed cannot be shown without its values: %v", err)
	}
	l.say(redacted.StillSealed)
	return append(append([]byte{}, w.Payload...), redacted.Event.Payload...), string(o.Event.Payload)
}

var lawToken = regexp.MustCompile(`"fc1:[0-9a-f]{8}:[A-Za-z0-9_-]{59,}"`)

// forge changes the wire form and lets everybody refuse it.
func (l *law) forge(s lawServices, g *lawGen, w envelope.Wire, sealed envelope.Sealed) {
	ctx := context.Background()
	tokens := lawToken.FindAllIndex(w.Payload, -1)
	if len(tokens) == 0 {
		return
	}
	at := tokens[g.r.IntN(len(tokens))]
	token := string(w.Payload[at[0]:at[1]])
	other := string(w.Payload[tokens[0][0]:tokens[0][1]])
	in := g.pick("null", other, token[:len(token)-3]+`AA"`, "["+token+"]", strings.Replace(token, "fc1", "fc2", 1), token[:len(token)-9]+`"`)
	forged := w
	forged.Payload = append(append(bytes.Clone(w.Payload[:at[0]]), in...), w.Payload[at[1]:]...)
	report, err := s.verifier.Verify(ctx, forged, envelope.StoredIndexes{Values: sealed.BlindIndexes()})
	l.sayErr(err)
	l.say(report)
	l.tally.reports++
	r, err := envelope.Parse(forged, envelope.Limits{})
	if err != nil {
		l.sayErr(err)
		return
	}
	for _, opener := range []*envelope.Opener{s.opener, s.nobody} {
		_, err := opener.Open(ctx, r, envelope.OpenOptions{})
		l.sayErr(err)
	}
	_, _, err = s.resealer.Reseal(ctx, r, nil)
	l.sayErr(err)
}

// damage cuts, doubles or changes a payload at one byte.
func damage(r *rand.Rand, payload string) []byte {
	at := r.IntN(len(payload))
	switch r.IntN(3) {
	case 0:
		return []byte(payload[:at])
	case 1:
		return []byte(payload[:at] + payload[at:] + payload[at:])
	}
	b := []byte(payload)
	b[at] = byte(r.IntN(256))
	return b
}

type window = [leakWindow]byte

func windows(texts []string, in map[window]bool) {
	for _, text := range texts {
		for i := 0; i+leakWindow <= len(text); i++ {
			in[window([]byte(text[i:i+leakWindow]))] = true
		}
	}
}

// ofAToken says that six bytes could stand in a token by chance.
func ofAToken(w window) bool {
	for _, c := range w {
		if !strings.ContainsRune(secretLetters, rune(c)) {
			return false
		}
	}
	return true
}

// leak finds a piece of a flagged text in what left, or a name in what was said. Six bytes of letters, digits, - and _ alone stand by chance in a token,
// in a timestamp or in an index in hex: they are looked for outside of tokens, and in what was said as twelve.
func (l *law) leak(g *lawGen, wire []byte) string {
	flagged, clear := map[window]bool{}, map[window]bool{}
	windows(g.secrets, flagged)
	windows(g.clears, clear)
	for w := range clear {
		delete(flagged, w)
	}
	find := func(text []byte, outsideTokens bool) string {
		for i := 0; i+leakWindow <= len(text); i++ {
			if w := window(text[i : i+leakWindow]); flagged[w] && (outsideTokens || !ofAToken(w)) {
				return string(w[:])
			}
		}
		return ""
	}
	if leak := find(wire, false); leak != "" {
		return leak
	}
	if leak := find(lawToken.ReplaceAll(wire, []byte(`""`)), true); leak != "" {
		return leak
	}
	said := l.said.Bytes()
	if leak := find(said, false); leak != "" {
		return leak
	}
	for _, text := range g.secrets {
		for i := 0; i+longWindow <= len(text); i += longWindow / 2 {
			if piece := text[i : i+longWindow]; bytes.Contains(said, []byte(piece)) && !slices.ContainsFunc(g.clears, func(c string) bool { return strings.Contains(c, piece) }) {
				return piece
			}
		}
	}
	for _, name := range g.names {
		if bytes.Contains(said, []byte(name)) || bytes.Contains(said, []byte(strings.TrimPrefix(name, "Ñ"))) {
			return name
		}
	}
	return ""
}

// The law must be able to fail: a piece of a flagged text in the wire form, in what was said, or a name there, is found; what also stands in clear is not.
func TestTheLawNoticesWhatLeaves(t *testing.T) {
	t.Parallel()
	g := &lawGen{secrets: []string{"ab#cd@ef^gh", "1234567890123456"}, names: []string{"Ñ123456+0"}}
	token := `"fc1:0f3a9c01:` + strings.Repeat("123456", 10) + `"`
	for _, c := range []struct {
		name, wire, said string
		clears           []string
		leaks            bool
	}{
		{name: "nothing", wire: `{"a":` + token + `}`, said: "refused at /a"},
		{name: "six bytes in the wire form", wire: `{"a":"xxb#cd@eyy"}`, leaks: true},
		{name: "five bytes in the wire form", wire: `{"a":"xx#cd@eyy"}`},
		{name: "digits outside of a token", wire: `{"a":` + token + `,"b":345678}`, leaks: true},
		{name: "six bytes in what was said", said: "refused: b#cd@e", leaks: true},
		{name: "twelve digits in what was said", said: "id 123456789012", leaks: true},
		{name: "six digits in what was said, as in a timestamp", said: "12:00:00.123456"},
		{name: "a name that no schema spells out", said: "at /Ñ123456+0", leaks: true},
		{name: "what also stands in clear", wire: `{"a":"b#cd@e"}`, clears: []string{"xb#cd@e"}},
	} {
		g.clears = c.clears
		l := &law{}
		l.said.WriteString(c.said)
		if leak := l.leak(g, []byte(c.wire)); (leak != "") != c.leaks {
			t.Errorf("%s: leak %q", c.name, leak)
		}
	}
}
