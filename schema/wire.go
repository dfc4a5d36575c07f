package schema

import (
	"fmt"
	"slices"
	"sync"
)

// tokenPattern is what every token matches, that of docs/format.md.
const tokenPattern = `^fc1:(?:[0-9a-f]{8}|s[0-9a-f]{16}):[A-Za-z0-9_-]{59,}$`

// wireDialect is the $schema of every wire schema. The other has as many bytes, and is what compileWire reads where it says the same.
const (
	wireDialect  = "https://json-schema.org/draft/2020-12/schema"
	wireDialect2 = "https://json-schema.org/draft/2019-09/schema"
)

// Bounds of a derivation. A schema whose alternatives multiply could otherwise fill the memory.
const (
	maxWireBytes    = maxDocumentBytes // so that what was derived can be loaded by who loads what we load
	maxWirePairs    = 300_000
	maxWirePatterns = 5  // distinct name patterns that meet at one location: their combinations are tried one by one
	maxWireChoices  = 16 // states that one keyword's children may have before the keyword says nothing
)

// WireError says why no wire schema can be derived from an event's schema. Events of the type are sealed and opened all the same.
type WireError struct {
	Type    string
	Version int
	// Finding says where in which file, by which rule, and what to do.
	Finding Finding
}

func (e *WireError) Error() string {
	return fmt.Sprintf("no wire schema for %s version %d: %s", e.Type, e.Version, e.Finding)
}

// Hint says what to do next.
func (e *WireError) Hint() string { return e.Finding.Hint }

// WireSchema derives the schema of the event's wire form: a self-contained JSON Schema in draft 2020-12, pretty printed, the same bytes each
// time. Every event that Seal makes of a valid payload validates against it, and no payload does in which a flagged location holds anything
// but a string of a token's form. It needs no keys, so that a broker, a registry or a consumer without keys can check events; it cannot tell
// a token from other text of that form.
//
// It holds all of three schemas (docs/architecture.md has the rule and why it is sound):
//
//   - the tokens: at every flagged location a string of the token's form;
//   - the members: what the policy on undeclared members refuses or seals;
//   - the weakened schema: the event's own rules, as far as sealing leaves them true.
//
// The error is a *WireError. Deriving takes as long as loading the schema, and the result is kept. Safe for concurrent use.
func (e *EventSchema) WireSchema() ([]byte, error) {
	w, err := e.wire.derived(e)
	if err != nil {
		return nil, err
	}
	return slices.Clone(w.b.Bytes()), nil
}

// wireForm is what an event schema knows of its wire form, once it was asked for.
type wireForm struct {
	once sync.Once
	text *wireWriter
	err  error

	compiling sync.Once
	schema    *EventSchema // the derived schema as if it were an event's own
	unusable  error

	ruling sync.Once
	rules  *EventSchema // the weakened schema alone; nil where it is of no use
}

func (w *wireForm) derived(e *EventSchema) (*wireWriter, error) {
	w.once.Do(func() { w.text, w.err = deriveWire(e, wireRule{}) })
	return w.text, w.err
}

// wireRule switches parts of the rule off, so that tests can show what each is for. The zero value is the rule.
type wireRule struct {
	noTokens     bool // leave out the tokens' schema
	noMembers    bool // leave out the members' schema
	merge        bool // tokens: one object for all schemas of a location
	noRest       bool // let the tokens' schema look at named members alone
	noSets       bool // members: look at names that match no pattern alone
	keepValues   bool // keep const and enum
	keepNot      bool
	keepIf       bool
	keepOneOf    bool
	keepContains bool // keep maxContains
	keepUnique   bool // take uniqueItems for something that tokens do not change, inside not, if and oneOf too
	keepFormat   bool // keep every format, and take it for something that all validators assert
}

// wireDeriver derives one wire schema.
type wireDeriver struct {
	plan *Plan // a twin of the event's
	rule wireRule
	err  *WireError

	seals bool // some location may be sealed for being undeclared
	mixed bool // files with policies of their own

	token *wireNode
	// What follows is kept in maps that are never walked: the order of the result comes from the schemas.
	kept    map[*node]*skeleton  // the tokens' schema
	own     map[*node]*skeleton  // what one schema adds to it
	guarded map[*State]*skeleton // the members' schema
	never   *skeleton
	every   []*skeleton
	pairs   map[pairKey]*wirePair
	queue   []*wirePair
	inexact map[*node]bool
	circles map[*node]int // schemas that meet in a circle at one location, numbered
	work    int
	types   map[*node]typeSet
	alike   map[likeState]*State
	choices map[*State][]*State // by set of patterns
	shared  map[string]sharedPattern
}

