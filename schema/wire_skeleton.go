package schema

import (
	"fmt"
	"maps"
	"slices"
)

// This file derives the two halves of the wire schema that say where tokens stand. Both hold nothing but conjunctions over objects and arrays,
// so that a string passes wherever no token is asked for.

// skeleton is one schema of either half.
type skeleton struct {
	name string
	at   *node // for errors

	never    bool // the schema false
	token    bool // a token, and nothing else
	noObject bool // a token, or a value that is no object

	all      []*skeleton
	props    []skeletonProp
	patterns []skeletonPattern
	rest     *skeleton // of the names that neither props nor patterns take; nil: nothing is said
	prefix   []*skeleton
	items    []*skeleton // of the items beyond prefix
	contains *skeleton   // of every item

	solid bool // it says something
	state *State
	out   *wireNode
}

type skeletonProp struct {
	name string
	to   *skeleton
}

type skeletonPattern struct {
	text string
	at   *node
	to   *skeleton
}

func (d *wireDeriver) skeleton(name string, at *node) *skeleton {
	s := &skeleton{name: name, at: at}
	d.every = append(d.every, s)
	return s
}

// tokens derives the tokens' half for a child that a schema applies to: a token if a schema in place is flagged; else the conjunction of what
// each schema in place says of its own children, all of them whatever branch an instance takes (so does the Plan), and one object for each:
// merged into one, the properties of a schema would take names out of another's additionalProperties.
//
// It follows schemas, not states. A location is flagged if one chain of keywords leads from the root to a flag, each link applying to that
// name or item; the conjunction holds the chain as it stands, so that its end asks for a token. A plaintext can only hide behind a
// disjunction, and there is none. And every sealed event validates: at each link stands a value that the chain does not flag, and which is
// left as it was, or is a token since another schema flags it, and then a string, of which objects and arrays say nothing.
func (d *wireDeriver) tokens(n *node) *skeleton {
	if s := d.kept[n]; s != nil {
		return s
	}
	s := d.skeleton(nodeName(n)+".tokens", n)
	d.kept[n] = s
	p := d.plan
	if !p.holds[n] || d.full() {
		return s
	}
	elems := p.closure([]elem{{n, true}})
	d.work += len(elems)
	if slices.ContainsFunc(elems, func(e elem) bool { return p.flagsHere(e.node) }) {
		s.token = true
		return s
	}
	for _, e := range elems {
		if p.holds[e.node] {
			s.all = append(s.all, d.ownTokens(e.node))
		}
	}
	if d.rule.merge {
		s.all = []*skeleton{d.merged(s.all)}
	}
	return s
}

// merged is the wrong way: the properties of one schema take names out of another's rest.
func (d *wireDeriver) merged(some []*skeleton) *skeleton {
	m := d.skeleton("merged", nil)
	for _, s := range some {
		for _, p := range s.props {
			if !slices.ContainsFunc(m.props, func(o skeletonProp) bool { return o.name == p.name }) {
				m.props = append(m.props, p)
			}
		}
		for _, p := range s.patterns {
			if !slices.ContainsFunc(m.patterns, func(o skeletonPattern) bool { return o.text == p.text }) {
				m.patterns = append(m.patterns, p)
			}
		}
		if m.rest == nil {
			m.rest = s.rest
		}
		m.items = append(m.items, s.items...)
	}
	return m
}

// ownTokens is what one schema says of its children.
func (d *wireDeriver) ownTokens(n *node) *skeleton {
	if s := d.own[n]; s != nil {
		return s
	}
	s := d.skeleton(nodeName(n)+".tokens", n)
	d.own[n] = s
	for _, name := range n.spelled() {
		s.props = append(s.props, skeletonProp{name, d.tokens(n.properties[name])})
	}
	for _, pat := range n.patterns {
		s.patterns = append(s.patterns, skeletonPattern{pat.re.String(), pat.node, d.tokens(pat.node)})
	}
	if rest := n.others(); rest != nil && !d.rule.noRest {
		s.rest = d.tokens(rest)
	}
	for _, t := range n.prefix {
		s.prefix = append(s.prefix, d.tokens(t))
	}
	for _, rest := range n.otherItems() {
		s.items = append(s.items, d.tokens(rest))
	}
	if n.contains != nil {
		s.contains = d.tokens(n.contains)
	}
	return s
}

