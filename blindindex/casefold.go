package blindindex

import (
	"strings"

	"golang.org/x/text/cases"
)

// caseFold is full case folding, the mappings C and F of Unicode's CaseFolding.txt. It does not depend on the language, and it is not
// followed by a normalisation.
func caseFold(s string) string {
	// x/text folds the 86 Cherokee capitals to the small letters and these to the capitals: it exchanges them. Unicode folds to the capitals,
	// which were there first and alone. Folding takes each code point for itself, so the capitals can be left out.
	if !strings.ContainsFunc(s, isCherokeeCapital) {
		return cases.Fold().String(s)
	}
	var folded strings.Builder
	for s != "" {
		end := strings.IndexFunc(s, isCherokeeCapital)
		if end < 0 {
			end = len(s)
		}
		// A Caser may be stateful, by its documentation: each call makes its own.
		folded.WriteString(cases.Fold().String(s[:end]))
		s = s[end:]
		end = strings.IndexFunc(s, func(r rune) bool { return !isCherokeeCapital(r) })
		if end < 0 {
			end = len(s)
		}
		folded.WriteString(s[:end])
		s = s[end:]
	}
	return folded.String()
}

func isCherokeeCapital(r rune) bool { return 0x13A0 <= r && r <= 0x13F5 }

// caseFoldTurkish folds as Turkish and Azerbaijani write: I (U+0049) is the capital of ı (U+0131), and İ (U+0130) that of i. The dot of a
// decomposed İ (I, U+0307) is not looked for: nfkc composes it, if it stands before.
func caseFoldTurkish(s string) string {
	return caseFold(strings.NewReplacer("I", "ı", "İ", "i").Replace(s))
}
