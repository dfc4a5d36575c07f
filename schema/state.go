package schema

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
)

// State is what the Plan knows of one location: the subschemas that may apply there, and what follows from them. States are immutable
// to their callers and safe for concurrent use; a step that was taken before takes no lock.
type State struct {
	plan  *Plan
	elems []elem
	// A location's state depends on the way there in four points only.
	policy   Policy    // the strictest policy met on the way
	outer    string    // below a sealed location: its keyring
	forced   bool      // an undeclared member under the policy seal
	lastName string    // the last property name, kept where a blind index takes its name from it
	path     *pathNode // on the way to the fields of compound indexes, else nil

	sealed         bool
	sealedIfObject bool
	clear          bool
	plain          bool
	keyring        string
	padTo          int
	index          *Index
	conflict       *ConflictError

	cacheable bool
	*steps
}

// steps is where a state leads: the same for all states whose subschemas with members or items are the same, so that a definition that a
// thousand properties refer to is stepped through once.
type steps struct {
	names     map[string]bool // names spelled in properties of any subschema here
	patterns  []patternNode   // all patterns here, in order
	size      int             // of all patterns
	itemCount int             // how many indexes differ: the longest prefix and one
	declares  bool            // some name at all is declared

	members  atomic.Pointer[map[string]*State] // by declared name
	sequence atomic.Pointer[Sequence]          // all of members in the order of their declaration
	others   atomic.Pointer[map[string]*State] // by the set of patterns that match
	items    atomic.Pointer[[]*State]          // by index; the last one is for all beyond
	explored atomic.Pointer[[]transition]      // what loading looks at
}

// elem is a subschema in a state. declares is false where it was reached through if or contains, which never declare.
type elem struct {
	node     *node
	declares bool
}

// ConflictError says that subschemas which meet at one location disagree on the keyring or the index. The event is refused.
type ConflictError struct {
	EventType string
	Version   int
	Rule      string // such as "keyring-conflict" or "index-unflagged"
	Message   string
	node      *node
	off       int
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("schema of %s version %d: %s: %s", e.EventType, e.Version, e.Rule, e.Message)
}

// way is how a state was reached, beyond its subschemas.
type way struct {
	policy   Policy
	outer    string
	forced   bool
	lastName string
	path     *pathNode
}

// state finds or makes the state of a set of subschemas. The caller holds p.mu.
func (p *Plan) state(start []elem, w way) *State {
	elems := p.closure(start)
	for _, e := range elems {
		if u := e.node.d.rootNode.words.undeclared; u > w.policy {
			w.policy = u
		}
	}
	if !slices.ContainsFunc(elems, func(e elem) bool { return p.unnamed[e.node] }) {
		w.lastName = ""
	}
	key := stateKey(elems, w)
	if s := p.intern[key]; s != nil {
		return s
	}
	s := p.newState(elems, w)
	if len(p.intern) < maxStates {
		s.cacheable = true
		p.intern[key] = s
	}
	return s
}

func stateKey(elems []elem, w way) string {
	b := make([]byte, 0, 16+3*len(elems))
	b = append(b, byte(w.policy))
	if w.forced {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(w.outer)))
	b = append(b, w.outer...)
	b = binary.AppendUvarint(b, uint64(len(w.lastName)))
	b = append(b, w.lastName...)
	if w.path == nil {
		b = append(b, 0)
	} else {
		b = binary.AppendUvarint(b, uint64(w.path.seq)+1)
	}
	for _, e := range elems {
		n := uint64(e.node.seq) << 1
		if e.declares {
			n |= 1
		}
		b = binary.AppendUvarint(b, n)
	}
	return string(b)
}

