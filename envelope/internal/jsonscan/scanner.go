package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Limits of numbers; sizes and depth are the walk's.
type Limits struct {
	Digits   int
	Exponent int
}

// Scanner reads tokens from Buf at Pos. The zero value is ready once Reset was called.
type Scanner struct {
	Buf []byte
	Pos int

	limits Limits
	names  names
}

// Reset starts on another input and keeps the memory of the last one.
func (s *Scanner) Reset(buf []byte, limits Limits) {
	s.Buf, s.Pos, s.limits = buf, 0, limits
	s.names.reset()
}

// Space skips white space.
func (s *Scanner) Space() {
	if s.Pos < len(s.Buf) && s.Buf[s.Pos] <= ' ' {
		s.space()
	}
}

func (s *Scanner) space() {
	buf, i := s.Buf, s.Pos
	for i < len(buf) && buf[i] <= ' ' && (buf[i] == ' ' || buf[i] == '\n' || buf[i] == '\t' || buf[i] == '\r') {
		i++
	}
	s.Pos = i
}

// Peek gives the byte at Pos, 0 at the end (a NUL byte starts nothing in JSON).
func (s *Scanner) Peek() byte {
	if s.Pos < len(s.Buf) {
		return s.Buf[s.Pos]
	}
	return 0
}

// Expected is the fault of a byte at Pos that does not go on as the rule says.
func (s *Scanner) Expected(rule string) *Fault {
	if s.Pos >= len(s.Buf) {
		return &Fault{Offset: len(s.Buf), Rule: RuleEnd}
	}
	if s.Pos == 0 && bytes.HasPrefix(s.Buf, []byte("\xef\xbb\xbf")) {
		return &Fault{Rule: RuleByteOrder}
	}
	return &Fault{Offset: s.Pos, Rule: rule}
}

// plain tells the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, in the high bit of each of eight bytes, those that do not stand for themselves in a string: control characters, quotes, backslashes
// and what is not ASCII. The lowest mark is exact; one above it may be too many (Mycroft's test for a zero byte borrows upwards), so that only the
// first is to be used.
func special(eight uint64) uint64 {
	// With this bit the other way round, a quote is the one character beside the control characters that stands below '#'.
	flipped := eight ^ ('"'^' ')*lows
	backslash := eight ^ '\\'*lows
	return (eight | (flipped - ('#'^'"'^' ')*lows) | (backslash - lows)) & highs
}

// plainEnd gives the first byte from i on that does not stand for itself in a string.
func plainEnd(buf []byte, i int) int {
	for ; i+16 <= len(buf); i += 16 {
		first, second := special(binary.LittleEndian.Uint64(buf[i:])), special(binary.LittleEndian.Uint64(buf[i+8:]))
		if first|second == 0 {
			continue
		}
		if first != 0 {
			return i + bits.TrailingZeros64(first)>>3
		}
		return i + 8 + bits.TrailingZeros64(second)>>3
	}
	for i < len(buf) && plain[buf[i]] {
		i++
	}
	return i
}

// String reads a string; Pos must be at its opening quote. The span is the text between the quotes.
func (s *Scanner) String() (Span, *Fault) {
	buf, start := s.Buf, s.Pos+1
	end := start
	if start+8 > len(buf) {
		return s.string()
	}
	if marks := special(binary.LittleEndian.Uint64(buf[start:])); marks != 0 { // most names, many values
		end += bits.TrailingZeros64(marks) >> 3
	} else {
		end = plainEnd(buf, start+8)
	}
	if end < len(buf) && buf[end] == '"' {
		s.Pos = end + 1
		return Span{Start: start, End: end}, nil
	}
	return s.string()
}

func (s *Scanner) string() (Span, *Fault) {
	buf, i := s.Buf, s.Pos+1
	start, escaped := i, false
	for {
		i = plainEnd(buf, i)
		if i >= len(buf) {
			return Span{start, i, escaped}, &Fault{Offset: i, Rule: RuleEnd}
		}
		switch c := buf[i]; {
		case c == '"':
			s.Pos = i + 1
			return Span{start, i, escaped}, nil
		case c == '\\':
			escaped = true
			n, fault := escape(buf, i)
			if fault != nil {
				return Span{start, i, escaped}, fault
			}
			i += n
		case c < 0x20:
			return Span{start, i, escaped}, &Fault{Offset: i, Rule: RuleControl}
		default:
			r, n := utf8.DecodeRune(buf[i:])
			if r == utf8.RuneError && n == 1 {
				return Span{start, i, escaped}, &Fault{Offset: i, Rule: RuleUTF8}
			}
			i += n
		}
	}
}

