package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Index is one blind index as the schemas declare it: data, which package blindindex computes with.
type Index struct {
	// Name is the index's name, [a-z][a-z0-9_]{0,40}; the outbox column is bidx_NAME.
	Name string
	// Normalize holds the normaliser steps in order; empty means raw.
	Normalize []string
	// Bits is the index's length, 8 to 256.
	Bits int
	// Multi says that an event may hold several values: an array column.
	Multi bool
	// String and Integer say which JSON types the indexed values may have; null is always allowed.
	String, Integer bool
	// Keyring names the keyring whose primary index key is used.
	Keyring string
	// Previous are earlier normalisers and lengths of the index: rows may still hold their values, so that searches ask for them too.
	Previous []IndexVersion
	// Parts are those of a compound index, in order; none for a simple one. A compound has neither Normalize nor Multi, and its types are
	// its parts'.
	Parts []IndexPart
}

// IndexVersion is how an index was computed before.
type IndexVersion struct {
	// Normalize holds the normaliser steps of a simple index; empty means raw.
	Normalize []string
	// PartNormalize holds those of each part of a compound index.
	PartNormalize [][]string
	// Bits is the length, 8 to 256.
	Bits int
}

// IndexPart is one part of a compound index.
type IndexPart struct {
	// Pointer is the RFC 6901 pointer of the part's location. Other event types may have it elsewhere.
	Pointer string
	// Normalize holds the normaliser steps in order; empty means raw.
	Normalize []string
	// String and Integer say which JSON types the value may have; null is always allowed, and an event with it has no such index.
	String, Integer bool
}

// equal reports that both mean the same hashes: pointers may differ.
func (ix *Index) equal(o *Index) bool {
	return ix.Name == o.Name && slices.Equal(ix.Normalize, o.Normalize) && ix.Bits == o.Bits && ix.Multi == o.Multi && ix.String == o.String &&
		ix.Integer == o.Integer && ix.Keyring == o.Keyring && slices.EqualFunc(ix.Previous, o.Previous, IndexVersion.equal) &&
		slices.EqualFunc(ix.Parts, o.Parts, func(a, b IndexPart) bool {
			return slices.Equal(a.Normalize, b.Normalize) && a.String == b.String && a.Integer == b.Integer
		})
}

func (v IndexVersion) equal(o IndexVersion) bool {
	return v.Bits == o.Bits && slices.Equal(v.Normalize, o.Normalize) && slices.EqualFunc(v.PartNormalize, o.PartNormalize, slices.Equal)
}

// index reads the index word of a schema at a location whose last property name is lastName. A rule that is not empty says why not.
func (p *Plan) index(n *node, w words, lastName string) (ix *Index, rule, message string) {
	name := w.index.name
	if name == "" {
		name = snakeCase(lastName)
		if !indexName.MatchString(name) {
			return nil, "index-name", "the index cannot take its name from the location: give it a name"
		}
	}
	types := p.types(n, map[*node]typeSet{})
	scalars := types &^ (typeNull | typeArray)
	if types&typeArray != 0 {
		scalars |= p.itemTypes(n) &^ typeNull
	}
	if scalars == 0 || scalars&^(typeString|typeInteger) != 0 {
		return nil, "index-type", fmt.Sprintf("blind index %q: the schema must say type string, integer or an array of these", name)
	}
	if types&typeArray != 0 && !w.index.multi {
		return nil, "index-multi", fmt.Sprintf("blind index %q on an array needs \"multi\": true", name)
	}
	return &Index{Name: name, Normalize: w.index.normalize, Bits: w.index.bits, Multi: w.index.multi, Previous: w.index.previous, String: scalars&typeString != 0,
		Integer: scalars&typeInteger != 0}, "", ""
}

// typeSet is a set of JSON types.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeFraction // a number that is no integer
	typeString
	typeArray
	typeObject
	typeAny typeSet = 1<<iota - 1
)

