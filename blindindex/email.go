package blindindex

import (
	"strings"
	"unicode"
)

// email trims, applies NFKC, and splits at the last @: the domain is lower-cased, the local part case-folded. Without an @ all is case-folded.
//
// Lower-casing takes each code point for itself, by Unicode's Simple_Lowercase_Mapping: it has no context (Σ is always σ) and keeps İ a single
// letter, i.
func email(s string) string {
	s = nfkc(trim(s))
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return caseFold(s)
	}
	return caseFold(s[:at]) + "@" + strings.Map(unicode.ToLower, s[at+1:])
}
