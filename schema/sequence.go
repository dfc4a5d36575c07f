package schema

import (
	"cmp"
	"maps"
	"slices"
)

// namedState is a step by a declared name.
type namedState struct {
	name  string
	state *State
}

// sequenceWindow is how far ahead of the last member the next one is looked for: producers write members in one order, and leave some out.
const sequenceWindow = 4

// MemberAfter is Member for who steps by an object's members one after the other: where they come about in the order in which the schema declares
// them, a step is one comparison of names. at is 0 for the first member, and then what the step before gave as next.
func (s *State) MemberAfter(at int, name []byte) (child *State, exact bool, next int) {
	sequence := s.sequence.Load()
	if sequence == nil {
		child, exact = s.Member(name)
		if exact {
			s.lineUp()
		}
		return child, exact, at
	}
	for i := max(at, 0); i < len(*sequence) && i < at+sequenceWindow; i++ {
		if step := &(*sequence)[i]; step.name == string(name) {
			return step.state, true, i + 1
		}
	}
	child, exact = s.Member(name)
	return child, exact, at
}

// lineUp puts the steps by all declared names in their order, once all of them are known.
func (s *State) lineUp() {
	members := s.members.Load()
	if members == nil || len(*members) < len(s.names) {
		return
	}
	sequence := make([]namedState, 0, len(*members))
	seen := make(map[string]bool, len(*members))
	for _, e := range s.elems {
		properties := e.node.properties
		names := slices.SortedFunc(maps.Keys(properties), func(a, b string) int { return cmp.Compare(properties[a].raw.start, properties[b].raw.start) })
		for _, name := range names {
			if child, ok := (*members)[name]; ok && !seen[name] {
				seen[name] = true
				sequence = append(sequence, namedState{name, child})
			}
		}
	}
	s.sequence.Store(&sequence)
}
