package blindindex

import (
	"strings"
	"unicode"
)

// digits keeps the decimal digits (General_Category Nd) of s, as ASCII digits.
func digits(s string) string {
	var kept strings.Builder
	for _, r := range s {
		if '0' <= r && r <= '9' {
			kept.WriteByte(byte(r))
		} else if value, ok := decimalValue(r); ok {
			kept.WriteByte('0' + value)
		}
	}
	return kept.String()
}

// decimalValue gives the value of a code point of category Nd. Unicode assigns these in runs of ten, from 0 to 9, so that a run's place in
// its range says its value; a test holds every one against Unicode's own data.
func decimalValue(r rune) (value byte, ok bool) {
	for _, run := range unicode.Nd.R16 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return byte((r - rune(run.Lo)) % 10), true
		}
	}
	for _, run := range unicode.Nd.R32 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return byte((r - rune(run.Lo)) % 10), true
		}
	}
	return 0, false
}
