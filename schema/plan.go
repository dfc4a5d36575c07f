package schema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// DefaultKeyring is the keyring of a flag where neither it nor the event schema's root names one.
const DefaultKeyring = "default"

// Plan says for each location of a payload what happens to it: a deterministic automaton over JSON paths, compiled from the event's
// schema. A State is the set of subschemas that may apply at a location, closed under $ref, allOf, anyOf, oneOf, if, then, else and
// dependent schemas; it is sensitive if any of them is flagged, whichever branch an instance takes. So more may be sealed than a
// validator would flag, never less.
//
// A Plan is immutable to its callers and safe for concurrent use.
type Plan struct {
	reg     *Registry
	event   *EventSchema
	policy  Policy
	keyring string

	overlay   map[*node]words
	overlayAt map[*node]string // where each entry stands in the event's document
	visited   []*node          // every schema reachable from the root, in a stable order
	reached   map[*node]bool   // the same as a set
	refs      map[*node][]*node
	holds     map[*node]bool    // a flag or an index at or below
	matters   map[*node]bool    // what a walk must not pass by: a flag, an index, a keyring, a file whose policy is stricter than clear
	speaks    map[*node]bool    // a flag, an index or a keyring at or below
	carried   map[*node][]*node // schemas below propertyNames and contentSchema whose words count at this one's location
	unnamed   map[*node]bool    // a blind index that takes its name from the location, here or in the items

	compounds []*Index  // of the event's root
	paths     *pathNode // to their fields

	root *State

	mu     sync.Mutex // guards what follows, and the growth of the states' caches
	work   planWork
	bounds map[*node]int // see bound
	intern map[string]*State
	shared map[string]*steps
	byName map[string]*Index

	indexes  []*Index
	keyrings []string
	shown    planMap
}

// maxStates bounds the automaton that is kept; what goes beyond is computed anew at each step.
const maxStates = 20_000

// newPlan reads the root's policies and the overlay, and finds every schema reachable from the root.
func newPlan(r *Registry, e *EventSchema, out *findings) *Plan {
	p := &Plan{reg: r, event: e, policy: PolicyReject, keyring: DefaultKeyring, overlay: map[*node]words{}, overlayAt: map[*node]string{}, reached: map[*node]bool{},
		refs: map[*node][]*node{}, holds: map[*node]bool{}, matters: map[*node]bool{}, speaks: map[*node]bool{}, bounds: map[*node]int{}, carried: map[*node][]*node{}, unnamed: map[*node]bool{}, intern: map[string]*State{}, byName: map[string]*Index{}}
	root := e.doc.rootNode
	if root.words.undeclared != PolicyNone {
		p.policy = root.words.undeclared
	}
	if root.words.keyring != "" {
		p.keyring = root.words.keyring
	}
	p.readOverlay(out)
	p.reach(root, out)
	p.refuseLoops(out)
	p.propagate()
	p.refuseNot(out)
	p.carry(out)
	p.checkRootKeyrings(out)
	return p
}

// readOverlay attaches the overlay's words to the schemas they name.
func (p *Plan) readOverlay(out *findings) {
	root := p.event.doc.rootNode
	m := root.raw.member(wordOverlay)
	if m == nil || m.kind != '{' {
		return
	}
	for _, entry := range m.members {
		at := child("/"+wordOverlay, entry.name)
		if entry.value.kind != '{' || len(entry.value.members) == 0 {
			out.add(p.event.doc.finding(entry.value.start, at, "word-type", "an overlay entry must be an object of at least one word", "see docs/vocabulary.md"))
			continue
		}
		target, f := p.reg.resolve(root, entry.nameOff, entry.name, out)
		if f != nil {
			f.Rule, f.Location = "overlay-target", at
			out.add(*f)
			continue
		}
		if !target.place {
			out.add(p.event.doc.finding(entry.nameOff, at, "overlay-target", "the overlay names a place that the draft does not read as a schema", "name a schema"))
			continue
		}
		if _, twice := p.overlay[target]; twice {
			out.add(p.event.doc.finding(entry.nameOff, at, "overlay-target", "two entries of the overlay name one schema", "join them"))
			continue
		}
		reader := wordReader{d: p.event.doc, pointer: at, overlay: true, spell: speller{}, out: out}
		p.overlay[target], p.overlayAt[target] = reader.read(entry.value), at
	}
}

// words gives what the vocabulary says at a schema, the overlay included.
func (p *Plan) words(n *node) []words {
	w, overlaid := p.overlay[n]
	switch {
	case overlaid && n.speaks:
		return []words{n.words, w}
	case overlaid:
		return []words{w}
	case n.speaks:
		return []words{n.words}
	}
	return nil
}

