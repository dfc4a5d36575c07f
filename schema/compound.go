package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what one index costs a search, which asks for every version, and for every type of each part.
const (
	minCompoundFields = 2
	maxCompoundFields = 8
	maxPrevious       = 8
)

// compoundWords is x-blind-indexes as written.
type compoundWords struct{ list []*compoundWord }

// compoundWord is one compound index as written.
type compoundWord struct {
	name      string
	off       int    // of its name in the document
	pointer   string // where it stands in the document
	fields    []compoundField
	normalize [][]string
	bits      int
	previous  []IndexVersion
}

type compoundField struct {
	text   string // the JSON pointer
	tokens []string
	off    int
	at     string // where it stands in the document
}

// compoundWords reads x-blind-indexes; nil where something in it was refused.
func (r *wordReader) compoundWords(m member, p string) *compoundWords {
	if m.value.kind != '{' || len(m.value.members) == 0 {
		r.refuse(m.value.start, p, "word-type", "x-blind-indexes must be an object with at least one compound index", "leave the word out where there is none")
		return nil
	}
	ws := &compoundWords{}
	for _, im := range m.value.members {
		if w := r.compoundWord(im, child(p, im.name)); w != nil {
			ws.list = append(ws.list, w)
		}
	}
	return ws
}

func (r *wordReader) compoundWord(m member, p string) *compoundWord {
	if !indexName.MatchString(m.name) {
		r.refuse(m.nameOff, p, "index-name", "an index name must match [a-z][a-z0-9_]{0,40}", "such as name_birth")
		return nil
	}
	if m.value.kind != '{' {
		r.refuse(m.value.start, p, "word-type", "a compound index must be an object", `write {"fields": ["/name", "/birth_date"]}`)
		return nil
	}
	w := &compoundWord{name: m.name, off: m.nameOff, pointer: p, bits: DefaultIndexBits}
	fields := m.value.member("fields")
	if fields == nil {
		r.refuse(m.value.start, p, "word-type", "a compound index needs fields", `name two locations or more: {"fields": ["/name", "/birth_date"]}`)
		return nil
	}
	var ok bool
	if w.fields, ok = r.fields(fields, child(p, "fields")); !ok {
		return nil
	}
	w.normalize = make([][]string, len(w.fields))
	for _, im := range m.value.members {
		ip := child(p, im.name)
		fine := true
		switch im.name {
		case "fields":
		case "normalize":
			w.normalize, fine = r.partSteps(im.value, ip, len(w.fields))
		case "bits":
			w.bits, fine = r.bits(im, ip)
		case "previous":
			w.previous, fine = r.previous(im.value, ip, func(v *value, p string) (IndexVersion, bool) { return r.compoundVersion(v, p, len(w.fields)) })
		default:
			fine = false
			hint := "its members are fields, normalize, bits and previous"
			if im.name == "multi" {
				hint = "a compound index holds one value for an event; index an array by itself"
			}
			r.refuse(im.nameOff, ip, "word-unknown", fmt.Sprintf("a compound index has no member %q", im.name), hint)
		}
		ok = ok && fine
	}
	if !ok || !r.distinct(m.value, p, w.previous, IndexVersion{PartNormalize: w.normalize, Bits: w.bits}) {
		return nil
	}
	return w
}

// fields reads the pointers of a compound index.
func (r *wordReader) fields(v *value, p string) (fields []compoundField, ok bool) {
	if v.kind != '[' || !isText(v) || len(v.items) < minCompoundFields || len(v.items) > maxCompoundFields {
		r.refuse(v.start, p, "word-type", fmt.Sprintf("fields must be an array of %d to %d JSON pointers", minCompoundFields, maxCompoundFields), "for one location write x-blind-index there")
		return nil, false
	}
	ok = true
	for i, item := range v.items {
		f := compoundField{text: item.str, off: item.start, at: child(p, strconv.Itoa(i))}
		canonical := ""
		if tokens, valid := splitPointer(item.str); valid {
			f.tokens = tokens
			for _, t := range tokens {
				canonical = child(canonical, t)
			}
		}
		switch {
		case canonical != item.str || item.str == "":
			r.refuse(f.off, f.at, "index-field", "the field is no JSON pointer to a member", "write it as /customer/name, with ~1 for a slash and ~0 for a tilde in a name")
			ok = false
		case slices.ContainsFunc(fields, func(o compoundField) bool { return o.text == f.text }):
			r.refuse(f.off, f.at, "index-field", "the field is named twice", "name each location once")
			ok = false
		}
		fields = append(fields, f)
	}
	return fields, ok
}

