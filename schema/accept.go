package schema

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Check is Validate at about a tenth of the price for payloads that match: Validate is asked only about those that a pass over their text is not
// sure of. The payload must be strict JSON with bounded numbers already, as for Validate. The first call prepares it. Safe for concurrent use.
func (e *EventSchema) Check(payload []byte) error {
	e.accepting.Do(func() { e.accepter = newAccepter(e.validator.plain) })
	if e.accepter.accepts(payload) {
		return nil
	}
	return e.Validate(payload)
}

// accepter finds payloads that a compiled schema surely accepts, in one pass over their text. It never refuses one: what it is not sure of is left
// to the validator, and so is whatever the validator must say about a payload. So it needs to know no more of JSON Schema than is common.
type accepter struct {
	root  *acceptState
	walks sync.Pool // of *acceptWalk
}

// acceptState is all the compiled schemas that apply to one value: it accepts what each of them accepts.
type acceptState struct {
	kinds    byteSet // the kinds of values (as jsontext.Kind) that it can be sure of
	anything bool
	any      [][]*acceptState

	members            map[string]acceptMember
	rest               *acceptState // of a member that members does not name; nil: not sure
	required           uint64
	minProps, maxProps int

	prefix             []*acceptState
	item               *acceptState // beyond prefix
	minItems, maxItems int

	token          bool // it matches tokenPattern
	text           bool // something is said about a string
	minLen, maxLen int
	patterns       []*regexp.Regexp
	formats        []func(any) bool
	values         []acceptValues // of const and enum
	integer        bool
	bounds         []*jsonschema.Schema // with rules about a number
	least, most    int64                // what bounds say of whole numbers
}

type acceptMember struct {
	to  *acceptState
	bit uint64 // in required
}

// acceptValues are the scalars of one const or enum.
type acceptValues struct {
	texts   map[string]bool
	numbers []*big.Rat
	others  byteSet // null, true and false
}

// byteSet is a set of kinds.
type byteSet [2]uint64

func (s *byteSet) add(kinds string) {
	for _, k := range []byte(kinds) {
		s[k/64] |= 1 << (k % 64)
	}
}

func (s *byteSet) remove(kinds string) {
	for _, k := range []byte(kinds) {
		s[k/64] &^= 1 << (k % 64)
	}
}

func (s *byteSet) has(k byte) bool { return k < 128 && s[k/64]&(1<<(k%64)) != 0 }

// Bounds of an accepter, beyond which it is sure of nothing.
const (
	maxAcceptSchemas = 200_000    // of all states together
	maxAcceptWork    = 10_000_000 // steps that it takes to make it
)

func newAccepter(root *jsonschema.Schema) *accepter {
	return newAcceptBuilder().accepter(root)
}

func newAcceptBuilder() *acceptBuilder {
	return &acceptBuilder{numbers: map[*jsonschema.Schema]uint64{}, states: map[string]*acceptState{}, never: &jsonschema.Schema{Always: new(bool)}}
}

func (b *acceptBuilder) accepter(root *jsonschema.Schema) *accepter {
	a := &accepter{root: b.state(root)}
	for len(b.queue) > 0 && !b.exceeds() {
		next := b.queue[len(b.queue)-1]
		b.queue = b.queue[:len(b.queue)-1]
		b.fill(next.state, next.schemas)
	}
	if b.exceeds() {
		a.root = &acceptState{}
	}
	a.walks.New = func() any {
		w := &acceptWalk{}
		w.decoder = jsontext.NewDecoder(&w.input)
		return w
	}
	return a
}

// acceptBuilder makes the states that lead from one to another.
type acceptBuilder struct {
	numbers map[*jsonschema.Schema]uint64
	states  map[string]*acceptState
	never   *jsonschema.Schema // the schema false
	queue   []acceptFill
	size    int
	work    int
}

func (b *acceptBuilder) exceeds() bool { return b.size > maxAcceptSchemas || b.work > maxAcceptWork }

type acceptFill struct {
	state   *acceptState
	schemas []*jsonschema.Schema
}