// others is what a schema applies to members that neither its properties nor its patterns take, as the Plan steps.
func (n *node) others() *node {
	if n.additional != nil {
		return n.additional
	}
	return n.unevaluated
}

// otherItems lists what a schema applies to items beyond its prefix, as the Plan steps.
func (n *node) otherItems() []*node {
	var to []*node
	if n.items != nil {
		to = append(to, n.items)
	}
	if n.unevaluatedItems != nil && (n.items == nil || n.tuple && n.items.never()) {
		to = append(to, n.unevaluatedItems)
	}
	return to
}

// spelled lists the names of properties in the order of the source.
func (n *node) spelled() []string {
	if len(n.properties) == 0 {
		return nil
	}
	var names []string
	for _, m := range n.raw.member("properties").members {
		if n.properties[m.name] != nil {
			names = append(names, m.name)
		}
	}
	return names
}

// members derives the members' half for a state: what the policy refuses or seals. Whether a member is declared depends on all schemas of a
// state together, so that it follows states.
//
// Of a member that no properties spells, the state depends on which patterns its name matches, and JSON Schema can only speak of names that
// match one pattern, or none of some. So for each set M of patterns the object {patternProperties: {those not in M: true},
// additionalProperties: X} is added, which speaks of all names whose patterns lie in M, with X what holds for names that match all of M. That
// is sound where what holds for each subset of M admits no more than X does; and since a larger state declares more, it mostly does. A
// disjunction over the states, as the weakened schema has it, would let a member of one pattern's names pass as declared by another pattern.
func (d *wireDeriver) members(q *State) *skeleton {
	if q == nil {
		return d.never
	}
	if s := d.guarded[q]; s != nil {
		return s
	}
	s := d.skeleton(stateName(q)+".members", stateNode(q))
	s.state = q
	d.guarded[q] = s
	switch {
	case q.forced:
		s.token = true
		return s
	case q.sealed || q.clear || d.scalar(q) || d.full():
		return s
	}
	s.noObject = q.sealedIfObject
	for i := range max(1, q.itemCount) {
		item := d.members(d.item(q, i))
		if i < q.itemCount-1 {
			s.prefix = append(s.prefix, item)
		} else {
			s.items = append(s.items, item)
		}
	}
	if q.sealedIfObject {
		return s
	}
	for _, name := range slices.Sorted(maps.Keys(q.names)) {
		s.props = append(s.props, skeletonProp{name, d.members(d.step(q, name))})
	}
	d.unspelledMembers(q, s)
	return s
}

// scalar reports that the members' half may pass a state by: where nothing is sealed for being undeclared, and some schema there, by its type,
// leaves no room for members. It only saves text: the weakened schema has the type.
func (d *wireDeriver) scalar(q *State) bool {
	if d.seals || len(q.names)+len(q.patterns) > 0 || q.itemCount > 1 {
		return false
	}
	return slices.ContainsFunc(q.elems, func(e elem) bool {
		return e.declares && d.plan.types(e.node, d.types)&(typeObject|typeArray) == 0
	})
}

