package blindindex

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
	"pgregory.net/rapid"
)

// unicodeData is testvectors/unicode/15.0.0.json, Unicode's own data.
type unicodeData struct {
	whiteSpace, unassigned map[rune]bool
	digit                  map[rune]byte
	fold                   map[rune]string
}

func readUnicodeData(t *testing.T) unicodeData {
	t.Helper()
	text, err := os.ReadFile("../testvectors/unicode/15.0.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		WhiteSpace []string `json:"white_space"`
		DigitZeros []string `json:"digit_zeros"`
		Unassigned []string `json:"unassigned"`
		CaseFold   []string `json:"casefold"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	codePoint := func(hex string) rune {
		n, err := strconv.ParseInt(hex, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		return rune(n)
	}
	set := func(ranges []string) map[rune]bool {
		s := map[rune]bool{}
		for _, text := range ranges {
			lo, hi, isRange := strings.Cut(text, "..")
			if !isRange {
				hi = lo
			}
			for r := codePoint(lo); r <= codePoint(hi); r++ {
				s[r] = true
			}
		}
		return s
	}
	data := unicodeData{whiteSpace: set(file.WhiteSpace), unassigned: set(file.Unassigned), digit: map[rune]byte{}, fold: map[rune]string{}}
	for _, zero := range file.DigitZeros {
		for value := range byte(10) {
			data.digit[codePoint(zero)+rune(value)] = value
		}
	}
	for _, line := range file.CaseFold {
		fields := strings.Fields(line)
		var to strings.Builder
		for _, hex := range fields[1:] {
			to.WriteRune(codePoint(hex))
		}
		data.fold[codePoint(fields[0])] = to.String()
	}
	// What the file must hold at the least, so that a truncated one does not make the tests below pass.
	if len(data.whiteSpace) != 25 || len(data.digit) != 680 || len(data.fold) != 1530 || len(data.unassigned) != 825_345 {
		t.Fatalf("15.0.0.json holds %d white spaces, %d digits, %d folds, %d unassigned code points",
			len(data.whiteSpace), len(data.digit), len(data.fold), len(data.unassigned))
	}
	return data
}

// Version 1 of a step means Unicode 15.0. When a dependency moves on, this fails, and whoever moves it has to show that each step still gives
// for every string of assigned code points what it gave before: the tests below, against 15.0's data, show it.
func TestUnicodeTablesAreStillVersion15(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{
		"golang.org/x/text/cases":        cases.UnicodeVersion,
		"golang.org/x/text/unicode/norm": norm.Version,
		"unicode":                        unicode.Version,
	} {
		if version != UnicodeVersion {
			t.Errorf("%s is at Unicode %s; normaliser steps of version 1 mean %s", name, version, UnicodeVersion)
		}
	}
	if rangetable.Assigned(UnicodeVersion) == nil {
		t.Errorf("golang.org/x/text/unicode/rangetable has no table of what Unicode %s assigns: nothing would be normalised", UnicodeVersion)
	}
}

func TestEveryCodePointIsTreatedByUnicode15Data(t *testing.T) {
	t.Parallel()
	data := readUnicodeData(t)
	var wrong []string
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		s := string(r)
		if isAssigned(s) == data.unassigned[r] {
			wrong = append(wrong, fmt.Sprintf("assigned %U", r))
		}
		if (trim(s) == "") != data.whiteSpace[r] {
			wrong = append(wrong, fmt.Sprintf("trim %U", r))
		}
		wantFold, folds := data.fold[r]
		if !folds {
			wantFold = s
		}
		if got := caseFold(s); got != wantFold {
			wrong = append(wrong, fmt.Sprintf("casefold %U gives %+q, not %+q", r, got, wantFold))
		}
		wantDigits := ""
		if value, isDigit := data.digit[r]; isDigit {
			wantDigits = string('0' + rune(value))
		}
		if got := digits(s); got != wantDigits {
			wrong = append(wrong, fmt.Sprintf("digits %U gives %q, not %q", r, got, wantDigits))
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d code points differ from Unicode 15.0, the first:\n%s", len(wrong), strings.Join(wrong[:min(20, len(wrong))], "\n"))
	}
}

// anyText draws texts that are rich in what normalisers act on.
func anyText() *rapid.Generator[string] {
	special := []rune("IıİiSsßẞﬁΣσςK\u212aÅ\u212b\u0301\u0307\u0323\u034f ٠٩०९0 9\u00a0\u2003\u3000ÇçĞğÖöŞşÜüᎠꭰᏵᏽᾳᾼŉǰ\u1d160\U0001d7ce\U0001d7ff가각ᄀ\u1161\u11a8Ａａ０９㍿ﷺ\u2126")
	return rapid.StringOf(rapid.OneOf(rapid.SampledFrom(special), rapid.Rune().Filter(utf8.ValidRune)))
}

func TestCaseFoldingTakesEachCodePointForItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyText().Draw(t, "a"), anyText().Draw(t, "b")
		if got, want := caseFold(a+b), caseFold(a)+caseFold(b); got != want {
			t.Fatalf("folded together %+q, apart %+q", got, want)
		}
	})
}

func TestStepsAreIdempotent(t *testing.T) {
	t.Parallel()
	for _, step := range plainSteps() {
		if step.name == "email" {
			continue // NFKC and a case fold are not idempotent together
		}
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := anyText().Draw(t, "s")
				once := step.apply(s)
				if twice := step.apply(once); twice != once {
					t.Fatalf("%+q gives %+q, and that %+q", s, once, twice)
				}
			})
		})
	}
}

// The own three steps exist for long runs of marks; everywhere else x/text must agree with them.
func TestOwnNFKCAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyText().Draw(t, "s")
		if got, want := composeMarks(orderMarks(decompose(s))), norm.NFKC.String(s); got != want && !strings.Contains(want, norm.GraphemeJoiner) {
			t.Fatalf("%+q gives %+q, x/text %+q", s, got, want)
		}
	})
}

func TestOwnNFKCComposesEveryCodePoint(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		s := string(r) + "\u0301"
		if got, want := composeMarks(orderMarks(decompose(s))), norm.NFKC.String(s); got != want {
			t.Fatalf("%+q gives %+q, x/text %+q", s, got, want)
		}
	}
}

func TestNFKCAddsNoJoinerToLongRunsOfMarks(t *testing.T) {
	t.Parallel()
	marks := strings.Repeat("\u0301\u0323", 40) // acute (class 230) and dot below (class 220) in turn
	want := "\u1ea1" + strings.Repeat("\u0323", 39) + strings.Repeat("\u0301", 40)
	if got := nfkc("a" + marks); got != want {
		t.Errorf("got  %+q\nwant %+q", got, want)
	}
	// A joiner that the text itself has stays, and divides the marks.
	if got, want := nfkc("e"+strings.Repeat("\u0301", 31)+"\u034f\u0323"), "\u00e9"+strings.Repeat("\u0301", 30)+"\u034f\u0323"; got != want {
		t.Errorf("got  %+q\nwant %+q", got, want)
	}
	// Hangul vowels after 31 of their like, which x/text counts as marks.
	if got, want := nfkc("\u1100"+strings.Repeat("\u1161", 40)), "\uac00"+strings.Repeat("\u1161", 39); got != want {
		t.Errorf("got  %+q\nwant %+q", got, want)
	}
}
