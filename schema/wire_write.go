package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// wireNode is one schema of a derived wire schema. Nodes form a graph: one that several places use, or that contains itself, is written as a
// definition.
type wireNode struct {
	boolean byte // 't' or 'f': the schema true or false; 0: an object
	members []wireMember
	name    string // what its definition would be called
	define  bool   // always written as a definition

	norm       *wireNode
	uses       int
	definition string
}

// wireMember is one keyword: raw JSON, one schema, a list of them or an object of them.
type wireMember struct {
	key   string
	raw   string
	one   *wireNode
	list  []*wireNode
	named []wireNamed
}

type wireNamed struct {
	name string
	node *wireNode
}

// maxWireDepth is how deep schemas are written into each other; beyond, they become definitions, so that readers with bounds can read them.
const maxWireDepth = 100

func anything() *wireNode { return &wireNode{boolean: 't'} }
func nothing() *wireNode  { return &wireNode{boolean: 'f'} }

// plain looks through schemas that only pass on (an allOf of one, without the schemas that say nothing), and finds those that accept nothing:
// written as they came, {"not": true} and the like make ajv (8.17) throw.
func (n *wireNode) plain() *wireNode {
	if n.norm == nil {
		n.norm = n // what a circle would find; there is none
		n.norm = n.simplified()
	}
	return n.norm
}

func (n *wireNode) simplified() *wireNode {
	if n.boolean != 0 || n.define {
		return n
	}
	for i := range n.members {
		if n.members[i].refuses() {
			return nothing()
		}
	}
	if len(n.members) == 0 {
		return anything()
	}
	if len(n.members) > 1 || n.members[0].key != "allOf" {
		return n
	}
	switch some := n.members[0].conjuncts(); len(some) {
	case 0:
		return anything()
	case 1:
		return some[0]
	}
	return n
}

// refuses reports a keyword that accepts no value.
func (m *wireMember) refuses() bool {
	never := func(c *wireNode) bool { return c.plain().boolean == 'f' }
	switch m.key {
	case "allOf":
		return slices.ContainsFunc(m.list, never)
	case "anyOf", "oneOf":
		return !slices.ContainsFunc(m.list, func(c *wireNode) bool { return !never(c) })
	case "not":
		return m.one.plain().boolean == 't'
	}
	return false
}

// conjuncts are the members of an allOf that say something.
func (m *wireMember) conjuncts() []*wireNode {
	var some []*wireNode
	for _, c := range m.list {
		if c = c.plain(); c.boolean != 't' && !(c.boolean == 0 && len(c.members) == 0) {
			some = append(some, c)
		}
	}
	return some
}

// normal gives the members as they are written.
func (n *wireNode) normal() []wireMember {
	ms := make([]wireMember, 0, len(n.members))
	for _, m := range n.members {
		if m.key == "allOf" {
			if m.list = m.conjuncts(); len(m.list) == 0 {
				continue
			}
		}
		ms = append(ms, m)
	}
	return ms
}

func (m *wireMember) children(visit func(*wireNode)) {
	if m.one != nil {
		visit(m.one)
	}
	for _, c := range m.list {
		visit(c)
	}
	for _, c := range m.named {
		visit(c.node)
	}
}

// inherited reports a name that every object of JavaScript has, from its prototype. ajv (8.17) reads the members of an event without asking
// whose they are: it judges one of these names by the prototype's where the event has none, and does not see __proto__ where it has.
func inherited(name string) bool {
	switch name {
	case "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
		"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__":
		return true
	}
	return false
}

// asPatterns writes properties with inherited names as patterns, for which ajv asks the event alone. It says the same.
func (n *wireNode) asPatterns() {
	props := slices.IndexFunc(n.members, func(m wireMember) bool { return m.key == "properties" })
	if props < 0 || !slices.ContainsFunc(n.members[props].named, func(p wireNamed) bool { return inherited(p.name) }) {
		return
	}
	patterns := slices.IndexFunc(n.members, func(m wireMember) bool { return m.key == "patternProperties" })
	if patterns < 0 {
		patterns = len(n.members)
		n.members = append(n.members, wireMember{key: "patternProperties"})
	}
	to := &n.members[patterns]
	own := n.members[props].named
	n.members[props].named = nil
	for _, p := range own {
		if !inherited(p.name) {
			n.members[props].named = append(n.members[props].named, p)
			continue
		}
		p.name = "^" + p.name + "$"
		if i := slices.IndexFunc(to.named, func(o wireNamed) bool { return o.name == p.name }); i >= 0 {
			both := wireMember{key: "allOf", list: []*wireNode{to.named[i].node, p.node}}
			to.named[i].node = &wireNode{members: []wireMember{both}}
			continue
		}
		to.named = append(to.named, p)
	}
}

// apart gives patternProperties, with the keywords that look at it, a schema of its own beside other applicators. It says the same; ajv (8.17)
// throws on some payloads where a sibling anyOf or allOf has noted evaluated properties before it.
func (n *wireNode) apart() {
	n.asPatterns()
	has := func(keys ...string) bool {
		return slices.ContainsFunc(n.members, func(m wireMember) bool { return slices.Contains(keys, m.key) })
	}
	if !has("patternProperties") || !has("allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas") {
		return
	}
	names := &wireNode{name: n.name}
	all := wireMember{key: "allOf", list: []*wireNode{names}}
	var rest []wireMember
	for _, m := range n.members {
		switch m.key {
		case "properties", "patternProperties", "additionalProperties":
			names.members = append(names.members, m)
		case "allOf":
			all.list = append(all.list, m.list...)
		default:
			rest = append(rest, m)
		}
	}
	n.members = append(rest, all)
}