// closure adds all subschemas that apply to the same value.
func (p *Plan) closure(start []elem) []elem {
	var in elemSet
	queue := make([]elem, 0, 16)
	queue = append(queue, start...)
	for len(queue) > 0 {
		e := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !in.add(e) {
			continue
		}
		n := e.node
		for _, t := range p.refs[n] {
			queue = append(queue, elem{t, e.declares})
		}
		for _, list := range [][]*node{n.allOf, n.anyOf, n.oneOf, n.dependent} {
			for _, t := range list {
				queue = append(queue, elem{t, e.declares})
			}
		}
		if n.ifs != nil {
			queue = append(queue, elem{n.ifs, false})
		}
		for _, t := range []*node{n.then, n.els} {
			if t != nil {
				queue = append(queue, elem{t, e.declares})
			}
		}
	}
	// false says nothing that a state needs, unless an overlay flags it or its file has a policy.
	elems := slices.DeleteFunc(in.list, func(e elem) bool {
		n := e.node
		return n.never() && len(p.words(n)) == 0 && (n.d == p.event.doc || n.d.rootNode.words.undeclared == PolicyNone)
	})
	slices.SortFunc(elems, func(a, b elem) int { return cmp.Compare(a.node.seq, b.node.seq) })
	p.work.steps += 1 + len(in.list)
	return elems
}

// elemSet is a set of subschemas; most are of two or three.
type elemSet struct {
	list []elem
	at   map[*node]int // where each stands, once there are many
}

// add reports that the set grew, or that a subschema in it declares names now.
func (s *elemSet) add(e elem) bool {
	i, known := 0, false
	if s.at != nil {
		i, known = s.at[e.node]
	} else {
		i = slices.IndexFunc(s.list, func(o elem) bool { return o.node == e.node })
		known = i >= 0
	}
	if known {
		if s.list[i].declares || !e.declares {
			return false
		}
		s.list[i].declares = true
		return true
	}
	s.list = append(s.list, e)
	if s.at != nil {
		s.at[e.node] = len(s.list) - 1
	} else if len(s.list) > 32 {
		s.at = make(map[*node]int, 64)
		for i, o := range s.list {
			s.at[o.node] = i
		}
	}
	return true
}

// newState works out what a set of subschemas means.
func (p *Plan) newState(elems []elem, w way) *State {
	s := &State{plan: p, elems: elems, policy: w.policy, outer: w.outer, forced: w.forced, lastName: w.lastName, path: w.path}
	matters := false
	for _, e := range elems {
		n := e.node
		matters = matters || p.matters[n]
		s.readFlags(n)
		for _, c := range p.carried[n] {
			s.readFlags(c)
		}
		p.work.steps += len(p.carried[n])
	}
	if s.forced && !s.sealed {
		s.sealed, s.keyring = true, p.keyring
	}
	if s.sealed {
		for _, e := range elems {
			s.padTo = max(s.padTo, p.bound(e.node))
		}
	}
	s.checkRoots()
	s.settleIndex()
	if s.outer != "" && s.flaggedHere() && s.keyring != s.outer {
		s.setConflict("keyring-conflict", fmt.Sprintf("a flag of keyring %q below a flagged location of keyring %q", s.keyring, s.outer), s.flagNode(), 0)
	}
	inside := s.outer != "" || s.sealed
	s.steps = p.stepsOf(s)
	s.sealedIfObject = !inside && s.policy == PolicySeal && !s.declares
	if s.sealedIfObject {
		s.keyring = p.keyring
	}
	s.clear = !s.sealed && !matters && (inside || s.policy == PolicyClear)
	s.plain = !s.sealed && !s.sealedIfObject && s.index == nil && s.conflict == nil && s.path == nil
	return s
}

