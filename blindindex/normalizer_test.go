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
		{"letters and digits of any script", "alnum", "Çağrı-12 \u0663\u4e00_\u0301²", "Çağrı12\u0663\u4e00"},
		{"the last four code points", "last4", "ab\u0130\U0001f600c", "b\u0130\U0001f600c"},
		{"fewer than four code points are none", "last4", "abc", ""},
		{"exactly four code points", "last4", "ab\u00e9\u0301", "ab\u00e9\u0301"},
		{"last4 does not depend on Unicode", "trim last4", " 12345" + unassigned15 + " ", "45" + unassigned15 + " "},
		{"an e-mail address", "email", " Ada.LOVELACE@Example.COM\u00a0", "ada.lovelace@example.com"},
		{"an e-mail address in full width", "email", "Ａｄａ＠Ｅｘａｍｐｌｅ．ｃｏｍ", "ada@example.com"},
		{"ß folds in the local part and stays in the domain", "email", "Straße@Straße.de", "strasse@straße.de"},
		{"İ folds to two code points in the local part and is lowered to i in the domain", "email", "\u0130@\u0130.tr", "i\u0307@i.tr"},
		{"a final sigma is a sigma", "email", "ΟΔΟΣ@ΟΔΟΣ.gr", "οδοσ@οδοσ.gr"},
		{"the last @ splits", "email", "\"A@B\"@C.D", "\"a@b\"@c.d"},
		{"no address at all", "email", " ADA ", "ada"},
		{"the arguments' order is the steps'", "digits last4", "+90 (532) 123 45 67", "4567"},
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
		"":                         "raw.1",
		"raw":                      "raw.1",
		"trim":                     "trim.1",
		"nfkc casefold":            "nfkc.1+casefold.1",
		"casefold-tr trim":         "casefold-tr.1+trim.1",
		"digits":                   "digits.1",
		"alnum last4":              "alnum.1+last4.1",
		"email":                    "email.1",
		"phone(TR)":                "phone.1(TR)",
		"digits argon2id(3,65536)": "digits.1+argon2id.1(3,65536)",
		"argon2id(1,1024)":         "argon2id.1(1,1024)",
	} {
		if got := mustNormalizer(t, strings.Fields(steps)...).ID(); got != want {
			t.Errorf("steps %q have the id %q, not %q", steps, got, want)
		}
	}
	if got := new(Normalizer).ID(); got != "raw.1" {
		t.Errorf("the zero normaliser has the id %q", got)
	}
}

func TestStepParametersAreRefused(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		"phone", "phone()", "phone(tr)", "phone(QQ)", "phone(TR", "phone(TR)x", "phone(TR,US)", "phone( TR)",
		"argon2id", "argon2id()", "argon2id(3)", "argon2id(0,65536)", "argon2id(17,1024)", "argon2id(3,1023)", "argon2id(1,262145)", "argon2id(5,262144)",
		"argon2id(03,65536)", "argon2id(3, 65536)", "argon2id(+3,65536)", "argon2id(-3,65536)", "argon2id(3,65536,1)", "argon2id(3,4295032832)", "argon2id(4294967297,65536)",
	} {
		_, err := ParseNormalizer([]string{"trim", step})
		var parameter *StepParameterError
		if !errors.As(err, &parameter) {
			t.Fatalf("%s: %v", step, err)
		}
		if parameter.Step != step || parameter.Position != 1 || !strings.Contains(err.Error(), "such as") {
			t.Errorf("%s: %+v: %v", step, parameter, err)
		}
	}
}

func TestSlowHashStandsLast(t *testing.T) {
	t.Parallel()
	_, err := ParseNormalizer([]string{"digits", "argon2id(1,1024)", "trim"})
	var place *StepPlaceError
	if !errors.As(err, &place) || place.Step != "argon2id(1,1024)" || place.Position != 1 {
		t.Errorf("%v", err)
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
		if unknown.Nearest != nearest {
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
		var place *StepPlaceError
		if !errors.As(err, &place) || place.Step != "raw" {
			t.Errorf("%v: %v", steps, err)
		}
	}
}
