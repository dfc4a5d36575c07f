package schema

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
)

// The generator of schemas and instances that the laws of the Plan draw from: all applicators, all five drafts, several files of
// different drafts, embedded resources, references of every kind (with siblings, by pointer, anchor, id, dynamic, recursive, into any
// subschema), boolean schemas, overlays, policies.

// chooser makes the generator's choices: a source of random numbers, or the bytes of a fuzzing input.
type chooser interface{ IntN(n int) int }

// tape chooses by bytes; past its end every choice is the first, which is always the one that ends.
type tape struct{ rest []byte }

func (t *tape) IntN(n int) int {
	if len(t.rest) == 0 {
		return 0
	}
	b := t.rest[0]
	t.rest = t.rest[1:]
	return int(b) % n
}

// shape is a generated subschema. It is written in two ways: as the registry gets it, and as the validator must get it so that an
// extension can see each flag.
type shape struct {
	id       int
	draft    int
	file     *shapeFile
	resource *shapeResource
	boolean  string // "true", "false", or empty
	flag     bool
	overlay  bool   // the flag stands in the overlay
	above    string // the applicator that the shape stands below
	words    map[string]any
	apps     []application
	ref      *reference
	hidden   bool // beside a $ref of draft 7 or earlier, where nothing is read
	defs     []*shape
	defsWord string
	anchor   string
	dynamic  string // $dynamicAnchor
	recurse  bool   // $recursiveAnchor
	pointer  string
	rank     int // of definitions and roots: a reference that stays at the location leads to a higher rank alone, so that few loop
}

// application is one applicator of a shape with the shapes below it.
type application struct {
	keyword string
	names   []string // of members, patterns or indexes; empty for a single schema
	to      []*shape
	data    map[string]any // dependencies that are arrays
}

type reference struct {
	keyword string
	target  *shape
	anyone  bool // the target is chosen among all shapes, at the end
	style   int
	text    string
}

type shapeResource struct {
	url  string
	file *shapeFile
	root *shape
}

type shapeFile struct {
	name, url, id string
	root          *shape
	draft         int
	policy        string
}

type generator struct {
	pick    chooser
	shapes  []*shape
	targets []*shape // definitions and roots
	files   []*shapeFile
	applied map[string]bool // applicators that this set uses
	policy  string
	odds    int  // one subschema in so many is flagged
	meet    bool // see generateMeeting
}

func generatedNames() []string { return []string{"a", "b", "c", "d", "x1", "a/b~%"} }

func generatedPatterns() []string { return []string{"^[ab]$", "[bc]", "^x", "~"} }

// applicatorsOf lists the applicators of a draft as its specification has them: written apart from draft.go, which it tests.
func applicatorsOf(draft int) []string {
	all := []string{"properties", "patternProperties", "additionalProperties", "items", "allOf", "anyOf", "oneOf", "dependencies", "$ref"}
	if draft <= 2019 {
		all = append(all, "items[]", "additionalItems")
	}
	if draft >= 6 {
		all = append(all, "contains", "propertyNames")
	}
	if draft >= 7 {
		all = append(all, "if", "then", "else")
	}
	if draft >= 2019 {
		all = append(all, "dependentSchemas", "unevaluatedProperties", "unevaluatedItems")
	}
	if draft == 2019 {
		all = append(all, "$recursiveRef")
	}
	if draft >= 2020 {
		all = append(all, "prefixItems", "$dynamicRef")
	}
	return all
}

func generatedDrafts() []int { return []int{4, 6, 7, 2019, 2020} }

func metaschemaOf(draft int) string {
	switch draft {
	case 4, 6, 7:
		return fmt.Sprintf("http://json-schema.org/draft-%02d/schema#", draft)
	case 2019:
		return "https://json-schema.org/draft/2019-09/schema"
	}
	return "https://json-schema.org/draft/2020-12/schema"
}

// mostShapes keeps a set of schemas small enough for many of them.
const mostShapes = 300

// generate makes a set of files: an event schema of the draft and up to two others.
func generate(pick chooser, draft int) *generator {
	return generateWith(pick, draft, 3, []string{"clear", "clear", "clear", "seal", "reject"})
}

// generateWith is generate for other odds of a flag and other policies.
func generateWith(pick chooser, draft, odds int, policies []string) *generator {
	return (&generator{pick: pick, applied: map[string]bool{}, odds: odds}).make(draft, policies)
}