// state finds or makes the state of some schemas and of those that they apply to the same value.
func (b *acceptBuilder) state(some ...*jsonschema.Schema) *acceptState {
	var all []*jsonschema.Schema
	for queue := some; len(queue) > 0; {
		s := queue[0]
		queue = queue[1:]
		if s == nil || slices.Contains(all, s) {
			continue
		}
		if b.numbers[s] == 0 {
			b.numbers[s] = uint64(len(b.numbers) + 1)
		}
		all = append(all, s)
		queue = append(append(slices.Clip(queue), s.Ref), s.AllOf...)
	}
	b.work += 1 + len(all)*len(all)/4
	slices.SortFunc(all, func(x, y *jsonschema.Schema) int { return cmp.Compare(b.numbers[x], b.numbers[y]) })
	var key []byte
	for _, s := range all {
		key = binary.AppendUvarint(key, b.numbers[s])
	}
	st := b.states[string(key)]
	if st == nil {
		st = &acceptState{maxProps: math.MaxInt, maxItems: math.MaxInt, maxLen: math.MaxInt, least: math.MinInt64, most: math.MaxInt64}
		b.states[string(key)] = st
		b.size += 1 + len(all)
		b.queue = append(b.queue, acceptFill{st, all})
	}
	return st
}

// fill takes what the schemas say. A kind of values that some schema judges by a rule which is not known here is one to be unsure of.
func (b *acceptBuilder) fill(st *acceptState, all []*jsonschema.Schema) {
	st.kinds.add(`ntf"0{[`)
	st.anything = len(all) == 0
	for _, s := range all {
		if s.Always != nil && !*s.Always || s.RecursiveRef != nil || s.DynamicRef != nil || s.Not != nil || len(s.OneOf) > 0 || s.If != nil || len(s.Extensions) > 0 {
			st.kinds = byteSet{}
			return
		}
		st.types(s)
		st.scalars(s)
		if len(s.AnyOf) > 0 {
			var group []*acceptState
			for _, alternative := range s.AnyOf {
				group = append(group, b.state(alternative))
			}
			st.any = append(st.any, group)
		}
		if s.PropertyNames != nil || s.RegexProperties || len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) > 0 || s.UnevaluatedProperties != nil {
			st.kinds.remove("{")
		}
		if s.UniqueItems || s.Contains != nil || s.UnevaluatedItems != nil {
			st.kinds.remove("[")
		}
		st.minProps, st.maxProps = max(st.minProps, s.MinProperties), atMost(st.maxProps, s.MaxProperties)
		st.minItems, st.maxItems = max(st.minItems, s.MinItems), atMost(st.maxItems, s.MaxItems)
	}
	if st.kinds.has('{') {
		b.members(st, all)
	}
	if st.kinds.has('[') {
		b.items(st, all)
	}
}

// atMost is the lesser of a bound and another, which is none if it is negative.
func atMost(bound, other int) int {
	if other < 0 {
		return bound
	}
	return min(bound, other)
}

func (st *acceptState) types(s *jsonschema.Schema) {
	if len(s.Types) == 0 {
		return
	}
	var kinds byteSet
	number := false
	for _, t := range s.Types {
		switch t {
		case "null":
			kinds.add("n")
		case "boolean":
			kinds.add("tf")
		case "string":
			kinds.add(`"`)
		case "object":
			kinds.add("{")
		case "array":
			kinds.add("[")
		case "number":
			kinds.add("0")
			number = true
		case "integer":
			kinds.add("0")
		}
	}
	st.integer = st.integer || kinds.has('0') && !number
	st.kinds[0] &= kinds[0]
	st.kinds[1] &= kinds[1]
}