// stepsOf finds or makes the steps of a state, whose flags are known: they depend on its subschemas with members or items, on the policy, on
// what is sealed around the children, and on the names that an index takes from the way.
func (p *Plan) stepsOf(s *State) *steps {
	leading := make([]elem, 0, len(s.elems))
	for _, e := range s.elems {
		if e.node.leads() {
			leading = append(leading, e)
		}
	}
	key := stateKey(leading, way{policy: s.policy, outer: s.below(), lastName: s.lastName, path: s.path})
	if st := p.shared[key]; st != nil {
		return st
	}
	st := &steps{names: map[string]bool{}}
	for _, e := range leading {
		n := e.node
		for _, name := range n.names {
			st.names[name] = true
		}
		st.patterns = append(st.patterns, n.patterns...)
		for _, pat := range n.patterns {
			st.size += pat.size
		}
		st.declares = st.declares || e.declares && (len(n.names) > 0 || p.declaresOthers(n))
		st.itemCount = max(st.itemCount, len(n.prefix)+1)
	}
	if p.shared == nil {
		p.shared = map[string]*steps{}
	}
	if len(p.shared) < maxStates {
		p.shared[key] = st
	}
	return st
}

// leads reports that a schema says something of members or items, with whatever it refers to left aside.
func (n *node) leads() bool {
	return len(n.names) > 0 || len(n.patterns) > 0 || n.additional != nil || n.unevaluated != nil || len(n.prefix) > 0 || n.items != nil ||
		n.unevaluatedItems != nil || n.contains != nil
}

// readFlags takes over the words of one subschema, those of its text and those of the overlay alike.
func (s *State) readFlags(n *node) {
	ws := s.plan.words(n)
	if len(ws) == 0 {
		return
	}
	sensitive, keyring := false, ""
	for _, w := range ws {
		sensitive = sensitive || w.sensitive
		if w.keyring != "" && keyring != "" && keyring != w.keyring {
			s.setConflict("keyring-conflict", fmt.Sprintf("the schema names keyring %q, the overlay %q", keyring, w.keyring), n, 0)
		}
		if w.keyring != "" {
			keyring = w.keyring
		}
	}
	switch {
	case sensitive:
		k := s.plan.keyring
		if keyring != "" {
			k = keyring
		}
		if s.sealed && s.keyring != k {
			s.setConflict("keyring-conflict", fmt.Sprintf("keyrings %q and %q meet at one location", s.keyring, k), n, n.words.sensitiveOff)
		}
		s.sealed, s.keyring = true, k
	case keyring != "" && (n != n.d.rootNode || keyring != n.words.keyring):
		s.setConflict("keyring-unflagged", "x-gdpr-keyring at a location that is not flagged", n, n.words.keyringOff)
	}
	for _, w := range ws {
		if w.index != nil {
			s.readIndex(n, w)
		}
	}
}

// checkRoots refuses a flagged location at which another file's root stands that names another keyring: as the file's default, or for this
// location, it would be lost.
func (s *State) checkRoots() {
	if !s.sealed {
		return
	}
	for _, e := range s.elems {
		if n := e.node; n == n.d.rootNode && n.words.keyring != "" && n.words.keyring != s.keyring {
			s.setConflict("keyring-conflict", fmt.Sprintf("keyrings %q and %q meet at one location", s.keyring, n.words.keyring), n, n.words.keyringOff)
		}
	}
}

func (s *State) readIndex(n *node, w words) {
	ix, rule, message := s.plan.index(n, w, s.lastName)
	switch {
	case rule != "":
		s.setConflict(rule, message, n, n.words.indexOff)
	case s.index != nil && !s.index.equal(ix):
		s.setConflict("index-conflict", fmt.Sprintf("blind indexes %q and %q meet at one location", s.index.Name, ix.Name), n, n.words.indexOff)
	default:
		s.index = ix
	}
}

// settleIndex completes the location's index: it must be flagged, and agree with the others of its name.
func (s *State) settleIndex() {
	if s.index == nil {
		return
	}
	n := s.indexNode()
	if !s.flaggedHere() {
		s.setConflict("index-unflagged", "a blind index at a location that is not flagged", n, 0)
	}
	s.index.Keyring = s.keyring
	if known := s.plan.byName[s.index.Name]; known == nil {
		s.plan.byName[s.index.Name] = s.index
	} else if known.equal(s.index) {
		s.index = known
	} else {
		s.setConflict("index-conflict", fmt.Sprintf("blind index %q is declared twice, with different normalize, bits, multi, types or keyring", s.index.Name), n, 0)
	}
}

