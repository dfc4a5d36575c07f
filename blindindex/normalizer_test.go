package blindindex

import (
	"errors"
	"strings"
	"testing"
)

func mustNormalizer(t *testing.T, steps ...string) *Normalizer {
	t.Helper()
	n, err := ParseNormalizer(steps)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNormalizersOnTextsThatPeersGetWrong(t *testing.T) {
	t.Parallel()
	const unassigned15 = "\u1c89" // a Cyrillic capital of Unicode 16
	tests := []struct {
		name  string
		steps string // space-separated
		in    string
		want  string
	}{
		{"raw keeps everything", "", " İ\u00a0ﬁ ", " İ\u00a0ﬁ "},
		{"raw by name", "raw", " x ", " x "},
		{"trim takes every white space, not ASCII's alone", "trim", "\u2003\u3000 a b\u00a0\u0085\t", "a b"},
		{"trim takes no zero width space", "trim", "\u200ba", "\u200ba"},
		{"casefold of I", "casefold", "I", "i"},
		{"casefold of İ keeps the dot", "casefold", "İ", "i\u0307"},
		{"casefold of ı is ı", "casefold", "ı", "ı"},
		{"casefold of i", "casefold", "i", "i"},
		{"casefold-tr of I", "casefold-tr", "I", "ı"},
		{"casefold-tr of İ", "casefold-tr", "İ", "i"},
		{"casefold-tr of ı", "casefold-tr", "ı", "ı"},
		{"casefold-tr of i", "casefold-tr", "i", "i"},
		{"casefold-tr of a name", "casefold-tr", "IŞIL İnci", "ışıl inci"},
		{"casefold-tr does not look for a decomposed dot", "casefold-tr", "I\u0307", "ı\u0307"},
		{"nfkc composes the dot first", "nfkc casefold-tr", "I\u0307", "i"},
		{"casefold unfolds ß", "casefold", "Straße", "strasse"},
		{"casefold unfolds ẞ", "casefold", "STRAẞE", "strasse"},
		{"casefold unfolds ﬁ", "casefold", "ﬁn", "fin"},
		{"casefold of final sigma", "casefold", "ΣΑΣς", "σασσ"},
		{"casefold of Kelvin and Ångström", "casefold", "\u212a\u212b", "kå"},
		{"casefold of Cherokee goes to the capitals", "casefold", "ꭰᏸᎠ", "ᎠᏰᎠ"},
		{"casefold alone does not unite full-width letters", "casefold", "Ａ", "ａ"},
		{"nfkc unites them", "nfkc casefold", "Ａ", "a"},
		{"nfkc takes ﬁ apart", "nfkc", "ﬁ", "fi"},
		{"nfkc composes", "nfkc", "e\u0301", "é"},
		{"nfkc orders marks", "nfkc", "a\u0301\u0323", "ạ\u0301"},
		{"nfkc of full-width digits", "nfkc", "０１２", "012"},
		{"nfkc keeps Arabic digits", "nfkc", "٠١٢", "٠١٢"},
		{"nfkc makes white space that trim takes afterwards", "nfkc trim", "\u00a0\u2003x\u00a8", "x \u0308"},
		{"digits of Arabic, Devanagari and full-width digits", "digits", "٠١٢ ०९ ０９", "0120909"},
		{"digits of mathematical digits", "digits", "\U0001d7ce\U0001d7d9\U0001d7ff", "019"},
		{"digits keeps no superscript, no fraction, no Roman numeral", "digits", "x²½Ⅷ", ""},
		{"nfkc makes a digit of a superscript", "nfkc digits", "x²", "2"},
		{"digits of a phone number", "digits", "+90 (532) 000-00-00", "905320000000"},
		{"order matters", "casefold nfkc", "\u210d", "H"},
		{"the other order", "nfkc casefold", "\u210d", "h"},
		{"an unassigned code point skips every step", "trim nfkc casefold casefold-tr digits", " Aﬁ1" + unassigned15 + " ", " Aﬁ1" + unassigned15 + " "},
		{"a noncharacter is unassigned", "trim casefold", " A\ufdd0 ", " A\ufdd0 "},
		{"a private-use code point is assigned", "trim casefold", " A\ue000 ", "a\ue000"},
		{"the replacement character is assigned", "casefold", "A\ufffd", "a\ufffd"},
		{"invalid UTF-8 skips every step", "trim casefold", " A\xff ", " A\xff "},
		{"nothing is left of white space", "trim", " \u3000\t", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := mustNormalizer(t, strings.Fields(test.steps)...).Normalize(test.in); got != test.want {
				t.Errorf("%+q gives %+q, not %+q", test.in, got, test.want)
			}
		})
	}
}

