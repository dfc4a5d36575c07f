package blindindex

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxE164 is how many digits an international number has at most (ITU-T E.164).
const maxE164 = 15

// phone reads telephone numbers for one default region; docs/format.md says how, step by step. Immutable after newPhone.
type phone struct {
	own           string   // the region's country code
	lengths       []int    // of its national numbers
	international []string // its prefixes of international calls, longest first
	codes         map[string]phoneCode
}

type phoneCode struct {
	lengths []int
	trunk   []string
}

// newPhone reads the tables for a region, nil for one that they do not have.
func newPhone(region string) *phone {
	p := &phone{codes: map[string]phoneCode{}}
	for line := range strings.Lines(phoneRegions) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == region {
			p.own, p.lengths, p.international = f[1], numberList(f[2]), strings.Split(f[3], ",")
		}
	}
	if p.own == "" {
		return nil
	}
	for line := range strings.Lines(phoneCodes) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		c := phoneCode{lengths: numberList(f[1])}
		if f[2] != "-" {
			c.trunk = strings.Split(f[2], ",")
		}
		p.codes[f[0]] = c
	}
	return p
}

func numberList(text string) []int {
	var numbers []int
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(item)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// normalize writes a number as E.164 does, with its plus sign. What is no number by the rules gives its digits, without a plus sign, so that
// the two never meet.
func (p *phone) normalize(s string) string {
	if number := p.parse(s); number != "" {
		return "+" + number
	}
	return digits(s)
}

// parse gives the digits of an international number, "" for a text that is none.
func (p *phone) parse(s string) string {
	dialled, plus, ok := dial(s)
	if !ok {
		return ""
	}
	if plus {
		return p.abroad(dialled)
	}
	// 00 and the own country code come first: where prefixes with a carrier's digit begin with 00, they would be read as one of these.
	if home, ok := strings.CutPrefix(dialled, "00"); ok && strings.HasPrefix(home, p.own) {
		if number := p.abroad(home); number != "" {
			return number
		}
	}
	for _, prefix := range p.international {
		if rest, ok := strings.CutPrefix(dialled, prefix); ok {
			if number := p.abroad(rest); number != "" {
				return number
			}
		}
	}
	trunk := p.codes[p.own].trunk
	if national := nationalNumber(dialled, trunk, p.lengths); national != "" {
		return international(p.own, national)
	}
	// Databases are full of international numbers without a plus sign.
	if rest, ok := strings.CutPrefix(dialled, p.own); ok {
		if national := nationalNumber(rest, trunk, p.lengths); national != "" {
			return international(p.own, national)
		}
	}
	return ""
}

// dial reduces a text to its digits, in ASCII, and whether a plus sign stands before them. Separators are left out; anything else means that
// the text is more than a number.
func dial(s string) (dialled string, plus, ok bool) {
	var kept strings.Builder
	for _, r := range nfkc(s) {
		switch {
		case '0' <= r && r <= '9':
			kept.WriteByte(byte(r))
		case r == '+' && !plus && kept.Len() == 0:
			plus = true
		case strings.ContainsRune("()[]./\u2212", r) || unicode.In(r, unicode.White_Space, unicode.Cf, unicode.Pd):
		default:
			digit, isDigit := decimalValue(r)
			if !isDigit {
				return "", false, false
			}
			kept.WriteByte('0' + digit)
		}
	}
	return kept.String(), plus, kept.Len() > 0
}

// abroad reads digits that begin with a country code. No code begins another, so that at most one fits.
func (p *phone) abroad(dialled string) string {
	for n := 1; n <= 3 && n < len(dialled); n++ {
		if code, ok := p.codes[dialled[:n]]; ok {
			national := nationalNumber(dialled[n:], code.trunk, code.lengths)
			if national == "" {
				return ""
			}
			return international(dialled[:n], national)
		}
	}
	return ""
}

// nationalNumber takes a trunk prefix off, if what is left has a possible length. A trunk prefix that begins with 0 cannot be the beginning of
// the number itself; one that begins with another digit can.
func nationalNumber(dialled string, trunk []string, lengths []int) string {
	for _, prefix := range trunk {
		rest, ok := strings.CutPrefix(dialled, prefix)
		if ok && slices.Contains(lengths, len(rest)) {
			return rest
		}
	}
	for _, prefix := range trunk {
		if prefix[0] == '0' && strings.HasPrefix(dialled, prefix) {
			return ""
		}
	}
	if slices.Contains(lengths, len(dialled)) {
		return dialled
	}
	return ""
}

func international(code, national string) string {
	if len(code)+len(national) > maxE164 {
		return ""
	}
	return code + national
}
