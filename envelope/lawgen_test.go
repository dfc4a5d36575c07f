package envelope_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// lawGen makes random event schemas and payloads for them. It builds both from one tree of places, and so knows what it flagged without asking the
// Plan: a place counts as flagged if the generator put a flag on it. A Plan may seal more.
type lawGen struct {
	r     *rand.Rand
	draft string
	defs  map[string]any
	// indexes counts names of blind indexes.
	indexes int
	policy  string
	root    *place
	// broken says that the payload at hand has a value of the wrong type somewhere.
	broken bool

	// What the payload at hand holds.
	secrets []string       // texts of flagged scalars, as they stand and as they are meant
	clears  []string       // texts of scalars that nothing flags
	names   []string       // names that no schema spells out
	through map[string]int // flagged values by the keywords that lead to their flag
	path    []*place       // to the value at hand
}

// place is a location of the payloads: what may stand there, and whether it is flagged.
type place struct {
	kind    string // string, number, integer, boolean, null, any, object, array, root (again)
	flagged bool
	via     []string // the keywords that lead here, and to the flag
	members []*member
	open    *place // values of an open map
	items   []*place
	rest    *place // items after these
	choices []string
}

type member struct {
	name string
	at   *place
}

const (
	secretLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	secretMarks   = "ĞÜŞİ§#%@!^*~"
)

// secretText writes a text of which no six bytes are a token's alone, so that one found elsewhere is no chance.
func (g *lawGen) secretText() string {
	var b strings.Builder
	for n := g.r.IntN(14); n >= 0; n-- {
		marks := []rune(secretMarks)
		b.WriteRune(marks[g.r.IntN(len(marks))])
		for range g.r.IntN(5) {
			b.WriteByte(secretLetters[g.r.IntN(len(secretLetters))])
		}
	}
	return b.String()
}

// quote writes a string with its characters spelt in every way that JSON has.
func (g *lawGen) quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case g.r.IntN(12) == 0 && c > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+(c-0x10000)>>10, 0xdc00+(c-0x10000)&0x3ff)
		case g.r.IntN(12) == 0 && c <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, c)
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '/' && g.r.IntN(2) == 0:
			b.WriteString(`\/`)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (g *lawGen) space() string {
	if g.r.IntN(4) > 0 {
		return ""
	}
	return []string{" ", "\n", "\t", "\r\n  "}[g.r.IntN(4)]
}

func (g *lawGen) pick(s ...string) string { return s[g.r.IntN(len(s))] }

func (g *lawGen) digits(from, to int) string {
	var b strings.Builder
	b.WriteByte(byte('1' + g.r.IntN(9)))
	for range from + g.r.IntN(to-from+1) - 1 {
		b.WriteByte(byte('0' + g.r.IntN(10)))
	}
	return b.String()
}

// number writes one; a long one has a point or a plus sign in every six bytes, which no token has.
func (g *lawGen) number(integer bool) string {
	switch {
	case integer:
		return g.pick("0", "-0", "1.0", "1e0", "-2.50e1", "1E+3", "9007199254740993", g.digits(40, 40), "1e400", g.digits(1, 9), g.digits(1, 5)+"."+"0", "-"+g.digits(1, 20))
	case g.r.IntN(2) == 0:
		return g.digits(1, 5) + "." + g.digits(1, 4) + g.pick("e", "E") + "+" + g.digits(1, 3)
	}
	return g.pick("0", "-0", "1.0", "1e400", "-1E-400", "0.10", g.digits(40, 40), "1e0", g.digits(1, 5)+"."+g.digits(1, 5))
}

// ---- places

var lawNames = []string{"email", "name", "tax id", "a/b", "m~n", "", "größe", "list", "meta", "notes", "x", "y", "z", "0", "first", "last"}

func (g *lawGen) newPlace(depth int, flaggedAbove bool) *place {
	p := &place{}
	kinds := []string{"string", "string", "string", "number", "integer", "boolean", "null", "any"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "object", "array", "array", "array")
	}
	if depth > 0 && !flaggedAbove && g.r.IntN(12) == 0 {
		p.kind = "root"
		return p
	}
	p.kind = kinds[g.r.IntN(len(kinds))]
	leaf := p.kind != "object" && p.kind != "array"
	p.flagged = g.r.IntN(10) < map[bool]int{true: 5, false: 1}[leaf]
	below := flaggedAbove || p.flagged
	switch p.kind {
	case "object":
		names := slices.Clone(lawNames)
		g.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names[:g.r.IntN(6)] {
			p.members = append(p.members, &member{name, g.newPlace(depth-1, below)})
		}
		if g.r.IntN(4) == 0 || len(p.members) == 0 {
			p.open = g.newPlace(depth-1, below)
		}
	case "array":
		for range g.r.IntN(3) {
			p.items = append(p.items, g.newPlace(depth-1, below))
		}
		if g.r.IntN(3) > 0 || len(p.items) == 0 {
			p.rest = g.newPlace(depth-1, below)
		}
	case "string":
		if g.r.IntN(8) == 0 {
			for range 1 + g.r.IntN(3) {
				p.choices = append(p.choices, g.secretText())
			}
		}
	}
	return p
}