// scalars takes what a schema says of strings, numbers and listed values.
func (st *acceptState) scalars(s *jsonschema.Schema) {
	if s.ContentEncoding != "" || s.ContentMediaType != "" {
		st.kinds.remove(`"`)
	}
	st.minLen, st.maxLen = max(st.minLen, s.MinLength), atMost(st.maxLen, s.MaxLength)
	st.text = st.text || s.MinLength > 0 || s.MaxLength >= 0
	switch {
	case s.Pattern == nil:
	case s.Pattern.String() == tokenPattern:
		st.token, st.text = true, true
	default:
		st.patterns, st.text = append(st.patterns, s.Pattern), true
	}
	if s.Format != "" {
		check := formats()[s.Format]
		if check == nil {
			check = jsonschema.Formats[s.Format]
		}
		if check != nil {
			st.formats, st.text = append(st.formats, check), true // all are about strings alone
		}
	}
	if s.Minimum != nil || s.ExclusiveMinimum != nil || s.Maximum != nil || s.ExclusiveMaximum != nil {
		st.bounds = append(st.bounds, s)
		if s.Minimum != nil {
			st.least = max(st.least, ceiling(s.Minimum, 0))
		}
		if s.ExclusiveMinimum != nil {
			st.least = max(st.least, -ceiling(new(big.Rat).Neg(s.ExclusiveMinimum), -1))
		}
		if s.Maximum != nil {
			st.most = min(st.most, -ceiling(new(big.Rat).Neg(s.Maximum), 0))
		}
		if s.ExclusiveMaximum != nil {
			st.most = min(st.most, ceiling(s.ExclusiveMaximum, -1))
		}
	}
	if s.MultipleOf != nil {
		st.kinds.remove("0")
	}
	for _, list := range [][]any{s.Enum, s.Constant} {
		if len(list) > 0 {
			st.values, st.text = append(st.values, newAcceptValues(list)), true
			st.kinds.remove("{[")
		}
	}
}

// ceiling is the least whole number that is not below a bound, and some more, kept to what int64 holds: numbers beyond are not compared by it.
func ceiling(bound *big.Rat, more int64) int64 {
	n := new(big.Int).Neg(bound.Num())
	n.Neg(n.Div(n, bound.Denom())) // Div rounds towards −∞
	n.Add(n, big.NewInt(more))
	if limit := big.NewInt(math.MaxInt64); n.CmpAbs(limit) > 0 {
		if n.Sign() < 0 {
			limit.Neg(limit)
		}
		n = limit
	}
	return n.Int64()
}

func newAcceptValues(list []any) acceptValues {
	v := acceptValues{texts: map[string]bool{}}
	for _, one := range list {
		switch one := one.(type) {
		case nil:
			v.others.add("n")
		case bool:
			if one {
				v.others.add("t")
			} else {
				v.others.add("f")
			}
		case string:
			v.texts[one] = true
		case json.Number:
			if n, ok := new(big.Rat).SetString(one.String()); ok {
				v.numbers = append(v.numbers, n)
			}
		}
	}
	return v
}

// members takes what the schemas say of an object's members.
func (b *acceptBuilder) members(st *acceptState, all []*jsonschema.Schema) {
	st.members = map[string]acceptMember{}
	bits, patterned := 0, false
	for _, s := range all {
		for name := range s.Properties {
			if _, known := st.members[name]; !known {
				st.members[name] = acceptMember{}
			}
		}
		for _, name := range s.Required {
			if st.members[name].bit != 0 {
				continue
			}
			if bits == 64 {
				st.kinds.remove("{")
				return
			}
			bit := uint64(1) << bits
			bits++
			st.members[name] = acceptMember{bit: bit}
			st.required |= bit
		}
		patterned = patterned || len(s.PatternProperties) > 0
	}
	for name, m := range st.members {
		if b.work += len(all); b.exceeds() {
			return // and nothing of all this is used
		}
		m.to = b.member(all, name)
		st.members[name] = m
	}
	if !patterned {
		var rest []*jsonschema.Schema
		for _, s := range all {
			rest = append(rest, b.additional(s))
		}
		st.rest = b.state(rest...)
	}
}

// member is the state of the member of a name.
func (b *acceptBuilder) member(all []*jsonschema.Schema, name string) *acceptState {
	var to []*jsonschema.Schema
	for _, s := range all {
		taken := false
		if c := s.Properties[name]; c != nil {
			to, taken = append(to, c), true
		}
		for re, c := range s.PatternProperties {
			if re.MatchString(name) {
				to, taken = append(to, c), true
			}
		}
		if !taken {
			to = append(to, b.additional(s))
		}
	}
	return b.state(to...)
}

