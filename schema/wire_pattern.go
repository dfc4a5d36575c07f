package schema

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// sharedPattern is a pattern as both RE2 and ECMA-262 (with the flag u) read it; ok is false where there is none.
type sharedPattern struct {
	text string
	ok   bool
}

// sharePattern writes a pattern, which RE2 reads, so that ECMA-262 with the flag u reads it with the same meaning. It stays as it is where both
// agree already. Else it is written anew from what RE2 understood: classes as ranges (\s is another set in either), characters as themselves
// (escapes by number differ), every other case spelled out. The anchors of (?m) have no counterpart.
func sharePattern(text string) sharedPattern {
	if readAlike(text) {
		return sharedPattern{text, true}
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return sharedPattern{}
	}
	w := patternWriter{}
	w.write(re)
	if w.failed || len(w.b.String()) > maxPatternText {
		return sharedPattern{}
	}
	return sharedPattern{w.b.String(), true}
}

// maxPatternText bounds a pattern that is written anew: a class such as \pL, folded, has hundreds of ranges.
const maxPatternText = 1 << 16

// readAlike reports, looking at the text alone, that both dialects read a pattern alike. It knows the plain part of the language.
func readAlike(text string) bool {
	const classEscapes = "dDwW"
	const literalEscapes = `^$\.*+?()[]{}|/`
	rs := []rune(text)
	assertion := false // before this character stands one, which ECMA-262 does not repeat
	for i := 0; i < len(rs); i++ {
		after := assertion
		assertion = rs[i] == '^' || rs[i] == '$'
		switch c := rs[i]; c {
		case '*', '+', '?':
			if after {
				return false
			}
		case '\\':
			i++
			if i == len(rs) || !strings.ContainsRune(classEscapes+literalEscapes+"bBtnrfv", rs[i]) {
				return false
			}
			assertion = rs[i] == 'b' || rs[i] == 'B'
		case '.', '}', ']':
			return false // . leaves out other characters in either; lone brackets are errors in one
		case '(':
			if i+1 < len(rs) && rs[i+1] == '?' && (i+2 >= len(rs) || rs[i+2] != ':') {
				return false
			}
			if i+1 < len(rs) && rs[i+1] == '?' {
				i += 2
			}
		case '{':
			end := i + 1
			for end < len(rs) && (rs[end] >= '0' && rs[end] <= '9' || rs[end] == ',') {
				end++
			}
			body := string(rs[i+1 : min(end, len(rs))])
			if after || end == len(rs) || rs[end] != '}' || body == "" || body[0] == ',' || strings.Count(body, ",") > 1 {
				return false
			}
			i = end
		case '[':
			end, ok := plainClass(rs, i+1)
			if !ok {
				return false
			}
			i = end
		}
	}
	return true
}

// plainClass reads a class of single characters, ranges of these, and \d, \w; it gives the place of its bracket.
func plainClass(rs []rune, i int) (end int, ok bool) {
	if i < len(rs) && rs[i] == '^' {
		i++
	}
	for start := i; i < len(rs); i++ {
		switch c := rs[i]; {
		case c == ']':
			return i, i > start
		case c == '\\':
			if i++; i == len(rs) || !strings.ContainsRune(`dw^$\.*+?()[]{}|/-`, rs[i]) {
				return 0, false
			}
			if i+1 < len(rs) && rs[i+1] == '-' && (i+2 >= len(rs) || rs[i+2] != ']') {
				return 0, false // a range from an escape
			}
		case c == '[', c == '-' && i != start && (i+1 >= len(rs) || rs[i+1] != ']'):
			return 0, false
		case i+2 < len(rs) && rs[i+1] == '-' && rs[i+2] != ']':
			if rs[i+2] == '\\' || rs[i+2] == '[' || c == '-' {
				return 0, false
			}
			i += 2
		}
	}
	return 0, false
}

// patternWriter writes a parsed pattern in what both dialects share.
type patternWriter struct {
	b      strings.Builder
	failed bool
}

func (w *patternWriter) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpNoMatch:
		w.class([]rune{0, unicode.MaxRune}, true)
	case syntax.OpEmptyMatch:
		w.b.WriteString("(?:)")
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 && unicode.SimpleFold(r) != r {
				w.folded(r)
			} else {
				w.literal(r)
			}
		}
	case syntax.OpCharClass:
		w.class(re.Rune, false)
	case syntax.OpAnyCharNotNL:
		w.b.WriteString(`[^\n]`)
	case syntax.OpAnyChar:
		w.class([]rune{0, unicode.MaxRune}, false)
	case syntax.OpBeginText:
		w.b.WriteByte('^')
	case syntax.OpEndText:
		w.b.WriteByte('$')
	case syntax.OpWordBoundary:
		w.b.WriteString(`\b`)
	case syntax.OpNoWordBoundary:
		w.b.WriteString(`\B`)
	case syntax.OpCapture:
		w.group(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		w.group(re.Sub[0])
		switch {
		case re.Op == syntax.OpStar:
			w.b.WriteByte('*')
		case re.Op == syntax.OpPlus:
			w.b.WriteByte('+')
		case re.Op == syntax.OpQuest:
			w.b.WriteByte('?')
		case re.Max < 0:
			fmt.Fprintf(&w.b, "{%d,}", re.Min)
		default:
			fmt.Fprintf(&w.b, "{%d,%d}", re.Min, re.Max)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpAlternate {
				w.group(sub)
			} else {
				w.write(sub)
			}
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				w.b.WriteByte('|')
			}
			w.write(sub)
		}
	default: // OpBeginLine, OpEndLine
		w.failed = true
	}
}

func (w *patternWriter) group(re *syntax.Regexp) {
	w.b.WriteString("(?:")
	w.write(re)
	w.b.WriteByte(')')
}

func (w *patternWriter) literal(r rune) {
	if strings.ContainsRune(`^$\.*+?()[]{}|/`, r) {
		w.b.WriteByte('\\')
	}
	w.b.WriteRune(r)
}

// folded writes the class of all that fold to a character.
func (w *patternWriter) folded(r rune) {
	set := []rune{r, r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		set = append(set, f, f)
	}
	w.class(set, false)
}

func (w *patternWriter) class(ranges []rune, negate bool) {
	w.b.WriteByte('[')
	if negate {
		w.b.WriteByte('^')
	}
	empty := true
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		for _, part := range [][2]rune{{lo, min(hi, 0xD7FF)}, {max(lo, 0xE000), hi}} { // no surrogate is ever written
			if part[0] > part[1] {
				continue
			}
			empty = false
			w.classRune(part[0])
			if part[1] > part[0] {
				w.b.WriteByte('-')
				w.classRune(part[1])
			}
		}
	}
	if empty { // of surrogates alone, which no text holds
		w.b.WriteString("^\x00-")
		w.b.WriteRune(unicode.MaxRune)
	}
	w.b.WriteByte(']')
}

func (w *patternWriter) classRune(r rune) {
	if strings.ContainsRune(`^$\.*+?()[]{}|/-`, r) {
		w.b.WriteByte('\\')
	}
	w.b.WriteRune(r)
}
