package blindindex

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// nfkc is Normalization Form KC.
func nfkc(s string) string {
	normalized := norm.NFKC.String(s)
	// x/text writes Stream-Safe Text (UAX #15, section 13): after 30 combining marks it puts a combining grapheme joiner, which NFKC does not
	// have. A joiner has no other way into the result, so more of them than before mean that this has happened.
	if strings.Count(normalized, norm.GraphemeJoiner) == strings.Count(s, norm.GraphemeJoiner) {
		return normalized
	}
	return composeMarks(orderMarks(decompose(s)))
}

// The three steps of UAX #15 over x/text's data, for texts with more than 30 marks in a row. Each asks x/text for one code point or one pair,
// which never reach its limit.

// decompose replaces every code point by its full compatibility decomposition.
func decompose(s string) []rune {
	var runes []rune
	for _, r := range s {
		runes = append(runes, []rune(norm.NFKD.String(string(r)))...)
	}
	return runes
}

// orderMarks puts each run of marks into the order of their combining classes.
func orderMarks(runes []rune) []rune {
	for start := 0; start < len(runes); {
		if combiningClass(runes[start]) == 0 {
			start++
			continue
		}
		end := start
		for end < len(runes) && combiningClass(runes[end]) != 0 {
			end++
		}
		slices.SortStableFunc(runes[start:end], func(a, b rune) int { return int(combiningClass(a)) - int(combiningClass(b)) })
		start = end
	}
	return runes
}

// composeMarks unites each starter with the characters after it that compose with it and that no other character blocks.
func composeMarks(runes []rune) string {
	composed := make([]rune, 0, len(runes))
	starter := -1 // its place in composed
	var last uint8
	for _, r := range runes {
		class := combiningClass(r)
		if starter >= 0 {
			adjacent := starter == len(composed)-1
			if blocked := !adjacent && (last == 0 || last >= class); !blocked {
				if primary, ok := composePair(composed[starter], r); ok {
					composed[starter] = primary
					continue
				}
			}
		}
		if class == 0 {
			starter = len(composed)
		}
		composed = append(composed, r)
		last = class
	}
	return string(composed)
}

func composePair(a, b rune) (rune, bool) {
	pair := []rune(norm.NFC.String(string([]rune{a, b})))
	if len(pair) != 1 {
		return 0, false
	}
	return pair[0], true
}

func combiningClass(r rune) uint8 { return norm.NFKD.PropertiesString(string(r)).CCC() }
