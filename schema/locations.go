package schema

import (
	"cmp"
	"fmt"
	"slices"
)

// Location is one line of a plan's map, for people.
type Location struct {
	Pointer    string   // JSON pointer; * stands for an item, or for a name that the schema does not spell
	Sealed     bool     // sealed whole
	Nested     bool     // inside a sealed location: listed for its index
	Index      *Index   // nil where there is none
	Parts      []PartOf // the parts of compound indexes that the location is
	Keyring    string   // of a sealed location
	Undeclared string   // "reject", "seal" or "clear": what happens to a member that is not declared here; empty where nothing is said of members
	SameAs     string   // a location listed before whose lines below are not repeated here: a recursion, or one definition used twice
	Sources    []string // FILE:LINE:COL of the words that say so
}

// Field is a member that a schema declares by name. One that stands inside a sealed location and, elsewhere, outside any gives two.
type Field struct {
	Name     string // the member's name
	Pointer  string // JSON pointer of the first place in a payload, with * for items and open names
	File     string // the schema's file, and where the member's schema stands in it
	Line     int
	Column   int
	Location string // JSON pointer of the member's schema in File
	Sealed   bool   // the value is sealed, or stands inside a sealed one
	Type     string // the member's type keyword where it is one string, else ""
	Format   string // its format keyword, else ""
}

// describe writes the plan's map and its fields.
func (p *Plan) describe(steps map[*State][]transition) {
	first := map[*State]string{}
	seen := map[seenField]bool{}
	var walk func(s *State, pointer string)
	walk = func(s *State, pointer string) {
		before, again := first[s]
		l, ok := p.location(s, pointer)
		if again && len(steps[s]) > 0 {
			l.SameAs, ok = before, true
		}
		if ok {
			p.locations = append(p.locations, l)
		}
		if again {
			return
		}
		first[s] = pointer
		for _, t := range steps[s] {
			if t.name != "" {
				p.addField(s, t, pointer+t.label, seen)
			}
			walk(t.to, pointer+t.label)
		}
	}
	walk(p.root, "")
	slices.SortStableFunc(p.fields, func(a, b Field) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// location describes a state, if there is anything to say of it.
func (p *Plan) location(s *State, pointer string) (Location, bool) {
	nested := s.outer != ""
	l := Location{Pointer: pointer, Sealed: s.sealed && !nested, Nested: nested, Index: s.index, Parts: s.Parts()}
	if l.Sealed {
		l.Keyring = s.keyring
	}
	if !nested && !s.sealed && (len(s.names) > 0 || len(s.patterns) > 0 || s.sealedIfObject && pointer == "") {
		l.Undeclared = s.policy.String()
	}
	if !l.Sealed && l.Index == nil && len(l.Parts) == 0 && l.Undeclared == "" {
		return l, false
	}
	for _, e := range s.elems {
		for _, w := range p.words(e.node) {
			d := e.node.d
			if _, ok := p.overlay[e.node]; ok && w == p.overlay[e.node] {
				d = p.event.doc
			}
			if w.sensitive {
				line, col := d.position(w.sensitiveOff)
				l.Sources = append(l.Sources, fmt.Sprintf("%s:%d:%d", d.file, line, col))
			}
		}
	}
	return l, true
}

// seenField keeps one definition that is used inside a sealed location and outside any apart.
type seenField struct {
	node   *node
	sealed bool
}

// addField notes each schema that spells a member's name, once inside sealed locations and once outside.
func (p *Plan) addField(s *State, t transition, pointer string, seen map[seenField]bool) {
	for _, e := range s.elems {
		n := e.node.properties[t.name]
		sealed := t.to.sealed || t.to.outer != ""
		if n == nil || seen[seenField{n, sealed}] {
			continue
		}
		seen[seenField{n, sealed}] = true
		line, col := n.d.position(n.raw.start)
		f := Field{Name: t.name, Pointer: pointer, File: n.d.file, Line: line, Column: col, Location: n.pointer, Sealed: sealed}
		if v := n.raw.member("type"); v != nil {
			f.Type = v.str
		}
		if v := n.raw.member("format"); v != nil {
			f.Format = v.str
		}
		p.fields = append(p.fields, f)
	}
}