// partSteps reads one list of steps for each field.
func (r *wordReader) partSteps(v *value, p string, count int) (parts [][]string, ok bool) {
	if v.kind != '[' || len(v.items) != count {
		r.refuse(v.start, p, "word-type", "normalize of a compound index must be an array with one array of steps for each field", `write [["trim"], []] for two fields`)
		return nil, false
	}
	ok = true
	for i, item := range v.items {
		steps, fine := r.steps(item, child(p, strconv.Itoa(i)))
		parts, ok = append(parts, steps), ok && fine
	}
	return parts, ok
}

func (r *wordReader) bits(m member, p string) (bits int, ok bool) {
	n, err := strconv.Atoi(r.d.text(m.value))
	if m.value.kind != '0' || err != nil || n < 8 || n > 256 {
		r.refuse(m.value.start, p, "word-type", "bits must be an integer from 8 to 256", "fewer bits leak less and match more (fieldcrypt index plan)")
		return 0, false
	}
	return n, true
}

// previous reads the earlier versions of an index.
func (r *wordReader) previous(v *value, p string, read func(*value, string) (IndexVersion, bool)) (versions []IndexVersion, ok bool) {
	if v.kind != '[' || len(v.items) == 0 || len(v.items) > maxPrevious {
		r.refuse(v.start, p, "word-type", fmt.Sprintf("previous must be an array of 1 to %d earlier versions", maxPrevious), `write [{"normalize": ["trim"], "bits": 128}], and remove the word once the rows are rebuilt`)
		return nil, false
	}
	ok = true
	for i, item := range v.items {
		version, fine := read(item, child(p, strconv.Itoa(i)))
		versions, ok = append(versions, version), ok && fine
	}
	return versions, ok
}

func (r *wordReader) simpleVersion(v *value, p string) (IndexVersion, bool) {
	return r.version(v, p, func(version *IndexVersion, steps *value, p string) (ok bool) {
		version.Normalize, ok = r.steps(steps, p)
		return ok
	})
}

func (r *wordReader) compoundVersion(v *value, p string, count int) (IndexVersion, bool) {
	version, ok := r.version(v, p, func(version *IndexVersion, steps *value, p string) (ok bool) {
		version.PartNormalize, ok = r.partSteps(steps, p, count)
		return ok
	})
	if version.PartNormalize == nil {
		version.PartNormalize = make([][]string, count)
	}
	return version, ok
}

func (r *wordReader) version(v *value, p string, normalize func(*IndexVersion, *value, string) bool) (IndexVersion, bool) {
	version := IndexVersion{Bits: DefaultIndexBits}
	if v.kind != '{' {
		r.refuse(v.start, p, "word-type", "an earlier version must be an object", `write {"normalize": ["trim"], "bits": 128}`)
		return version, false
	}
	ok := true
	for _, m := range v.members {
		mp := child(p, m.name)
		fine := true
		switch m.name {
		case "normalize":
			fine = normalize(&version, m.value, mp)
		case "bits":
			version.Bits, fine = r.bits(m, mp)
		default:
			fine = false
			r.refuse(m.nameOff, mp, "word-unknown", fmt.Sprintf("an earlier version has no member %q", m.name), "its members are normalize and bits")
		}
		ok = ok && fine
	}
	return version, ok
}

// distinct refuses an earlier version that is the current one, or another earlier one.
func (r *wordReader) distinct(v *value, p string, previous []IndexVersion, current IndexVersion) bool {
	for i, version := range previous {
		if version.equal(current) || slices.ContainsFunc(previous[:i], version.equal) {
			r.refuse(v.member("previous").items[i].start, child(child(p, "previous"), strconv.Itoa(i)), "index-previous",
				"the earlier version is the index's current one, or stands twice", "remove it")
			return false
		}
	}
	return true
}

// PartOf says that a location is a part of a compound index.
type PartOf struct {
	Index *Index
	// Part is its number in Index.Parts, from 0.
	Part int
}

// pathNode is a place on the way to fields of compound indexes. States on such a way are kept apart by it, since two locations of one
// subschema would be one state else.
type pathNode struct {
	seq      int
	children map[string]*pathNode
	parts    []PartOf
}

// child of a nil node is nil: a location that no field's pointer leads through.
func (n *pathNode) child(name string) *pathNode {
	if n == nil {
		return nil
	}
	return n.children[name]
}