// ---- schemas

func (g *lawGen) since(draft string) bool {
	order := []string{"4", "6", "7", "2019", "2020"}
	return slices.Index(order, g.draft) >= slices.Index(order, draft)
}

func (g *lawGen) defsName() string {
	if g.since("2019") {
		return "$defs"
	}
	return "definitions"
}

// eventSchema writes the schema of an event and keeps the tree for payloads.
func (g *lawGen) eventSchema() string {
	g.draft = g.pick("4", "6", "7", "2019", "2019", "2020", "2020", "2020")
	g.defs = map[string]any{}
	g.policy = g.pick("reject", "reject", "clear", "seal")
	for g.root == nil || g.root.kind != "object" || g.root.flagged {
		g.root = g.newPlace(3, false)
	}
	root := g.schemaOf(g.root, false, false)
	for _, chained := root["$ref"]; chained && !g.since("2019"); _, chained = root["$ref"] {
		root = map[string]any{"allOf": []any{root}} // a root that is a reference has no definitions in older drafts
	}
	root["$schema"] = metaschemaOf(g.draft)
	root["x-gdpr-undeclared"] = g.policy
	if g.draft == "2019" {
		root["$recursiveAnchor"] = true
	}
	if g.draft == "2020" {
		root["$dynamicAnchor"] = "root"
	}
	if len(g.defs) > 0 {
		root[g.defsName()] = g.defs
	}
	text, err := json.Marshal(root)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// schemaOf writes a schema for a place: what it says of itself, then keywords around it. many says that an event may have several such values.
func (g *lawGen) schemaOf(p *place, flaggedAbove, many bool) map[string]any {
	if p.kind == "root" {
		keyword, target := "$ref", "#"
		switch {
		case g.draft == "2019" && g.r.IntN(4) > 0:
			keyword = "$recursiveRef"
		case g.draft == "2020" && g.r.IntN(2) == 0:
			keyword, target = "$dynamicRef", "#root"
		}
		p.via = append(p.via, keyword)
		return map[string]any{keyword: target}
	}
	s := g.itself(p, flaggedAbove || p.flagged, many)
	if p.flagged {
		g.putFlag(p, s, flaggedAbove)
	}
	for g.r.IntN(3) == 0 {
		s = g.around(p, s)
	}
	return s
}

// putFlag puts the flag beside the place's other keywords, or on a subschema that applies to the same value.
func (g *lawGen) putFlag(p *place, s map[string]any, flaggedAbove bool) {
	flag := map[string]any{"x-gdpr-sensitive": true}
	leaf := p.kind != "object" && p.kind != "array"
	if leaf && !flaggedAbove && g.r.IntN(4) == 0 {
		flag["x-gdpr-keyring"] = "health"
	}
	if (p.kind == "string" || p.kind == "integer") && p.choices == nil && !flaggedAbove && g.r.IntN(3) == 0 {
		g.indexes++
		flag["x-blind-index"] = map[string]any{"name": fmt.Sprintf("ix%d", g.indexes), "multi": true, "bits": 8 + g.r.IntN(249)}
	}
	if flag["x-blind-index"] != nil || g.r.IntN(2) == 0 {
		maps.Copy(s, flag)
		p.via = append(p.via, "itself")
		return
	}
	keyword := g.pick("allOf", "anyOf", "oneOf", "if", "then", "else", "$ref beside")
	if (keyword == "if" || keyword == "then" || keyword == "else") && !g.since("7") {
		keyword = "allOf"
	}
	p.via = append(p.via, keyword)
	switch keyword {
	case "allOf", "anyOf":
		s[keyword] = []any{flag}
	case "oneOf":
		s[keyword] = []any{flag, map[string]any{"not": map[string]any{}}}
	case "if":
		s["if"], s["then"] = flag, map[string]any{}
	case "then", "else":
		s["if"], s[keyword] = map[string]any{"type": g.pick("string", "number", "object")}, flag
	case "$ref beside":
		name := g.define(map[string]any{"description": "nothing"})
		maps.Copy(s, flag)
		if g.since("2019") {
			s["$ref"] = name
		} else {
			s["allOf"] = []any{map[string]any{"$ref": name, "x-gdpr-sensitive": true}}
		}
	}
}

func (g *lawGen) define(s map[string]any) (ref string) {
	name := fmt.Sprintf("d%d", len(g.defs))
	g.defs[name] = s
	return "#/" + g.defsName() + "/" + name
}

func (g *lawGen) itself(p *place, flagged, many bool) map[string]any {
	s := map[string]any{}
	if p.kind != "any" && g.r.IntN(5) > 0 || p.kind == "string" || p.kind == "integer" {
		s["type"] = p.kind
	}
	if p.choices != nil && p.flagged {
		values := []any{}
		for _, c := range p.choices {
			values = append(values, c)
		}
		s["enum"] = values
	}
	switch p.kind {
	case "object":
		g.members(p, s, flagged, many)
	case "array":
		g.items(p, s, flagged)
	}
	return s
}

func (g *lawGen) members(p *place, s map[string]any, flagged, many bool) {
	properties, patterns := map[string]any{}, map[string]any{}
	for _, m := range p.members {
		child := g.schemaOf(m.at, flagged, many)
		switch {
		case g.r.IntN(5) == 0 && !strings.ContainsAny(m.name, "/~"):
			patterns["^"+m.name+"$"] = child
			m.at.via = append(m.at.via, "patternProperties")
		default:
			properties[m.name] = child
			m.at.via = append(m.at.via, "properties")
		}
	}
	if len(properties) > 0 || g.r.IntN(2) == 0 {
		s["properties"] = properties
	}
	if len(patterns) > 0 {
		s["patternProperties"] = patterns
	}
	if p.open != nil {
		child := g.schemaOf(p.open, flagged, true)
		keyword := "additionalProperties"
		if g.since("2019") && g.r.IntN(3) == 0 {
			keyword = "unevaluatedProperties"
		}
		s[keyword] = child
		p.open.via = append(p.open.via, keyword)
	}
}

func (g *lawGen) items(p *place, s map[string]any, flagged bool) {
	var tuple []any
	for _, item := range p.items {
		tuple = append(tuple, g.schemaOf(item, flagged, true))
		item.via = append(item.via, "prefixItems")
	}
	tupleKeyword, restKeyword := "prefixItems", "items"
	if !g.since("2020") {
		tupleKeyword, restKeyword = "items", "additionalItems"
	}
	if tuple != nil {
		s[tupleKeyword] = tuple
	} else {
		restKeyword = "items"
	}
	if p.rest == nil {
		return
	}
	if g.since("2019") && g.r.IntN(3) == 0 {
		restKeyword = "unevaluatedItems"
	}
	child := g.schemaOf(p.rest, flagged, true)
	s[restKeyword] = child
	p.rest.via = append(p.rest.via, restKeyword)
	if g.since("6") && !flagged && g.r.IntN(4) == 0 {
		// A flag below contains holds for every item, whatever it is.
		s["contains"] = map[string]any{"x-gdpr-sensitive": true}
		for _, item := range append(p.items, p.rest) {
			if item.kind != "root" && !item.flagged {
				item.flagged = true
				item.via = append(item.via, "contains")
			}
		}
	}
}

// around puts a schema below a keyword that applies it to the same value.
func (g *lawGen) around(p *place, s map[string]any) map[string]any {
	keywords := []string{"$ref", "allOf", "anyOf", "oneOf"}
	if g.since("7") {
		keywords = append(keywords, "then", "else")
	}
	if p.kind == "object" {
		keywords = append(keywords, "dependencies")
	}
	if g.draft == "2020" {
		keywords = append(keywords, "$dynamicRef")
	}
	keyword := keywords[g.r.IntN(len(keywords))]
	p.via = append(p.via, keyword)
	never := map[string]any{"not": map[string]any{}}
	switch keyword {
	case "$ref":
		return map[string]any{"$ref": g.define(s)}
	case "$dynamicRef":
		anchor := fmt.Sprintf("anchor%d", len(g.defs))
		g.define(map[string]any{"$dynamicAnchor": anchor, "allOf": []any{s}})
		return map[string]any{"$dynamicRef": "#" + anchor}
	case "allOf":
		return map[string]any{"allOf": []any{map[string]any{"description": "nothing"}, s}}
	case "anyOf":
		return map[string]any{"anyOf": []any{never, s}}
	case "oneOf":
		return map[string]any{"oneOf": []any{s, never}}
	case "then":
		return map[string]any{"if": map[string]any{}, "then": s, "else": map[string]any{"type": "null"}}
	case "else":
		return map[string]any{"if": never, "then": map[string]any{"type": "null"}, "else": s}
	}
	if g.since("2019") {
		return map[string]any{"dependentSchemas": map[string]any{"x": s}, "allOf": []any{s}}
	}
	return map[string]any{"dependencies": map[string]any{"x": s}, "allOf": []any{s}}
}

// ---- payloads

// payload writes a payload for the schema. One in twenty has a value of another type somewhere.
func (g *lawGen) payload() string {
	g.secrets, g.clears, g.names, g.through = nil, nil, nil, map[string]int{}
	g.broken = g.r.IntN(20) == 0
	return g.space() + g.value(g.root, false, 5) + g.space()
}

func (g *lawGen) note(flagged bool, texts ...string) {
	if flagged {
		g.secrets = append(g.secrets, texts...)
	} else {
		g.clears = append(g.clears, texts...)
	}
}

func (g *lawGen) value(p *place, flagged bool, depth int) string {
	g.path = append(g.path, p)
	defer func() { g.path = g.path[:len(g.path)-1] }()
	if p.kind == "root" {
		if depth <= 0 {
			return "{}"
		}
		return g.value(g.root, flagged, depth-2)
	}
	if p.flagged && !flagged {
		seen := map[string]bool{}
		for _, above := range g.path {
			for _, keyword := range above.via {
				if !seen[keyword] {
					seen[keyword] = true
					g.through[keyword]++
				}
			}
		}
	}
	flagged = flagged || p.flagged
	kind := p.kind
	if g.broken && g.r.IntN(10) == 0 {
		kind = g.pick("string", "number", "boolean", "null", "any")
	}
	switch kind {
	case "object":
		return g.object(p, flagged, depth)
	case "array":
		return g.array(p, flagged, depth)
	case "string":
		text := g.secretText()
		switch {
		case p.choices != nil:
			text = p.choices[g.r.IntN(len(p.choices))]
		case !flagged:
			text = g.clearText()
		}
		raw := g.quote(text)
		g.note(flagged, text, raw[1:len(raw)-1])
		return raw
	case "number", "integer":
		text := g.number(kind == "integer")
		g.note(flagged, text)
		return text
	case "boolean":
		return g.pick("true", "false")
	case "null":
		return "null"
	}
	return g.anything(flagged, depth)
}

// clearText writes what is not flagged: sometimes a flagged text once more, which is the caller's own doing.
func (g *lawGen) clearText() string {
	if len(g.secrets) > 0 && g.r.IntN(10) == 0 {
		return g.secrets[g.r.IntN(len(g.secrets))]
	}
	return g.pick("", "clear", "web", "IST-2", "2026-11-30T12:00:00Z", "fc1:", "a\"b\\c/d", "\U0001f600", "\x00\x1f")
}

func (g *lawGen) anything(flagged bool, depth int) string {
	if depth > 1 && g.r.IntN(3) == 0 && flagged {
		return "[" + g.anything(flagged, depth-1) + "," + g.space() + `{"n` + `":` + g.anything(flagged, depth-1) + "}]"
	}
	return g.value(&place{kind: g.pick("string", "number", "boolean", "null")}, flagged, depth)
}

func (g *lawGen) object(p *place, flagged bool, depth int) string {
	var parts []string
	add := func(name, value string) {
		raw := g.quote(name)
		if !flagged {
			g.clears = append(g.clears, raw) // names are not sealed, and an escape in one may be that of a flagged text
		}
		parts = append(parts, g.space()+raw+g.space()+":"+g.space()+value+g.space())
	}
	for _, m := range p.members {
		if g.r.IntN(5) > 0 {
			add(m.name, g.value(m.at, flagged, depth-1))
		}
	}
	if p.open != nil && depth > 0 {
		for range g.r.IntN(3) {
			add(g.newName(), g.value(p.open, flagged, depth-1))
		}
	}
	if p.open == nil && g.policy != "reject" && g.r.IntN(4) == 0 {
		add(g.newName(), g.value(&place{kind: g.pick("string", "number", "any")}, flagged || g.policy == "seal", 1))
	}
	g.r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + g.space() + strings.Join(parts, ",") + "}"
}

// newName makes a name that no schema spells out.
func (g *lawGen) newName() string {
	name := fmt.Sprintf("Ñ%s+%d", g.digits(6, 6), len(g.names))
	g.names = append(g.names, name)
	return name
}

func (g *lawGen) array(p *place, flagged bool, depth int) string {
	var parts []string
	for _, item := range p.items {
		parts = append(parts, g.space()+g.value(item, flagged, depth-1))
	}
	if p.rest != nil && depth > 0 {
		for range g.r.IntN(4) {
			parts = append(parts, g.space()+g.value(p.rest, flagged, depth-1)+g.space())
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}
