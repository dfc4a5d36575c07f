package schema

import (
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
)

// node is one schema object (or boolean schema) of a document, with what the Plan needs of it. Nodes are built once for each document
// and shared by all plans; overlays belong to a plan.
type node struct {
	d       *document
	pointer string
	raw     *value
	seq     int    // position in the registry's order, which makes states comparable
	base    string // URL of the resource that the node stands in
	words   words
	speaks  bool // words holds one

	place      bool   // a schema position of the draft, not one that a reference made
	ref        *value // $ref
	dynamicRef *value // $dynamicRef or $recursiveRef
	recursive  bool   // dynamicRef is a $recursiveRef

	allOf, anyOf, oneOf []*node
	ifs, then, els      *node
	dependent           []*node // dependentSchemas, and the schemas of dependencies
	not                 *node
	properties          map[string]*node
	names               []string // of properties, sorted
	patterns            []patternNode
	additional          *node
	unevaluated         *node
	propertyNames       *node
	prefix              []*node // prefixItems, or items as an array
	items               *node   // items as one schema, or additionalItems beside an array
	tuple               bool    // items is additionalItems
	unevaluatedItems    *node
	contains            *node
	content             *node
}

type patternNode struct {
	re   *regexp.Regexp
	node *node
	size int // of its program, in instructions
}

// never reports the schema false.
func (n *node) never() bool { return n.raw.kind == 'f' }

// location is the validator's absolute location of the node: the document's URL and the pointer from its root.
func (n *node) location() string { return n.d.id + "#" + n.pointer }

// finding places a finding at the node.
func (n *node) finding(rule, message, hint string) Finding {
	return n.d.finding(n.raw.start, n.pointer, rule, message, hint)
}

// edge is a step from a schema to one of its subschemas.
type edge struct {
	keyword string
	to      *node
}

// edges lists the subschemas by keyword, $ref and $dynamicRef excepted, in a stable order.
func (n *node) edges() []edge {
	var es []edge
	one := func(k string, to *node) {
		if to != nil {
			es = append(es, edge{k, to})
		}
	}
	many := func(k string, tos []*node) {
		for _, to := range tos {
			one(k, to)
		}
	}
	many("allOf", n.allOf)
	many("anyOf", n.anyOf)
	many("oneOf", n.oneOf)
	one("if", n.ifs)
	one("then", n.then)
	one("else", n.els)
	many("dependentSchemas", n.dependent)
	one("not", n.not)
	for _, name := range n.names {
		one("properties", n.properties[name])
	}
	for _, p := range n.patterns {
		one("patternProperties", p.node)
	}
	one("additionalProperties", n.additional)
	one("unevaluatedProperties", n.unevaluated)
	one("propertyNames", n.propertyNames)
	many("prefixItems", n.prefix)
	if n.tuple {
		one("additionalItems", n.items)
	} else {
		one("items", n.items)
	}
	one("unevaluatedItems", n.unevaluatedItems)
	one("contains", n.contains)
	one("contentSchema", n.content)
	return es
}

// builder makes the nodes of a document and refuses what the vocabulary does not allow.
type builder struct {
	d     *document
	out   *findings
	seq   *int
	spell speller
	late  bool // builds below a reference to a place that is none
}

// build makes the nodes of every place where the document's draft puts a schema.
func (b *builder) build() {
	d := b.d
	d.nodes, d.resources, d.anchors, d.dynamic = map[string]*node{}, map[string]*node{}, map[anchorKey]*node{}, map[string][]*node{}
	d.draft = defaultDraft()
	d.id = d.url
	if m := d.root.member("$schema"); m != nil {
		d.draft = nil
		if m.kind == '"' {
			d.draft = draftFor(m.str)
		}
		if d.draft == nil {
			b.out.add(d.finding(m.start, "/$schema", "metaschema-unknown", "$schema names none of the five drafts", "use draft-04, draft-06, draft-07, 2019-09 or 2020-12"))
			d.draft = defaultDraft()
		}
	}
	d.rootNode = b.node(d.root, "", d.url, false)
}

// node makes the node of a schema and of all schemas below it.
func (b *builder) node(v *value, pointer, base string, belowNot bool) *node {
	d := b.d
	if old := d.nodes[pointer]; b.late && old != nil {
		return old
	}
	*b.seq++
	n := &node{d: d, pointer: pointer, raw: v, seq: *b.seq, base: base, place: !b.late}
	d.nodes[pointer] = n
	if v.kind != '{' {
		return n
	}
	b.identify(n)
	reader := wordReader{d: d, pointer: pointer, root: pointer == "", spell: b.spell, out: b.out}
	n.words = reader.read(v)
	n.speaks = n.words != (words{})
	if belowNot && (n.words.sensitive || n.words.index != nil) {
		b.out.add(d.finding(max(n.words.sensitiveOff, n.words.indexOff), pointer, "flag-below-not", "a flag below not says nothing about any value", "move the flag to a schema that applies"))
	}
	b.references(n)
	hidden := n.ref != nil && d.draft.refHidesSiblings()
	for _, m := range v.members {
		at := child(pointer, m.name)
		if !b.isSchemaPlace(n, m, hidden) {
			if !hidden {
				b.countable(m, at)
			}
			b.data(m, at)
			continue
		}
		b.subschemas(n, m, at, belowNot || m.name == "not")
	}
	sort.Strings(n.names)
	return n
}