func (p *Plan) flagged(n *node) bool {
	return n.words.sensitive || len(p.overlay) > 0 && p.overlay[n].sensitive
}

// flagsHere reports that a schema flags whatever value it applies to, by its own words or by those it carries.
func (p *Plan) flagsHere(n *node) bool {
	return p.flagged(n) || slices.ContainsFunc(p.carried[n], p.flagged)
}

func (p *Plan) indexed(n *node) bool {
	return n.words.index != nil || len(p.overlay) > 0 && p.overlay[n].index != nil
}

// reach walks every schema reachable from root and resolves the references on the way. A dynamic reference leads to its static target and
// to every schema with that anchor in a document that is reached: which of them it means is known only with a payload at hand, and
// jsonschema/v5 looks for anchors below each schema in its scope, whatever resource they belong to.
func (p *Plan) reach(root *node, out *findings) {
	queue := []*node{root}
	p.reached[root] = true
	entered := map[*document]bool{}
	dynamic := dynamicLinks{referring: map[string][]*node{}, anchored: map[string][]*node{}}
	push := func(n, to *node) {
		if n != nil {
			p.refs[n] = append(p.refs[n], to)
		}
		if !p.reached[to] {
			p.reached[to] = true
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			p.visited = append(p.visited, n)
			if !entered[n.d] {
				entered[n.d] = true
				dynamic.enter(n.d)
			}
			if n.raw.kind != '{' {
				continue
			}
			for _, ref := range []*value{n.ref, n.dynamicRef} {
				if ref == nil {
					continue
				}
				t, f := p.reg.resolve(n, ref.start, ref.str, out)
				if f != nil {
					out.add(*f)
					continue
				}
				push(n, t)
			}
			if n.dynamicRef != nil {
				dynamic.refer(n)
			}
			if dynamic.count > maxCrossings {
				out.add(n.finding("plan-too-large", fmt.Sprintf("dynamic references of this document may lead to more than %d places", maxCrossings), "give anchors that do not belong together different names"))
				return
			}
			for _, e := range n.edges() {
				push(nil, e.to)
			}
		}
		for _, l := range dynamic.found {
			if l.to != first(p.refs[l.from]) {
				push(l.from, l.to)
			}
		}
		dynamic.found = nil
	}
}

// dynamicLinks finds what dynamic references may reach at run time: every schema with that anchor in the documents that are reached. Each pair is
// found once, when the later of its two sides is.
type dynamicLinks struct {
	referring map[string][]*node // the references met so far, by the name that they ask for
	anchored  map[string][]*node // the anchors of the documents met so far
	found     []dynamicLink      // not followed yet
	count     int                // of all that were found
}

type dynamicLink struct{ from, to *node }

func (l *dynamicLinks) enter(d *document) {
	for _, name := range slices.Sorted(maps.Keys(d.dynamic)) {
		l.anchored[name] = append(l.anchored[name], d.dynamic[name]...)
		for _, from := range l.referring[name] {
			l.link(from, d.dynamic[name])
		}
	}
}

func (l *dynamicLinks) refer(n *node) {
	name := ""
	if !n.recursive {
		if _, name = splitURL(n.dynamicRef.str); name == "" || strings.HasPrefix(name, "/") {
			return // it has its static target alone
		}
	}
	l.referring[name] = append(l.referring[name], n)
	l.link(n, l.anchored[name])
}

func (l *dynamicLinks) link(from *node, to []*node) {
	l.count += len(to)
	if l.count > maxCrossings {
		return
	}
	for _, t := range to {
		l.found = append(l.found, dynamicLink{from, t})
	}
}

// maxCrossings bounds what grows with the product of two numbers of subschemas: dynamic references and their anchors, places with
// propertyNames or contentSchema and the flags below. FHIR R4 has none of either.
const maxCrossings = 1_000_000

func first(ns []*node) *node {
	if len(ns) == 0 {
		return nil
	}
	return ns[0]
}