// generateMeeting is generate for what a $recursiveRef means beyond its own resource: references lead from the event's root to the resource that is
// embedded there, and from below that, by $recursiveRef, to whichever of the two was met first. Other sets hardly ever have all of that on one way.
func generateMeeting(pick chooser) *generator {
	return (&generator{pick: pick, applied: map[string]bool{}, odds: 12, meet: true}).make(2019, []string{"clear"})
}

func (g *generator) make(draft int, policies []string) *generator {
	g.policy = policies[g.pick.IntN(len(policies))]
	g.file("a.v1.json", draft).policy = g.policy
	others := 0
	if !g.meet {
		others = g.pick.IntN(3)
	}
	for i := range others {
		f := g.file(fmt.Sprintf("f%d.json", i), generatedDrafts()[g.pick.IntN(5)])
		if g.pick.IntN(8) == 0 {
			f.policy = []string{"clear", "seal", "reject"}[g.pick.IntN(3)]
		}
	}
	for _, s := range slices.Clone(g.targets) {
		depth := 2
		if s == g.files[0].root {
			depth = 3
		}
		g.fill(s, depth, s.rank)
	}
	g.finish()
	return g
}

func (g *generator) newShape(f *shapeFile, r *shapeResource, above string) *shape {
	s := &shape{id: len(g.shapes) + 1, draft: f.draft, file: f, resource: r, above: above, words: map[string]any{}}
	g.shapes = append(g.shapes, s)
	return s
}

// file makes a file's root, its definitions and perhaps a resource embedded among them, all still empty.
func (g *generator) file(name string, draft int) *shapeFile {
	f := &shapeFile{name: name, url: "fs://0/" + name, draft: draft}
	f.id = f.url
	if g.pick.IntN(4) == 0 {
		f.id = "https://example.com/" + name
	}
	g.files = append(g.files, f)
	r := &shapeResource{url: f.id, file: f}
	f.root = g.newShape(f, r, "root")
	r.root = f.root
	g.target(f.root)
	g.definitions(f.root, 1+g.pick.IntN(3))
	if g.meet || g.pick.IntN(2) == 0 {
		e := &shapeResource{file: f}
		e.root = g.newShape(f, e, "$ref")
		base, _ := url.Parse(f.id)
		rel, _ := url.Parse(fmt.Sprintf("e%d.json", e.root.id))
		e.url = base.ResolveReference(rel).String()
		f.root.defs = append(f.root.defs, e.root)
		g.target(e.root)
		g.definitions(e.root, 1+g.pick.IntN(2))
	}
	return f
}

func (g *generator) target(s *shape) {
	s.rank = len(g.targets)
	g.targets = append(g.targets, s)
	if s.draft == 2019 && s == s.resource.root {
		s.recurse = g.meet || g.pick.IntN(2) == 0
	}
}

func (g *generator) definitions(root *shape, n int) {
	root.defsWord = "definitions"
	if root.draft >= 2019 && g.pick.IntN(2) == 0 {
		root.defsWord = "$defs"
	}
	free := []string{"n", "m"}
	if root.draft >= 2020 && g.pick.IntN(2) == 0 {
		root.dynamic, free = free[0], free[1:]
	}
	for range n {
		d := g.newShape(root.file, root.resource, "$ref")
		root.defs = append(root.defs, d)
		g.target(d)
		if root.draft >= 2020 && len(free) > 0 && g.pick.IntN(2) == 0 {
			d.dynamic, free = free[0], free[1:]
		}
		if g.pick.IntN(3) == 0 {
			d.anchor = fmt.Sprintf("A%d", d.id)
		}
	}
}

// below makes a shape below an applicator of s. rank is that of the definition whose location this still is, or -1.
func (g *generator) below(s *shape, keyword string, depth, rank int) *shape {
	g.applied[keyword] = true
	c := g.newShape(s.file, s.resource, keyword)
	c.hidden = s.hidden
	mayBeBoolean := s.draft >= 6 || keyword == "additionalProperties" || keyword == "additionalItems"
	if mayBeBoolean && g.pick.IntN(8) == 1 {
		c.boolean = []string{"true", "false"}[g.pick.IntN(2)]
		c.flag = g.pick.IntN(2) == 0 && !c.hidden && keyword != "not"
		c.overlay = c.flag
		return c
	}
	g.fill(c, depth, rank)
	return c
}

func (g *generator) list(s *shape, keyword string, depth, rank int) application {
	a := application{keyword: keyword}
	for i := range 1 + g.pick.IntN(2) {
		a.names = append(a.names, strconv.Itoa(i))
		a.to = append(a.to, g.below(s, keyword, depth, rank))
	}
	return a
}

