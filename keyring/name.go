package keyring

import (
	"unicode"
	"unicode/utf8"
)

const (
	maxNameBytes   = 63
	maxAuthorBytes = 256
	maxURIBytes    = 1024
)

// ValidName says whether name can name a keyring: [a-z][a-z0-9_-]{0,62}.
func ValidName(name string) bool {
	if name == "" || len(name) > maxNameBytes || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for i := 1; i < len(name); i++ {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// printable refuses what could steer a terminal or hide in a log: authors and
// KEK names are shown to people, also by readers that cannot authenticate them.
func printable(s string, maxBytes int) bool {
	if s == "" || len(s) > maxBytes || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