// deriveWire derives the wire schema of an event.
func deriveWire(e *EventSchema, rule wireRule) (*wireWriter, error) {
	p := e.plan.twin()
	d := &wireDeriver{
		plan: p, rule: rule, kept: map[*node]*skeleton{}, own: map[*node]*skeleton{}, guarded: map[*State]*skeleton{}, pairs: map[pairKey]*wirePair{},
		types: map[*node]typeSet{}, alike: map[likeState]*State{}, choices: map[*State][]*State{}, shared: map[string]sharedPattern{}, never: &skeleton{never: true, solid: true},
	}
	d.token = &wireNode{name: "token", members: []wireMember{{key: "type", raw: `"string"`}, {key: "pattern", raw: quoteJSON(tokenPattern)}}, define: true}
	strictest := p.policy
	for _, n := range p.visited {
		u := n.d.rootNode.words.undeclared
		d.seals = d.seals || u == PolicySeal && u >= p.policy
		d.mixed = d.mixed || u > p.policy
		strictest = max(strictest, u)
	}
	d.seals = d.seals || p.policy == PolicySeal
	d.findInexact()
	d.findCircles()

	root := p.event.doc.rootNode
	all := wireMember{key: "allOf"}
	tokens, members := d.tokens(root), (*skeleton)(nil)
	if strictest > PolicyClear && !rule.noMembers {
		members = d.members(p.root)
	}
	d.settle()
	if !rule.noTokens {
		all.list = append(all.list, d.convert(tokens))
	}
	if members != nil {
		all.list = append(all.list, d.convert(members))
	}
	all.list = append(all.list, d.weakened(root, p.root))
	if d.err == nil && len(p.intern) >= maxStates {
		d.tooLarge()
	}
	if d.err != nil {
		return nil, d.err
	}
	top := &wireNode{members: []wireMember{
		{key: "$schema", raw: quoteJSON(wireDialect)},
		{key: "$comment", raw: quoteJSON(fmt.Sprintf("Wire form of %s version %d. Derived by fieldcrypt wire-schema; do not edit.", e.typ, e.version))},
		all,
	}}
	w := writeWire(top)
	if w.full {
		d.tooLarge()
		return nil, d.err
	}
	return w, nil
}

// twin is a plan of the same schemas with states of its own: what a derivation explores must not use up the states that the event's plan
// keeps. Its blind indexes take no names from their locations, which would only multiply states.
func (p *Plan) twin() *Plan {
	t := &Plan{
		reg: p.reg, event: p.event, policy: p.policy, keyring: p.keyring, overlay: p.overlay, overlayAt: p.overlayAt, visited: p.visited, reached: p.reached,
		refs: p.refs, holds: p.holds, matters: p.matters, speaks: p.speaks, carried: p.carried,
		unnamed: map[*node]bool{}, work: planWork{made: true}, bounds: map[*node]int{}, intern: map[string]*State{}, shared: map[string]*steps{}, byName: map[string]*Index{},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.root = t.state([]elem{{t.event.doc.rootNode, true}}, way{policy: t.policy})
	return t
}

// refuse keeps the first reason why there is no wire schema.
func (d *wireDeriver) refuse(f Finding) {
	if d.err == nil {
		d.err = &WireError{Type: d.plan.event.typ, Version: d.plan.event.version, Finding: f}
	}
}

func (d *wireDeriver) tooLarge() {
	doc := d.plan.event.doc
	d.refuse(doc.finding(doc.root.start, "", "wire-too-large", "the wire schema would be too large: alternatives, patterns or recursions over flags multiply",
		"let fewer alternatives meet at one location, or split the event type"))
}

// full reports that the derivation has failed already, or fails now for its size.
func (d *wireDeriver) full() bool {
	if d.err == nil && (len(d.pairs)+d.work > maxWirePairs || len(d.plan.intern) >= maxStates) {
		d.tooLarge()
	}
	return d.err != nil
}

// one gives one state for all that differ in nothing that a wire schema says: sealed or not, and where they lead.
func (d *wireDeriver) one(q *State) *State {
	if q == nil {
		return nil
	}
	key := likeState{q.steps, q.sealed, q.forced, q.clear, d.scalar(q)}
	if q.sealed {
		key.steps = nil
	}
	if known := d.alike[key]; known != nil {
		return known
	}
	d.alike[key] = q
	return q
}

// likeState is what states have in common that one gives as one.
type likeState struct {
	steps                         *steps
	sealed, forced, clear, scalar bool
}

// step is the state of a member with that name; nil where it is refused.
func (d *wireDeriver) step(q *State, name string) *State {
	if q.names[name] {
		return d.one(q.exploreMembers()[name])
	}
	next, _ := q.Member([]byte(name))
	return d.one(next)
}

// item is the state of an item.
func (d *wireDeriver) item(q *State, i int) *State { return d.one(q.Item(i)) }

// patternTexts lists the distinct patterns of a state, in order.
func patternTexts(q *State) []string {
	var texts []string
	for _, p := range q.patterns {
		if t := p.re.String(); !slices.Contains(texts, t) {
			texts = append(texts, t)
		}
	}
	return texts
}

// unspelled lists the states of a member that no properties spells, by the set of patterns (bits in the order of patternTexts) that its name
// matches. Sets that no name has are listed too. ok is false where there are too many.
func (d *wireDeriver) unspelled(q *State) (states []*State, ok bool) {
	if states, known := d.choices[q]; known {
		return states, states != nil
	}
	texts := patternTexts(q)
	if len(texts) > maxWirePatterns {
		d.choices[q] = nil
		return nil, false
	}
	for set := range 1 << len(texts) {
		matched := make([]byte, (len(q.patterns)+7)/8)
		for i, p := range q.patterns {
			if set&(1<<slices.Index(texts, p.re.String())) != 0 {
				matched[i/8] |= 1 << (i % 8)
			}
		}
		d.plan.mu.Lock()
		next := q.stepMember("", matched)
		d.plan.mu.Unlock()
		states = append(states, d.one(next))
	}
	d.choices[q] = states
	return states, true
}