// small reports a schema that is as short as a reference to it.
func (n *wireNode) small() bool {
	if n.boolean != 0 || len(n.members) == 0 {
		return true
	}
	return !n.define && len(n.members) == 1 && n.members[0].raw != "" && len(n.members[0].raw) <= 24
}

// wireWriter writes the graph below a node.
type wireWriter struct {
	b     bytes.Buffer
	defs  []*wireNode
	taken map[string]int
	full  bool
	late  bool // it has keywords that mean something else in 2019-09, or nothing
}

// writeWire writes the whole schema, its definitions last. full is set where it would be too large.
func writeWire(top *wireNode) *wireWriter {
	w := &wireWriter{taken: map[string]int{}}
	w.count(top)
	w.b.WriteString("{")
	w.memberList(top.normal(), 1)
	// A definition may use others, which are found as it is written.
	w.b.WriteString(",\n  \"$defs\": {")
	for i := 0; i < len(w.defs) && !w.full; i++ {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.b.WriteString("\n    " + quoteJSON(w.defs[i].definition) + ": ")
		w.object(w.defs[i], 2)
	}
	if len(w.defs) > 0 {
		w.b.WriteString("\n  ")
	}
	w.b.WriteString("}\n}\n")
	return w
}

// count counts how often each schema is used. One that contains itself counts twice.
func (w *wireWriter) count(n *wireNode) {
	n = n.plain()
	n.uses++
	if n.uses > 1 {
		return
	}
	for _, m := range n.normal() {
		m.children(w.count)
	}
}

func (w *wireWriter) schema(n *wireNode, depth int) {
	n = n.plain()
	switch {
	case n.boolean == 't' || n.boolean == 0 && len(n.members) == 0:
		w.b.WriteString("true")
	case n.boolean == 'f':
		w.b.WriteString("false")
	case n.define || (n.uses > 1 || depth > maxWireDepth) && !n.small():
		w.b.WriteString(`{"$ref": ` + quoteJSON("#/$defs/"+w.define(n)) + "}")
	default:
		w.object(n, depth)
	}
}

// define gives a schema its name in $defs.
func (w *wireWriter) define(n *wireNode) string {
	if n.definition != "" {
		return n.definition
	}
	name := definitionName(n.name)
	w.taken[name]++
	for k := w.taken[name]; k > 1; k++ {
		if next := fmt.Sprintf("%s-%d", name, k); w.taken[next] == 0 {
			w.taken[name] = k
			w.taken[next]++
			name = next
			break
		}
	}
	n.definition = name
	w.defs = append(w.defs, n)
	return name
}

// definitionName keeps what needs no escape in a reference.
func definitionName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
			return r
		}
		return -1
	}, s)
	if s == "" {
		return "schema"
	}
	return s[:min(len(s), 60)]
}

func (w *wireWriter) object(n *wireNode, depth int) {
	ms := n.normal()
	if len(ms) == 1 && ms[0].raw != "" {
		w.b.WriteString("{" + quoteJSON(ms[0].key) + ": " + ms[0].raw + "}")
		return
	}
	w.b.WriteByte('{')
	w.memberList(ms, depth+1)
	w.line(depth)
	w.b.WriteByte('}')
}

func (w *wireWriter) memberList(ms []wireMember, depth int) {
	for i, m := range ms {
		if w.b.Len() > maxWireBytes {
			w.full = true
		}
		if w.full {
			return
		}
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.line(depth)
		w.b.WriteString(quoteJSON(m.key) + ": ")
		w.late = w.late || m.key == "prefixItems" || m.key == "unevaluatedItems"
		switch {
		case m.raw != "":
			w.b.WriteString(m.raw)
		case m.one != nil:
			w.schema(m.one, depth)
		case m.list != nil:
			w.b.WriteByte('[')
			for j, c := range m.list {
				if j > 0 {
					w.b.WriteByte(',')
				}
				w.line(depth + 1)
				w.schema(c, depth+1)
			}
			w.line(depth)
			w.b.WriteByte(']')
		default:
			w.b.WriteByte('{')
			for j, c := range m.named {
				if j > 0 {
					w.b.WriteByte(',')
				}
				w.line(depth + 1)
				w.b.WriteString(quoteJSON(c.name) + ": ")
				w.schema(c.node, depth+1)
			}
			if len(m.named) > 0 {
				w.line(depth)
			}
			w.b.WriteByte('}')
		}
	}
}

func (w *wireWriter) line(depth int) {
	w.b.WriteByte('\n')
	for range depth {
		w.b.WriteString("  ")
	}
}

// quoteJSON writes a string as JSON, without the escapes that HTML needs.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// compactJSON gives the text of a schema's value without its white space.
func compactJSON(d *document, v *value) string {
	var b bytes.Buffer
	if err := json.Compact(&b, d.src[v.start:v.end]); err != nil {
		return "null" // the document was parsed
	}
	return b.String()
}
