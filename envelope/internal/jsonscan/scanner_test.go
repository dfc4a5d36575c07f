package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

var wide = Limits{Digits: 1000, Exponent: 1000}

// walk reads one value and what follows it with the Scanner's parts, as package envelope does.
func walk(text []byte, limits Limits) *Fault {
	var s Scanner
	s.Reset(text, limits)
	s.Space()
	if fault := value(&s); fault != nil {
		return fault
	}
	return s.End()
}

func value(s *Scanner) *Fault {
	switch c := s.Peek(); {
	case c == '"':
		_, fault := s.String()
		return fault
	case c == '{':
		return object(s)
	case c == '[':
		return array(s)
	case c == '-' || c >= '0' && c <= '9':
		return s.Number()
	case c == 't' || c == 'f' || c == 'n':
		return s.Literal()
	}
	return s.Expected(RuleValue)
}

func object(s *Scanner) *Fault {
	mark := s.OpenObject()
	s.Pos++
	s.Space()
	if s.Peek() == '}' {
		s.Pos++
		return s.CloseObject(mark)
	}
	for {
		if s.Peek() != '"' {
			return s.Expected(RuleName)
		}
		span, fault := s.String()
		if fault != nil {
			return fault
		}
		if fault := s.AddName(mark, span, s.Name(span)); fault != nil {
			return fault
		}
		s.Space()
		if s.Peek() != ':' {
			return s.Expected(RuleColon)
		}
		s.Pos++
		s.Space()
		if fault := value(s); fault != nil {
			return fault
		}
		s.Space()
		switch s.Peek() {
		case ',':
			s.Pos++
			s.Space()
		case '}':
			s.Pos++
			return s.CloseObject(mark)
		default:
			return s.Expected(RuleObject)
		}
	}
}

func array(s *Scanner) *Fault {
	s.Pos++
	s.Space()
	if s.Peek() == ']' {
		s.Pos++
		return nil
	}
	for {
		if fault := value(s); fault != nil {
			return fault
		}
		s.Space()
		switch s.Peek() {
		case ',':
			s.Pos++
			s.Space()
		case ']':
			s.Pos++
			return nil
		default:
			return s.Expected(RuleArray)
		}
	}
}

func TestEachFaultNamesItsRuleAndByte(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 1001)
	for _, c := range []struct {
		text   string
		offset int
		rule   string
	}{
		{``, 0, RuleEnd},
		{` `, 1, RuleEnd},
		{`{`, 1, RuleEnd},
		{`[1,`, 3, RuleEnd},
		{`{"a"`, 4, RuleEnd},
		{`"abc`, 4, RuleEnd},
		{`"\`, 2, RuleEnd},
		{`tru`, 3, RuleEnd},
		{`-`, 1, RuleEnd},
		{`1.`, 2, RuleEnd},
		{`1e+`, 3, RuleEnd},
		{`{a:1}`, 1, RuleName},
		{`{"a":1,}`, 7, RuleName},
		{`{'a':1}`, 1, RuleName},
		{`{"a" 1}`, 5, RuleColon},
		{`{"a":1 "b":2}`, 7, RuleObject},
		{`[1 2]`, 3, RuleArray},
		{`[1,]`, 3, RuleValue},
		{`[,1]`, 1, RuleValue},
		{`// a`, 0, RuleValue},
		{`NaN`, 0, RuleValue},
		{`+1`, 0, RuleValue},
		{`.5`, 0, RuleValue},
		{`nul1`, 0, RuleLiteral},
		{`True`, 0, RuleValue},
		{`01`, 0, RuleZero},
		{`-00`, 1, RuleZero},
		{`1.x`, 2, RuleDigit},
		{`-x`, 1, RuleDigit},
		{`1ex`, 2, RuleDigit},
		{`1 2`, 2, RuleTrailing},
		{`{}}`, 2, RuleTrailing},
		{"1\x00", 1, RuleTrailing},
		{"1\v", 1, RuleTrailing},
		{"1\u00a0", 1, RuleTrailing},
		{"\ufeff1", 0, RuleByteOrder},
		{"\"a\nb\"", 2, RuleControl},
		{"\"a\x00b\"", 2, RuleControl},
		{`"a\x"`, 2, RuleEscape},
		{`"a\u12g4"`, 2, RuleEscape},
		{`"\u12"`, 1, RuleEscape},
		{`"a\ud800"`, 2, RuleSurrogate},
		{`"a\udc00"`, 2, RuleSurrogate},
		{`"a\ud800\ud800"`, 2, RuleSurrogate},
		{`"a\ud800\n"`, 2, RuleSurrogate},
		{`"a\udc00\ud800"`, 2, RuleSurrogate},
		{"\"a\xff\"", 2, RuleUTF8},
		{"\"a\xc0\x80\"", 2, RuleUTF8},         // an overlong NUL
		{"\"a\xed\xa0\x80\"", 2, RuleUTF8},     // a surrogate in UTF-8
		{"\"a\xf4\x90\x80\x80\"", 2, RuleUTF8}, // above U+10FFFF
		{"\"a\xe2\x82\"", 2, RuleUTF8},
		{`{"a":1,"a":2}`, 7, RuleDuplicate},
		{`{"a":1,"\u0061":2}`, 7, RuleDuplicate},
		{`{"é":1,"\u00e9":2}`, 8, RuleDuplicate},
		{`{"\ud83d\ude00":1,"😀":2}`, 18, RuleDuplicate},
		{`{"":1,"":2}`, 6, RuleDuplicate},
		{`{"a":{"a":1},"b":{"a":1,"a":2}}`, 24, RuleDuplicate},
		{long, 0, LimitDigits},
		{"[1." + long + "]", 1, LimitDigits},
		{"1e" + strings.Repeat("0", 1000) + "1", 0, LimitDigits},
		{`1e1001`, 0, LimitExponent},
		{`-1E-1001`, 0, LimitExponent},
		{`1e5000000`, 0, LimitExponent},
		{`1e99999999999999999999`, 0, LimitExponent},
	} {
		fault := walk([]byte(c.text), wide)
		if fault == nil {
			t.Errorf("%.40q is taken", c.text)
			continue
		}
		if got := fault.Rule + fault.Limit; got != c.rule || fault.Offset != c.offset {
			t.Errorf("%.40q: %q at %d, want %q at %d", c.text, got, fault.Offset, c.rule, c.offset)
		}
	}
}