// setConflict keeps the first conflict. off is where in n's document; 0, as for a word of an overlay, is the schema itself.
func (s *State) setConflict(rule, message string, n *node, off int) {
	if s.conflict != nil {
		return
	}
	if off == 0 {
		off = n.raw.start
	}
	s.conflict = &ConflictError{EventType: s.plan.event.typ, Version: s.plan.event.version, Rule: rule, Message: message, node: n, off: off}
}

func (s *State) flagNode() *node {
	for _, e := range s.elems {
		if s.plan.flagged(e.node) {
			return e.node
		}
		for _, c := range s.plan.carried[e.node] {
			if s.plan.flagged(c) {
				return c
			}
		}
	}
	return nil
}

func (s *State) indexNode() *node {
	for _, e := range s.elems {
		if s.plan.indexed(e.node) {
			return e.node
		}
	}
	return nil
}

func (s *State) flaggedHere() bool { return s.flagNode() != nil }

// declaresOthers reports whether a schema declares names beyond its properties.
func (p *Plan) declaresOthers(n *node) bool {
	for _, pat := range n.patterns {
		if p.says(pat.node) {
			return true
		}
	}
	return n.additional != nil && p.says(n.additional) || n.unevaluated != nil && p.says(n.unevaluated)
}

// says reports whether a schema says something about the values it applies to. true, {}, false and annotations alone do not: false
// allows no value, and a schema that allows everything declares nothing.
func (p *Plan) says(n *node) bool {
	seen := map[*node]bool{}
	says := p.saysUnless(n, seen)
	p.work.steps += len(seen)
	return says
}

func (p *Plan) saysUnless(n *node, seen map[*node]bool) bool {
	if seen[n] {
		return false
	}
	seen[n] = true
	if p.flagged(n) {
		return true
	}
	if n.never() {
		return false
	}
	hidden := n.ref != nil && n.d.draft.refHidesSiblings()
	for _, m := range n.raw.members {
		if hidden || isAnnotation(m.name) || isWord(m.name) {
			continue
		}
		switch m.name {
		case "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas":
			continue // followed below; an if alone says nothing
		}
		if n.d.draft.asserts(m.name) || n.d.draft.subschemas[m.name] != 0 {
			return true
		}
	}
	for _, list := range [][]*node{p.refs[n], n.allOf, n.anyOf, n.oneOf, n.dependent, {n.then}, {n.els}} {
		for _, t := range list {
			if t != nil && p.saysUnless(t, seen) {
				return true
			}
		}
	}
	return false
}

// bound is boundOf, which is asked once: a long enum may be that of many states.
func (p *Plan) bound(n *node) int {
	longest, known := p.bounds[n]
	if !known {
		longest = boundOf(n)
		p.bounds[n] = longest
	}
	return longest
}

// boundOf is the longest JSON text that a schema allows by itself where it bounds the value, else 0.
func boundOf(n *node) int {
	longest := 0
	if v := n.raw.member("const"); v != nil && n.d.draft.number >= 6 {
		longest = compactLen(n.d, v)
	}
	if v := n.raw.member("enum"); v != nil {
		for _, item := range v.items {
			longest = max(longest, compactLen(n.d, item))
		}
	}
	if v := n.raw.member("type"); v != nil && v.str == "boolean" {
		longest = max(longest, len("false"))
	}
	return longest
}

// compactLen is the length of a value's text without the white space between its tokens.
func compactLen(d *document, v *value) int {
	n := 0
	switch v.kind {
	case '{':
		n = 2 + max(0, len(v.members)-1)
		for _, m := range v.members {
			n += nameLen(d, m) + 1 + compactLen(d, m.value)
		}
	case '[':
		n = 2 + max(0, len(v.items)-1)
		for _, item := range v.items {
			n += compactLen(d, item)
		}
	default:
		n = v.end - v.start
	}
	return n
}

