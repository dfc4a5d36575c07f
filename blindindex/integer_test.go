package blindindex

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIntegersAreWrittenOut(t *testing.T) {
	t.Parallel()
	zeros := func(n int) string { return strings.Repeat("0", n) }
	for text, want := range map[string]string{
		"0":                               "0",
		"-0":                              "0",
		"0.0":                             "0",
		"-0.0e-7":                         "0",
		"0e1000":                          "0",
		"0e-1000":                         "0",
		"1":                               "1",
		"1.0":                             "1",
		"1e0":                             "1",
		"1E+3":                            "1000",
		"1e3":                             "1000",
		"-1e1":                            "-10",
		"1.50e1":                          "15",
		"150e-1":                          "15",
		"1500e-2":                         "15",
		"0.001e3":                         "1",
		"0.0010e4":                        "10",
		"-12.5E1":                         "-125",
		"9007199254740993":                "9007199254740993",
		"123456789012345678901234567890":  "123456789012345678901234567890",
		"1e400":                           "1" + zeros(400),
		"1e1000":                          "1" + zeros(1000),
		"1" + zeros(999):                  "1" + zeros(999),
		"1" + zeros(999) + "e1000":        "1" + zeros(1999),
		"1" + zeros(999) + "e-999":        "1",
		"1e00000000000000000000000000002": "100",
		"1e-0":                            "1",
	} {
		ix := mustIndex(t, "x", nil, 0)
		messages, err := ix.Messages([]byte(text))
		if err != nil || len(messages) != 1 || string(messages[0]) != "i"+want {
			t.Errorf("%.40s: %.40q, %v; not %.40q", text, messages, err, want)
		}
	}
}

func TestNumbersBeyondTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	ix := mustIndex(t, "x", nil, 0)
	for text, limit := range map[string]string{
		"1e1001":                                 "exponent",
		"1e-1001":                                "exponent",
		"0e1001":                                 "exponent",
		"1e5000000":                              "exponent",
		"1e99999999999999999999999999999999":     "exponent",
		"1e-99999999999999999999999999999999":    "exponent",
		"1e" + strings.Repeat("9", 1_000_000):    "exponent",
		strings.Repeat("9", 1001):                "digits",
		"1." + strings.Repeat("0", 1000):         "digits",
		"[1, " + strings.Repeat("9", 1001) + "]": "digits",
	} {
		messages, err := ix.Messages([]byte(text))
		var limitError *NumberLimitError
		if messages != nil || !errors.As(err, &limitError) || limitError.Limit != limit || limitError.Max != 1000 {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

// Whatever way an integer is written, it is the number that math/big reads.
func TestIntegersAgreeWithExactArithmetic(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		number := text.Draw(t, "number")
		value, ok := new(big.Rat).SetString(number)
		if !ok {
			t.Fatalf("math/big does not read %s", number)
		}
		digits, integral := parseInteger([]byte(number))
		if integral != value.IsInt() {
			t.Fatalf("%s: integral is %v", number, integral)
		}
		if integral && string(digits) != value.Num().String() {
			t.Fatalf("%s is written %s, not %s", number, digits, value.Num())
		}
	})
}
