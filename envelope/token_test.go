package envelope

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tokenPattern is the format's own, by another engine.
var tokenPattern = regexp.MustCompile(`^fc1:(?:[0-9a-f]{8}|s[0-9a-f]{16}):[A-Za-z0-9_-]{59,}\z`)

// checkToken compares what the token functions say of a text with the pattern and with base64 itself.
func checkToken(t interface{ Fatalf(string, ...any) }, text []byte) {
	matches := tokenPattern.Match(text)
	if matchesToken(text) != matches {
		t.Fatalf("%q: matchesToken says %v, the pattern %v", text, !matches, matches)
	}
	kid, decoded, taken := appendToken([]byte("before"), text)
	form := formOf(text)
	if taken != (form == sealToken) || !taken && string(decoded) != "before" {
		t.Fatalf("%q: form %d, taken apart %v, %q", text, form, taken, decoded)
	}
	want := noToken
	switch {
	case matches && text[4] == 's':
		want = subjectToken
	case matches:
		want = brokenToken
		body := text[13:]
		raw, err := base64.RawURLEncoding.Strict().DecodeString(string(body))
		if n := len(raw) - 28; err == nil && n > 0 && n%16 == 0 && string(text[4:12]) != "00000000" {
			want = sealToken
			if string(decoded) != "before"+string(raw) || kid.String() != string(text[4:12]) {
				t.Fatalf("%q: taken apart as %s and %q", text, kid, decoded)
			}
			if tokenTextLen(n) != len(text) {
				t.Fatalf("%q: tokenTextLen(%d) = %d, it has %d", text, n, tokenTextLen(n), len(text))
			}
		}
	case strings.HasPrefix(string(text), "fc1:"):
		want = brokenToken
	}
	if form != want {
		t.Fatalf("%q: form %d, want %d", text, form, want)
	}
}

func tokenText(kid string, body int) string {
	raw := make([]byte, body)
	for i := range raw {
		raw[i] = byte(i * 37)
	}
	return "fc1:" + kid + ":" + base64.RawURLEncoding.EncodeToString(raw)
}

func TestATokenHasOneSpelling(t *testing.T) {
	t.Parallel()
	good := tokenText("0f3a9c01", 44)
	last := good[:len(good)-1]
	for _, text := range []string{
		good, tokenText("0f3a9c01", 60), tokenText("0f3a9c01", 28+256), tokenText("s0123456789abcdef", 44),
		"", "fc1:", "fc1", "fc1:s", "fc2" + good[3:], strings.ToUpper(good), " " + good, good + " ", good + "=", good + "\n", good + "\r\n",
		good[:30] + "\n" + good[30:], good[:30] + "+" + good[31:], good[:30] + "/" + good[31:], good[:30] + "." + good[31:],
		tokenText("0F3A9C01", 44), tokenText("0f3a9c0", 44), tokenText("0f3a9c011", 44), tokenText("s0123456789abcde", 44), tokenText("s0123456789abcdeF", 44),
		tokenText("0f3a9c01", 43), tokenText("0f3a9c01", 45), tokenText("0f3a9c01", 46), tokenText("0f3a9c01", 28), tokenText("0f3a9c01", 0), tokenText("0f3a9c01", 59),
		last + "A", last + "B", last + "C", last + "D", last + "E", last, good + "A", good + "AA", good + "AAA",
	} {
		checkToken(t, []byte(text))
	}
}

func TestTokenFormsAgreeWithThePattern(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kid := rapid.StringMatching(`[0-9a-f]{8}|s[0-9a-f]{16}|[0-9a-g]{7,9}`).Draw(t, "kid")
		body := rapid.StringMatching(`[A-Za-z0-9_-]{57,90}`).Draw(t, "body")
		checkToken(t, []byte("fc1:"+kid+":"+body))
	})
}

func FuzzToken(f *testing.F) {
	for _, seed := range []string{"", "fc1:", tokenText("0f3a9c01", 44), tokenText("s0123456789abcdef", 44), tokenText("0f3a9c01", 45), tokenText("0f3a9c01", 44) + "\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkToken(t, text) })
}
