package blindindex

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"
)

// UnicodeVersion is what version 1 of every normaliser step means.
const UnicodeVersion = "15.0.0"

// isAssigned reports that Unicode 15.0 assigns every code point of s: its General_Category is not Cn, which noncharacters have too. The table
// is x/text's for exactly that version, whatever version the rest of x/text or of the standard library is at.
func isAssigned(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return allAssigned(s[i:])
		}
	}
	return true // ASCII
}

func allAssigned(s string) bool {
	assigned := rangetable.Assigned(UnicodeVersion)
	if assigned == nil {
		return false // no such table: nothing is known, so nothing is normalised; a test fails first
	}
	for _, r := range s {
		if !unicode.Is(assigned, r) {
			return false
		}
	}
	return true
}

func isUTF8(s string) bool { return utf8.ValidString(s) }
