package validate

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// splitWords cuts a property's name into the words it is made of, folded to lower-case ASCII where it can be: "customerEMail2" is
// customer, e, mail; "DOĞUM_TARİHİ" is dogum, tarihi; "TCKimlikNo" is tc, kimlik, no. Digits only number things, and are left out.
func splitWords(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if folded := fold(string(word)); folded != "" {
			words = append(words, folded)
		}
		word = nil
	}
	runes := []rune(norm.NFC.String(name))
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) {
			end()
			continue
		}
		if i > 0 && unicode.IsUpper(r) {
			afterLower := unicode.IsLower(runes[i-1])
			// The last capital of a run begins the next word: "TCKimlik" is TC, Kimlik.
			beforeLower := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])
			if afterLower || beforeLower {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return words
}

// fold lower-cases a word and takes its diacritics away, so that names with and without Turkish letters meet: "Şifre" and "SIFRE" are both
// "sifre". The dotless ı has no decomposition and is mapped by hand; unlike in the blind index nothing depends on this being reversible.
func fold(word string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(word) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ı':
			b.WriteByte('i')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// singulars gives a folded word and what it may be the plural of, in English and Turkish.
func singulars(word string) []string {
	forms := []string{word}
	for _, suffix := range []string{"s", "es", "ler", "lar", "leri", "lari"} {
		if stem, ok := strings.CutSuffix(word, suffix); ok && len(stem) > 2 {
			forms = append(forms, stem)
		}
	}
	for plural, singular := range map[string]string{"ies": "y", "oses": "osis"} {
		if stem, ok := strings.CutSuffix(word, plural); ok && len(stem) > 2 {
			forms = append(forms, stem+singular)
		}
	}
	return forms
}
