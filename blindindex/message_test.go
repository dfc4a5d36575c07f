package blindindex

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// failer is what *testing.T, *testing.B and *rapid.T share.
type failer interface {
	Helper()
	Fatal(...any)
}

func mustIndex(t failer, name string, steps []string, bits int) *Index {
	t.Helper()
	ix, err := New(name, steps, bits)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func messageStrings(messages [][]byte) []string {
	var s []string
	for _, m := range messages {
		s = append(s, string(m))
	}
	return s
}

func TestMessages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps string
		json  string
		want  []string
	}{
		{"a string", "", `"ab"`, []string{"sab"}},
		{"escapes are decoded", "", `"\u0061\n\ud83d\ude00\/"`, []string{"sa\n😀/"}},
		{"a NUL is a character", "", `"\u0000"`, []string{"s\x00"}},
		{"white space around the value", "", " \t\r\n\"a\" ", []string{"sa"}},
		{"a normalised string", "trim casefold", `" TR "`, []string{"str"}},
		{"null has none", "", `null`, nil},
		{"the empty string has none", "", `""`, nil},
		{"a string that normalises to nothing has none", "trim", `" \u3000 "`, nil},
		{"digits of a string without any", "digits", `"abc"`, nil},
		{"an integer", "", `42`, []string{"i42"}},
		{"an integer is not normalised", "digits", `-42`, []string{"i-42"}},
		{"an integer with a fraction of zeros", "", `1.0`, []string{"i1"}},
		{"an integer with an exponent", "", `1e0`, []string{"i1"}},
		{"an array, sorted and distinct", "", `["b", "a", "b"]`, []string{"sa", "sb"}},
		{"an array's values are distinct once normalised", "casefold", `["A","a"]`, []string{"sa"}},
		{"integers come before strings", "", `["1", 1, 1.0, 10e-1]`, []string{"i1", "s1"}},
		{"null and blank items have none", "trim", `[null, " ", "a"]`, []string{"sa"}},
		{"an empty array", "", ` [ ] `, nil},
		{"an array of nothing", "", `[null]`, nil},
		{"array items are sorted by their bytes", "", `["\ud83d\ude00","\uffee","z"]`, []string{"sz", "s\uffee", "s😀"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ix := mustIndex(t, "x", strings.Fields(test.steps), 0)
			messages, err := ix.Messages([]byte(test.json))
			if err != nil {
				t.Fatal(err)
			}
			if got := messageStrings(messages); !slices.Equal(got, test.want) {
				t.Errorf("got %q, not %q", got, test.want)
			}
		})
	}
}

func TestValuesWithoutAnIndexAreTypeErrors(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", nil, 0)
	for text, want := range map[string]struct {
		item int
		got  string
	}{
		`true`:           {-1, "a boolean"},
		`false`:          {-1, "a boolean"},
		`{}`:             {-1, "an object"},
		`{"secret":1}`:   {-1, "an object"},
		`1.5`:            {-1, "a number with a fraction"},
		`1e-1`:           {-1, "a number with a fraction"},
		`-0.1e0`:         {-1, "a number with a fraction"},
		`["a",[]]`:       {1, "an array in an array"},
		`[{}]`:           {0, "an object"},
		`["a",null,1.5]`: {2, "a number with a fraction"},
		`[true]`:         {0, "a boolean"},
	} {
		messages, err := ix.Messages([]byte(text))
		var typeError *TypeError
		if messages != nil || !errors.As(err, &typeError) {
			t.Errorf("%s: %q, %v", text, messages, err)
			continue
		}
		if typeError.Index != "x" || typeError.Item != want.item || typeError.Got != want.got {
			t.Errorf("%s: %+v", text, typeError)
		}
	}
}

func TestWhatIsNotStrictJSONIsASyntaxError(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", nil, 0)
	for _, text := range []string{
		``, ` `, `"`, `"a`, `"a"b`, `"a" "b"`, `a`, `nul`, `nulll`, `True`, `'a'`, "\"a\nb\"", "\"\xff\"", "\"\xed\xa0\x80\"", `"\ud800"`, `"\udc00\ud800"`,
		`"\ud800\u0041"`, `"\x"`, `"\u12"`, `01`, `+1`, `.5`, `1.`, `1e`, `1e+`, `1 2`, `-`, `--1`, `0x1`, `1_000`, `NaN`, `Infinity`, `[`, `[1`, `[1,]`, `[,1]`,
		`[1 2]`, `[1]]`, `[1]x`, `["\ud800"]`, "[\"\xff\"]", `]`, `[01]`, "\"a\"\x00", "\ufeff\"a\"",
	} {
		messages, err := ix.Messages([]byte(text))
		var syntaxError *SyntaxError
		if messages != nil || !errors.As(err, &syntaxError) {
			t.Errorf("%q: %q, %v", text, messages, err)
		}
	}
}

func TestErrorsHoldNoValue(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", nil, 0)
	const secret = "8675309"
	for _, text := range []string{
		`"` + secret + `\ud800"`, `"` + secret, secret + `.5`, secret + `x`, `[` + secret + `,]`, `{"` + secret + `":1}`, secret + `e` + secret,
		strings.Repeat(secret, 200), "\"" + secret + "\xff\"", `[["` + secret + `"]]`, `["` + secret + `\ud800"]`,
	} {
		_, err := ix.Messages([]byte(text))
		if err == nil {
			t.Errorf("%.40q is accepted", text)
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if shown := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(shown, secret) || strings.Contains(shown, "ud800") {
				t.Errorf("%.40q: the error holds a part of it: %s", text, shown)
			}
		}
	}
}