// additional is what a schema says of members that neither its properties nor its patterns take; nil: nothing.
func (b *acceptBuilder) additional(s *jsonschema.Schema) *jsonschema.Schema {
	switch c := s.AdditionalProperties.(type) {
	case *jsonschema.Schema:
		return c
	case bool:
		if !c {
			return b.never
		}
	}
	return nil
}

// items takes what the schemas say of an array's items.
func (b *acceptBuilder) items(st *acceptState, all []*jsonschema.Schema) {
	most := 0
	for _, s := range all {
		if list, ok := s.Items.([]*jsonschema.Schema); ok {
			most = max(most, len(list))
			if more, ok := s.AdditionalItems.(bool); ok && !more {
				st.maxItems = min(st.maxItems, len(list))
			}
		}
		most = max(most, len(s.PrefixItems))
	}
	for i := range most + 1 {
		var to []*jsonschema.Schema
		for _, s := range all {
			switch items := s.Items.(type) {
			case *jsonschema.Schema:
				to = append(to, items)
			case []*jsonschema.Schema:
				if i < len(items) {
					to = append(to, items[i])
				} else if more, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
					to = append(to, more)
				}
			}
			if i < len(s.PrefixItems) {
				to = append(to, s.PrefixItems[i])
			} else {
				to = append(to, s.Items2020)
			}
		}
		if i < most {
			st.prefix = append(st.prefix, b.state(to...))
		} else {
			st.item = b.state(to...)
		}
	}
}

// acceptWalk is one pass over a value's text.
type acceptWalk struct {
	input   bytes.Buffer
	decoder *jsontext.Decoder
	steps   int // left: alternatives below alternatives would multiply
}

// stepBytes is how many bytes are read in the time of a step, about.
const stepBytes = 16

// read takes the steps of reading n bytes, and reports whether there were as many.
func (w *acceptWalk) read(n int) bool {
	w.steps -= n / stepBytes
	return w.steps >= 0
}

func (a *accepter) accepts(payload []byte) bool {
	return a.walk(payload, 1000+4*len(payload), func(w *acceptWalk) bool { return w.value(a, a.root) && w.decoder.PeekKind() == 0 })
}

// walk does something with a walk of its own, of which nothing is kept.
func (a *accepter) walk(text []byte, steps int, do func(*acceptWalk) bool) bool {
	w := a.walks.Get().(*acceptWalk)
	w.input, w.steps = *bytes.NewBuffer(text), steps
	w.decoder.Reset(&w.input)
	defer func() {
		w.input = bytes.Buffer{}
		w.decoder.Reset(&w.input)
		a.walks.Put(w)
	}()
	return do(w)
}

// value reads the next value, and reports whether the state surely accepts it. After false the walk is at an end.
func (w *acceptWalk) value(a *accepter, st *acceptState) bool {
	if w.steps--; w.steps < 0 {
		return false
	}
	if st.anything {
		from := w.decoder.InputOffset()
		return w.decoder.SkipValue() == nil && w.read(int(w.decoder.InputOffset()-from))
	}
	if !st.kinds.has(byte(w.decoder.PeekKind())) {
		return false
	}
	if len(st.any) == 0 {
		return w.plain(a, st)
	}
	text, err := w.decoder.ReadValue()
	if err != nil || !w.read(len(text)) || !a.walk(text, w.steps, func(inner *acceptWalk) bool { ok := inner.plain(a, st); w.steps = inner.steps; return ok }) {
		return false
	}
	for _, group := range st.any {
		if !slices.ContainsFunc(group, func(to *acceptState) bool {
			return w.read(len(text)) && a.walk(text, w.steps, func(inner *acceptWalk) bool { ok := inner.value(a, to); w.steps = inner.steps; return ok })
		}) {
			return false
		}
	}
	return true
}

// plain is value without the alternatives.
func (w *acceptWalk) plain(a *accepter, st *acceptState) bool {
	switch kind := w.decoder.PeekKind(); kind {
	case '{':
		return w.object(a, st)
	case '[':
		return w.array(a, st)
	case '"':
		text, err := w.decoder.ReadValue()
		return err == nil && w.read(len(text)) && (!st.text || st.acceptsText(text))
	case '0':
		text, err := w.decoder.ReadValue()
		return err == nil && st.acceptsNumber(text)
	default:
		_, err := w.decoder.ReadToken()
		return err == nil && !slices.ContainsFunc(st.values, func(v acceptValues) bool { return !v.others.has(byte(kind)) })
	}
}