func TestStrictTextsAreTaken(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("9", 1000)
	for _, text := range []string{
		`0`, `-0`, `-0.0`, `1.0`, `1e400`, `1E+1000`, `1e-1000`, `1e0001`, digits, "-" + digits + "e10", "0." + digits[1:],
		`""`, `"\"\\\/\b\f\n\r\t\u0000"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, "\"\u2028\x7f\U0010ffff\"", `"\uffff"`, `"\udbff\udfff"`,
		`null`, `true`, `false`, `[]`, `{}`, ` { "a" : [ ] } `, "\t[\r\n1 ,2]\n", `{"a":1,"A":2,"":3," ":4}`, "{\"\u00e9\":1,\"e\u0301\":2}",
		`{"a":{"a":{"a":1}},"b":{"a":1}}`,
	} {
		if fault := walk([]byte(text), wide); fault != nil {
			t.Errorf("%.40q: %+v", text, *fault)
		}
	}
}

// objectOf writes an object of n members, and with a repeat the r-th once more at the end.
func objectOf(n, repeat int) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"name%d":0,`, i)
	}
	if repeat >= 0 {
		fmt.Fprintf(&b, `"\u006eame%d":0,`, repeat)
	}
	b.WriteString(`"z":{"z":1}}`)
	return b.Bytes()
}

func TestDuplicatesAreFoundInObjectsOfEverySize(t *testing.T) {
	t.Parallel()
	for n := range 3 * shortObject {
		if fault := walk(objectOf(n, -1), wide); fault != nil {
			t.Fatalf("%d names: %+v", n, *fault)
		}
		for repeat := range n {
			text := objectOf(n, repeat)
			fault := walk(text, wide)
			want := bytes.Index(text, []byte(`"\u006e`))
			if fault == nil || fault.Rule != RuleDuplicate || fault.Offset != want {
				t.Fatalf("%d names, the %d. twice: %+v, want a duplicate at %d", n, repeat, fault, want)
			}
		}
	}
}

func TestManyNamesDoNotCostTheirSquare(t *testing.T) {
	t.Parallel()
	const names = 1_000_000 // a second; their square, many minutes
	start := time.Now()
	if fault := walk(objectOf(names, -1), wide); fault != nil {
		t.Fatal(*fault)
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("%d names take %v", names, took)
	}
}

func TestDecodeIsTheInverseOfEscaping(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		var quoted bytes.Buffer
		quoted.WriteByte('"')
		for _, r := range want {
			spelling := rapid.IntRange(0, 2).Draw(t, "spelling")
			if r < 0x20 {
				spelling = 1
			}
			switch spelling {
			case 0:
				text, err := json.Marshal(string(r))
				if err != nil {
					t.Fatal(err)
				}
				quoted.Write(text[1 : len(text)-1])
			case 1:
				if r > 0xffff {
					r -= 0x10000
					fmt.Fprintf(&quoted, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
				} else {
					fmt.Fprintf(&quoted, `\u%04X`, r)
				}
			default:
				quoted.WriteString(strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\b", `\b`, "\f", `\f`).Replace(string(r)))
			}
		}
		quoted.WriteByte('"')
		var s Scanner
		s.Reset(quoted.Bytes(), wide)
		span, fault := s.String()
		if fault != nil {
			t.Fatalf("%q: %+v", quoted.String(), *fault)
		}
		if got := string(s.Text(span, nil)); got != want {
			t.Fatalf("%q decodes to %q, want %q", quoted.String(), got, want)
		}
	})
}

// FuzzScanner compares with jsontext, a strict parser by other hands, beyond our limits on numbers.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,"\u00e9\ud83d\ude00",null,true,false,{}]}`, `{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", `[1,]`, `01`, `1e5000000`, " \n", "\ufeff{}",
		`{"":{"":{"":[[[]]]}}}`, "\"\x7f\u2028\"", `-`, `"\u12"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fault := walk(text, Limits{Digits: 1 << 30, Exponent: 999_999_999})
		if fault != nil && (fault.Offset < 0 || fault.Offset > len(text)) {
			t.Fatalf("%q: the fault lies outside: %+v", text, *fault)
		}
		if fault != nil && fault.Limit != "" {
			return
		}
		theirs := jsontext.NewDecoder(bytes.NewReader(text))
		_, err := theirs.ReadValue()
		if err == nil {
			if rest, _ := theirs.ReadToken(); rest.Kind() != 0 || len(bytes.Trim(text[theirs.InputOffset():], " \t\r\n")) > 0 {
				err = fmt.Errorf("something follows")
			}
		}
		if (fault == nil) != (err == nil) {
			t.Fatalf("%q: ours says %+v, jsontext %v", text, fault, err)
		}
	})
}
