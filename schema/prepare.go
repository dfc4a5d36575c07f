package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// transition is a step between two states, as loading explores them.
type transition struct {
	to       *State
	repeated bool // more than one location of an event may take it: items, patterns, open maps
	label    string
	name     string // a declared name, else ""
}

// prepare explores the automaton over declared names, each pattern alone, any other name and items, and refuses conflicts. What other
// combinations of patterns bring is found when an event has them, and refuses that event.
func (p *Plan) prepare(out *findings) {
	p.readCompounds()
	p.mu.Lock()
	p.root = p.state([]elem{{p.event.doc.rootNode, true}}, way{policy: p.policy, path: p.paths})
	p.mu.Unlock()
	states := []*State{p.root}
	known := map[*State]bool{p.root: true}
	steps := map[*State][]transition{}
	for i := 0; i < len(states) && i < maxStates; i++ {
		s := states[i]
		p.refuseConflict(s, out)
		if !p.interesting(s) {
			continue
		}
		steps[s] = s.transitions()
		for _, t := range steps[s] {
			if !known[t.to] {
				known[t.to] = true
				states = append(states, t.to)
			}
		}
	}
	recurring := cyclic(states, steps)
	repeated := repeatedStates(states, steps, recurring)
	keyrings := map[string]bool{}
	indexes := map[string]*Index{}
	for _, s := range states {
		if s.sealed || s.sealedIfObject || s.outer == "" && s.policy == PolicySeal {
			k := s.keyring
			if k == "" {
				k = p.keyring
			}
			keyrings[k] = true
		}
		if s.index == nil || s.conflict != nil {
			continue
		}
		indexes[s.index.Name] = s.index
		if repeated[s] && !s.index.Multi {
			n := s.indexNode()
			out.add(n.finding("index-multi", fmt.Sprintf("blind index %q may meet several values in one event (below items, a pattern, an open map or a recursion)", s.index.Name), `add "multi": true`))
		}
	}
	p.settleCompounds(recurring, out)
	for _, ix := range p.compounds {
		indexes[ix.Name] = ix
	}
	for k := range keyrings {
		p.keyrings = append(p.keyrings, k)
	}
	slices.Sort(p.keyrings)
	for _, ix := range indexes {
		p.indexes = append(p.indexes, ix)
	}
	slices.SortFunc(p.indexes, func(a, b *Index) int { return cmp.Compare(a.Name, b.Name) })
	p.describe(steps)
}

// interesting reports whether a flag, an index or an undeclared member can be met below.
func (p *Plan) interesting(s *State) bool {
	return len(s.elems) > 0 && !s.clear
}

func (p *Plan) refuseConflict(s *State, out *findings) {
	if c := s.conflict; c != nil {
		out.add(c.node.d.finding(c.off, c.node.pointer, c.Rule, c.Message, conflictHint(c.Rule)))
	}
}

func conflictHint(rule string) string {
	switch rule {
	case "index-unflagged", "keyring-unflagged":
		return "add \"x-gdpr-sensitive\": true beside it"
	case "index-multi":
		return `add "multi": true`
	case "index-name":
		return `give it a name: {"x-blind-index": {"name": "…"}}`
	case "index-type":
		return "add the type beside x-blind-index"
	}
	return "one location has one keyring and one index"
}

// transitions lists the steps that loading explores from a state.
func (s *State) transitions() []transition {
	var ts []transition
	members := s.exploreMembers()
	for _, n := range slices.Sorted(maps.Keys(members)) {
		if c := members[n]; c != nil {
			ts = append(ts, transition{to: c, label: child("", n), name: n})
		}
	}
	width := (len(s.patterns) + 7) / 8
	for i := range s.patterns {
		matched := make([]byte, width)
		matched[i/8] |= 1 << (i % 8)
		if c := s.slowMember(&s.others, string(matched), "", matched); c != nil {
			ts = append(ts, transition{to: c, repeated: true, label: "/*"})
		}
	}
	none := make([]byte, width)
	if c := s.slowMember(&s.others, string(none), "", none); c != nil && (len(c.elems) > 0 || c.sealed) {
		ts = append(ts, transition{to: c, repeated: true, label: "/*"})
	}
	for i := range max(1, s.itemCount) {
		c := s.Item(i)
		if len(c.elems) == 0 {
			continue
		}
		last := i >= s.itemCount-1
		label := fmt.Sprintf("/%d", i)
		if last {
			label = "/*"
		}
		ts = append(ts, transition{to: c, repeated: last, label: label})
	}
	return ts
}

// repeatedStates finds the states that more than one location of a single event can have: those behind a repeated step, and those that a
// cycle leads back to.
func repeatedStates(states []*State, steps map[*State][]transition, recurring []*State) map[*State]bool {
	repeated := map[*State]bool{}
	var queue []*State
	mark := func(s *State) {
		if !repeated[s] {
			repeated[s] = true
			queue = append(queue, s)
		}
	}
	for _, s := range states {
		for _, t := range steps[s] {
			if t.repeated {
				mark(t.to)
			}
		}
	}
	for _, s := range recurring {
		mark(s)
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, t := range steps[s] {
			mark(t.to)
		}
	}
	return repeated
}

// cyclic lists the states that can be left and come back to: what remains when states without steps in are taken away, again and again,
// and then those without steps out.
func cyclic(states []*State, steps map[*State][]transition) []*State {
	ins, outs := map[*State]int{}, map[*State]int{}
	back := map[*State][]*State{}
	for _, s := range states {
		for _, t := range steps[s] {
			ins[t.to]++
			outs[s]++
			back[t.to] = append(back[t.to], s)
		}
	}
	gone := map[*State]bool{}
	var queue []*State
	for _, s := range states {
		if ins[s] == 0 || outs[s] == 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if gone[s] {
			continue
		}
		gone[s] = true
		for _, t := range steps[s] {
			if ins[t.to]--; ins[t.to] == 0 {
				queue = append(queue, t.to)
			}
		}
		for _, b := range back[s] {
			if outs[b]--; outs[b] == 0 {
				queue = append(queue, b)
			}
		}
	}
	var left []*State
	for _, s := range states {
		if !gone[s] {
			left = append(left, s)
		}
	}
	return left
}