// refuseLoops refuses references that lead back to themselves at one location: no value could ever be judged. The validator notices loops inside
// one file alone.
func (p *Plan) refuseLoops(out *findings) {
	here := func(n *node) []*node {
		var to []*node
		static := 0
		for _, ref := range []*value{n.ref, n.dynamicRef} {
			if ref != nil {
				static++
			}
		}
		to = append(to, p.refs[n][:min(static, len(p.refs[n]))]...) // which other targets a dynamic reference has shows with a payload
		for _, e := range n.edges() {
			if inPlace(e.keyword) {
				to = append(to, e.to)
			}
		}
		return to
	}
	for _, c := range components(p.visited, here) {
		if len(c) == 1 && !slices.Contains(here(c[0]), c[0]) {
			continue
		}
		n := slices.MinFunc(c, func(a, b *node) int { return a.seq - b.seq })
		at := n.finding("ref-loop", "references form a loop that never reaches a schema", "let one of them refer to a schema that says something")
		if n.ref != nil {
			at.Line, at.Column = n.d.position(n.ref.start)
		}
		out.add(at)
	}
}

// propagate marks each schema that holds a flag or an index, at or below, against the direction of the edges.
func (p *Plan) propagate() {
	above := map[*node][]*node{}
	inPlace := map[*node][]*node{} // edges that stay at the location or go to an item: an index's default name passes through them
	for _, n := range p.visited {
		for _, t := range p.refs[n] {
			above[t] = append(above[t], n)
			inPlace[t] = append(inPlace[t], n)
		}
		for _, e := range n.edges() {
			above[e.to] = append(above[e.to], n)
			switch e.keyword {
			case "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames", "not":
			default:
				inPlace[e.to] = append(inPlace[e.to], n)
			}
		}
	}
	flood := func(mark map[*node]bool, along map[*node][]*node, start func(*node) bool) {
		var queue []*node
		for _, n := range p.visited {
			if start(n) {
				mark[n] = true
				queue = append(queue, n)
			}
		}
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			for _, a := range along[n] {
				if !mark[a] {
					mark[a] = true
					queue = append(queue, a)
				}
			}
		}
	}
	flood(p.holds, above, func(n *node) bool { return p.flagged(n) || p.indexed(n) })
	flood(p.speaks, above, func(n *node) bool { return p.flagged(n) || p.indexed(n) || p.namesKeyring(n) })
	flood(p.matters, above, func(n *node) bool {
		return p.holds[n] || n.d != p.event.doc && n.d.rootNode.words.undeclared > PolicyClear ||
			n != n.d.rootNode && slices.ContainsFunc(p.words(n), func(w words) bool { return w.keyring != "" })
	})
	flood(p.unnamed, inPlace, func(n *node) bool {
		return slices.ContainsFunc(p.words(n), func(w words) bool { return w.index != nil && w.index.name == "" })
	})
}

// carry notes which schemas flag another place than the one they apply to: names are no values, so a flag at propertyNames flags the object
// that has them, and content is not parsed, so a flag below contentSchema flags the string.
func (p *Plan) carry(out *findings) {
	work := 0
	for _, n := range p.visited {
		for _, to := range []*node{n.propertyNames, n.content} {
			if to == nil || !p.speaks[to] {
				continue
			}
			below, steps := p.speakersBelow(to)
			if work += steps; work > maxCrossings {
				out.add(n.finding("plan-too-large", fmt.Sprintf("below propertyNames and contentSchema lie more than %d subschemas with flags, counted for each place", maxCrossings), "refer to smaller schemas there"))
				return
			}
			for _, c := range below {
				p.carried[n] = append(p.carried[n], c)
				if p.indexed(c) {
					out.add(c.finding("index-misplaced", "a blind index below propertyNames or contentSchema: names and content are no values of the payload", "index a value, or remove the word"))
				}
			}
		}
	}
}

// speakersBelow lists the schemas with words on flags, keyrings or indexes that are reachable from a schema, itself included, and says how
// many it looked at.
func (p *Plan) speakersBelow(n *node) (found []*node, steps int) {
	seen := map[*node]bool{n: true}
	for queue := []*node{n}; len(queue) > 0; queue = queue[1:] {
		steps++
		if p.flagged(queue[0]) || p.indexed(queue[0]) || p.namesKeyring(queue[0]) {
			found = append(found, queue[0])
		}
		for _, t := range p.successors(queue[0]) {
			if p.speaks[t] && !seen[t] {
				seen[t] = true
				queue = append(queue, t)
			}
		}
	}
	return found, steps
}

// namesKeyring reports that a schema names a keyring for its location, and not as its file's default alone.
func (p *Plan) namesKeyring(n *node) bool {
	return p.overlay[n].keyring != "" || n != n.d.rootNode && n.words.keyring != ""
}

