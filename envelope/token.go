package envelope

import (
	"encoding/base64"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// A token, docs/format.md 4:
//
//	fc1: 0f3a9c01 : base64url, canonical, no padding, of
//	                nonce (12) ‖ ciphertext (16, 32, …) ‖ tag (16)
const (
	tokenPrefix  = "fc1:"
	kidLen       = 8
	subjectLen   = 1 + 16 // s and 16 hex digits, reserved for per-subject keys
	nonceLen     = 12
	tagLen       = 16
	bodyOverhead = nonceLen + tagLen
	minBodyText  = 59 // of 12 + 16 + 16 bytes
	minTokenText = len(tokenPrefix) + kidLen + 1 + minBodyText
)

// bodyEncoding refuses bits that are set after the last byte, so that a token has one spelling. It skips CR and LF: a body that holds one is shorter than its text says.
var bodyEncoding = base64.RawURLEncoding.Strict()

// tokenTextLen is the length of the token of a padded plaintext, without quotes.
func tokenTextLen(padded int) int {
	return len(tokenPrefix) + kidLen + 1 + base64.RawURLEncoding.EncodedLen(bodyOverhead+padded)
}

// token is a token taken apart.
type token struct {
	kid      keyring.KeyID
	from, to int // of its body among the walk's
}

// tokenForm says what a string is.
type tokenForm uint8

const (
	noToken      tokenForm = iota // does not match the pattern, nor begins like a token
	brokenToken                   // begins like a token, and is not one
	subjectToken                  // matches the pattern with a per-subject key
	sealToken                     // a token that can be opened
)

// matchesToken is the pattern ^fc1:(?:[0-9a-f]{8}|s[0-9a-f]{16}):[A-Za-z0-9_-]{59,}$ that no unflagged string may match.
func matchesToken(text []byte) bool {
	_, _, ok := splitToken(text)
	return ok
}

func splitToken(text []byte) (kid, body []byte, ok bool) {
	if len(text) < minTokenText || string(text[:len(tokenPrefix)]) != tokenPrefix {
		return nil, nil, false
	}
	rest := text[len(tokenPrefix):]
	n, hex := kidLen, 0
	if rest[0] == 's' {
		n, hex = subjectLen, 1
	}
	if len(rest) < n+1+minBodyText || rest[n] != ':' {
		return nil, nil, false
	}
	kid, body = rest[:n], rest[n+1:]
	for _, c := range kid[hex:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return nil, nil, false
		}
	}
	for _, c := range body {
		if !bodyAlphabet[c] {
			return nil, nil, false
		}
	}
	return kid, body, true
}

var bodyAlphabet = func() (t [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		t[c] = true
	}
	return t
}()

// formOf says what a string's raw text is, as it stands between the quotes: an escape makes a token malformed.
func formOf(raw []byte) tokenForm {
	if _, _, ok := appendToken(nil, raw); ok {
		return sealToken
	}
	kid, _, ok := splitToken(raw)
	switch {
	case ok && len(kid) == subjectLen:
		return subjectToken
	case ok, len(raw) >= len(tokenPrefix) && string(raw[:len(tokenPrefix)]) == tokenPrefix:
		return brokenToken
	}
	return noToken
}

// appendToken takes a token that can be opened apart, and appends its decoded body to dst; ok is false for every other text, and dst as it was.
func appendToken(dst, raw []byte) (id keyring.KeyID, out []byte, ok bool) {
	const head = len(tokenPrefix) + kidLen + 1
	if len(raw) < minTokenText || string(raw[:len(tokenPrefix)]) != tokenPrefix || raw[head-1] != ':' {
		return 0, dst, false
	}
	for _, c := range raw[len(tokenPrefix) : head-1] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, dst, false
		}
		id = id<<4 | keyring.KeyID(c)
	}
	body := raw[head:]
	n := bodyEncoding.DecodedLen(len(body))
	if id == 0 || len(body)%4 == 1 || n < bodyOverhead+padBlock || (n-bodyOverhead)%padBlock != 0 { // no key has the id 00000000
		return 0, dst, false
	}
	out, err := bodyEncoding.AppendDecode(dst, body)
	if err != nil || len(out)-len(dst) != n {
		return 0, dst, false
	}
	return id, out, true
}
