package envelope

import (
	"github.com/fieldcrypt/fieldcrypt/envelope/internal/jsonscan"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// mode says what a walk expects at the locations that its plan names.
type mode uint8

const (
	walkStrict mode = iota // no plan: syntax and limits alone
	walkPlain              // a plaintext payload: flagged values become sites
	walkWire               // a payload in wire form: flagged locations hold tokens, which become sites
	walkOpened             // what a token held: syntax, limits, and the indexes below
)

// A walk is the one pass over a payload's bytes. It checks the text, follows the plan from state to state, and notes the sites, the values to be
// sealed or the tokens to be opened, and the hits, the values to be indexed. What lies between the sites is never looked at again, only copied.
//
// Errors are built from the path at hand, by stepping the plan once more: the good way pays nothing for them.
type walk struct {
	jsonscan.Scanner

	mode   mode
	limits Limits
	root   *schema.State
	// base is the depth of what surrounds Buf.
	base int
	// outside watches for flagged values in clear places; nil: nobody does.
	outside *outside
	// found takes what is wrong at a location, and the walk goes on, up to maxFound times. Nil: the first one ends the walk.
	found func(*LocationError)
	count int // of what was found

	depth  int
	path   []frame
	seen   []uint64 // of the objects at hand: see members
	nodes  []node
	masked []maskedNode // by node, as far as asked for
	sites  []site
	// pointers is the length of all sites' pointers.
	pointers int
	hits     []hit
	bodies   []byte // of the tokens, decoded; once opened, plaintext
	scratch  []byte // decoded strings, plaintext too
	dirty    int    // how much of scratch was written
}

// maxFound is how many faults of one event are listed: a hostile one may have millions.
const maxFound = 1000

// site is a value that a token stands for, or the token.
type site struct {
	start, end int // the value's text
	path       int32
	state      *schema.State
	depth      int // of its surroundings
	token      token
	// Opening: what becomes of the token, and the text behind it.
	do   action
	text []byte
}

// hit is a value that a blind index is made of.
type hit struct {
	start, end int
	path       int32
	index      *schema.Index
	part       int // of a compound index, from 0; wholeValue elsewhere
}

// wholeValue is the part of a value that has an index of its own.
const wholeValue = -1

// reset prepares a walk over another input and keeps the memory of the last one.
func (w *walk) reset(buf []byte, m mode, root *schema.State, base int, limits Limits) {
	w.Scanner.Reset(buf, limits.numbers())
	w.mode, w.root, w.base, w.limits = m, root, base, limits
	w.outside, w.found, w.count = nil, nil, 0
	w.depth = base
	w.pointers = 0
	w.path = w.path[:0]
	w.seen = w.seen[:0]
	w.nodes = w.nodes[:0]
	clear(w.masked)
	w.masked = w.masked[:0]
	clear(w.sites)
	w.sites = w.sites[:0]
	clear(w.hits)
	w.hits = w.hits[:0]
	clear(w.bodies)
	w.bodies = w.bodies[:0]
}

// clear drops what points into the input, and zeroes what held plaintext; the memory stays.
func (w *walk) clear() {
	clear(w.scratch[:min(w.dirty, cap(w.scratch))])
	w.dirty = 0
	w.reset(nil, walkStrict, nil, 0, w.limits)
}

// large says that the walk holds on to more memory than is kept.
func (w *walk) large() bool {
	return max(cap(w.nodes), cap(w.sites), cap(w.hits), cap(w.masked), cap(w.path), cap(w.seen)) > keepItems || max(cap(w.scratch), cap(w.bodies), w.Kept()) > keepBytes
}

// decoded gives the content of a string that has escapes, valid until the next call.
func (w *walk) decoded(raw []byte) []byte {
	w.scratch = jsonscan.Decode(w.scratch[:0], raw)
	w.dirty = max(w.dirty, len(w.scratch))
	return w.scratch
}

// text gives the content of a string, valid until the next call.
func (w *walk) text(span jsonscan.Span) []byte {
	raw := w.Buf[span.Start:span.End]
	if !span.Escaped {
		return raw
	}
	return w.decoded(raw)
}

// run walks the whole text.
func (w *walk) run() error {
	w.Space()
	if err := w.value(w.root, false); err != nil {
		return err
	}
	if fault := w.End(); fault != nil {
		return w.fault(fault)
	}
	return nil
}

// runOpened walks a value that starts at the first byte, and gives where it ends; only spaces may follow.
func (w *walk) runOpened() (end int, err error) {
	if err := w.value(w.root, true); err != nil {
		return 0, err
	}
	end = w.Pos
	for i, c := range w.Buf[end:] {
		if c != ' ' {
			return 0, w.fault(&jsonscan.Fault{Offset: end + i, Rule: jsonscan.RuleTrailing})
		}
	}
	return end, nil
}

// openedString is runOpened for a text that is one string and its padding; 0: it is something else, or not right.
func (w *walk) openedString(text []byte, limits Limits) (end int) {
	if len(text) == 0 || text[0] != '"' {
		return 0
	}
	w.Scanner.Reset(text, limits.numbers())
	if _, fault := w.String(); fault != nil {
		return 0
	}
	for _, c := range text[w.Pos:] {
		if c != ' ' {
			return 0
		}
	}
	return w.Pos
}

// value walks one value, Pos at its first byte. Below a sealed value (within) nothing is sealed again; indexes go on.
// A nil state says that nothing at or below the value concerns the plan.
func (w *walk) value(st *schema.State, within bool) error {
	if st == nil {
		return w.syntax(nil, within)
	}
	if st.Plain() {
		if st.Clear() {
			st = nil
		}
		return w.syntax(st, within)
	}
	if err := st.Conflict(); err != nil {
		if err := w.refuse(&LocationError{Kind: KindConflict, Err: err}, w.Pos); err != nil {
			return err
		}
	}
	if st.Clear() {
		return w.syntax(nil, within)
	}
	if !within && (st.Sealed() || st.SealedIfObject()) {
		switch w.mode {
		case walkPlain:
			if st.Sealed() || w.Peek() == '{' {
				return w.sealPlain(st)
			}
		case walkWire:
			if st.Sealed() {
				return w.token(st)
			}
			return w.tokenIfObject(st)
		}
	}
	index, parts := st.Index(), st.Parts()
	if index == nil && len(parts) == 0 {
		return w.syntax(st, within)
	}
	start := w.Pos
	if err := w.syntax(st, within); err != nil {
		return err
	}
	path := w.keepPath()
	if index != nil {
		w.hits = append(w.hits, hit{})
		h := &w.hits[len(w.hits)-1]
		h.start, h.end, h.path, h.index, h.part = start, w.Pos, path, index, wholeValue
	}
	for _, part := range parts {
		w.hits = append(w.hits, hit{start, w.Pos, path, part.Index, part.Part})
	}
	return nil
}

// sealPlain notes a value to be sealed and walks through it.
func (w *walk) sealPlain(st *schema.State) error {
	start, depth := w.Pos, w.depth
	if err := w.value(st, true); err != nil {
		return err
	}
	return w.addSite(start, st, depth, token{})
}

// addSite adds a site that ends at Pos.
func (w *walk) addSite(start int, st *schema.State, depth int, t token) error {
	if len(w.sites) == w.limits.MaxSealed {
		return w.limit(LimitSealed, w.limits.MaxSealed, start)
	}
	path := w.keepPath()
	if path != noNode {
		w.pointers += w.nodes[path].length
	}
	// Each token is bound to its whole pointer, so that a long name above many of them costs their product.
	if w.pointers > w.limits.MaxWire {
		return w.limit(LimitPointers, w.limits.MaxWire, start)
	}
	w.sites = append(w.sites, site{})
	s := &w.sites[len(w.sites)-1]
	s.start, s.end, s.path, s.state, s.depth, s.token = start, w.Pos, path, st, depth, t
	return nil
}

// token notes a token, or says what stands in its place.
func (w *walk) token(st *schema.State) error {
	if w.Peek() != '"' {
		if err := w.refuse(&LocationError{Kind: KindPlaintext}, w.Pos); err != nil {
			return err
		}
		return w.syntax(nil, true)
	}
	start := w.Pos
	span, fault := w.String()
	if fault != nil {
		return w.fault(fault)
	}
	raw := w.Buf[span.Start:span.End]
	from := len(w.bodies)
	if kid, bodies, ok := appendToken(w.bodies, raw); ok {
		w.bodies = bodies
		return w.addSite(start, st, w.depth, token{kid, from, len(bodies)})
	}
	switch formOf(raw) {
	case subjectToken:
		return w.refuse(&LocationError{Kind: KindUnsupported}, start)
	case brokenToken:
		return w.refuse(&LocationError{Kind: KindMalformed}, start)
	}
	if span.Escaped && w.isToken(span) {
		return w.refuse(&LocationError{Kind: KindMalformed}, start)
	}
	return w.refuse(&LocationError{Kind: KindPlaintext}, start)
}

// tokenIfObject is token where only an object would have been sealed: everything but an object and a token stands there as it is.
func (w *walk) tokenIfObject(st *schema.State) error {
	switch w.Peek() {
	case '{':
		if err := w.refuse(&LocationError{Kind: KindPlaintext}, w.Pos); err != nil {
			return err
		}
		return w.syntax(nil, true)
	case '"':
		start := w.Pos
		span, fault := w.String()
		if fault != nil {
			return w.fault(fault)
		}
		if w.isToken(span) {
			w.Pos = start
			return w.token(st)
		}
		return nil
	}
	return w.syntax(st, false)
}

// syntax walks one value of any type.
func (w *walk) syntax(st *schema.State, within bool) error {
	switch c := w.Peek(); {
	case c == '"':
		return w.stringValue(within)
	case c == '{':
		return w.object(st, within)
	case c == '[':
		return w.array(st, within)
	case c == '-' || c >= '0' && c <= '9':
		start := w.Pos
		if fault := w.Number(); fault != nil {
			return w.fault(fault)
		}
		if within && w.outside != nil {
			return w.watch(w.Buf[start:w.Pos], start)
		}
		return nil
	case c == 't' || c == 'f' || c == 'n':
		if fault := w.Literal(); fault != nil {
			return w.fault(fault)
		}
		return nil
	}
	return w.fault(w.Expected(jsonscan.RuleValue))
}

func (w *walk) stringValue(within bool) error {
	start := w.Pos
	span, fault := w.String()
	switch {
	case fault != nil:
		return w.fault(fault)
	case within:
		if w.outside == nil || span.End-span.Start < outsideLen {
			return nil
		}
		return w.watch(w.text(span), start)
	case span.End-span.Start < minTokenText || w.mode == walkStrict:
		return nil
	case w.mode == walkPlain && w.isToken(span):
		return w.refuse(&LocationError{Kind: KindLooksLikeToken}, start)
	case w.mode == walkWire && w.isToken(span):
		return w.refuse(&LocationError{Kind: KindMisplaced}, start)
	}
	return nil
}

// isToken says whether a string's content matches the token's pattern, however it is spelt.
func (w *walk) isToken(span jsonscan.Span) bool {
	raw := w.Buf[span.Start:span.End]
	if len(raw) < minTokenText || raw[0] != tokenPrefix[0] && raw[0] != '\\' {
		return false
	}
	if !span.Escaped {
		return matchesToken(raw)
	}
	return matchesToken(w.decoded(raw))
}

// watch refuses a flagged leaf that also stands in clear outside the payload.
func (w *walk) watch(text []byte, start int) error {
	if where := w.outside.holds(text); where != "" {
		return &OutsideError{w.placeAt(start), where}
	}
	return nil
}

func (w *walk) enter() error {
	if w.depth == w.limits.MaxDepth {
		return w.limit(LimitDepth, w.limits.MaxDepth, w.Pos)
	}
	w.depth++
	w.Pos++
	w.Space()
	return nil
}

// object walks an object, Pos at its brace.
func (w *walk) object(st *schema.State, within bool) error {
	if err := w.enter(); err != nil {
		return err
	}
	o := members{mark: w.OpenObject(), top: len(w.path), more: noMore}
	if st != nil {
		o.declared = st.Sequence()
	}
	w.path = append(w.path, frame{index: -1, node: noNode})
	for first := true; ; first = false {
		if first && w.Peek() == '}' {
			w.Pos++
			break
		}
		if err := w.member(st, within, &o); err != nil {
			return err
		}
		w.Space()
		if c := w.Peek(); c == ',' {
			w.Pos++
			w.Space()
			continue
		} else if c == '}' {
			w.Pos++
			break
		}
		w.path = w.path[:o.top]
		return w.fault(w.Expected(jsonscan.RuleObject))
	}
	if fault := w.CloseObject(o.mark); fault != nil {
		w.path[o.top] = frame{name: fault.Name, index: -1, node: noNode}
		return w.fault(fault)
	}
	if o.more != noMore {
		w.seen = w.seen[:o.more]
	}
	w.path = w.path[:o.top]
	w.depth--
	return nil
}

// members is where a walk stands among an object's members.
type members struct {
	mark     int // of the object's names
	top      int // of the path: its member
	declared *schema.Sequence
	next     int // the number that the next declared member probably has
	// seen has a bit for the number of each declared member that came: no need to compare these names. What does not fit stands among the walk's
	// from more on; noMore: nothing yet.
	seen uint64
	more int
}

const (
	wordBits = 64
	noMore   = -1
)

// sees notes a declared member's number, and says whether it came before.
func (w *walk) sees(o *members, number int) (again bool) {
	word := &o.seen
	if number >= wordBits {
		if o.more == noMore {
			o.more = len(w.seen)
			w.seen = append(w.seen, make([]uint64, (o.declared.Len()-1)/wordBits)...)
		}
		word = &w.seen[o.more+number/wordBits-1]
	}
	bit := uint64(1) << (number % wordBits)
	again = *word&bit != 0
	*word |= bit
	return again
}

func (w *walk) member(st *schema.State, within bool, o *members) error {
	start := w.Pos
	f := &w.path[o.top]
	f.index, f.node = -1, noNode
	child, known, err := w.foretold(o)
	if err != nil {
		return err
	}
	if !known {
		if child, err = w.named(st, o); err != nil {
			return err
		}
	}
	w.Space()
	if child == nil && st != nil && !within && w.mode != walkStrict {
		if err := w.refuse(&LocationError{Kind: KindUndeclared}, start); err != nil {
			return err
		}
		// One finding says it all: nothing below is judged by a plan that does not know it.
		return w.value(nil, true)
	}
	if (child == nil && st == nil || child != nil && child.Plain()) && w.Peek() == '"' { // most members
		return w.stringValue(within)
	}
	return w.value(child, within)
}

// foretold takes a member's name and colon where they are what the plan expects next, letter by letter, as in most events: one comparison.
func (w *walk) foretold(o *members) (child *schema.State, ok bool, err error) {
	if o.declared == nil {
		return nil, false, nil
	}
	child, number, n := o.declared.Ahead(o.next, w.Buf[w.Pos:])
	if n == 0 {
		return nil, false, nil
	}
	name := &w.path[o.top].name
	name.Start, name.End, name.Escaped = w.Pos+1, w.Pos+n-len(`":`), false
	o.next = number + 1
	if w.sees(o, number) {
		return nil, false, w.fault(jsonscan.Duplicate(*name))
	}
	w.Pos += n
	return child, true, nil
}

// named takes a member's name and colon.
func (w *walk) named(st *schema.State, o *members) (child *schema.State, err error) {
	if w.Peek() != '"' {
		w.path = w.path[:o.top]
		return nil, w.fault(w.Expected(jsonscan.RuleName))
	}
	span, fault := w.String()
	if fault != nil {
		w.path = w.path[:o.top]
		return nil, w.fault(fault)
	}
	w.path[o.top].name = span
	if child, fault = w.step(st, o, span); fault != nil {
		return nil, w.fault(fault)
	}
	w.Space()
	if w.Peek() != ':' {
		return nil, w.fault(w.Expected(jsonscan.RuleColon))
	}
	w.Pos++
	return child, nil
}

// step takes a member's name: no other of the object may have it, and the plan goes on from it.
func (w *walk) step(st *schema.State, o *members, span jsonscan.Span) (child *schema.State, fault *jsonscan.Fault) {
	name, number := w.Name(span), -1
	if o.declared != nil {
		if child, number = o.declared.Step(o.next, name); number >= 0 {
			o.next = number + 1
			if w.sees(o, number) {
				return nil, jsonscan.Duplicate(span)
			}
			return child, nil
		}
	}
	if fault := w.AddName(o.mark, span, name); fault != nil {
		return nil, fault
	}
	if st != nil {
		child, _ = st.Member(name)
	}
	return child, nil
}

// array walks an array, Pos at its bracket.
func (w *walk) array(st *schema.State, within bool) error {
	if err := w.enter(); err != nil {
		return err
	}
	w.path = append(w.path, frame{})
	top := len(w.path) - 1
	for i := 0; ; i++ {
		if i == 0 && w.Peek() == ']' {
			w.Pos++
			break
		}
		w.path[top] = frame{index: i, node: noNode}
		var child *schema.State
		if st != nil {
			child = st.Item(i)
		}
		if err := w.value(child, within); err != nil {
			return err
		}
		w.Space()
		if c := w.Peek(); c == ',' {
			w.Pos++
			w.Space()
			continue
		} else if c == ']' {
			w.Pos++
			break
		}
		w.path = w.path[:top]
		return w.fault(w.Expected(jsonscan.RuleArray))
	}
	w.path = w.path[:top]
	w.depth--
	return nil
}

// fault turns a scanner's fault into an error: the text cannot be followed any further.
func (w *walk) fault(f *jsonscan.Fault) error {
	if f.Limit != "" {
		return w.limit(f.Limit, f.Max, f.Offset)
	}
	return &SyntaxError{w.placeAt(f.Offset), f.Rule}
}

func (w *walk) limit(name string, limit, offset int) error {
	return &LimitError{w.placeAt(offset), name, limit}
}

// refuse reports what is wrong at the location at hand: nil says that the walk goes on.
func (w *walk) refuse(err *LocationError, offset int) error {
	err.Place = w.placeAt(offset)
	if w.count++; w.found == nil || w.count > maxFound {
		return err
	}
	w.found(err)
	return nil
}
