package schema

import (
	"maps"
	"math/big"
	"slices"
)

// This file derives the third part of the wire schema: the event's own rules, as far as sealing leaves them true.
//
// It follows pairs of a schema and a state, from the root. A pair touches tokens if the schema's verdict on a value in that state could differ
// between the value and its sealed form. What does not touch any stays as it is. What does is weakened, so that the sealed form of every value
// that the schema accepts is accepted:
//
//   - where the state is sealed a token stands;
//   - const and enum that list objects or arrays are dropped where the state holds tokens: a scalar that is listed was not sealed, and stays;
//   - a subschema whose rejection counts (not, if, and by counting oneOf and maxContains) may not be weakened, and is dropped if it touches
//     tokens: a oneOf becomes an anyOf, an if becomes {anyOf: [{allOf: [if, then]}, else]};
//   - a keyword whose names or items have several states admits any of them.
//
// All else is monotone: with weaker subschemas it accepts more, and the properties and items that it evaluates are more too, so that
// unevaluatedProperties and unevaluatedItems see fewer. Names are never sealed, unless the whole object is.
//
// The same treatment is given to what older drafts, or other validators, read in another way (inexact): it is dropped where its rejection
// counts, and weakened elsewhere.

type pairKey struct {
	n *node
	q *State // nil: nothing there is sealed, at or below
}

type wirePair struct {
	n       *node
	q       *State
	touches bool // until a pair was looked at it is taken to
	above   []*wirePair
	out     *wireNode
}

// pair finds or makes the pair of a schema and a state.
func (d *wireDeriver) pair(n *node, q *State) *wirePair {
	if q != nil && (n.raw.kind != '{' && !q.sealed || !d.holds(q)) {
		q = nil
	}
	key := pairKey{n, q}
	p := d.pairs[key]
	if p == nil {
		p = &wirePair{n: n, q: q, touches: q != nil}
		d.pairs[key] = p
		if q != nil {
			d.queue = append(d.queue, p)
		}
	}
	return p
}

// holds reports that a state may hold a token, at or below.
func (d *wireDeriver) holds(q *State) bool {
	return d.seals || q.sealed || slices.ContainsFunc(q.elems, func(e elem) bool { return d.plan.holds[e.node] })
}

// weakened derives the weakened schema of the root.
func (d *wireDeriver) weakened(root *node, q *State) *wireNode {
	d.pair(root, q)
	var touching []*wirePair
	for i := 0; i < len(d.queue); i++ {
		if d.full() {
			return anything()
		}
		p := d.queue[i]
		if p.touches = d.touchesItself(p.n, p.q); p.touches {
			touching = append(touching, p)
		}
		if p.q.sealed {
			continue
		}
		d.eachBelow(p.n, p.q, func(n *node, states []*State) {
			for _, q := range states {
				if c := d.pair(n, q); c.q != nil {
					c.above = append(c.above, p)
				}
			}
		})
	}
	for len(touching) > 0 {
		p := touching[0]
		touching = touching[1:]
		for _, a := range p.above {
			if !a.touches {
				a.touches = true
				touching = append(touching, a)
			}
		}
	}
	return d.weak(root, q)
}

// touchesItself reports that a schema's own keywords may judge a value in that state otherwise when it is sealed.
func (d *wireDeriver) touchesItself(n *node, q *State) bool {
	if q.sealed || q.sealedIfObject {
		return true
	}
	if n.raw.kind != '{' || n.hidden() {
		return false
	}
	if d.comparesContainers(n) && !d.rule.keepValues {
		return true
	}
	if m := n.raw.member("uniqueItems"); m != nil && m.kind == 't' && !d.rule.keepUnique {
		return true
	}
	return d.wide(q) && (len(n.patterns) > 0 || n.additional != nil || n.unevaluated != nil)
}

// wide reports that more patterns meet at a state than are told apart: of the members that no properties spells nothing is said.
func (d *wireDeriver) wide(q *State) bool {
	_, ok := d.unspelled(q)
	return !ok
}

// comparesContainers reports that const or enum lists an object or an array, which may hold what is sealed.
func (d *wireDeriver) comparesContainers(n *node) bool {
	container := func(v *value) bool { return v.kind == '{' || v.kind == '[' }
	if m := n.raw.member("const"); m != nil && n.d.draft.number >= 6 && container(m) {
		return true
	}
	m := n.raw.member("enum")
	return m != nil && slices.ContainsFunc(m.items, container)
}