func (w *acceptWalk) object(a *accepter, st *acceptState) bool {
	if _, err := w.decoder.ReadToken(); err != nil {
		return false
	}
	n, missing := 0, st.required
	for ; w.decoder.PeekKind() == '"'; n++ {
		text, err := w.decoder.ReadValue()
		if err != nil {
			return false
		}
		name, ok := unquoted(text)
		if !ok {
			return false
		}
		to := st.rest
		if m, ok := st.members[string(name)]; ok {
			to = m.to
			missing &^= m.bit
		}
		if to == nil || !w.value(a, to) {
			return false
		}
	}
	_, err := w.decoder.ReadToken()
	return err == nil && missing == 0 && n >= st.minProps && n <= st.maxProps
}

func (w *acceptWalk) array(a *accepter, st *acceptState) bool {
	if _, err := w.decoder.ReadToken(); err != nil {
		return false
	}
	n := 0
	for ; w.decoder.PeekKind() != ']'; n++ {
		to := st.item
		if n < len(st.prefix) {
			to = st.prefix[n]
		}
		if !w.value(a, to) {
			return false
		}
	}
	_, err := w.decoder.ReadToken()
	return err == nil && n >= st.minItems && n <= st.maxItems
}

// unquoted gives what a JSON string says.
func unquoted(text []byte) ([]byte, bool) {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1], true
	}
	text, err := jsontext.AppendUnquote(nil, text)
	return text, err == nil
}

func (st *acceptState) acceptsText(text []byte) bool {
	text, ok := unquoted(text)
	if !ok || st.token && !isTokenText(text) {
		return false
	}
	if st.minLen > 0 || st.maxLen < math.MaxInt {
		if n := utf8.RuneCount(text); n < st.minLen || n > st.maxLen {
			return false
		}
	}
	for _, re := range st.patterns {
		if !re.Match(text) {
			return false
		}
	}
	for _, v := range st.values {
		if !v.texts[string(text)] {
			return false
		}
	}
	for _, check := range st.formats {
		if !check(string(text)) {
			return false
		}
	}
	return true
}

const (
	maxAcceptDigits = 40 // of a number that is compared here
	maxPlainDigits  = 18 // of a whole number that int64 holds in any case
)

func (st *acceptState) acceptsNumber(text []byte) bool {
	whole := !bytes.ContainsAny(text, ".eE")
	if st.integer && !whole { // 1.0 is one too, and the validator knows
		return false
	}
	if len(st.bounds)+len(st.values) == 0 {
		return true
	}
	if whole && len(st.values) == 0 && len(text) <= maxPlainDigits {
		n, err := strconv.ParseInt(string(text), 10, 64)
		return err == nil && n >= st.least && n <= st.most
	}
	if len(text) > maxAcceptDigits || bytes.ContainsAny(text, "eE") {
		return false
	}
	n, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return false
	}
	for _, s := range st.bounds {
		if s.Minimum != nil && n.Cmp(s.Minimum) < 0 || s.ExclusiveMinimum != nil && n.Cmp(s.ExclusiveMinimum) <= 0 ||
			s.Maximum != nil && n.Cmp(s.Maximum) > 0 || s.ExclusiveMaximum != nil && n.Cmp(s.ExclusiveMaximum) >= 0 {
			return false
		}
	}
	for _, v := range st.values {
		if !slices.ContainsFunc(v.numbers, func(o *big.Rat) bool { return n.Cmp(o) == 0 }) {
			return false
		}
	}
	return true
}

// isTokenText is tokenPattern by hand: on a token of some hundred bytes the pattern takes more time than all else.
func isTokenText(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("fc1:"))
	if !ok {
		return false
	}
	digits := 8
	if len(rest) > 0 && rest[0] == 's' {
		rest, digits = rest[1:], 16
	}
	if len(rest) < digits+1+59 || rest[digits] != ':' {
		return false
	}
	for _, c := range rest[:digits] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	for _, c := range rest[digits+1:] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
