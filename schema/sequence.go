package schema

import (
	"cmp"
	"maps"
	"slices"
)

// Sequence is the declared members of one location in the order of their declaration, for who steps by an object's members one after the other: where
// they come about in that order, a step is one comparison of names. Immutable, safe for concurrent use.
type Sequence struct {
	list   []namedState
	byName map[string]int
}

// namedState is a step by a declared name.
type namedState struct {
	name  string
	text  string // the name in quotes and its colon, as most producers write it; "": the name needs escapes
	state *State
}

// sequenceWindow is how far ahead of the last member the next one is looked for first: producers write members in one order, and leave some out.
const sequenceWindow = 4

// Sequence gives the members that properties here declare, nil where not all of them are known yet: step by Member then.
func (s *State) Sequence() *Sequence {
	if q := s.sequence.Load(); q != nil {
		return q
	}
	return s.lineUp()
}

// Len is how many members are declared: their numbers are below it.
func (q *Sequence) Len() int { return len(q.list) }

// Step steps by a decoded name as State.Member does. number counts the declared members from 0; -1: the name is none of them, and Member knows more.
// at is where the name is looked for first: one more than the number of the member before.
func (q *Sequence) Step(at int, name []byte) (child *State, number int) {
	for i := at; uint(i) < uint(len(q.list)) && i < at+sequenceWindow; i++ {
		if step := &q.list[i]; step.name == string(name) {
			return step.state, i
		}
	}
	if i, ok := q.byName[string(name)]; ok {
		return q.list[i].state, i
	}
	return nil, -1
}

// Ahead is Step for a payload's text that goes on with a member, where that is written without escapes in its name or space before its colon: n is how
// long the name, its quotes and the colon are. 0: it is written otherwise, or another member; use Step.
func (q *Sequence) Ahead(at int, text []byte) (child *State, number, n int) {
	for i := at; uint(i) < uint(len(q.list)) && i < at+sequenceWindow; i++ {
		if step := &q.list[i]; len(step.text) > 0 && len(step.text) <= len(text) && step.text == string(text[:len(step.text)]) {
			return step.state, i, len(step.text)
		}
	}
	return nil, -1, 0
}

// lineUp puts the steps by all declared names in their order, once all of them are known.
func (s *State) lineUp() *Sequence {
	members := s.members.Load()
	if members == nil || len(*members) < len(s.names) {
		return nil
	}
	q := &Sequence{byName: make(map[string]int, len(*members))}
	for _, e := range s.elems {
		properties := e.node.properties
		names := slices.SortedFunc(maps.Keys(properties), func(a, b string) int { return cmp.Compare(properties[a].raw.start, properties[b].raw.start) })
		for _, name := range names {
			if _, seen := q.byName[name]; seen {
				continue
			}
			q.byName[name] = len(q.list)
			q.list = append(q.list, namedState{name, memberText(name), (*members)[name]})
		}
	}
	s.sequence.Store(q)
	return q
}

// memberText is a name as JSON in quotes, and a colon; "" for one that JSON has to, or may well, write with escapes.
func memberText(name string) string {
	for _, c := range []byte(name) {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return ""
		}
	}
	return `"` + name + `":`
}