// hidden reports that the draft ignores what stands beside $ref.
func (n *node) hidden() bool { return n.ref != nil && n.d.draft.refHidesSiblings() }

// eachBelow visits the subschemas of a schema with the states of the values that they apply to.
func (d *wireDeriver) eachBelow(n *node, q *State, visit func(*node, []*State)) {
	here := []*State{q}
	for _, list := range [][]*node{d.plan.refs[n], n.allOf, n.anyOf, n.oneOf, {n.not, n.ifs, n.then, n.els}, n.dependent} {
		for _, t := range list {
			if t != nil {
				visit(t, here)
			}
		}
	}
	for _, name := range n.names {
		visit(n.properties[name], d.named(q, name))
	}
	for _, p := range n.patterns {
		visit(p.node, d.matching(n, q, &p))
	}
	for _, t := range []*node{n.additional, n.unevaluated} {
		if t != nil {
			visit(t, d.matching(n, q, nil))
		}
	}
	for i, t := range n.prefix {
		visit(t, []*State{d.item(q, i)})
	}
	for _, t := range []*node{n.items, n.unevaluatedItems} {
		if t != nil {
			visit(t, d.itemStates(q, len(n.prefix)))
		}
	}
	if n.contains != nil {
		visit(n.contains, d.itemStates(q, 0))
	}
}

// named is the state of a member of that name, or none where it is refused.
func (d *wireDeriver) named(q *State, name string) []*State {
	if next := d.step(q, name); next != nil {
		return []*State{next}
	}
	return nil
}