func (d *wireDeriver) unspelledMembers(q *State, s *skeleton) {
	texts := patternTexts(q)
	states, ok := d.unspelled(q)
	if !ok {
		d.unclear(q, "wire-too-large", fmt.Sprintf("more than %d patterns for names meet here, and undeclared members are sealed", maxWirePatterns), "use fewer patterns, or another policy for undeclared members")
		return
	}
	for _, t := range texts {
		if !d.pattern(t).ok {
			d.unclear(q, "wire-pattern", "a pattern for names cannot be written for other validators, and undeclared members are sealed", hintPattern)
			return
		}
	}
	says := make([]*skeleton, len(states))
	for set, state := range states {
		says[set] = d.members(state)
	}
	var sets []int // those that can be told by what their names do not match
	for set := range says {
		fits := true
		for sub := range set {
			fits = fits && (sub&^set != 0 || d.within(says[sub], says[set]))
		}
		if fits && !(d.rule.noSets && set > 0) {
			sets = append(sets, set)
		}
	}
	first := true
	for _, set := range sets {
		if slices.ContainsFunc(sets, func(more int) bool { return more != set && set&^more == 0 && says[more] == says[set] }) {
			continue // the larger set's object says the same of more names
		}
		object := s
		if !first {
			object = d.skeleton(s.name, s.at)
			for _, p := range s.props {
				object.props = append(object.props, skeletonProp{p.name, &skeleton{}})
			}
			s.all = append(s.all, object)
		}
		first = false
		for i, t := range texts {
			if set&(1<<i) == 0 {
				object.patterns = append(object.patterns, skeletonPattern{t, s.at, &skeleton{}})
			}
		}
		object.rest = says[set]
	}
	for set := range says {
		if !slices.Contains(sets, set) && !d.rule.noSets && !d.byOnePattern(q, s, texts, says, set) {
			d.unclear(q, "wire-undeclared", "members whose names match one pattern and not another are undeclared here and sealed, which a JSON Schema cannot say",
				"let the patterns' schemas say something (a type), or give additionalProperties no schema beside them")
			return
		}
	}
}

// byOnePattern adds what a set of patterns asks for to one pattern, if it then asks too much of no other name.
func (d *wireDeriver) byOnePattern(q *State, s *skeleton, texts []string, says []*skeleton, set int) bool {
	for i, t := range texts {
		if set&(1<<i) == 0 {
			continue
		}
		fits := true
		for other := range says {
			fits = fits && (other&(1<<i) == 0 || d.within(says[other], says[set]))
		}
		for _, p := range q.patterns {
			if p.re.String() != t {
				continue
			}
			for _, prop := range s.props {
				fits = fits && (!p.re.MatchString(prop.name) || d.within(prop.to, says[set]))
			}
			break
		}
		if fits {
			object := d.skeleton(s.name, s.at)
			object.patterns = append(object.patterns, skeletonPattern{t, s.at, says[set]})
			s.all = append(s.all, object)
			return true
		}
	}
	return false
}

// within reports that whatever stands in a sealed event where a is asked for is admitted by b too.
func (d *wireDeriver) within(a, b *skeleton) bool {
	switch {
	case a == b, a.never:
		return true
	case b.never:
		return false
	case b.state != nil && !b.token && (b.state.sealed || b.state.clear): // it says nothing
		return true
	case a.token, a.state != nil && a.state.sealed: // a token stands there, and strings pass
		return true
	case a.state == nil || b.state == nil || b.token || d.mixed:
		return false
	}
	// A larger state declares more, at each name below too.
	for _, e := range a.state.elems {
		if !e.node.leads() {
			continue
		}
		if !slices.ContainsFunc(b.state.elems, func(o elem) bool { return o.node == e.node && (o.declares || !e.declares) }) {
			return false
		}
	}
	return a.state.policy == b.state.policy
}

// unclear notes that undeclared members of a state cannot be described: an error where they are sealed; where they are refused nothing is
// said of them, since whatever stands there was not sealed.
func (d *wireDeriver) unclear(q *State, rule, message, hint string) {
	if d.seals {
		d.refuse(stateNode(q).finding(rule, message, hint))
	}
}

const hintPattern = "leave out (?m): the other flags of RE2 can be written for all validators"

func (d *wireDeriver) pattern(text string) sharedPattern {
	s, known := d.shared[text]
	if !known {
		s = sharePattern(text)
		d.shared[text] = s
	}
	return s
}

