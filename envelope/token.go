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

// bodyEncoding refuses bits that are set after the last byte, so that a token has one spelling. The alphabet is checked before: it skips CR and LF.
var bodyEncoding = base64.RawURLEncoding.Strict()

// tokenTextLen is the length of the token of a padded plaintext, without quotes.
func tokenTextLen(padded int) int {
	return len(tokenPrefix) + kidLen + 1 + base64.RawURLEncoding.EncodedLen(bodyOverhead+padded)
}

// token is a token's text taken apart: spans of the text it was read from.
type token struct {
	kid  keyring.KeyID
	body []byte // base64url text
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

// parseToken reads a string's raw text, as it stands between the quotes: an escape makes a token malformed.
func parseToken(raw []byte) (token, tokenForm) {
	kid, body, ok := splitToken(raw)
	switch {
	case !ok && len(raw) >= len(tokenPrefix) && string(raw[:len(tokenPrefix)]) == tokenPrefix:
		return token{}, brokenToken
	case !ok:
		return token{}, noToken
	case len(kid) != kidLen:
		return token{}, subjectToken
	}
	// The unused bits can be told from the last character, and the length from the text's: no need to decode to know the form.
	if len(body)%4 == 1 {
		return token{}, brokenToken
	}
	if n := base64.RawURLEncoding.DecodedLen(len(body)) - bodyOverhead; n < padBlock || n%padBlock != 0 {
		return token{}, brokenToken
	}
	var last [3]byte
	tail := body[len(body)-(len(body)+3)%4-1:]
	if _, err := bodyEncoding.Decode(last[:], tail); err != nil {
		return token{}, brokenToken
	}
	id, err := keyring.ParseKeyID(string(kid))
	if err != nil || id == 0 { // no key has the id 00000000
		return token{}, brokenToken
	}
	return token{id, body}, sealToken
}
