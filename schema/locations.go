package schema

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Location is one line of a plan's map, for people: a location of which something is to be said that is not said of the one above it.
type Location struct {
	Pointer        string   // JSON pointer; * stands for an item, or for a name that the schema does not spell
	Sealed         bool     // sealed whole
	SealedIfObject bool     // sealed whole if an object stands there: the policy is "seal", and the schema declares no name
	Nested         bool     // inside a sealed location: listed for its index
	Index          *Index   // nil where there is none
	Parts          []PartOf // the parts of compound indexes that the location is
	Keyring        string   // of a sealed location, and where undeclared members are sealed
	Undeclared     string   // "reject", "seal" or "clear": what happens, here and below, to a member that is not declared; empty where it is as above
	SameAs         string   // where the lines below are, which are not repeated here ("." for the root): a recursion, or in a large map one definition used twice
	Sources        []string // FILE:LINE:COL of the words that say so
}

// Field is a member that a schema declares by name. One that stands inside a sealed location and, elsewhere, outside any gives two.
type Field struct {
	Name        string // the member's name
	Pointer     string // JSON pointer of the first place in a payload, with * for items and open names
	File        string // the schema's file, and where the member's schema stands in it
	Line        int
	Column      int
	Location    string // JSON pointer of the member's schema in File
	Sealed      bool   // the value is sealed, or stands inside a sealed one
	SealedBelow bool   // something below the value is sealed, in every place or not
	Type        string // the member's type keyword where it is one string, else ""
	Format      string // its format keyword, else ""
}

// planMap is the plan as people read it. It is made when it is first asked for: a large schema has tens of thousands of locations.
type planMap struct {
	once      sync.Once
	locations []Location
	fields    []Field
}

// Locations lists the plan for people, in a stable order: every location that is sealed, indexed, or open to undeclared members in another way
// than the one above it. Where something recurs, SameAs says as what; where every location by itself would be more than 200, the lines
// below one that is as another are left out too.
func (p *Plan) Locations() []Location {
	p.shown.once.Do(p.show)
	return slices.Clone(p.shown.locations)
}

// Fields lists every member that the schema declares by name, in a stable order.
func (p *Plan) Fields() []Field {
	p.shown.once.Do(p.show)
	return slices.Clone(p.shown.fields)
}

// drawing is what making a plan's map needs to know of its states. States of which, and below which, the same is to be said are one.
type drawing struct {
	p       *Plan
	alike   map[string]*State // by what is to be said of them
	states  []*State          // by the length of their shortest pointers
	pointer map[*State]string // the shortest
	steps   map[*State][]transition
	open    map[*State]string // unfolded: the states above, each with its pointer
	drawn   map[*State]bool   // folded: the states whose lines are there
	below   map[*State]bool   // something is to be said below
	sealed  map[*State]bool   // something is sealed below
	fields  map[seenField]bool
}

// maxUnfolded is how many lines a map may have in which every location has its own; of more, no lines are there twice.
const maxUnfolded = 200

