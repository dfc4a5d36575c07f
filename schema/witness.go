package schema

import (
	"regexp/syntax"
	"strings"
)

// patternSets lists which patterns of a state can match one name together, as far as names are found that show it: for each pattern one
// that it matches, and for each two of them those joined, unless that takes too long. A set is a bit for each pattern, as stepMember takes it. Every
// pattern is in one of the first len(patterns) sets. The caller does not hold p.mu.
func (s *State) patternSets() [][]byte {
	n := len(s.patterns)
	names := make([]string, n)
	known := make([]bool, n)
	length := 0 // of all names
	for i, p := range s.patterns {
		if re, err := syntax.Parse(p.re.String(), syntax.Perl); err == nil {
			names[i] = witness(re)
			known[i] = p.re.MatchString(names[i])
			length += len(names[i])
		}
	}
	if !s.plan.spend(tries(n, n, length, s.size)) {
		return nil // loading refuses the schema
	}
	var sets [][]byte
	seen := map[string]bool{}
	add := func(set []byte) {
		if !seen[string(set)] {
			seen[string(set)] = true
			sets = append(sets, set)
		}
	}
	for i := range s.patterns {
		if known[i] && !s.names[names[i]] {
			add(s.matching(names[i]))
			continue
		}
		set := make([]byte, (len(s.patterns)+7)/8)
		set[i/8] |= 1 << (i % 8)
		add(set)
	}
	if !s.plan.spendOnPairs(tries(n*n, n, 2*n*length, s.size)) {
		return sets
	}
	for i, a := range names {
		for j, b := range names {
			if i != j && known[i] && known[j] && !s.names[a+b] {
				add(s.matching(a + b))
			}
		}
	}
	return sets
}

// tries is what it takes to try a number of patterns, of so many instructions together, on a number of names, of so many bytes together: a step for
// each try, and one more for 64 instructions that a byte may take.
func tries(names, patterns, length, size int) int {
	return names*patterns + (names+length)*size/64
}

// programSize is how many instructions an expression takes.
func programSize(expression string) int {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// matching says which patterns a name matches.
func (s *State) matching(name string) []byte {
	set := make([]byte, (len(s.patterns)+7)/8)
	for i, p := range s.patterns {
		if p.re.MatchString(name) {
			set[i/8] |= 1 << (i % 8)
		}
	}
	return set
}

// maxWitness bounds the length of a name that is made.
const maxWitness = 256

// witness makes a text that an expression matches in most cases; assertions on the text around are not looked at.
func witness(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for _, want := range "a0A_" {
				if re.Rune[i] <= want && want <= re.Rune[i+1] {
					return string(want)
				}
			}
		}
		if len(re.Rune) > 0 {
			return string(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			if b.Len() < maxWitness {
				b.WriteString(witness(sub))
			}
		}
		return b.String()
	case syntax.OpCapture, syntax.OpAlternate, syntax.OpPlus:
		return witness(re.Sub[0])
	case syntax.OpRepeat:
		one := witness(re.Sub[0])
		return strings.Repeat(one, min(re.Min, maxWitness/max(len(one), 1)))
	}
	return ""
}