// escape checks the escape at buf[i] and gives its length: a surrogate pair counts as one.
func escape(buf []byte, i int) (int, *Fault) {
	if i+1 >= len(buf) {
		return 0, &Fault{Offset: len(buf), Rule: RuleEnd}
	}
	switch buf[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, &Fault{Offset: i, Rule: RuleEscape}
	}
	unit, ok := hex4(buf, i+2)
	if !ok {
		return 0, &Fault{Offset: i, Rule: RuleEscape}
	}
	if unit < 0xd800 || unit > 0xdfff {
		return 6, nil
	}
	if unit < 0xdc00 && i+7 < len(buf) && buf[i+6] == '\\' && buf[i+7] == 'u' {
		if low, ok := hex4(buf, i+8); ok && low >= 0xdc00 && low <= 0xdfff {
			return 12, nil
		}
	}
	return 0, &Fault{Offset: i, Rule: RuleSurrogate}
}

// hex4 reads four hex digits.
func hex4(buf []byte, i int) (rune, bool) {
	if i+4 > len(buf) {
		return 0, false
	}
	var r rune
	for _, c := range buf[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Decode appends the content of a string whose raw text String has accepted.
func Decode(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			n := bytes.IndexByte(raw[i:], '\\')
			if n < 0 {
				n = len(raw) - i
			}
			dst = append(dst, raw[i:i+n]...)
			i += n
			continue
		}
		switch c := raw[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(raw, i+2)
			i += 4
			if r >= 0xd800 && r <= 0xdfff {
				low, _ := hex4(raw, i+4)
				r = (r-0xd800)<<10 + (low - 0xdc00) + 0x10000
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

// Text gives the content of a string: its own bytes, or its decoded ones appended to scratch.
func (s *Scanner) Text(span Span, scratch []byte) []byte {
	raw := s.Buf[span.Start:span.End]
	if !span.Escaped {
		return raw
	}
	return Decode(scratch, raw)
}

// Number reads a number; Pos must be at its minus sign or first digit.
func (s *Scanner) Number() *Fault {
	buf, start, i := s.Buf, s.Pos, s.Pos
	if buf[i] == '-' {
		i++
	}
	whole := i
	i = skipDigits(buf, i)
	if i == whole {
		s.Pos = i
		return s.Expected(RuleDigit)
	}
	if buf[whole] == '0' && i > whole+1 {
		return &Fault{Offset: whole, Rule: RuleZero}
	}
	digits := i - whole
	if i < len(buf) && buf[i] == '.' {
		i++
		fraction := i
		i = skipDigits(buf, i)
		if i == fraction {
			s.Pos = i
			return s.Expected(RuleDigit)
		}
		digits += i - fraction
	}
	if digits > s.limits.Digits {
		return &Fault{Offset: start, Limit: LimitDigits, Max: s.limits.Digits}
	}
	if i < len(buf) && buf[i]|0x20 == 'e' {
		i++
		if i < len(buf) && (buf[i] == '+' || buf[i] == '-') {
			i++
		}
		exponent := i
		i = skipDigits(buf, i)
		if i == exponent {
			s.Pos = i
			return s.Expected(RuleDigit)
		}
		if i-exponent > s.limits.Digits {
			return &Fault{Offset: start, Limit: LimitDigits, Max: s.limits.Digits}
		}
		if !within(buf[exponent:i], s.limits.Exponent) {
			return &Fault{Offset: start, Limit: LimitExponent, Max: s.limits.Exponent}
		}
	}
	s.Pos = i
	return nil
}

func skipDigits(buf []byte, i int) int {
	for i < len(buf) && buf[i]-'0' <= 9 {
		i++
	}
	return i
}

// within says whether digits are a number of at most limit.
func within(digits []byte, limit int) bool {
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) > exponentDigits {
		return false
	}
	n := 0
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n <= limit
}

// Literal reads true, false or null; Pos must be at its first letter.
func (s *Scanner) Literal() *Fault {
	want := "null"
	switch s.Buf[s.Pos] {
	case 't':
		want = "true"
	case 'f':
		want = "false"
	}
	rest := s.Buf[s.Pos:]
	if len(rest) < len(want) && string(rest) == want[:len(rest)] {
		return &Fault{Offset: len(s.Buf), Rule: RuleEnd}
	}
	if len(rest) < len(want) || string(rest[:len(want)]) != want {
		return &Fault{Offset: s.Pos, Rule: RuleLiteral}
	}
	s.Pos += len(want)
	return nil
}

// End checks that only white space follows.
func (s *Scanner) End() *Fault {
	s.Space()
	if s.Pos < len(s.Buf) {
		return &Fault{Offset: s.Pos, Rule: RuleTrailing}
	}
	return nil
}