func (g *generator) members(s *shape, keyword string, names []string, depth, rank int) application {
	a := application{keyword: keyword}
	for _, n := range names {
		if g.pick.IntN(2) == 1 {
			a.names = append(a.names, n)
			a.to = append(a.to, g.below(s, keyword, depth, rank))
		}
	}
	return a
}

// fill gives a shape its flag and its keywords.
func (g *generator) fill(s *shape, depth, rank int) {
	if !s.hidden && g.pick.IntN(g.odds) == 1 {
		s.flag = true
		s.overlay = g.pick.IntN(6) == 1
	}
	g.assertions(s)
	if depth == 0 || len(g.shapes) > mostShapes {
		return
	}
	all := applicatorsOf(s.draft)
	if rank < 0 && s.draft >= 2019 && g.pick.IntN(6) == 1 {
		g.apply(s, map[int]string{2019: "$recursiveRef", 2020: "$dynamicRef"}[s.draft], depth-1, rank)
	}
	if g.meet && rank < 0 && s.ref == nil && g.pick.IntN(3) > 0 {
		if defs := s.file.root.defs; s.resource.root == s.file.root {
			s.ref = &reference{keyword: "$ref", target: defs[len(defs)-1], style: 3}
		} else {
			g.apply(s, "$recursiveRef", depth-1, rank)
		}
	}
	for range 1 + g.pick.IntN(3) {
		g.apply(s, all[g.pick.IntN(len(all))], depth-1, rank)
	}
	if g.pick.IntN(12) == 1 {
		g.without(s, depth-1)
	}
}

// assertions adds keywords that decide which branches an instance takes, and annotations.
func (g *generator) assertions(s *shape) {
	switch g.pick.IntN(16) {
	case 1:
		s.words["type"] = []string{"object", "array", "string", "number"}[g.pick.IntN(4)]
	case 2:
		s.words["type"] = []any{"object", "array"}
	case 3:
		s.words["required"] = []any{generatedNames()[g.pick.IntN(3)]}
	case 4:
		s.words["minItems"] = 2
	case 5:
		s.words["maxProperties"] = 2
	case 6:
		s.words["enum"] = []any{1, "a", []any{}}
	case 7:
		s.words["const"] = true
	case 8:
		s.words["title"] = "a title"
	case 10:
		if g.odds > 3 {
			s.words["dependentRequired"] = map[string]any{"a": []any{"b"}}
		}
	case 11:
		if g.odds > 3 {
			s.words["contentEncoding"] = "base64"
		}
	case 9:
		s.words["description"], s.words["default"] = "an annotation", map[string]any{}
	}
}

func (g *generator) has(s *shape, keyword string) bool {
	return slices.ContainsFunc(s.apps, func(a application) bool { return a.keyword == keyword })
}

// apply adds one applicator.
func (g *generator) apply(s *shape, keyword string, depth, rank int) {
	if g.has(s, keyword) || s.ref != nil && s.draft <= 7 {
		return
	}
	one := func(k string, rank int) {
		s.apps = append(s.apps, application{keyword: k, to: []*shape{g.below(s, k, depth, rank)}})
	}
	switch keyword {
	case "properties":
		s.apps = append(s.apps, g.members(s, keyword, generatedNames(), depth, -1))
	case "patternProperties":
		s.apps = append(s.apps, g.members(s, keyword, generatedPatterns(), depth, -1))
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames":
		one(keyword, -1)
	case "items":
		if !g.has(s, "items[]") {
			one(keyword, -1)
		}
	case "items[]", "additionalItems":
		if g.has(s, "items") || g.has(s, "items[]") {
			return
		}
		s.apps = append(s.apps, g.list(s, "items[]", depth, -1))
		if keyword == "additionalItems" {
			one(keyword, -1)
		}
	case "prefixItems":
		s.apps = append(s.apps, g.list(s, keyword, depth, -1))
	case "allOf", "anyOf", "oneOf":
		s.apps = append(s.apps, g.list(s, keyword, depth, rank))
	case "dependentSchemas":
		s.apps = append(s.apps, g.members(s, keyword, generatedNames()[:3], depth, rank))
	case "dependencies":
		a := g.members(s, keyword, generatedNames()[:3], depth, rank)
		if g.pick.IntN(3) == 1 {
			a.data = map[string]any{"d": []any{"a"}}
		}
		s.apps = append(s.apps, a)
	case "if", "then", "else":
		if !g.has(s, "if") {
			one("if", rank)
		}
		for _, k := range []string{"then", "else"} {
			if !g.has(s, k) && (keyword == k || g.pick.IntN(2) == 0) {
				one(k, rank)
			}
		}
	default:
		g.refer(s, keyword, depth, rank)
	}
}