func typeNamed(name string) typeSet {
	switch name {
	case "null":
		return typeNull
	case "boolean":
		return typeBoolean
	case "integer":
		return typeInteger
	case "number":
		return typeInteger | typeFraction
	case "string":
		return typeString
	case "array":
		return typeArray
	case "object":
		return typeObject
	}
	return 0
}

func typeOf(v *value) typeSet {
	switch v.kind {
	case 'n':
		return typeNull
	case 't', 'f':
		return typeBoolean
	case '0':
		return typeInteger | typeFraction
	case '"':
		return typeString
	case '[':
		return typeArray
	}
	return typeObject
}

// types says which types a schema allows, by itself and what it refers to; more than it does where that is hard to tell.
func (p *Plan) types(n *node, known map[*node]typeSet) typeSet {
	if n.never() {
		return 0
	}
	if n.raw.kind != '{' {
		return typeAny
	}
	if set, ok := known[n]; ok {
		return set
	}
	known[n] = typeAny // what a recursion finds
	set := p.typesAnew(n, known)
	known[n] = set
	return set
}

func (p *Plan) typesAnew(n *node, known map[*node]typeSet) typeSet {
	set := typeAny
	for _, t := range append(slices.Clone(p.refs[n]), n.allOf...) {
		set &= p.types(t, known)
	}
	if n.ref != nil && n.d.draft.refHidesSiblings() {
		return set
	}
	for _, list := range [][]*node{n.anyOf, n.oneOf} {
		if len(list) == 0 {
			continue
		}
		var union typeSet
		for _, t := range list {
			union |= p.types(t, known)
		}
		set &= union
	}
	if v := n.raw.member("type"); v != nil {
		union := typeNamed(v.str)
		for _, item := range v.items {
			union |= typeNamed(item.str)
		}
		set &= union
	}
	if v := n.raw.member("enum"); v != nil && len(v.items) > 0 {
		var union typeSet
		for _, item := range v.items {
			union |= typeOf(item)
		}
		set &= union
	}
	if v := n.raw.member("const"); v != nil && n.d.draft.number >= 6 {
		set &= typeOf(v)
	}
	return set
}

// itemTypes says which types the items of a schema's arrays may have.
func (p *Plan) itemTypes(n *node) typeSet {
	set := typeAny
	for _, e := range p.closure([]elem{{n, true}}) {
		var union typeSet
		for _, item := range append(slices.Clone(e.node.prefix), e.node.items) {
			if item != nil {
				union |= p.types(item, map[*node]typeSet{})
			}
		}
		if e.node.items != nil {
			set &= union
		}
	}
	return set
}

// snakeCase turns a property name into an index name: taxId and TaxID become tax_id.
func snakeCase(s string) string {
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		if r == '-' || r == ' ' || r == '.' {
			r = '_'
		}
		if unicode.IsUpper(r) {
			if i > 0 && rs[i-1] != '_' && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// collectIndexes checks that equal names mean one index over the whole registry.
func (r *Registry) collectIndexes(out *findings) {
	first := map[string]*Plan{}
	byName := map[string]*Index{}
	for _, e := range r.events {
		for _, ix := range e.plan.indexes {
			known := byName[ix.Name]
			if known == nil {
				byName[ix.Name], first[ix.Name] = ix, e.plan
				r.indexes = append(r.indexes, ix)
				continue
			}
			if !known.equal(ix) {
				out.add(e.doc.finding(e.doc.root.start, "", "index-conflict",
					fmt.Sprintf("blind index %q differs from the one of %s version %d in normalize, bits, multi, types, parts, previous or keyring", ix.Name, first[ix.Name].event.typ, first[ix.Name].event.version),
					"make them equal, or give one another name"))
			}
		}
	}
	slices.SortFunc(r.indexes, func(a, b *Index) int { return cmp.Compare(a.Name, b.Name) })
}
