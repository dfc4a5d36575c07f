package validate

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesAreSplitIntoFoldedWords(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"email":           "email",
		"eMail":           "e mail",
		"customerEMail2":  "customer e mail",
		"TCKimlikNo":      "tc kimlik no",
		"TCKN":            "tckn",
		"IBANNumber":      "iban number",
		"DOGUM_TARIHI":    "dogum tarihi",
		"DOĞUM_TARİHİ":    "dogum tarihi",
		"doğumTarihi":     "dogum tarihi",
		"kızlık-soyadı":   "kizlik soyadi",
		"İl":              "il",
		"ŞİFRE":           "sifre",
		"s\u0327ifre":     "sifre", // a letter and a combining cedilla
		"postal.code":     "postal code",
		"address1":        "address",
		"addressLine1Raw": "address line raw",
		"@type":           "type",
		"$ref":            "ref",
		"":                "",
		"_2_":             "",
		"名前":              "名前",
	}
	for name, want := range tests {
		if got := strings.Join(splitWords(name), " "); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestEverySpellingOfWordsSplitsIntoTheSameWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Two letters at least: "aB" and "AB" say different things of one-letter words.
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{2,8}`), 1, 4).Draw(t, "words")
		capitals := make([]string, len(words))
		for i, w := range words {
			capitals[i] = strings.ToUpper(w[:1]) + w[1:]
		}
		spellings := []string{
			strings.Join(words, "_"), strings.Join(words, "-"), strings.ToUpper(strings.Join(words, "_")), strings.Join(words, ".") + "7",
			strings.Join(capitals, ""), words[0] + strings.Join(capitals[1:], ""),
		}
		for _, spelling := range spellings {
			if got := splitWords(spelling); !slices.Equal(got, words) {
				t.Fatalf("%q: got %q, want %q", spelling, got, words)
			}
		}
	})
}

func TestAnyNameSplitsIntoWordsOfLettersAlone(t *testing.T) {
	t.Parallel()
	d := newDictionary()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		for _, word := range splitWords(name) {
			if word == "" || strings.ContainsAny(word, "_-. 0123456789") {
				t.Fatalf("%q: word %q", name, word)
			}
		}
		d.looksLike(property{name: name, parent: rapid.String().Draw(t, "parent"), siblings: []string{name}})
	})
}