// nameLen is the length of a member's name as it stands in the source, quotes included.
func nameLen(d *document, m member) int {
	i := m.nameOff + 1
	for d.src[i] != '"' {
		if d.src[i] == '\\' {
			i++
		}
		i++
	}
	return i + 1 - m.nameOff
}

// Clear reports that nothing at or below this location is sealed, indexed or refused for being undeclared: a walker may copy the value
// after checking its syntax (and still has to refuse strings that look like tokens).
func (s *State) Clear() bool { return s.clear }

// Plain reports that nothing is to be done with the value itself: it is neither Sealed nor SealedIfObject, has no index, is no part of one, and no
// Conflict. Its members and items are stepped to all the same.
func (s *State) Plain() bool { return s.plain }

// Described reports that some schema applies at the location.
func (s *State) Described() bool { return len(s.elems) > 0 }

// Sealed reports that the whole value is sealed, whatever its JSON type: it is flagged, or undeclared under the policy "seal". Below it
// states go on, so that indexes there are computed; Sealed may be true there again, and the outermost counts.
func (s *State) Sealed() bool { return s.sealed }

// SealedIfObject reports that the value is sealed whole if, and only if, it is an object: the policy is "seal" and no name is declared,
// and names cannot be sealed.
func (s *State) SealedIfObject() bool { return s.sealedIfObject }

// Keyring names the keyring of a Sealed or SealedIfObject location.
func (s *State) Keyring() string { return s.keyring }

// PadTo is the length in bytes of the longest JSON text that the schema allows here where it bounds the value (boolean, const, enum),
// else 0.
func (s *State) PadTo() int { return s.padTo }

// Index returns the blind index of this location, or nil.
func (s *State) Index() *Index { return s.index }

// Conflict is a *ConflictError where subschemas that meet here disagree on keyring or index, else nil: the event must be refused.
func (s *State) Conflict() error {
	if s.conflict == nil {
		return nil
	}
	return s.conflict
}

// Member steps to an object's member by its decoded name. A nil state: the member is undeclared and the policy refuses it. exact reports
// that the schema itself spells the name, so that it may stand in an error; every other name must be masked. The name is not kept.
func (s *State) Member(name []byte) (child *State, exact bool) {
	if m := s.members.Load(); m != nil {
		if c, ok := (*m)[string(name)]; ok {
			return c, true
		}
	}
	if s.names[string(name)] {
		return s.slowMember(&s.members, string(name), string(name), nil), true
	}
	var buf [16]byte
	matched := buf[:0]
	for i := range s.patterns {
		if i%8 == 0 {
			matched = append(matched, 0)
		}
		if s.patterns[i].re.Match(name) {
			matched[i/8] |= 1 << (i % 8)
		}
	}
	if m := s.others.Load(); m != nil {
		if c, ok := (*m)[string(matched)]; ok {
			return c, false
		}
	}
	return s.slowMember(&s.others, string(matched), "", matched), false
}

// Members gives the members that properties here declare, nil for one that the policy refuses. Not to be changed.
func (s *State) Members() map[string]*State {
	if m := s.members.Load(); m != nil && len(*m) == len(s.names) {
		return *m
	}
	return s.exploreMembers()
}

// maxPatternSets bounds how many combinations of patterns one state remembers: names come from payloads.
const maxPatternSets = 256

// slowMember computes a step and remembers it. name is empty for a member that no properties spells; matched then says which patterns
// match.
func (s *State) slowMember(cache *atomic.Pointer[map[string]*State], key, name string, matched []byte) *State {
	p := s.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	c := s.stepMember(name, matched)
	old := cache.Load()
	if !s.cacheable || c != nil && !c.cacheable || old != nil && len(*old) >= maxPatternSets && matched != nil {
		return c
	}
	grown := map[string]*State{key: c}
	if old != nil {
		for k, v := range *old {
			grown[k] = v
		}
	}
	cache.Store(&grown)
	return c
}