// readCompounds makes the compound indexes of the event's schema, before states are made. What its fields are is settled after.
func (p *Plan) readCompounds() {
	words := p.event.doc.rootNode.words.compounds
	if words == nil {
		return
	}
	p.paths = &pathNode{}
	seq := 0
	for _, w := range words.list {
		ix := &Index{Name: w.name, Bits: w.bits, Previous: w.previous}
		for i, f := range w.fields {
			ix.Parts = append(ix.Parts, IndexPart{Pointer: f.text, Normalize: w.normalize[i]})
			at := p.paths
			for _, t := range f.tokens {
				if at.children == nil {
					at.children = map[string]*pathNode{}
				}
				if at.children[t] == nil {
					seq++
					at.children[t] = &pathNode{seq: seq}
				}
				at = at.children[t]
			}
			at.parts = append(at.parts, PartOf{ix, i})
		}
		p.compounds = append(p.compounds, ix)
	}
}

// settleCompounds checks the compound indexes against the states, of which the cyclic ones are a recursion's.
func (p *Plan) settleCompounds(cyclic []*State, out *findings) {
	recurring := map[*node]bool{}
	for _, s := range cyclic {
		for _, e := range s.elems {
			recurring[e.node] = true
		}
	}
	for i, ix := range p.compounds {
		w := p.event.doc.rootNode.words.compounds.list[i]
		fine := true
		for j := range ix.Parts {
			fine = p.settlePart(ix, j, w.fields[j], recurring, out) && fine
		}
		if p.byName[ix.Name] != nil {
			out.add(p.event.doc.finding(w.off, w.pointer, "index-conflict", fmt.Sprintf("a simple index has the name %q too", ix.Name), "give one of them another name"))
			fine = false
		}
		if fine {
			p.byName[ix.Name] = ix
		}
	}
}

// settlePart refuses a field that is not one flagged string or integer of each event at most.
func (p *Plan) settlePart(ix *Index, part int, f compoundField, recurring map[*node]bool, out *findings) bool {
	refuse := func(rule, message, hint string) bool {
		out.add(p.event.doc.finding(f.off, f.at, rule, fmt.Sprintf("compound index %q: %s", ix.Name, message), hint))
		return false
	}
	s := p.root
	var types typeSet
	for i, name := range f.tokens {
		if slices.ContainsFunc(s.elems, func(e elem) bool { return e.node.properties[name] != nil && recurring[e.node] }) {
			return refuse("index-field", "the field lies below a recursion", "index it by itself, with \"multi\": true")
		}
		next, exact := s.Member([]byte(name))
		if next == nil || !exact {
			return refuse("index-field", fmt.Sprintf("the schema has no property at %s", pointerOf(f.tokens[:i+1])),
				"name members that properties spells; what lies below items, a pattern or an open map cannot be a part")
		}
		types = p.memberTypes(s, name)
		s = next
	}
	switch {
	case s.conflict != nil:
		return false // refused already
	case !s.flaggedHere():
		return refuse("index-unflagged", "the field is not flagged", "add \"x-gdpr-sensitive\": true there")
	case types&^typeNull == 0 || types&^(typeNull|typeString|typeInteger) != 0:
		return refuse("index-type", "the schema of the field must say type string or integer", "add the type there")
	case ix.Keyring != "" && ix.Keyring != s.keyring:
		return refuse("keyring-conflict", fmt.Sprintf("its fields are sealed under keyrings %q and %q", ix.Keyring, s.keyring), "a compound index takes fields of one keyring")
	}
	ix.Keyring = s.keyring
	ix.Parts[part].String, ix.Parts[part].Integer = types&typeString != 0, types&typeInteger != 0
	return true
}

// memberTypes says which types a member's schemas name. One that names none restricts the others, or applies in their place: then a value
// of another type is refused when an event has it.
func (p *Plan) memberTypes(s *State, name string) typeSet {
	var types typeSet
	for _, e := range s.elems {
		sub := e.node.properties[name]
		if sub == nil || !e.declares {
			continue
		}
		if t := p.types(sub, map[*node]typeSet{}); t != typeAny {
			types |= t
		}
	}
	return types
}

func pointerOf(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(child("", t))
	}
	return b.String()
}

// Parts says which parts of compound indexes this location is. It may have an index of its own beside them. Not for changing.
func (s *State) Parts() []PartOf {
	if s.path == nil {
		return nil
	}
	return s.path.parts
}
