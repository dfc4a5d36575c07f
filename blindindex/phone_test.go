package blindindex

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// spell writes a number as people do: separators between the digits, digits of another script.
func spell(t *rapid.T, digits string) string {
	zero := rapid.SampledFrom([]rune{'0', '\u0660', '\u06f0', '\uff10'}).Draw(t, "script")
	var b strings.Builder
	for _, d := range digits {
		b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "-", ".", "/", "\u00a0", "\u2011", "(", ")", "\u200e"}).Draw(t, "separator"))
		if d == '+' {
			b.WriteRune(rapid.SampledFrom([]rune{'+', '\uff0b'}).Draw(t, "plus"))
			continue
		}
		b.WriteRune(zero + d - '0')
	}
	return b.String()
}

func TestOneNumberHasOneFormHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	regions := strings.Split(strings.TrimSpace(phoneRegions), "\n")
	rapid.Check(t, func(t *rapid.T) {
		region, _, _ := strings.Cut(rapid.SampledFrom(regions).Draw(t, "region"), " ")
		p := newPhone(region)
		length := rapid.SampledFrom(p.lengths).Draw(t, "length")
		national := rapid.StringOfN(rapid.RuneFrom([]rune("23456789")), length, length, -1).Draw(t, "national")
		for _, trunk := range p.codes[p.own].trunk {
			if strings.HasPrefix(national, trunk) {
				return // ambiguous where the trunk prefix is a digit that numbers begin with
			}
		}
		if len(p.own)+length > maxE164 {
			return
		}
		want := "+" + p.own + national
		for _, trunk := range append([]string{""}, p.codes[p.own].trunk...) {
			if got := p.normalize(spell(t, "+"+p.own+trunk+national)); got != want {
				t.Fatalf("%s: +%s %s %s is %s", region, p.own, trunk, national, got)
			}
			if got := p.normalize(spell(t, "00"+p.own+trunk+national)); got != want {
				t.Fatalf("%s: 00 %s %s %s is %s", region, p.own, trunk, national, got)
			}
			if got := p.normalize(spell(t, trunk+national)); got != want {
				t.Fatalf("%s: %s %s is %s, not %s", region, trunk, national, got, want)
			}
		}
		if again := p.normalize(want); again != want {
			t.Fatalf("%s: %s is %s", region, want, again)
		}
	})
}

func FuzzPhone(f *testing.F) {
	for _, seed := range []string{"", "+", "0532 123 45 67", "+90 (0)532", "00905321234567", "+999", "٠٥٣٢", "８１０", "8~10", "1234567890123456789", "+90532x"} {
		f.Add(seed, "TR")
	}
	f.Add("810 90 532 123 45 67", "RU")
	f.Add("000000", "DE")
	f.Fuzz(func(t *testing.T, text, region string) {
		p := newPhone(region)
		if p == nil {
			p = newPhone("DE")
		}
		got := p.normalize(text)
		number, isNumber := strings.CutPrefix(got, "+")
		if strings.Trim(number, "0123456789") != "" {
			t.Fatalf("%q gives %q", text, got)
		}
		// A number that goes on with a trunk prefix is no subscriber's; read once more, by rule 4 of docs/format.md 6.6, it loses that too.
		again := p.normalize(got)
		if isNumber && (len(number) < 5 || len(number) > maxE164 || again != got && !p.goesOnWithATrunkPrefix(number)) {
			t.Fatalf("%q gives %q, and that %q", text, got, again)
		}
		if !isNumber && got != digits(text) {
			t.Fatalf("%q gives %q", text, got)
		}
	})
}

// goesOnWithATrunkPrefix says whether behind the country code stands a trunk prefix that begins with 0.
func (p *phone) goesOnWithATrunkPrefix(number string) bool {
	for n := 1; n <= 3; n++ {
		if code, ok := p.codes[number[:n]]; ok {
			return slices.ContainsFunc(code.trunk, func(prefix string) bool { return prefix[0] == '0' && strings.HasPrefix(number[n:], prefix) })
		}
	}
	return false
}
