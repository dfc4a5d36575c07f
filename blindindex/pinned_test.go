package blindindex

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"
)

// What a step does to a code point that Unicode 15.0 assigns must never change: stored values depend on it. These digests pin the tables of the
// standard library that the steps ask; where a new Go moves one, the step needs a table of its own, as version 1.
func TestTheTablesOfVersion1DoNotMove(t *testing.T) {
	t.Parallel()
	pins := []struct {
		name, digest string
		of           func(rune) string
	}{
		{"alnum keeps", "de2cbdeb6b5f1bb976adfe7dd282cccbbe41509b4b0ee29947c3d510cebf9786", func(r rune) string { return alnum(string(r)) }},
		{"email lowers", "b4b85ea1490523cd67ad9cc63387335814d1b79d58cac189dc584aca90d5f1ad", func(r rune) string { return string(unicode.ToLower(r)) }},
		{"phone leaves out", "12d7e08b4500d458055b074b44f5d191ae1f4ed8eb3eea29ea20bf897a37f4e9", func(r rune) string {
			return strconv.FormatBool(unicode.In(r, unicode.White_Space, unicode.Cf, unicode.Pd))
		}},
	}
	var points []rune
	rangetable.Visit(rangetable.Assigned(UnicodeVersion), func(r rune) {
		if utf8.ValidRune(r) {
			points = append(points, r)
		}
	})
	for _, pin := range pins {
		var text []byte
		for _, r := range points {
			text = append(append(append(strconv.AppendInt(text, int64(r), 16), ' '), pin.of(r)...), '\n')
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:]); got != pin.digest {
			t.Errorf("what %s is %s, was %s", pin.name, got, pin.digest)
		}
	}
}

// The table in the code is the published one.
func TestPhoneTableIsThePublishedOne(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testvectors/phone/1.json")
	if err != nil {
		t.Fatal(err)
	}
	var published struct {
		Regions map[string]struct {
			Code          string
			Lengths       []int
			International []string
		}
		Codes map[string]struct {
			Lengths []int
			Trunk   []string
		}
	}
	if err := json.Unmarshal(text, &published); err != nil {
		t.Fatal(err)
	}
	if len(published.Regions) < 240 || strings.Count(phoneRegions, "\n") != len(published.Regions)+1 || strings.Count(phoneCodes, "\n") != len(published.Codes)+1 {
		t.Fatalf("%d regions, %d codes", len(published.Regions), len(published.Codes))
	}
	for region, want := range published.Regions {
		p := newPhone(region)
		if p == nil || p.own != want.Code || fmt.Sprint(p.lengths) != fmt.Sprint(want.Lengths) || fmt.Sprint(p.international) != fmt.Sprint(want.International) {
			t.Errorf("%s: %+v, published %+v", region, p, want)
		}
		for code, want := range published.Codes {
			if got := p.codes[code]; fmt.Sprint(got.lengths) != fmt.Sprint(want.Lengths) || fmt.Sprint(got.trunk) != fmt.Sprint(want.Trunk) {
				t.Errorf("%s: %+v, published %+v", code, got, want)
			}
		}
	}
}

// No country code begins another, so that an international number has one reading.
func TestCountryCodesBeginNoOther(t *testing.T) {
	t.Parallel()
	codes := newPhone("TR").codes
	for a := range codes {
		for b := range codes {
			if a != b && strings.HasPrefix(b, a) {
				t.Errorf("%s begins %s", a, b)
			}
		}
	}
}