// settle finds out which skeletons say something: recursions that ask for no token anywhere do not.
func (d *wireDeriver) settle() {
	above := map[*skeleton][]*skeleton{}
	var queue []*skeleton
	for _, s := range d.every {
		s.children(func(c *skeleton) {
			if c.never {
				s.solid = true
			}
			above[c] = append(above[c], s)
		})
		if s.solid = s.solid || s.never || s.token || s.noObject; s.solid {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, a := range above[s] {
			if !a.solid {
				a.solid = true
				queue = append(queue, a)
			}
		}
	}
}

func (s *skeleton) children(visit func(*skeleton)) {
	for _, c := range s.all {
		visit(c)
	}
	for _, p := range s.props {
		visit(p.to)
	}
	for _, p := range s.patterns {
		visit(p.to)
	}
	for _, c := range s.prefix {
		visit(c)
	}
	for _, c := range s.items {
		visit(c)
	}
	for _, c := range []*skeleton{s.rest, s.contains} {
		if c != nil {
			visit(c)
		}
	}
}

// convert writes a skeleton as a schema.
func (d *wireDeriver) convert(s *skeleton) *wireNode {
	switch {
	case s.out != nil:
		return s.out
	case s.never:
		return nothing()
	case !s.solid:
		return anything()
	case s.token:
		return d.token
	}
	out := &wireNode{name: s.name}
	s.out = out
	if s.noObject {
		out.members = append(out.members, wireMember{key: "anyOf", list: []*wireNode{d.token, {members: []wireMember{{key: "not", one: typeSchema("object")}}}}})
	}
	out.members = append(out.members, d.convertNames(s)...)
	all := wireMember{key: "allOf"}
	if s.contains != nil && s.contains.solid {
		all.list = append(all.list, &wireNode{members: []wireMember{{key: "items", one: d.convert(s.contains)}}})
	}
	more := slices.ContainsFunc(s.items, func(c *skeleton) bool { return c.solid })
	last := len(s.prefix)
	for last > 0 && !more && !s.prefix[last-1].solid {
		last--
	}
	if last > 0 {
		m := wireMember{key: "prefixItems"}
		for _, c := range s.prefix[:last] {
			m.list = append(m.list, d.convert(c))
		}
		out.members = append(out.members, m)
	}
	if more {
		items := wireMember{key: "allOf"}
		for _, c := range s.items {
			items.list = append(items.list, d.convert(c))
		}
		out.members = append(out.members, wireMember{key: "items", one: &wireNode{members: []wireMember{items}}})
	}
	for _, c := range s.all {
		if c.solid {
			all.list = append(all.list, d.convert(c))
		}
	}
	if len(all.list) > 0 {
		out.members = append(out.members, all)
	}
	out.apart()
	return out
}

// convertNames writes what a skeleton says of members. Names and patterns of which nothing is said stand there only to be taken out of the rest.
func (d *wireDeriver) convertNames(s *skeleton) []wireMember {
	rest := s.rest != nil && s.rest.solid
	props, patterns := wireMember{key: "properties"}, wireMember{key: "patternProperties"}
	for _, p := range s.props {
		if rest || p.to.solid {
			props.named = append(props.named, wireNamed{p.name, d.convert(p.to)})
		}
	}
	written := map[string]bool{}
	for _, p := range s.patterns {
		if !rest && !p.to.solid {
			continue
		}
		text := d.pattern(p.text)
		if !text.ok {
			d.refuse(p.at.finding("wire-pattern", "a pattern for names over a flag cannot be written for other validators", hintPattern))
		}
		if written[text.text] { // two patterns of RE2 that are one when they are written
			d.refuse(p.at.finding("wire-pattern", "two patterns for names over a flag are the same when they are written for other validators", "join them"))
		}
		written[text.text] = true
		patterns.named = append(patterns.named, wireNamed{text.text, d.convert(p.to)})
	}
	var ms []wireMember
	if len(props.named) > 0 {
		ms = append(ms, props)
	}
	if len(patterns.named) > 0 {
		ms = append(ms, patterns)
	}
	if rest {
		ms = append(ms, wireMember{key: "additionalProperties", one: d.convert(s.rest)})
	}
	return ms
}

func typeSchema(name string) *wireNode {
	return &wireNode{members: []wireMember{{key: "type", raw: quoteJSON(name)}}}
}

// nodeName is the last name on the way to a schema, for its definition.
func nodeName(n *node) string {
	tokens, _ := splitPointer(n.pointer)
	for i := len(tokens) - 1; i >= 0; i-- {
		if name := definitionName(tokens[i]); name != "schema" && (name[0] < '0' || name[0] > '9') {
			return name
		}
	}
	return "root"
}

func stateNode(q *State) *node {
	if len(q.elems) == 0 {
		return q.plan.event.doc.rootNode
	}
	return q.elems[0].node
}

func stateName(q *State) string {
	if len(q.elems) == 0 {
		return "other"
	}
	return nodeName(q.elems[0].node)
}