// matching lists the states of the members that a pattern of a schema takes, or with nil those that neither its properties nor its patterns
// take.
func (d *wireDeriver) matching(n *node, q *State, pattern *patternNode) []*State {
	taken := func(name string) bool {
		if pattern != nil {
			return pattern.re.MatchString(name)
		}
		return n.properties[name] == nil && !slices.ContainsFunc(n.patterns, func(p patternNode) bool { return p.re.MatchString(name) })
	}
	var states []*State
	add := func(s *State) {
		if s != nil && !slices.Contains(states, s) {
			states = append(states, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(q.names)) {
		if taken(name) {
			add(d.step(q, name))
		}
	}
	others, _ := d.unspelled(q)
	texts := patternTexts(q)
	for set, s := range others {
		if d.setTaken(n, pattern, texts, set) {
			add(s)
		}
	}
	return states
}

// setTaken reports that names which match that set of a state's patterns may be among those that matching asks for.
func (d *wireDeriver) setTaken(n *node, pattern *patternNode, texts []string, set int) bool {
	in := func(p patternNode) (known, matches bool) {
		i := slices.Index(texts, p.re.String())
		return i >= 0, i >= 0 && set&(1<<i) != 0
	}
	if pattern != nil {
		known, matches := in(*pattern)
		return matches || !known // below not a schema has patterns that the state does not know
	}
	return !slices.ContainsFunc(n.patterns, func(p patternNode) bool { _, matches := in(p); return matches })
}

// itemStates lists the states of items from an index on.
func (d *wireDeriver) itemStates(q *State, from int) []*State {
	var states []*State
	for i := from; i < max(q.itemCount, from+1); i++ {
		if s := d.item(q, i); !slices.Contains(states, s) {
			states = append(states, s)
		}
	}
	return states
}

// reads reports that a subschema may not stand where its rejection counts.
func (d *wireDeriver) reads(n *node, q *State) bool {
	p := d.pair(n, q)
	return p.touches || d.inexact[n]
}

func (d *wireDeriver) readsAny(n *node, states []*State) bool {
	return d.inexact[n] || slices.ContainsFunc(states, func(q *State) bool { return d.reads(n, q) })
}

// weak gives the weakened schema of a pair.
func (d *wireDeriver) weak(n *node, q *State) *wireNode {
	p := d.pair(n, q)
	if p.q != nil && !p.touches {
		p = d.pair(n, nil)
	}
	if p.out != nil {
		return p.out
	}
	switch {
	case n.never():
		p.out = nothing()
	case p.q != nil && p.q.sealed:
		p.out = d.token
	case n.raw.kind != '{':
		p.out = anything()
	default:
		p.out = &wireNode{name: nodeName(n)}
		b := wireBody{d: d, n: n, q: p.q, out: p.out}
		if p.q != nil && p.q.sealedIfObject && d.plan.types(n, d.types)&typeObject != 0 {
			b.out = &wireNode{name: p.out.name}
			p.out.members = []wireMember{{key: "anyOf", list: []*wireNode{d.token, b.out}}}
		}
		b.write()
	}
	return p.out
}

// weakAny is the weakened schema of a subschema over values of several states.
func (d *wireDeriver) weakAny(n *node, states []*State) *wireNode {
	if n.never() {
		return nothing()
	}
	var outs []*wireNode
	for _, q := range states {
		if out := d.weak(n, q); !slices.Contains(outs, out) {
			outs = append(outs, out)
		}
	}
	switch {
	case len(outs) == 0:
		return d.weak(n, nil)
	case len(outs) == 1:
		return outs[0]
	case len(outs) > maxWireChoices:
		return anything()
	}
	return &wireNode{name: nodeName(n), members: []wireMember{{key: "anyOf", list: outs}}}
}

// wireBody writes the keywords of one pair.
type wireBody struct {
	d    *wireDeriver
	n    *node
	q    *State // nil: nothing is sealed
	out  *wireNode
	all  []*wireNode // what goes to allOf
	open bool        // a pattern was dropped: what it took must not fall to additionalProperties
}

func (b *wireBody) add(m wireMember) { b.out.members = append(b.out.members, m) }

func (b *wireBody) write() {
	d, n := b.d, b.n
	refs := d.plan.refs[n]
	if n.ref != nil && len(refs) > 0 {
		b.all = append(b.all, d.weak(refs[0], b.q))
		refs = refs[1:]
	}
	if !n.hidden() {
		if len(refs) > 0 { // a dynamic reference: which of them it means is known only with a value at hand
			b.all = append(b.all, b.anyOf(refs))
		}
		for _, m := range n.raw.members {
			b.keyword(m)
		}
	}
	if b.open {
		b.add(wireMember{key: "additionalProperties", one: anything()})
	}
	if len(b.all) > 0 {
		b.add(wireMember{key: "allOf", list: b.all})
	}
	b.out.apart()
}

func (b *wireBody) list(ns []*node) []*wireNode {
	outs := make([]*wireNode, len(ns))
	for i, t := range ns {
		outs[i] = b.d.weak(t, b.q)
	}
	return outs
}

func (b *wireBody) anyOf(ns []*node) *wireNode {
	if len(ns) == 1 {
		return b.d.weak(ns[0], b.q)
	}
	if here := b.d.circles[b.n]; here > 0 && slices.ContainsFunc(ns, func(t *node) bool { return b.d.circles[t] == here }) {
		return unsaid()
	}
	return &wireNode{members: []wireMember{{key: "anyOf", list: b.list(ns)}}}
}

// keyword writes one keyword of the source, if the source's draft has it and a wire schema can.
func (b *wireBody) keyword(m member) {
	d, n := b.d, b.n
	draft := n.d.draft.number
	switch m.name {
	case "multipleOf":
		if !fractional(m.value, n.d) {
			b.copy(m)
		}
	case "type", "minProperties", "maxProperties", "required", "minItems", "maxItems", "minLength", "maxLength":
		b.copy(m)
	case "minimum", "maximum":
		if exclusive := n.raw.member("exclusiveM" + m.name[1:]); exclusive != nil && exclusive.kind == 't' {
			m.name = "exclusiveM" + m.name[1:]
		}
		b.copy(m)
	case "exclusiveMinimum", "exclusiveMaximum":
		if m.value.kind == '0' {
			b.copy(m)
		}
	case "uniqueItems":
		if m.value.kind == 't' {
			b.copy(m)
		}
	case "const", "enum":
		if m.name == "enum" && len(m.value.items) == 0 {
			return // jsonschema/v5 takes it for no enum, and ajv takes no schema with it
		}
		if (draft >= 6 || m.name == "enum") && (b.q == nil || d.rule.keepValues || !d.comparesContainers(n)) {
			b.copy(m)
		}
	case "format":
		if formatsAgree(m.value.str) || d.rule.keepFormat {
			b.copy(m)
		}
	case "pattern":
		if p := d.pattern(m.value.str); p.ok {
			b.add(wireMember{key: "pattern", raw: quoteJSON(p.text)})
		}
	case "dependentRequired":
		if draft >= 2019 {
			b.dependents(m)
		}
	case "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames", "dependentSchemas", "dependencies":
		b.objectKeyword(m)
	case "prefixItems", "items", "additionalItems", "unevaluatedItems", "contains", "minContains", "maxContains":
		b.arrayKeyword(m)
	case "allOf", "anyOf", "oneOf", "not", "if":
		b.logicKeyword(m)
	}
}

func (b *wireBody) copy(m member) { b.add(wireMember{key: m.name, raw: compactJSON(b.n.d, m.value)}) }

func (b *wireBody) objectKeyword(m member) {
	d, n := b.d, b.n
	switch {
	case m.name == "properties":
		named := wireMember{key: m.name}
		for _, name := range n.spelled() {
			var states []*State
			if b.q != nil {
				states = d.named(b.q, name)
			}
			named.named = append(named.named, wireNamed{name, d.weakAny(n.properties[name], states)})
		}
		b.add(named)
	case m.name == "patternProperties":
		b.patternProperties()
	case m.name == "additionalProperties" && n.additional != nil:
		if !b.lostPattern() {
			b.add(wireMember{key: m.name, one: b.ofNames(n.additional, b.otherStates())})
		}
	case m.name == "unevaluatedProperties" && n.unevaluated != nil && n.additional == nil:
		b.add(wireMember{key: m.name, one: b.ofNames(n.unevaluated, b.otherStates())})
	case m.name == "propertyNames" && n.propertyNames != nil:
		b.add(wireMember{key: m.name, one: d.weak(n.propertyNames, nil)})
	case m.name == "dependentSchemas" && n.d.draft.number >= 2019, m.name == "dependencies":
		b.dependents(m)
	}
}

func (b *wireBody) otherStates() []*State {
	if b.q == nil {
		return nil
	}
	return b.d.matching(b.n, b.q, nil)
}

// ofNames is weakAny of members that are not told by their names alone.
func (b *wireBody) ofNames(n *node, states []*State) *wireNode {
	if b.q != nil && b.d.wide(b.q) && !n.never() {
		return anything()
	}
	return b.d.weakAny(n, states)
}

// lostPattern reports a pattern that cannot be written for other validators, or that becomes another's twin.
func (b *wireBody) lostPattern() bool {
	seen := map[string]bool{}
	for _, p := range b.n.patterns {
		s := b.d.pattern(p.re.String())
		if !s.ok || seen[s.text] {
			return true
		}
		seen[s.text] = true
	}
	return false
}

func (b *wireBody) patternProperties() {
	d := b.d
	m := wireMember{key: "patternProperties"}
	seen := map[string]bool{}
	for _, p := range b.n.patterns {
		s := d.pattern(p.re.String())
		if !s.ok || seen[s.text] {
			b.open = true
			continue
		}
		seen[s.text] = true
		var states []*State
		if b.q != nil {
			states = d.matching(b.n, b.q, &p)
		}
		m.named = append(m.named, wireNamed{s.text, b.ofNames(p.node, states)})
	}
	if len(m.named) > 0 {
		b.add(m)
	}
}

// dependents writes dependentSchemas or dependentRequired, or dependencies as both. Where one schema has these too, an allOf keeps them apart.
func (b *wireBody) dependents(m member) {
	schemas, required := wireMember{key: "dependentSchemas"}, wireMember{key: "dependentRequired"}
	raw := ""
	at := child(b.n.pointer, m.name)
	for _, e := range m.value.members {
		if inherited(e.name) {
			continue // ajv would always find that member
		}
		if e.value.kind == '[' {
			if raw != "" {
				raw += ", "
			}
			raw += quoteJSON(e.name) + ": " + compactJSON(b.n.d, e.value)
		} else if t := b.n.d.nodes[child(at, e.name)]; t != nil {
			schemas.named = append(schemas.named, wireNamed{e.name, b.d.weak(t, b.q)})
		}
	}
	add := b.add
	if m.name == "dependencies" && b.n.d.draft.number >= 2019 {
		add = func(m wireMember) { b.all = append(b.all, &wireNode{members: []wireMember{m}}) }
	}
	if len(schemas.named) > 0 {
		add(schemas)
	}
	if raw != "" {
		required.raw = "{" + raw + "}"
		add(required)
	}
}

func (b *wireBody) itemStates(from int) []*State {
	if b.q == nil {
		return nil
	}
	return b.d.itemStates(b.q, from)
}

func (b *wireBody) arrayKeyword(m member) {
	d, n := b.d, b.n
	draft := n.d.draft.number
	switch {
	case m.name == "prefixItems" && draft >= 2020, m.name == "items" && draft < 2020 && m.value.kind == '[':
		list := wireMember{key: "prefixItems"}
		for i, t := range n.prefix {
			var states []*State
			if b.q != nil {
				states = []*State{b.d.item(b.q, i)}
			}
			list.list = append(list.list, d.weakAny(t, states))
		}
		if len(list.list) > 0 {
			b.add(list)
		}
	case (m.name == "items" && m.value.kind != '[' || m.name == "additionalItems" && n.tuple) && n.items != nil:
		b.add(wireMember{key: "items", one: d.weakAny(n.items, b.itemStates(len(n.prefix)))})
	case m.name == "unevaluatedItems" && n.unevaluatedItems != nil && n.items == nil && d.counts(n):
		b.add(wireMember{key: "items", one: anything()})
	case m.name == "unevaluatedItems" && n.unevaluatedItems != nil && n.items == nil:
		b.add(wireMember{key: m.name, one: d.weakAny(n.unevaluatedItems, b.itemStates(len(n.prefix)))})
	case m.name == "contains" && n.contains != nil:
		b.add(wireMember{key: m.name, one: d.weakAny(n.contains, b.itemStates(0))})
	case m.name == "minContains" && n.contains != nil && draft >= 2019:
		b.copy(m)
	case m.name == "maxContains" && n.contains != nil && draft >= 2019:
		if d.rule.keepContains || !d.readsAny(n.contains, b.itemStates(0)) {
			b.copy(m)
		}
	}
}

func (b *wireBody) logicKeyword(m member) {
	d, n := b.d, b.n
	switch {
	case m.name == "allOf" && len(n.allOf) > 0:
		b.all = append(b.all, b.list(n.allOf)...)
	case m.name == "anyOf" && len(n.anyOf) > 0:
		b.add(wireMember{key: m.name, list: b.list(n.anyOf)})
	case m.name == "oneOf" && len(n.oneOf) > 0:
		reads := slices.ContainsFunc(n.oneOf, func(t *node) bool { return d.reads(t, b.q) })
		if reads && !d.rule.keepOneOf {
			b.all = append(b.all, b.anyOf(n.oneOf))
		} else {
			b.add(wireMember{key: m.name, list: b.list(n.oneOf)})
		}
	case m.name == "not" && n.not != nil:
		if !d.reads(n.not, b.q) || d.rule.keepNot {
			b.add(wireMember{key: m.name, one: d.weak(n.not, b.q)})
		}
	case m.name == "if" && n.ifs != nil:
		b.conditional()
	}
}

func (b *wireBody) conditional() {
	d, n := b.d, b.n
	if !d.reads(n.ifs, b.q) || d.rule.keepIf {
		b.add(wireMember{key: "if", one: d.weak(n.ifs, b.q)})
		if n.then != nil {
			b.add(wireMember{key: "then", one: d.weak(n.then, b.q)})
		}
		if n.els != nil {
			b.add(wireMember{key: "else", one: d.weak(n.els, b.q)})
		}
		return
	}
	yes, no := []*node{n.ifs}, anything()
	if n.then != nil {
		yes = append(yes, n.then)
	}
	if n.els != nil {
		no = d.weak(n.els, b.q)
	}
	b.all = append(b.all, &wireNode{members: []wireMember{{key: "anyOf", list: []*wireNode{{members: []wireMember{{key: "allOf", list: b.list(yes)}}}, no}}}})
}

// counts reports an unevaluatedItems that depends on what other schemas evaluate. ajv (8.17) then rejects arrays that are valid (it compares
// their length with undefined where no alternative has evaluated an item, and with true where one has evaluated all), so it is not written, and
// all items are taken for evaluated instead.
func (d *wireDeriver) counts(n *node) bool {
	return n.unevaluatedItems != nil && (n.contains != nil || len(d.inPlaceOf(n)) > 0)
}

// unsaid stands for a schema that cannot be written: it accepts everything, and takes every property and item for evaluated.
func unsaid() *wireNode {
	return &wireNode{members: []wireMember{{key: "additionalProperties", one: anything()}, {key: "items", one: anything()}}}
}

// inPlaceOf lists the schemas that a schema applies to its own value.
func (d *wireDeriver) inPlaceOf(n *node) []*node {
	to := slices.Clone(d.plan.refs[n])
	for _, e := range n.edges() {
		if inPlace(e.keyword) {
			to = append(to, e.to)
		}
	}
	return to
}

// findCircles finds the schemas that lead back to themselves at one location. A validator would follow them forever. Of references that mean
// one schema these are refused when schemas are loaded; a dynamic reference may lead into a circle on paper that it never takes.
func (d *wireDeriver) findCircles() {
	d.circles = map[*node]int{}
	for i, c := range components(d.plan.visited, d.inPlaceOf) {
		if len(c) > 1 || slices.Contains(d.inPlaceOf(c[0]), c[0]) {
			for _, n := range c {
				d.circles[n] = i + 1
			}
		}
	}
}

// formatsAgree names the formats that stay: whatever our validator takes for one, those of other validators (ajv-formats) take too. Of the rest
// each validator has its own idea, and a sealed event must not fail on a value that was valid when it was sealed.
func formatsAgree(name string) bool {
	switch name {
	case "date", "uuid", "json-pointer", "relative-json-pointer":
		return true
	}
	return false
}

// fractional reports a number that is no integer: who computes with floating point takes 19.99 for no multiple of 0.01.
func fractional(v *value, d *document) bool {
	r, ok := new(big.Rat).SetString(d.text(v))
	return !ok || !r.IsInt()
}

// namesInherited reports that a keyword asks whether a member is there that ajv finds in every object.
func namesInherited(v *value) bool {
	return slices.ContainsFunc(v.items, func(item *value) bool { return inherited(item.str) }) || slices.ContainsFunc(v.members, func(m member) bool {
		return inherited(m.name) || namesInherited(&value{items: m.value.items})
	})
}

// findInexact finds the schemas that 2020-12 cannot say, or that validators read differently, at or below: their rejection may not count.
func (d *wireDeriver) findInexact() {
	p := d.plan
	d.inexact = map[*node]bool{}
	above := map[*node][]*node{}
	var queue []*node
	for _, n := range p.visited {
		for _, t := range p.refs[n] {
			above[t] = append(above[t], n)
		}
		for _, e := range n.edges() {
			if e.keyword != "contentSchema" {
				above[e.to] = append(above[e.to], n)
			}
		}
		if d.inexactItself(n) {
			d.inexact[n] = true
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, a := range above[n] {
			if !d.inexact[a] {
				d.inexact[a] = true
				queue = append(queue, a)
			}
		}
	}
}

func (d *wireDeriver) inexactItself(n *node) bool {
	if n.raw.kind != '{' || n.hidden() {
		return false
	}
	draft := n.d.draft.number
	dynamic := len(d.plan.refs[n])
	if n.ref != nil {
		dynamic--
	}
	if dynamic > 1 {
		return true // a dynamic reference that may mean several schemas
	}
	for _, pat := range n.patterns {
		if !d.pattern(pat.re.String()).ok {
			return true
		}
	}
	for _, m := range n.raw.members {
		switch m.name {
		case "format":
			if knownFormat(m.value.str) && !d.rule.keepFormat {
				return true // others take a format for an annotation, or for something else
			}
		case "pattern":
			if !d.pattern(m.value.str).ok {
				return true
			}
		case "contentEncoding", "contentMediaType":
			if draft == 7 {
				return true // jsonschema/v5 asserts them in draft 7 alone
			}
		case "regexProperties":
			return true // of jsonschema/v5 alone
		case "multipleOf":
			if fractional(m.value, n.d) {
				return true
			}
		case "required", "dependentRequired", "dependentSchemas", "dependencies":
			if namesInherited(m.value) {
				return true
			}
		case "unevaluatedItems":
			if d.counts(n) {
				return true // only in 2020-12 contains evaluates items
			}
		}
	}
	return false
}