// refer makes s refer to something, if there is a target that fits.
func (g *generator) refer(s *shape, keyword string, depth, rank int) {
	if s.ref != nil || s == s.resource.root && s.draft <= 7 {
		return
	}
	r := &reference{keyword: keyword, style: g.pick.IntN(4)}
	var fit []*shape
	for _, t := range g.targets {
		switch {
		case t.rank <= rank:
		case keyword == "$dynamicRef" && (t.dynamic == "" || t.resource != s.resource):
		case keyword == "$recursiveRef" && t != s.resource.root:
		default:
			fit = append(fit, t)
		}
	}
	if len(fit) == 0 {
		return
	}
	r.target = fit[g.pick.IntN(len(fit))]
	r.anyone = keyword == "$ref" && rank < 0 && g.pick.IntN(8) == 1
	g.applied[keyword] = true
	if s.draft <= 7 { // what stands beside it is there, and counts for nothing but the flag
		s.apps, s.words = nil, map[string]any{}
		if depth > 0 && g.pick.IntN(3) == 1 {
			h := g.newShape(s.file, s.resource, "properties")
			h.hidden = true
			g.fill(h, 0, -1)
			s.apps = append(s.apps, application{keyword: "properties", names: []string{"a"}, to: []*shape{h}})
		}
	}
	s.ref = r
}

// without adds a not without flags.
func (g *generator) without(s *shape, depth int) {
	if g.has(s, "not") || s.ref != nil && s.draft <= 7 {
		return
	}
	n := g.newShape(s.file, s.resource, "not")
	g.assertions(n)
	s.apps = append(s.apps, application{keyword: "not", to: []*shape{n}})
}

// finish gives each shape its pointer, chooses the targets that may be anywhere, and writes the references.
func (g *generator) finish() {
	var placed []*shape
	var place func(s *shape, pointer string)
	place = func(s *shape, pointer string) {
		s.pointer = pointer
		if !s.hidden {
			placed = append(placed, s)
		}
		for i, d := range s.defs {
			place(d, fmt.Sprintf("%s/%s/d%d", pointer, s.defsWord, i))
		}
		for _, a := range s.apps {
			for i, to := range a.to {
				p := pointer + "/" + strings.TrimSuffix(a.keyword, "[]")
				if len(a.names) > 0 {
					p = child(p, a.names[i])
				}
				place(to, p)
			}
		}
	}
	for _, f := range g.files {
		place(f.root, "")
	}
	g.shapes = placed
	for _, s := range placed {
		if s.ref == nil {
			continue
		}
		if s.ref.anyone {
			if t := placed[g.pick.IntN(len(placed))]; t.draft > 4 || t.boolean == "" { // a boolean is no schema in draft 4
				s.ref.target = t
			}
		}
		s.ref.text = s.refText()
	}
}

// refText writes a reference in one of the ways that the target allows.
func (s *shape) refText() string {
	t := s.ref.target
	anchor := t.anchor
	if t.ref != nil && t.draft <= 7 {
		anchor = "" // an id beside $ref is none
	}
	switch {
	case s.ref.keyword == "$recursiveRef":
		return "#"
	case s.ref.keyword == "$dynamicRef":
		return "#" + t.dynamic
	case t == t.resource.root && t.resource == s.resource && s.ref.style < 2:
		return "#"
	case anchor != "" && t.resource == s.resource && s.ref.style < 3:
		return "#" + anchor
	case t.dynamic != "" && t.resource == s.resource && s.ref.style == 0:
		return "#" + t.dynamic
	case t.resource == s.resource && s.ref.style < 3:
		return "#" + fragment(strings.TrimPrefix(t.pointer, t.resource.root.pointer))
	case t.file == s.file && s.ref.style < 2 && anchor != "":
		return t.resource.url + "#" + anchor
	case t.file == s.file && s.ref.style < 3:
		return t.resource.url + "#" + fragment(strings.TrimPrefix(t.pointer, t.resource.root.pointer))
	}
	return t.file.id + "#" + fragment(t.pointer)
}

func fragment(pointer string) string {
	var b strings.Builder
	tokens := strings.Split(pointer, "/")
	for i, t := range tokens {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(url.PathEscape(t))
	}
	return b.String()
}