// exploreMembers computes the steps by all declared names at once: growing the cache name by name would copy it each time.
func (s *State) exploreMembers() map[string]*State {
	s.plan.mu.Lock()
	defer s.plan.mu.Unlock()
	if known := s.members.Load(); known != nil && len(*known) == len(s.names) {
		return *known
	}
	members := make(map[string]*State, len(s.names))
	for name := range s.names {
		if s.plan.work.exhausted() {
			break // loading refuses the schema
		}
		members[name] = s.stepMember(name, nil)
	}
	s.members.Store(&members)
	return members
}

// stepMember gives the state of a member: each subschema here contributes what its own keywords apply to that name.
func (s *State) stepMember(name string, matched []byte) *State {
	p := s.plan
	var elems []elem
	declared := false
	if matched == nil {
		p.work.steps += tries(1, len(s.patterns), len(name), s.size)
	}
	pattern := 0
	for _, e := range s.elems {
		n := e.node
		taken := false
		if sub := n.properties[name]; sub != nil && matched == nil {
			elems = append(elems, elem{sub, e.declares})
			taken, declared = true, declared || e.declares
		}
		for _, pat := range n.patterns {
			hit := matched != nil && matched[pattern/8]&(1<<(pattern%8)) != 0 || matched == nil && pat.re.MatchString(name)
			pattern++
			if hit {
				elems = append(elems, elem{pat.node, e.declares})
				taken, declared = true, declared || e.declares && p.says(pat.node)
			}
		}
		if taken {
			continue
		}
		switch {
		case n.additional != nil:
			elems = append(elems, elem{n.additional, e.declares})
			declared = declared || e.declares && p.says(n.additional)
		case n.unevaluated != nil:
			elems = append(elems, elem{n.unevaluated, e.declares})
			declared = declared || e.declares && p.says(n.unevaluated)
		}
	}
	w := way{policy: s.policy, outer: s.below(), lastName: name}
	if matched == nil {
		w.path = s.path.child(name)
	}
	if w.outer == "" && s.sealedIfObject {
		w.outer = s.keyring // it has members, so it is an object, and sealed whole
	}
	if !declared && w.outer == "" {
		switch s.policy {
		case PolicyReject:
			return nil
		case PolicySeal:
			w.forced = true
		}
	}
	return p.state(elems, w)
}

// below is the keyring of the sealed location that a child stands in.
func (s *State) below() string {
	if s.outer != "" {
		return s.outer
	}
	if s.sealed {
		return s.keyring
	}
	return ""
}

// Item steps to an array's item by its index, from 0.
func (s *State) Item(i int) *State {
	if i >= s.itemCount {
		i = max(0, s.itemCount-1)
	}
	if items := s.items.Load(); items != nil {
		return (*items)[i]
	}
	p := s.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	items := make([]*State, max(1, s.itemCount))
	keep := s.cacheable
	for j := range items {
		items[j] = s.stepItem(j)
		keep = keep && items[j].cacheable
	}
	if keep { // else a payload could make a chain of states without end
		s.items.Store(&items)
	}
	return items[i]
}

func (s *State) stepItem(i int) *State {
	var elems []elem
	for _, e := range s.elems {
		n := e.node
		switch {
		case i < len(n.prefix):
			elems = append(elems, elem{n.prefix[i], e.declares})
		case n.items != nil:
			elems = append(elems, elem{n.items, e.declares})
		}
		if n.unevaluatedItems != nil && i >= len(n.prefix) && (n.items == nil || n.tuple && n.items.never()) { // what additionalItems: false forbids, jsonschema/v5 leaves unevaluated
			elems = append(elems, elem{n.unevaluatedItems, e.declares})
		}
		if n.contains != nil {
			elems = append(elems, elem{n.contains, false})
		}
	}
	return s.plan.state(elems, way{policy: s.policy, outer: s.below(), lastName: s.lastName})
}