// identify notes the node's $id and anchors.
func (b *builder) identify(n *node) {
	d, v := b.d, n.raw
	if n.pointer != "" {
		if m := v.member("$schema"); m != nil && (m.kind != '"' || draftFor(m.str) == nil || draftFor(m.str).number != d.draft.number) {
			b.out.add(d.finding(m.start, child(n.pointer, "$schema"), "metaschema-mixed", "a schema inside a document names another draft", "put it in a file of its own and refer to it"))
		}
	}
	b.refuseLateNames(n)
	if id := v.member(d.draft.id); id != nil && id.kind == '"' && !(d.draft.refHidesSiblings() && v.member("$ref") != nil) {
		u, fragment := splitURL(id.str)
		if u != "" {
			abs, err := resolveURL(n.base, u)
			if err != nil {
				b.out.add(d.finding(id.start, child(n.pointer, d.draft.id), "id-invalid", "the id is not a URL", "write a URL, or a path that is relative to the file"))
			} else {
				n.base, _ = splitURL(abs)
				if n.pointer == "" {
					d.id = n.base
				}
			}
		}
		if fragment != "" && d.draft.number <= 7 {
			b.anchor(n, fragment, id)
		}
	}
	if n.pointer == "" || n.base != "" && d.resources[n.base] == nil {
		d.resources[n.base] = n
	}
	if d.draft.number >= 2019 {
		if a := v.member("$anchor"); a != nil && a.kind == '"' {
			b.anchor(n, a.str, a)
		}
	}
	if d.draft.number >= 2020 {
		if a := v.member("$dynamicAnchor"); a != nil && a.kind == '"' {
			b.anchor(n, a.str, a)
			d.dynamic[a.str] = append(d.dynamic[a.str], n)
		}
	}
	if a := v.member("$recursiveAnchor"); a != nil && a.kind == 't' { // in any draft: jsonschema/v5 takes it where a 2019-09 schema refers
		d.dynamic[""] = append(d.dynamic[""], n)
	}
}

// refuseLateNames refuses ids and anchors in a place that only a reference makes a schema: whether they are known would depend on which
// reference was followed first, here and in the validator, which takes them in random order.
func (b *builder) refuseLateNames(n *node) {
	if !b.late {
		return
	}
	hidden := b.d.draft.refHidesSiblings() && n.raw.member("$ref") != nil
	for _, name := range []string{b.d.draft.id, "$anchor", "$dynamicAnchor", "$recursiveAnchor"} {
		m := n.raw.member(name)
		if m == nil || m.kind != '"' && m.kind != 't' || name == b.d.draft.id && hidden || name != b.d.draft.id && b.d.draft.number < 2019 {
			continue
		}
		b.out.add(b.d.finding(m.start, child(n.pointer, name), "id-misplaced", fmt.Sprintf("%s stands where %s puts no schema", name, b.d.draft.name), "move the schema to definitions or $defs, or leave the name out and refer to it by its JSON pointer"))
	}
}

// anchor notes a name; two places of one name would make a reference mean both.
func (b *builder) anchor(n *node, name string, at *value) {
	key := anchorKey{n.base, name}
	if other := b.d.anchors[key]; other != nil && other != n {
		b.out.add(b.d.finding(at.start, n.pointer, "id-duplicate", "an anchor stands twice in one resource", "anchors are unique"))
		return
	}
	b.d.anchors[key] = n
}

func (b *builder) references(n *node) {
	if m := n.raw.member("$ref"); m != nil && m.kind == '"' {
		n.ref = m
	}
	switch b.d.draft.number {
	case 2019:
		if m := n.raw.member("$recursiveRef"); m != nil && m.kind == '"' {
			n.dynamicRef, n.recursive = m, true
		}
	case 2020:
		if m := n.raw.member("$dynamicRef"); m != nil && m.kind == '"' {
			n.dynamicRef = m
		}
	}
}

// isSchemaPlace reports whether the draft, at this object, reads the member's value as schemas.
func (b *builder) isSchemaPlace(n *node, m member, hidden bool) bool {
	if _, ok := b.d.draft.subschemas[m.name]; !ok {
		return false
	}
	if m.name == "definitions" || m.name == "$defs" {
		return true
	}
	if hidden {
		return false
	}
	switch m.name {
	case "then", "else":
		return n.raw.member("if") != nil
	case "additionalItems":
		items := n.raw.member("items")
		return items != nil && items.kind == '['
	}
	return true
}

func isSchemaKind(v *value) bool { return v.kind == '{' || v.kind == 't' || v.kind == 'f' }