// show draws the map: first the shortest way to each state, then what is to be said below each, then the lines.
func (p *Plan) show() {
	d := &drawing{p: p, alike: map[string]*State{}, pointer: map[*State]string{}, steps: map[*State][]transition{}, open: map[*State]string{}, drawn: map[*State]bool{}, fields: map[seenField]bool{}}
	d.explore()
	d.below = d.flood(func(from *State, t transition) bool { _, says := d.location(from, t.to, ""); return says })
	d.sealed = d.flood(func(_ *State, t transition) bool { return t.to.sealed && t.to.outer == "" })
	if !d.unfold(nil, d.states[0], "") {
		p.shown.locations = nil
		d.fold(nil, d.states[0], "")
	}
	for _, s := range d.states {
		for _, t := range d.steps[s] {
			d.addFields(s, t)
		}
	}
	slices.SortStableFunc(p.shown.fields, func(a, b Field) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// maxPointers bounds the map of a schema that nests without end: what lies deeper is not shown.
const maxPointers = 16 << 20

// explore finds the states, those with the shortest pointers first.
func (d *drawing) explore() {
	d.states = []*State{d.one(d.p.root)}
	d.pointer[d.states[0]] = ""
	size := 0
	for i := 0; i < len(d.states); i++ {
		s := d.states[i]
		if !d.p.interesting(s) {
			continue
		}
		d.steps[s] = s.transitions()
		for i := range d.steps[s] {
			t := &d.steps[s][i]
			t.to = d.one(t.to)
			if _, known := d.pointer[t.to]; !known && len(d.states) < maxStates && size < maxPointers {
				d.pointer[t.to] = d.pointer[s] + t.label
				size += len(d.pointer[t.to])
				d.states = append(d.states, t.to)
			}
		}
	}
}

// one gives the state that stands for all of which, and below which, the same is to be said: those that differ in schemas without words, members
// and items alone, such as a reference.
func (d *drawing) one(s *State) *State {
	var elems []elem
	for _, e := range s.elems {
		if len(d.p.words(e.node)) > 0 || len(d.p.carried[e.node]) > 0 || e.node.leads() {
			elems = append(elems, e)
		}
	}
	key := stateKey(elems, way{policy: s.policy, outer: s.outer, forced: s.forced, lastName: s.lastName, path: s.path})
	if s.sealedIfObject && d.mayBeObject(s) {
		key += "{"
	}
	if d.alike[key] == nil {
		d.alike[key] = s
	}
	return d.alike[key]
}

// flood gives the states with a step for which hit holds, at any depth.
func (d *drawing) flood(hit func(from *State, t transition) bool) map[*State]bool {
	above := map[*State][]*State{}
	found := map[*State]bool{}
	var queue []*State
	mark := func(s *State) {
		if !found[s] {
			found[s] = true
			queue = append(queue, s)
		}
	}
	for _, s := range d.states {
		for _, t := range d.steps[s] {
			above[t.to] = append(above[t.to], s)
			if hit(s, t) {
				mark(s)
			}
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, a := range above[s] {
			mark(a)
		}
	}
	return found
}

// unfold writes the line of a location and all those below; a recursion is shown once, below where it begins. false: the lines are too many.
func (d *drawing) unfold(from, s *State, pointer string) bool {
	l, says := d.location(from, s, pointer)
	at, recurs := d.open[s]
	if recurs && d.below[s] {
		l.SameAs, says = cmp.Or(at, "."), true
	}
	if says {
		d.write(s, l)
	}
	if recurs || !d.below[s] {
		return true
	}
	d.open[s] = pointer
	defer delete(d.open, s)
	for _, t := range d.steps[s] {
		if len(d.p.shown.locations) > maxUnfolded || !d.unfold(s, t.to, pointer+t.label) {
			return false
		}
	}
	return true
}

// fold writes the line of a location, and those below where the location is the state's shortest.
func (d *drawing) fold(from, s *State, pointer string) {
	l, says := d.location(from, s, pointer)
	shortest := d.pointer[s] == pointer && !d.drawn[s]
	if !shortest && d.below[s] {
		l.SameAs, says = cmp.Or(d.pointer[s], "."), true
	}
	if says {
		d.write(s, l)
	}
	if !shortest {
		return
	}
	d.drawn[s] = true
	for _, t := range d.steps[s] {
		d.fold(s, t.to, pointer+t.label)
	}
}

func (d *drawing) write(s *State, l Location) {
	l.Sources = d.sources(s, &l)
	d.p.shown.locations = append(d.p.shown.locations, l)
}

// location describes a state that a step from another leads to, if there is anything to say of it.
func (d *drawing) location(from, s *State, pointer string) (Location, bool) {
	nested := s.outer != ""
	flagged := s.sealed && (!s.forced || s.flaggedHere()) // the policy's line says the rest
	l := Location{Pointer: pointer, Sealed: flagged && !nested, SealedIfObject: s.sealedIfObject && d.mayBeObject(s), Nested: nested, Index: s.index, Parts: s.Parts()}
	if !nested && !s.sealed && (from == nil || from.policy != s.policy) {
		l.Undeclared = s.policy.String()
	}
	switch {
	case l.Sealed || l.SealedIfObject:
		l.Keyring = s.keyring
	case l.Undeclared == PolicySeal.String():
		l.Keyring = d.p.keyring
	}
	if !l.Sealed && !l.SealedIfObject && l.Index == nil && len(l.Parts) == 0 && l.Undeclared == "" {
		return l, false
	}
	return l, true
}

// mayBeObject reports that some schema of a state allows an object.
func (d *drawing) mayBeObject(s *State) bool {
	return len(s.elems) == 0 || slices.ContainsFunc(s.elems, func(e elem) bool { return d.p.types(e.node, map[*node]typeSet{})&typeObject != 0 })
}

// sources says where the words stand that flag a state's location, index it, or give it a policy: of each line the first.
func (d *drawing) sources(s *State, l *Location) []string {
	var list []string
	lines := map[string]bool{}
	add := func(doc *document, off int) {
		line, col := doc.position(off)
		if at := fmt.Sprintf("%s:%d", doc.file, line); !lines[at] {
			lines[at] = true
			list = append(list, fmt.Sprintf("%s:%d", at, col))
		}
	}
	for _, e := range s.elems {
		for _, n := range append([]*node{e.node}, d.p.carried[e.node]...) {
			overlay := d.p.overlay[n]
			if n.words.sensitive {
				add(n.d, n.words.sensitiveOff)
			}
			if overlay.sensitive {
				add(d.p.event.doc, overlay.sensitiveOff)
			}
			if n.words.index != nil {
				add(n.d, n.words.indexOff)
			}
			if overlay.index != nil {
				add(d.p.event.doc, overlay.indexOff)
			}
		}
	}
	if l.Undeclared != "" || l.SealedIfObject {
		for _, doc := range append([]*document{d.p.event.doc}, documentsOf(s)...) {
			for _, m := range doc.root.members {
				if m.name == wordUndeclared && m.value.str == s.policy.String() {
					add(doc, m.nameOff)
				}
			}
		}
	}
	return list
}

// documentsOf lists the files whose schemas stand in a state.
func documentsOf(s *State) []*document {
	var list []*document
	for _, e := range s.elems {
		if !slices.Contains(list, e.node.d) {
			list = append(list, e.node.d)
		}
	}
	return list
}

// seenField keeps one definition that is used inside a sealed location and outside any apart.
type seenField struct {
	node   *node
	sealed bool
}

// addFields notes each schema that spells a member's name, once inside sealed locations and once outside.
func (d *drawing) addFields(s *State, t transition) {
	if t.name == "" {
		return
	}
	for _, e := range s.elems {
		n := e.node.properties[t.name]
		sealed := t.to.sealed || t.to.outer != ""
		if n == nil || d.fields[seenField{n, sealed}] {
			continue
		}
		d.fields[seenField{n, sealed}] = true
		line, col := n.d.position(n.raw.start)
		f := Field{Name: t.name, Pointer: d.pointer[s] + t.label, File: n.d.file, Line: line, Column: col, Location: n.pointer, Sealed: sealed, SealedBelow: d.sealed[t.to]}
		if v := n.raw.member("type"); v != nil {
			f.Type = v.str
		}
		if v := n.raw.member("format"); v != nil {
			f.Format = v.str
		}
		d.p.shown.fields = append(d.p.shown.fields, f)
	}
}