func TestQueryAsksAsTheSchemaAllows(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", []string{"trim"}, 0)
	tests := []struct {
		text                string
		asString, asInteger bool
		want                []string
	}{
		{"42", true, false, []string{"s42"}},
		{"42", false, true, []string{"i42"}},
		{"42", true, true, []string{"i42", "s42"}},
		{"4.20e1", true, true, []string{"i42", "s4.20e1"}},
		{" 42", true, true, []string{"s42"}}, // no JSON number
		{"007", true, true, []string{"s007"}},
		{"4.2", false, true, nil},
		{"1e1001", false, true, nil},
		{" ", true, true, nil},
		{"", true, true, nil},
		{"\xff", true, true, nil},
		{"42", false, false, nil},
	}
	for _, test := range tests {
		if got := messageStrings(ix.Query(test.text, test.asString, test.asInteger)); !slices.Equal(got, test.want) {
			t.Errorf("%q (string %v, integer %v): %q, not %q", test.text, test.asString, test.asInteger, got, test.want)
		}
	}
}

// jsonValue draws a string or an integer as Go value and one of its JSON texts.
func jsonValue(t *rapid.T, label string) (value any, text string) {
	if rapid.Bool().Draw(t, label+" is a string") {
		s := rapid.String().Draw(t, label)
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "?")
		}
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return s, string(encoded)
	}
	n := rapid.Int64().Draw(t, label)
	zeros := rapid.IntRange(0, 3).Draw(t, label+" zeros")
	switch {
	case zeros > 0 && n != 0 && rapid.Bool().Draw(t, label+" has an exponent"):
		return n, fmt.Sprintf("%d%se-%d", n, strings.Repeat("0", zeros), zeros)
	case zeros > 0:
		return n, fmt.Sprintf("%d.%s", n, strings.Repeat("0", zeros))
	}
	return n, fmt.Sprint(n)
}

func TestRawMessagesAreInjective(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", nil, 0)
	rapid.Check(t, func(t *rapid.T) {
		a, aText := jsonValue(t, "a")
		b, bText := jsonValue(t, "b")
		ma, err := ix.Messages([]byte(aText))
		if err != nil {
			t.Fatal(err)
		}
		mb, err := ix.Messages([]byte(bText))
		if err != nil {
			t.Fatal(err)
		}
		if same := slices.EqualFunc(ma, mb, bytes.Equal); same != (a == b) {
			t.Fatalf("%s and %s: messages %q and %q", aText, bText, ma, mb)
		}
	})
}

func TestAnArrayGivesTheMessagesOfItsItems(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", []string{"nfkc", "casefold"}, 0)
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		want := map[string]bool{}
		for i := range rapid.IntRange(0, 5).Draw(t, "items") {
			_, text := jsonValue(t, fmt.Sprint("item ", i))
			texts = append(texts, text)
			single, err := ix.Messages([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range single {
				want[string(m)] = true
			}
		}
		got, err := ix.Messages([]byte("[" + strings.Join(texts, " ,\n") + "]"))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || !slices.IsSortedFunc(got, bytes.Compare) {
			t.Fatalf("%q: %q", texts, got)
		}
		for _, m := range got {
			if !want[string(m)] {
				t.Fatalf("%q is no item's message", m)
			}
		}
	})
}

func TestASearchAsksWhatWasStored(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", []string{"trim", "nfkc", "casefold"}, 0)
	rapid.Check(t, func(t *rapid.T) {
		value, text := jsonValue(t, "value")
		stored, err := ix.Messages([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var asked [][]byte
		switch v := value.(type) {
		case string:
			asked = ix.Query(v, true, false)
		case int64:
			asked = ix.Query(text, false, true)
		}
		if !slices.EqualFunc(stored, asked, bytes.Equal) {
			t.Fatalf("%s is stored as %q and asked as %q", text, stored, asked)
		}
	})
}

// FuzzMessages holds Messages against encoding/json: it accepts only what that accepts, gives no error that holds the text, and gives
// messages that are well-formed, sorted and distinct.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`null`, `""`, `"a"`, `" Straße\u0130 "`, `1`, `-0`, `1.0`, `1e400`, `1e1001`, `[]`, `["b","a",1,null]`, `[[1]]`, `{"a":1}`, `"\ud83d\ude00"`, `"\ud800"`, `[1,]`, `1.50e1`,
	} {
		f.Add([]byte(seed))
	}
	ix := mustIndex(f, "x", []string{"trim", "nfkc", "casefold"}, 0)
	f.Fuzz(func(t *testing.T, text []byte) {
		messages, err := ix.Messages(text)
		if err != nil {
			if messages != nil {
				t.Fatalf("%q gives messages and an error", text)
			}
			var typeError *TypeError
			var syntaxError *SyntaxError
			var limitError *NumberLimitError
			if !errors.As(err, &typeError) && !errors.As(err, &syntaxError) && !errors.As(err, &limitError) {
				t.Fatalf("%q: an untyped error: %v", text, err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is accepted and is no JSON", text)
		}
		if !slices.IsSortedFunc(messages, bytes.Compare) || len(slices.CompactFunc(slices.Clone(messages), bytes.Equal)) != len(messages) {
			t.Fatalf("%q: not sorted and distinct: %q", text, messages)
		}
		for _, m := range messages {
			if !validPart(m) || !utf8.Valid(m) {
				t.Fatalf("%q: %q is no message", text, m)
			}
		}
	})
}