// subschemas makes the nodes below one keyword. A value of the wrong shape is left to the metaschema, which refuses it.
func (b *builder) subschemas(n *node, m member, at string, belowNot bool) {
	places := b.d.draft.subschemas[m.name]
	switch {
	case places&placeSelf != 0 && isSchemaKind(m.value):
		b.attach(n, m.name, "", b.node(m.value, at, n.base, belowNot))
	case places&placeList != 0 && m.value.kind == '[':
		for i, item := range m.value.items {
			if isSchemaKind(item) {
				b.attach(n, m.name, strconv.Itoa(i), b.node(item, at+"/"+strconv.Itoa(i), n.base, belowNot))
			}
		}
	case places&placeMap != 0 && m.value.kind == '{':
		for _, e := range m.value.members {
			b.refuseFlagAsName(e, child(at, e.name))
			if isSchemaKind(e.value) {
				b.attach(n, m.name, e.name, b.node(e.value, child(at, e.name), n.base, belowNot))
			}
		}
	}
}

// refuseFlagAsName refuses a flag that was written one level too high, where it declares a member of that name.
func (b *builder) refuseFlagAsName(m member, at string) {
	if m.value.kind != 't' && m.value.kind != 'f' {
		return
	}
	if distance(m.name, wordSensitive) <= 2 || distance("x"+m.name, wordSensitive) <= 2 || distance(m.name, wordIndex) <= 2 {
		b.out.add(b.d.finding(m.nameOff, at, "word-misplaced", fmt.Sprintf("%q stands where the names of members do", m.name), "move it into the member's schema"))
	}
}

func (b *builder) attach(n *node, keyword, name string, sub *node) {
	switch keyword {
	case "allOf":
		n.allOf = append(n.allOf, sub)
	case "anyOf":
		n.anyOf = append(n.anyOf, sub)
	case "oneOf":
		n.oneOf = append(n.oneOf, sub)
	case "if":
		n.ifs = sub
	case "then":
		n.then = sub
	case "else":
		n.els = sub
	case "not":
		n.not = sub
	case "dependentSchemas", "dependencies":
		n.dependent = append(n.dependent, sub)
	case "properties":
		if n.properties == nil {
			n.properties = map[string]*node{}
		}
		n.properties[name] = sub
		n.names = append(n.names, name)
	case "patternProperties":
		re, err := regexp.Compile(name) // the validator's own engine, and its search semantics
		if err != nil {
			b.out.add(sub.finding("pattern-unsupported", "the pattern of this member cannot be compiled", "patterns are RE2: no lookaround, no backreference"))
			return
		}
		n.patterns = append(n.patterns, patternNode{re, sub, programSize(name)})
	case "additionalProperties":
		n.additional = sub
	case "unevaluatedProperties":
		n.unevaluated = sub
	case "propertyNames":
		n.propertyNames = sub
	case "prefixItems":
		n.prefix = append(n.prefix, sub)
	case "items":
		if name == "" {
			n.items = sub
		} else {
			n.prefix = append(n.prefix, sub)
		}
	case "additionalItems":
		n.items, n.tuple = sub, true
	case "unevaluatedItems":
		n.unevaluatedItems = sub
	case "contains":
		n.contains = sub
	case "contentSchema":
		n.content = sub
	}
}

// mostCounted is the largest count that the validator takes as it is written: it reads a float64, and makes it an int.
const mostCounted = min(1<<53-1, math.MaxInt)

// countable refuses a length or a number of items or members that the validator does not take as it is written: beyond the integers of the machine it
// would let everything pass, or nothing. That it is an integer, the metaschema says.
func (b *builder) countable(m member, at string) {
	switch m.name {
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
	default:
		return
	}
	if m.value.kind != '0' || !b.d.draft.asserts(m.name) {
		return
	}
	if count, err := strconv.ParseFloat(b.d.text(m.value), 64); err != nil || count > float64(mostCounted) {
		b.out.add(b.d.finding(m.value.start, at, "count-too-large", fmt.Sprintf("%s is more than %d, further than the validator counts", m.name, int64(mostCounted)), "leave it out, or write what a payload can have"))
	}
}

// data looks for words of the vocabulary where the draft puts no schema: they would be lost without a word.
func (b *builder) data(m member, at string) {
	if isWord(m.name) {
		return // read already, and what an overlay or an index holds is checked there
	}
	b.scan(m.value, at)
}

func (b *builder) scan(v *value, at string) {
	switch v.kind {
	case '{':
		for _, m := range v.members {
			p := child(at, m.name)
			if isWord(m.name) {
				b.out.add(b.d.finding(m.nameOff, p, "flag-misplaced", fmt.Sprintf("%s stands where %s puts no schema", m.name, b.d.draft.name), "move it to a schema that the validator reads"))
			}
			b.scan(m.value, p)
		}
	case '[':
		for i, item := range v.items {
			b.scan(item, at+"/"+strconv.Itoa(i))
		}
	}
}
