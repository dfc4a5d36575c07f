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

// prepare explores the automaton over declared names, combinations of patterns for which a name is found, any other name and items, and
// refuses conflicts. What other combinations of patterns bring is found when an event has them, and refuses that event.
func (p *Plan) prepare(out *findings) {
	p.readCompounds()
	p.mu.Lock()
	p.root = p.state([]elem{{p.event.doc.rootNode, true}}, way{policy: p.policy, path: p.paths})
	p.mu.Unlock()
	states := []*State{p.root}
	known := map[*State]bool{p.root: true}
	steps := map[*State][]transition{}
	for i := 0; i < len(states) && i < maxStates; i++ {
		if !p.spend(0) {
			break
		}
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
	if p.refuseWork(out) {
		return
	}
	var recurring []*State
	var repeated map[*State]bool
	if slices.ContainsFunc(p.visited, p.indexed) || len(p.compounds) > 0 { // who asks
		g := newGraph(states, steps)
		cyclic := g.cyclic()
		repeated = g.repeated(cyclic)
		for i, s := range states {
			if cyclic[i] {
				recurring = append(recurring, s)
			}
		}
	}
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
	if known := s.explored.Load(); known != nil {
		return *known
	}
	var ts []transition
	members := s.exploreMembers()
	for _, n := range slices.Sorted(maps.Keys(members)) {
		if c := members[n]; c != nil {
			ts = append(ts, transition{to: c, label: child("", n), name: n})
		}
	}
	for _, matched := range s.patternSets() {
		if c := s.slowMember(&s.others, string(matched), "", matched); c != nil {
			ts = append(ts, transition{to: c, repeated: true, label: "/*"})
		}
	}
	none := make([]byte, (len(s.patterns)+7)/8)
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
	s.explored.Store(&ts)
	return ts
}

// graph is the explored automaton by numbers: a large schema has hundreds of thousands of transitions.
type graph struct {
	states []*State
	next   [][]int32 // of each state, where its transitions lead
	again  [][]int32 // and where those lead that several locations of an event may take
}

func newGraph(states []*State, explored map[*State][]transition) *graph {
	g := &graph{states: states, next: make([][]int32, len(states)), again: make([][]int32, len(states))}
	number := make(map[*State]int32, len(states))
	for i, s := range states {
		number[s] = int32(i)
	}
	first := map[*steps]int{} // states that share their steps share these lists
	for i, s := range states {
		if len(explored[s]) == 0 {
			continue
		}
		if j, ok := first[s.steps]; ok {
			g.next[i], g.again[i] = g.next[j], g.again[j]
			continue
		}
		first[s.steps] = i
		for _, t := range explored[s] {
			to, known := number[t.to]
			if !known {
				continue // beyond what loading explores
			}
			g.next[i] = append(g.next[i], to)
			if t.repeated {
				g.again[i] = append(g.again[i], to)
			}
		}
	}
	return g
}

// repeated finds the states that more than one location of a single event can have: those behind a repeated step, and those that a cycle
// leads back to.
func (g *graph) repeated(recurring []bool) map[*State]bool {
	marked := make([]bool, len(g.states))
	var queue []int32
	mark := func(i int32) {
		if !marked[i] {
			marked[i] = true
			queue = append(queue, i)
		}
	}
	for i := range g.states {
		for _, to := range g.again[i] {
			mark(to)
		}
		if recurring[i] {
			mark(int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, to := range g.next[queue[0]] {
			mark(to)
		}
	}
	found := map[*State]bool{}
	for i, s := range g.states {
		if marked[i] {
			found[s] = true
		}
	}
	return found
}

// cyclic finds the states that can be left and come back to: what remains when states without steps in are taken away, again and again,
// and then those without steps out.
func (g *graph) cyclic() []bool {
	ins, outs := make([]int, len(g.states)), make([]int, len(g.states))
	back := make([][]int32, len(g.states))
	for i := range g.states {
		outs[i] = len(g.next[i])
		for _, to := range g.next[i] {
			ins[to]++
			back[to] = append(back[to], int32(i))
		}
	}
	left := make([]bool, len(g.states))
	var queue []int32
	for i := range g.states {
		left[i] = true
		if ins[i] == 0 || outs[i] == 0 {
			queue = append(queue, int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		if !left[i] {
			continue
		}
		left[i] = false
		for _, to := range g.next[i] {
			if ins[to]--; ins[to] == 0 {
				queue = append(queue, to)
			}
		}
		for _, from := range back[i] {
			if outs[from]--; outs[from] == 0 {
				queue = append(queue, from)
			}
		}
	}
	return left
}
