package envelope

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// The generators write JSON text, not values: every spelling that the format must keep.

func spaces(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t \r\n"}).Draw(t, "space")
}

func quoted(t *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < 0x20 || rapid.IntRange(0, 9).Draw(t, "escape") == 0:
			if r > 0xffff {
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			} else {
				fmt.Fprintf(&b, `\u%04X`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var numberTexts = []string{"0", "-0", "1.0", "1e400", "-1E-400", "0.10", "1234567890123456789012345678901234567890", "1e0", "2E+3", "9007199254740993"}

func numberText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(numberTexts), rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`))
}

// anyText writes a value of any type; leaf writes strings.
func anyText(t *rapid.T, depth int, leaf func(*rapid.T) string) string {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 && kind > 4 {
		kind = 0
	}
	switch kind {
	case 0, 1:
		return leaf(t)
	case 2:
		return numberText().Draw(t, "number")
	case 3, 4:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal")
	case 5:
		var items []string
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			items = append(items, spaces(t)+anyText(t, depth-1, leaf)+spaces(t))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	var members []string
	for _, name := range rapid.SliceOfNDistinct(rapid.StringN(0, 4, 8), 0, 4, rapid.ID).Draw(t, "names") {
		members = append(members, spaces(t)+quoted(t, name)+spaces(t)+":"+spaces(t)+anyText(t, depth-1, leaf)+spaces(t))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func stringText(t *rapid.T) string { return quoted(t, rapid.String().Draw(t, "string")) }

// customerText writes a payload of customerSchema, its members in any order; leaf writes the strings at flagged locations.
func customerText(t *rapid.T, leaf func(*rapid.T) string) string {
	phones := func() string {
		var list []string
		for range rapid.IntRange(0, 5).Draw(t, "phones") {
			list = append(list, spaces(t)+leaf(t))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	all := map[string]func() string{
		"id":   func() string { return stringText(t) },
		"note": func() string { return rapid.OneOf(numberText(), rapid.Just(`["x",[1.0]]`)).Draw(t, "note") },
		"rest": func() string {
			return "{" + spaces(t) + quoted(t, rapid.String().Draw(t, "name")) + ":" + numberText().Draw(t, "rest") + "}"
		},
		"email": func() string { return leaf(t) },
		"age": func() string {
			return rapid.SampledFrom([]string{"1.0", "-0", "1e2", "41", "null", "12345678901234567890"}).Draw(t, "age")
		},
		"vip":    func() string { return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "vip") },
		"tier":   func() string { return `"g\u006fld"` },
		"secret": func() string { return anyText(t, 4, leaf) },
		"person": func() string { return `{"tax_id":` + leaf(t) + `,"rest":` + anyText(t, 3, leaf) + `}` },
		"phones": phones,
		"tags":   func() string { return `[{"of":` + leaf(t) + `},{"kind":"k"}]` },
	}
	names := []string{"id", "note", "rest", "email", "age", "vip", "tier", "secret", "person", "phones", "tags"}
	names = rapid.Permutation(names).Draw(t, "order")[:rapid.IntRange(0, len(names)).Draw(t, "count")]
	var members []string
	for _, name := range names {
		members = append(members, spaces(t)+quoted(t, name)+spaces(t)+":"+spaces(t)+all[name]()+spaces(t))
	}
	return spaces(t) + "{" + strings.Join(members, ",") + "}" + spaces(t)
}

func TestOpenOfSealIsTheIdentityOnBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		payload := customerText(rt, stringText)
		sealed := b.seal(t, customer, payload)
		if got := b.open(t, sealed.Wire()); got != payload {
			rt.Fatalf("%q opens to %q", payload, got)
		}
	})
}

func TestOpenOfSealIsTheIdentityUnderThePolicySeal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		payload := `{"any":` + anyText(rt, 5, stringText) + `,"list":[` + anyText(rt, 3, stringText) + `],` + quoted(rt, rapid.StringMatching(`x.{0,4}`).Draw(rt, "name")) + `:` + anyText(rt, 3, stringText) + `}`
		sealed := b.seal(t, sealPolicy, payload)
		if got := b.open(t, sealed.Wire()); got != payload {
			rt.Fatalf("%q opens to %q", payload, got)
		}
	})
}

func TestRotatingAndOpeningIsTheIdentityOnBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.health.Rotate(keyring.Seal)
	rapid.Check(t, func(rt *rapid.T) {
		payload := customerText(rt, stringText)
		sealed := b.seal(t, customer, payload)
		if rapid.IntRange(0, 3).Draw(rt, "rotate") == 0 {
			b.ring.Rotate(keyring.Seal)
			b.ring.Rotate(keyring.Index)
		}
		again, changed := b.reseal(t, sealed.Wire(), sealed.BlindIndexes())
		if got := b.open(t, again.Wire()); got != payload {
			rt.Fatalf("%q opens to %q", payload, got)
		}
		fresh := b.seal(t, customer, payload)
		if !sameIndexes(fresh.BlindIndexes(), again.values) || !slices.Equal(again.KeyIDs(), fresh.KeyIDs()) || changed == slices.Equal(again.KeyIDs(), sealed.KeyIDs()) {
			rt.Fatalf("%q: changed %v, keys %v, %v fresh, %v before", payload, changed, again.KeyIDs(), fresh.KeyIDs(), sealed.KeyIDs())
		}
	})
}

// window is how long a piece of a flagged text must be to count as leaked.
const window = 6

// flaggedText writes texts over letters that stand in no token, number, name or error, so that a window found elsewhere is no chance.
func flaggedText(t *rapid.T) string {
	letters := rapid.SampledFrom([]rune("ĞÜŞİÖÇ#%&@!^*QXZ§"))
	return `"` + rapid.StringOfN(letters, 0, 40, -1).Draw(t, "flagged") + `"`
}

// leaks looks for a window of the flagged texts in what leaves.
func leaks(flagged []string, out string) string {
	for _, text := range flagged {
		for i := 0; i+window <= len(text); i++ {
			if w := text[i : i+window]; strings.Contains(out, w) {
				return w
			}
		}
	}
	return ""
}

func TestNothingOfAFlaggedTextLeaves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	keyless, _, keyed := b.verifiers(t)
	nobody, err := NewOpener(b.reg, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	errs, seals := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		var flagged []string
		payload := customerText(rt, func(rt *rapid.T) string {
			text := flaggedText(rt)
			flagged = append(flagged, strings.Trim(text, `"`))
			return text
		})
		var out strings.Builder
		say := func(v any) { fmt.Fprintf(&out, "%v %+v %#v %q\n", v, v, v, v) }
		sayErr := func(err error) {
			if err != nil {
				errs++
				say(err)
				out.WriteString(HintOf(err) + WhatOf(err))
			}
		}
		ctx := context.Background()
		// Half of the payloads are damaged: at a random byte cut, doubled, or changed.
		if rapid.Bool().Draw(rt, "damage") && payload != "" {
			at := rapid.IntRange(0, len(payload)-1).Draw(rt, "at")
			switch rapid.IntRange(0, 3).Draw(rt, "how") {
			case 0:
				payload = payload[:at]
			case 1:
				payload = payload[:at] + payload[at:] + payload[at:]
			case 2:
				payload = payload[:at] + string(rapid.Byte().Draw(rt, "byte")) + payload[at+1:]
			case 3:
				payload = strings.Replace(payload, `"secret"`, `"vip"`, 1)
			}
		}
		e := event(customer, payload)
		if len(flagged) > 0 && rapid.Bool().Draw(rt, "outside") {
			e.AggregateID += flagged[0]
		}
		sealed, err := b.sealer.Seal(ctx, e)
		sayErr(err)
		if err != nil {
			if w := leaks(flagged, out.String()); w != "" {
				rt.Fatalf("%q leaves in %q", w, out.String())
			}
			return
		}
		seals++
		say(sealed)
		w := sealed.Wire()
		out.Write(w.Payload)
		say(sealed.KeyIDs())
		say(sealed.BlindIndexes())
		if tokens := oneToken.FindAllString(string(w.Payload), -1); len(tokens) > 0 {
			i := rapid.IntRange(0, len(tokens)-1).Draw(rt, "token")
			for _, in := range []string{"null", tokens[0], tokens[i][:len(tokens[i])-2] + `A"`} {
				bad := w
				bad.Payload = []byte(strings.Replace(string(w.Payload), tokens[i], in, 1))
				r, err := Parse(bad, Limits{})
				sayErr(err)
				if err == nil {
					_, err = b.opener.Open(ctx, r, OpenOptions{})
					sayErr(err)
					_, _, err = b.resealer.Reseal(ctx, r, nil)
					sayErr(err)
				}
				for _, v := range []*Verifier{keyless, keyed} {
					report, err := v.Verify(ctx, bad, StoredIndexes{})
					sayErr(err)
					say(report)
				}
			}
		}
		redacted, err := nobody.Open(ctx, received(t, w), OpenOptions{Redact: true})
		if err != nil {
			rt.Fatal(err)
		}
		out.Write(redacted.Event.Payload)
		if leaked := leaks(flagged, out.String()); leaked != "" && !strings.Contains(e.AggregateID, leaked) {
			rt.Fatalf("%q leaves in %q", leaked, out.String())
		}
	})
	if errs < 20 || seals < 10 { // about 250 and 55
		t.Errorf("the property saw %d errors and %d sealed events", errs, seals)
	}
}

func TestWireFormsAreStrictJSONOfTheSameShape(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		payload := customerText(rt, stringText)
		wire := b.seal(t, customer, payload).Wire().Payload
		if !utf8.Valid(wire) {
			rt.Fatalf("%q", wire)
		}
		// With the tokens taken out, what remains stands in the payload in this order.
		rest := payload
		for _, clear := range oneToken.Split(string(wire), -1) {
			at := strings.Index(rest, clear)
			if at < 0 {
				rt.Fatalf("%q is not from %q", clear, payload)
			}
			rest = rest[at+len(clear):]
		}
	})
}
