package schema

import (
	"cmp"
	"fmt"
	"slices"
)

// fate is what happens to a property's values at the locations of one plan.
type fate struct{ sealed, bare bool }

// lintElsewhere notes a property of one definition that is flagged at one location and stays in clear at another: by what stands beside a
// reference to the definition, or by the overlay of one event type and not of the other. Who wrote the flag may think that it holds everywhere.
func (r *Registry) lintElsewhere(fs *findings) {
	sealed, bare := map[*node]*Plan{}, map[*node]*Plan{} // the first plan in which it is so
	for _, e := range r.events {
		for n, f := range e.plan.propertyFates() {
			if f.sealed && sealed[n] == nil {
				sealed[n] = e.plan
			}
			if f.bare && bare[n] == nil {
				bare[n] = e.plan
			}
		}
	}
	both := map[*node]bool{}
	plans := map[*Plan]bool{}
	for n := range sealed {
		if bare[n] != nil {
			both[n] = true
			plans[sealed[n]], plans[bare[n]] = true, true
		}
	}
	places := map[*Plan]map[*node]fatePlaces{}
	for p := range plans {
		places[p] = p.placesOf(both)
	}
	for n := range both {
		s, b := sealed[n], bare[n]
		if bare := places[s][n].bare; bare != "" {
			b = s // both in one event say more
		}
		fs.add(n.finding("flag-elsewhere",
			fmt.Sprintf("%q is sealed at %s and stays in clear at %s", lastOf(n.pointer), s.at(places[s][n].sealed), b.at(places[b][n].bare)),
			"flag it here, so that it is sealed wherever this definition is used, or say with lint.ignore why it may differ"))
	}
}

// at names a location of a plan's events.
func (p *Plan) at(pointer string) string {
	return fmt.Sprintf("%s of %s version %d", pointer, p.event.typ, p.event.version)
}

func lastOf(pointer string) string {
	tokens, _ := splitPointer(pointer)
	return tokens[len(tokens)-1]
}

// propertyFates says for each schema that spells a member's name what happens to the member.
func (p *Plan) propertyFates() map[*node]fate {
	fates := map[*node]fate{}
	for _, n := range p.visited {
		for _, sub := range n.properties {
			fates[sub] = fate{}
		}
	}
	for _, s := range p.intern {
		sealed := s.outer == "" && s.flaggedHere()
		if !sealed && !p.untouched(s) {
			continue
		}
		for _, e := range s.elems {
			if f, ok := fates[e.node]; ok {
				fates[e.node] = fate{f.sealed || sealed, f.bare || !sealed}
			}
		}
	}
	for n := range p.reachedFrom(p.clearStates()) {
		if f, ok := fates[n]; ok {
			fates[n] = fate{f.sealed, true}
		}
	}
	return fates
}

// untouched reports that nothing is sealed at a location, around it, or below it.
func (p *Plan) untouched(s *State) bool {
	return s.bare() && !slices.ContainsFunc(s.elems, func(e elem) bool { return p.holds[e.node] })
}

// clearStates are those below which loading does not look, since nothing is sealed there.
func (p *Plan) clearStates() []*State {
	var list []*State
	for _, s := range p.intern {
		if s.bare() && s.clear {
			list = append(list, s)
		}
	}
	return list
}

// reachedFrom gives the schemas of members and items, at any depth, of values in these states.
func (p *Plan) reachedFrom(states []*State) map[*node]bool {
	seen := map[*node]bool{}
	var queue []*node
	push := func(n *node) {
		if !seen[n] {
			seen[n] = true
			queue = append(queue, n)
		}
	}
	for _, s := range states {
		for _, e := range s.elems {
			push(e.node)
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, t := range p.refs[n] {
			push(t)
		}
		for _, e := range n.edges() {
			switch e.keyword {
			case "not", "propertyNames", "contentSchema": // no values of the payload
			default:
				push(e.to)
			}
		}
	}
	return seen
}

// fatePlaces are the first location at which a property is flagged, and the first at which it stays in clear.
type fatePlaces struct{ sealed, bare string }

// placesOf finds both for each of the wanted schemas, the shortest pointers first.
func (p *Plan) placesOf(wanted map[*node]bool) map[*node]fatePlaces {
	type visit struct {
		s       *State
		pointer string
	}
	places := map[*node]fatePlaces{}
	note := func(n *node, f fatePlaces) {
		if wanted[n] {
			places[n] = fatePlaces{cmp.Or(places[n].sealed, f.sealed), cmp.Or(places[n].bare, f.bare)}
		}
	}
	queue := []visit{{p.root, ""}}
	known := map[*State]bool{p.root: true}
	for len(queue) > 0 && len(known) <= maxStates {
		v := queue[0]
		queue = queue[1:]
		for _, e := range v.s.elems {
			switch {
			case p.untouched(v.s):
				note(e.node, fatePlaces{bare: v.pointer})
			case v.s.outer == "" && v.s.flaggedHere():
				note(e.node, fatePlaces{sealed: v.pointer})
			}
		}
		if v.s.bare() && v.s.clear {
			for n := range p.reachedFrom([]*State{v.s}) {
				note(n, fatePlaces{bare: v.pointer + "/…"})
			}
		}
		if !v.s.bare() || !p.interesting(v.s) {
			continue
		}
		for _, t := range v.s.transitions() {
			if !known[t.to] {
				known[t.to] = true
				queue = append(queue, visit{t.to, v.pointer + t.label})
			}
		}
	}
	return places
}