func TestNormalizerIDs(t *testing.T) {
	t.Parallel()
	for steps, want := range map[string]string{
		"":                 "raw.1",
		"raw":              "raw.1",
		"trim":             "trim.1",
		"nfkc casefold":    "nfkc.1+casefold.1",
		"casefold-tr trim": "casefold-tr.1+trim.1",
		"digits":           "digits.1",
	} {
		if got := mustNormalizer(t, strings.Fields(steps)...).ID(); got != want {
			t.Errorf("steps %q have the id %q, not %q", steps, got, want)
		}
	}
	if got := new(Normalizer).ID(); got != "raw.1" {
		t.Errorf("the zero normaliser has the id %q", got)
	}
}

func TestStepsThatAreNotBuiltSaySo(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"alnum", "last4", "email", "phone", "phone(TR)", "argon2id", "argon2id(3,65536)"} {
		_, err := ParseNormalizer([]string{"trim", step})
		var unknown *UnknownStepError
		if !errors.As(err, &unknown) {
			t.Fatalf("%s: %v", step, err)
		}
		if !unknown.NotBuilt || unknown.Step != step || unknown.Position != 1 || !strings.Contains(err.Error(), "not built yet") {
			t.Errorf("%s: %+v: %v", step, unknown, err)
		}
	}
}

func TestUnknownStepsAreRefusedWithTheNearestWord(t *testing.T) {
	t.Parallel()
	for step, nearest := range map[string]string{
		"casefld":                  "casefold",
		"caesfold":                 "casefold",
		"case-fold":                "casefold",
		"CaseFold":                 "casefold",
		"lowercase":                "casefold",
		"casefold_tr":              "casefold-tr",
		"NFKC":                     "nfkc",
		"nfkd":                     "nfkc",
		"nfkc.1":                   "nfkc",
		"Trim":                     "trim",
		"strip":                    "trim",
		"digit":                    "digits",
		"emial":                    "email",
		"RAW":                      "raw",
		"soundex":                  "",
		"":                         "",
		"x":                        "",
		strings.Repeat("z", 1<<16): "",
	} {
		n, err := ParseNormalizer([]string{step})
		var unknown *UnknownStepError
		if n != nil || !errors.As(err, &unknown) {
			t.Fatalf("%.20q: %v", step, err)
		}
		if unknown.NotBuilt || unknown.Nearest != nearest {
			t.Errorf("%.20q: nearest is %q, not %q", step, unknown.Nearest, nearest)
		}
		if nearest != "" && !strings.Contains(err.Error(), `"`+nearest+`"`) {
			t.Errorf("%.20q: the error does not name %q: %v", step, nearest, err)
		}
	}
}

func TestRawStandsAlone(t *testing.T) {
	t.Parallel()
	for _, steps := range [][]string{{"raw", "trim"}, {"trim", "raw"}, {"raw", "raw"}} {
		_, err := ParseNormalizer(steps)
		var raw *RawStepError
		if !errors.As(err, &raw) {
			t.Errorf("%v: %v", steps, err)
		}
	}
}