// refuseNot refuses flags below not: it turns an assertion round, and a flag there would be of values that are something else.
func (p *Plan) refuseNot(out *findings) {
	for _, n := range p.visited {
		if n.not != nil && p.holds[n.not] {
			out.add(n.not.finding("flag-below-not", "a flag below not says nothing about any value", "move the flag to a schema that applies"))
		}
	}
}

// checkRootKeyrings refuses a referenced document whose root names another default keyring: whose default would count is anyone's guess.
func (p *Plan) checkRootKeyrings(out *findings) {
	for _, n := range p.visited {
		root := n.d.rootNode
		if n.d == p.event.doc || root.words.keyring == "" || root.words.keyring == p.keyring {
			continue
		}
		takesDefault := p.flagged(n) && (!root.words.sensitive || n != root && n.words.keyring == "" && p.overlay[n].keyring == "")
		if takesDefault || root.words.undeclared == PolicySeal {
			out.add(n.d.finding(root.words.keyringOff, "/"+wordKeyring, "keyring-conflict",
				fmt.Sprintf("the file's default keyring %q meets %q, the one of event type %s", root.words.keyring, p.keyring, p.event.typ),
				"name the keyring beside each flag of this file instead"))
		}
	}
}

// crossCheck compares the Plan with what the validator compiled, by another route: every schema that the validator may apply must be one
// that the Plan walks, and every $ref must lead to the same place. A difference would be a hole, so it refuses the schema.
func (p *Plan) crossCheck(root *jsonschema.Schema, out *findings) {
	at := make(map[string]*node, len(p.visited))
	for _, n := range p.visited {
		at[n.location()] = n
	}
	walkCompiled(root, func(s *jsonschema.Schema) {
		n := at[decodeLocation(s.Location)]
		if n == nil {
			out.add(p.event.doc.finding(p.event.doc.root.start, "", "plan-incomplete", "the validator applies a schema that the plan does not reach: "+s.Location, "please report this"))
			return
		}
		for _, to := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.DynamicRef} {
			if to != nil && !slices.ContainsFunc(p.refs[n], func(t *node) bool { return t.location() == decodeLocation(to.Location) }) {
				out.add(n.finding("plan-incomplete", "the validator resolves this reference to another place than the plan does", "please report this"))
			}
		}
	})
	clearContent(root)
}

// clearContent keeps the validator from parsing content inside strings: a number there would escape the bounds of the payload.
func clearContent(root *jsonschema.Schema) {
	walkCompiled(root, func(s *jsonschema.Schema) { s.ContentSchema = nil })
}

// walkCompiled calls fn with each compiled schema reachable from root, content schemas excepted.
func walkCompiled(root *jsonschema.Schema, fn func(*jsonschema.Schema)) {
	seen := map[*jsonschema.Schema]bool{root: true}
	queue := []*jsonschema.Schema{root}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		fn(s)
		for _, c := range subschemasOf(s) {
			if c != nil && !seen[c] {
				seen[c] = true
				queue = append(queue, c)
			}
		}
	}
}

// decodeLocation undoes the URL-escaping of the fragment in the validator's locations.
func decodeLocation(location string) string {
	u, fragment := splitURL(location)
	if f, err := url.PathUnescape(fragment); err == nil {
		fragment = f
	}
	return u + "#" + fragment
}

// subschemasOf lists every schema that the compiled schema s may apply.
func subschemasOf(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.DynamicRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Items2020, s.Contains, s.UnevaluatedItems}
	for _, more := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		list = append(list, more...)
	}
	for _, c := range s.Properties {
		list = append(list, c)
	}
	for _, c := range s.PatternProperties {
		list = append(list, c)
	}
	for _, c := range s.DependentSchemas {
		list = append(list, c)
	}
	for _, c := range s.Dependencies {
		if c, ok := c.(*jsonschema.Schema); ok {
			list = append(list, c)
		}
	}
	for _, c := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch c := c.(type) {
		case *jsonschema.Schema:
			list = append(list, c)
		case []*jsonschema.Schema:
			list = append(list, c...)
		}
	}
	return list
}

// Root is the state of the payload itself.
func (p *Plan) Root() *State { return p.root }

// DefaultKeyring names the keyring that undeclared members are sealed under, and flags that name none.
func (p *Plan) DefaultKeyring() string { return p.keyring }

// Keyrings returns the names of all keyrings that the plan may use, sorted. None: the event needs no keyring.
func (p *Plan) Keyrings() []string { return slices.Clone(p.keyrings) }

// Indexes returns the plan's blind indexes, sorted by name.
func (p *Plan) Indexes() []*Index { return slices.Clone(p.indexes) }
