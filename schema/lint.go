package schema

import (
	"fmt"
	"slices"
)

// checkFlags compares two counts of flags: those that stand in the documents, and those that the plans reach. A flag in a definition that
// nothing refers to is a finding; any other that no plan reaches would be lost without a word, and refuses the set.
func (r *Registry) checkFlags(refused *findings) {
	reached := map[*node]bool{}
	for _, e := range r.events {
		for _, n := range e.plan.visited {
			reached[n] = true
		}
	}
	var notes findings
	for _, d := range r.docs {
		for _, n := range sortedNodes(d) {
			if n.words.sensitive || n.words.index != nil {
				r.checkFlag(n, n.d, max(n.words.sensitiveOff, n.words.indexOff), n.pointer, reached, &notes, refused)
			}
		}
	}
	for _, e := range r.events {
		own := map[*node]bool{}
		for _, n := range e.plan.visited {
			own[n] = true
		}
		for n, w := range e.plan.overlay {
			if w.sensitive || w.index != nil {
				r.checkFlag(n, e.doc, max(w.sensitiveOff, w.indexOff), e.plan.overlayAt[n], own, &notes, refused)
			}
		}
	}
	r.findings = append(r.findings, notes.sorted()...)
}

func (r *Registry) checkFlag(n *node, d *document, off int, pointer string, reached map[*node]bool, notes, refused *findings) {
	if reached[n] {
		return
	}
	if home := n.home(); reached[home] {
		refused.add(d.finding(off, pointer, "flag-unreachable", "no value can reach this flag", "move the flag to a schema that the validator applies"))
		return
	}
	notes.add(d.finding(off, pointer, "flag-unused", "a flag in a definition that no event schema refers to", "refer to the definition, or remove it"))
}

// home is the definition, or the document's root, that a schema stands in.
func (n *node) home() *node {
	tokens, _ := splitPointer(n.pointer)
	for i := len(tokens); i >= 2; i-- {
		if k := tokens[i-2]; k == "definitions" || k == "$defs" {
			p := ""
			for _, t := range tokens[:i] {
				p = child(p, t)
			}
			if h := n.d.nodes[p]; h != nil {
				return h
			}
		}
	}
	return n.d.rootNode
}

func sortedNodes(d *document) []*node {
	ns := make([]*node, 0, len(d.nodes))
	for _, n := range d.nodes {
		ns = append(ns, n)
	}
	slices.SortFunc(ns, func(a, b *node) int { return a.seq - b.seq })
	return ns
}

// lint adds what a reader should know of schemas that load.
func (r *Registry) lint() {
	var fs findings
	for _, d := range r.docs {
		if d.eventType == "" && !d.referenced {
			fs.add(Finding{File: d.file, Line: 1, Column: 1, Rule: "file-unreferenced", Message: "the file is no event schema, and no event schema refers to it", Hint: "name it TYPE.vN.json, refer to it, or move it away"})
		}
		for _, n := range sortedNodes(d) {
			n.lint(&fs)
		}
	}
	for _, e := range r.events {
		e.plan.lint(&fs)
	}
	r.lintElsewhere(&fs)
	r.findings = append(r.findings, fs.sorted()...)
}

func (n *node) lint(fs *findings) {
	if v := n.raw.member("format"); v != nil && v.kind == '"' && !knownFormat(v.str) {
		fs.add(n.d.finding(v.start, child(n.pointer, "format"), "format-unknown", fmt.Sprintf("the format %q is not known, and accepts everything", v.str), formatHint(v.str)))
	}
	if m := n.raw.member(wordSensitive); m != nil && m.kind == 'f' {
		fs.add(n.d.finding(m.start, child(n.pointer, wordSensitive), "flag-without-effect", "x-gdpr-sensitive: false says nothing: it takes back no flag", "remove it"))
	}
}

func (p *Plan) lint(fs *findings) {
	p.lintNested(fs)
	for _, at := range p.overlayAt {
		tokens, _ := splitPointer(at)
		if m := p.event.doc.root.lookup(append(tokens, wordSensitive)); m != nil && m.kind == 'f' {
			fs.add(p.event.doc.finding(m.start, child(at, wordSensitive), "flag-without-effect", "x-gdpr-sensitive: false says nothing: it takes back no flag", "remove it"))
		}
	}
	p.lintNames(fs)
}

// lintNames notes open maps whose values are flagged, at a location where the map itself is not.
func (p *Plan) lintNames(fs *findings) {
	bare := p.bare()
	for _, n := range p.visited {
		open := []*node{n.additional, n.unevaluated}
		for _, pat := range n.patterns {
			open = append(open, pat.node)
		}
		if bare[n] && slices.ContainsFunc(open, p.flaggedInPlace) {
			fs.add(n.finding("names-stay-clear", "the values of this open map are sealed, its member names are not", "if the names are personal too, flag the object itself or its propertyNames"))
		}
	}
}

// bare gives the schemas that apply somewhere to a value that is neither sealed nor inside a sealed one.
func (p *Plan) bare() map[*node]bool {
	bare := map[*node]bool{}
	for _, s := range p.intern {
		if s.bare() {
			for _, e := range s.elems {
				bare[e.node] = true
			}
		}
	}
	return bare
}

func (s *State) bare() bool { return s.outer == "" && !s.sealed }

// flaggedInPlace reports that a flag applies to whatever value the schema applies to.
func (p *Plan) flaggedInPlace(n *node) bool {
	return n != nil && slices.ContainsFunc(p.closure([]elem{{n, true}}), func(e elem) bool { return p.flagsHere(e.node) })
}

// lintNested notes flags that only ever apply inside a sealed location.
func (p *Plan) lintNested(fs *findings) {
	outside := map[*node]bool{}
	for _, s := range p.intern {
		for _, e := range s.elems {
			outside[e.node] = outside[e.node] || s.outer == ""
		}
	}
	for _, s := range p.intern {
		for _, e := range s.elems {
			if n := e.node; n.words.sensitive && n.words.index == nil && !outside[n] {
				fs.add(n.d.finding(n.words.sensitiveOff, n.pointer, "flag-without-effect", "a flag below a flagged location: the outer value is sealed whole", "remove one of the two"))
			}
		}
	}
}