// texts writes the files, for the registry or for the validator.
func (g *generator) texts(forValidator bool) map[string][]byte {
	out := map[string][]byte{}
	for i, f := range g.files {
		root := f.root.write(forValidator).(map[string]any)
		root["$schema"] = metaschemaOf(f.draft)
		if f.policy != "" {
			root[wordUndeclared] = f.policy
		}
		if i == 0 && !forValidator {
			if entries := g.overlay(); len(entries) > 0 {
				root[wordOverlay] = entries
			}
		}
		text, err := json.Marshal(root)
		if err != nil {
			panic(err)
		}
		out[f.name] = text
	}
	return out
}

func (g *generator) overlay() map[string]any {
	entries := map[string]any{}
	for _, s := range g.shapes {
		if s.flag && s.overlay {
			entries[s.file.id+"#"+fragment(s.pointer)] = map[string]any{wordSensitive: true}
		}
	}
	return entries
}

// write gives a shape's JSON. For the validator, flags of the overlay stand in place, what would keep the extension from being told moves
// out of its way (a type that fails, $ref in a draft that hides siblings), and boolean schemas with a flag become objects.
func (s *shape) write(forValidator bool) any {
	m := map[string]any{}
	if s.boolean != "" && !(forValidator && s.flag) {
		return s.boolean == "true"
	}
	if s.flag && (forValidator || !s.overlay) {
		m[wordSensitive] = true
	}
	if forValidator {
		m["x-id"] = s.id
	}
	if s.boolean == "false" {
		m["not"] = map[string]any{}
	}
	hides := s.ref != nil && s.draft <= 7
	s.writeNames(m, hides, forValidator)
	for k, v := range s.words {
		m[k] = v
	}
	for _, a := range s.apps {
		m[strings.TrimSuffix(a.keyword, "[]")] = a.write(forValidator)
	}
	if s.ref != nil {
		m[s.ref.keyword] = s.ref.text
	}
	if !forValidator {
		return m
	}
	if hides && s.flag {
		delete(m, "$ref")
		for _, a := range s.apps {
			delete(m, a.keyword)
		}
		m["allOf"] = []any{map[string]any{"$ref": s.ref.text}}
	}
	if t, ok := m["type"]; ok {
		delete(m, "type")
		all, _ := m["allOf"].([]any)
		m["allOf"] = append(all, map[string]any{"type": t})
	}
	return m
}

// writeNames writes ids, anchors and definitions.
func (s *shape) writeNames(m map[string]any, hides, forValidator bool) {
	id := "$id"
	if s.draft == 4 {
		id = "id"
	}
	switch {
	case s == s.resource.root && s.resource.url != s.file.url:
		m[id] = s.resource.url
	case s.anchor != "" && s.draft >= 2019:
		m["$anchor"] = s.anchor
	case s.anchor != "" && !hides:
		m[id] = "#" + s.anchor
	}
	if s.dynamic != "" {
		m["$dynamicAnchor"] = s.dynamic
	}
	if s.recurse {
		m["$recursiveAnchor"] = true
	}
	if len(s.defs) > 0 {
		defs := map[string]any{}
		for i, d := range s.defs {
			defs[fmt.Sprintf("d%d", i)] = d.write(forValidator)
		}
		m[s.defsWord] = defs
	}
}

func (a application) write(forValidator bool) any {
	if len(a.names) == 0 && len(a.to) == 1 {
		return a.to[0].write(forValidator)
	}
	if len(a.names) > 0 && (strings.HasSuffix(a.keyword, "Of") || a.keyword == "items[]" || a.keyword == "prefixItems") {
		list := make([]any, len(a.to))
		for i, to := range a.to {
			list[i] = to.write(forValidator)
		}
		return list
	}
	m := map[string]any{}
	for k, v := range a.data {
		m[k] = v
	}
	for i, to := range a.to {
		m[a.names[i]] = to.write(forValidator)
	}
	return m
}

func mapFS(texts map[string][]byte) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range texts {
		fsys[name] = &fstest.MapFile{Data: text}
	}
	return fsys
}

// instance makes a payload: objects of the names that schemas speak of, arrays, scalars.
func instance(pick chooser, depth int) any {
	k := pick.IntN(6)
	if depth == 0 {
		k = 0
	}
	switch k {
	case 0:
		return []any{nil, true, json.Number("1"), json.Number("2.5"), "a", "long enough"}[pick.IntN(6)]
	case 1, 2:
		l := []any{}
		for range pick.IntN(4) {
			l = append(l, instance(pick, depth-1))
		}
		return l
	}
	m := map[string]any{}
	for _, n := range generatedNames() {
		if pick.IntN(2) == 1 {
			m[n] = instance(pick, depth-1)
		}
	}
	return m
}
