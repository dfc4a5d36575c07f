package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// ValidationError lists what a payload violates, at most 100 rules, in a stable order, without any payload value.
type ValidationError struct {
	Type       string
	Version    int
	Violations []Violation
}

func (e *ValidationError) Error() string {
	v := e.Violations[0]
	s := fmt.Sprintf("payload does not match the schema of %s version %d: at %s: %s", e.Type, e.Version, v.place(), v.Message)
	if n := len(e.Violations) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// Hint says what to do next.
func (e *ValidationError) Hint() string {
	return "the rule stands in " + e.Violations[0].Schema
}

// maxViolations bounds what a refusal lists: a payload can break a rule a million times.
const maxViolations = 100

// Violation is one broken rule.
type Violation struct {
	Location string // JSON pointer in the payload; names that the schema does not spell are masked as *
	Keyword  string // the keyword that failed, such as "required"
	Schema   string // FILE:LINE:COL of the keyword
	Message  string // what is wrong, lower case, without any payload value

	tokens []string // the exact path, for Offset; never printed
}

func (v *Violation) place() string {
	if v.Location == "" {
		return "the root"
	}
	return v.Location
}

// String, Format and GoString keep the exact path out of what fmt prints.
func (v Violation) String() string { return v.place() + ": " + v.Message }

// GoString keeps the exact path out of %#v.
func (v Violation) GoString() string { return v.String() }

// Format keeps the exact path out of every verb.
func (v Violation) Format(f fmt.State, _ rune) { fmt.Fprint(f, v.String()) }

// Offset returns the byte offset in payload of the value that the violation is about, or -1 if it is not there.
func (v *Violation) Offset(payload []byte) int {
	dec := jsontext.NewDecoder(bytes.NewReader(payload))
	for _, token := range v.tokens {
		if !descend(dec, token) {
			return -1
		}
	}
	if dec.PeekKind() == 0 {
		return -1
	}
	off := int(dec.InputOffset())
	for off < len(payload) && strings.IndexByte(" \t\r\n:,", payload[off]) >= 0 {
		off++
	}
	return off
}

// descend moves a decoder that stands before an object or an array to its member or item.
func descend(dec *jsontext.Decoder, token string) bool {
	open, err := dec.ReadToken()
	if err != nil {
		return false
	}
	switch open.Kind() {
	case '{':
		for dec.PeekKind() == '"' {
			name, err := dec.ReadToken()
			if err != nil {
				return false
			}
			if name.String() == token {
				return true
			}
			if dec.SkipValue() != nil {
				return false
			}
		}
	case '[':
		want, err := strconv.Atoi(token)
		if err != nil {
			return false
		}
		for i := 0; dec.PeekKind() != ']' && dec.PeekKind() != 0; i++ {
			if i == want {
				return true
			}
			if dec.SkipValue() != nil {
				return false
			}
		}
	}
	return false
}

// Validate checks a plaintext payload against the schema. The payload must be strict JSON with bounded numbers already, which is the
// caller's duty (package envelope does it). It returns nil or a *ValidationError.
func (e *EventSchema) Validate(payload []byte) error { return e.judge(payload) }

// judge validates a payload against the compiled schema, that of the event or that of its wire form.
func (e *EventSchema) judge(payload []byte) error {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return &ValidationError{Type: e.typ, Version: e.version, Violations: []Violation{{Keyword: "syntax", Schema: e.doc.file, Message: "not valid JSON"}}}
	}
	err := e.validator.validate(v, len(payload))
	if err == nil {
		return nil
	}
	out := &ValidationError{Type: e.typ, Version: e.version}
	if err == errWork {
		out.Violations = []Violation{{Keyword: "limit", Schema: e.doc.file, Message: fmt.Sprintf("takes more than %d steps to validate: alternatives that recur multiply", maxWork+3*len(payload))}}
		return out
	}
	if invalid, ok := err.(*jsonschema.ValidationError); ok {
		r := reporter{e: e, instance: v}
		r.report(invalid)
		out.Violations = r.violations
	}
	if len(out.Violations) == 0 {
		out.Violations = []Violation{{Keyword: "", Schema: e.doc.file, Message: "the payload could not be validated"}}
	}
	slices.SortFunc(out.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Location, b.Location), slices.Compare(a.tokens, b.tokens), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Message, b.Message))
	})
	out.Violations = slices.CompactFunc(out.Violations, func(a, b Violation) bool {
		return a.Location == b.Location && a.Keyword == b.Keyword && a.Schema == b.Schema && slices.Equal(a.tokens, b.tokens)
	})
	return out
}

// reporter turns the validator's error tree, which holds values, URL-escaped locations and random order, into violations.
type reporter struct {
	e          *EventSchema
	instance   any
	violations []Violation
}

func (r *reporter) report(ve *jsonschema.ValidationError) {
	if len(r.violations) == maxViolations {
		return
	}
	slices.SortFunc(ve.Causes, func(a, b *jsonschema.ValidationError) int { // the validator's order is random
		return cmp.Or(cmp.Compare(a.InstanceLocation, b.InstanceLocation), cmp.Compare(a.KeywordLocation, b.KeywordLocation))
	})
	at := r.locate(ve.AbsoluteKeywordLocation)
	switch {
	case len(ve.Causes) == 0:
		r.add(ve, at)
	case at.whole("anyOf") || at.whole("oneOf"):
		r.add(ve, at)
		if best := closest(ve.Causes); best != nil {
			r.report(best)
		}
	case at.whole("minContains") || at.whole("contains"):
		r.add(ve, at) // each item has its own reason for not being the one
	default:
		for _, c := range ve.Causes {
			r.report(c)
		}
	}
}

// closest is the alternative with the fewest complaints: most likely the one that was meant.
func closest(causes []*jsonschema.ValidationError) *jsonschema.ValidationError {
	var best *jsonschema.ValidationError
	for _, c := range causes {
		if best == nil || cmp.Or(cmp.Compare(leaves(c), leaves(best)), cmp.Compare(c.KeywordLocation, best.KeywordLocation)) < 0 {
			best = c
		}
	}
	return best
}

func leaves(ve *jsonschema.ValidationError) int {
	if len(ve.Causes) == 0 {
		return 1
	}
	n := 0
	for _, c := range ve.Causes {
		n += leaves(c)
	}
	return n
}

// keywordPlace is where a broken rule stands: in a schema object, at a keyword, and at what is below that keyword.
type keywordPlace struct {
	d       *document
	object  string   // pointer of the schema object
	keyword string   // "" where the schema is false and stands for itself
	below   []string // such as the name and the number in dependentRequired/card/0
	rule    *value   // what states the rule; nil only where the location is not to be found
	off     int      // of the keyword's name, or of the rule below it
}

// whole reports that the place is a keyword, and not something below it.
func (p *keywordPlace) whole(keyword string) bool { return p.keyword == keyword && len(p.below) == 0 }

// sibling is a keyword of the same schema object.
func (p *keywordPlace) sibling(keyword string) *value {
	tokens, _ := splitPointer(p.object)
	if o := p.d.root.lookup(tokens); o != nil {
		return o.member(keyword)
	}
	return nil
}

// locate finds the place that the validator's absolute location names. A member may have a keyword's name, and an alternative a number: what is a
// keyword follows from which pointers are those of schemas.
func (r *reporter) locate(location string) *keywordPlace {
	u, fragment := splitURL(decodeLocation(location))
	p := &keywordPlace{d: r.e.reg.byURL[u]}
	if p.d == nil {
		p.d, fragment = r.e.doc, ""
	}
	tokens, _ := splitPointer(fragment)
	if len(tokens) == 0 {
		p.rule, p.off = p.d.root, p.d.root.start
		return p
	}
	i := len(tokens) - 1
	for ; i > 0 && p.d.nodes[joinPointer(tokens[:i])] == nil; i-- {
	}
	p.object, p.keyword, p.below = joinPointer(tokens[:i]), tokens[i], tokens[i+1:]
	switch {
	case p.whole("minContains") && p.sibling("minContains") == nil: // the validator's name for a contains that is alone
		p.keyword = "contains"
	case len(p.below) == 1 && (p.keyword == "$defs" || p.keyword == "definitions"): // the schema false
		p.keyword = "$ref"
	}
	p.rule, p.off = p.d.find(append(append([]string{}, tokens[:i]...), append([]string{p.keyword}, p.below...)...))
	if p.rule == nil {
		p.rule, p.off = p.d.find(tokens)
	}
	if p.rule == nil {
		_, p.off = p.d.find(tokens[:i])
	}
	return p
}

func joinPointer(tokens []string) string {
	p := ""
	for _, t := range tokens {
		p = child(p, t)
	}
	return p
}

// find gives the value at a path and where it is stated: at a member's name, else at the value.
func (d *document) find(tokens []string) (*value, int) {
	if len(tokens) == 0 {
		return d.root, d.root.start
	}
	last := len(tokens) - 1
	parent, v := d.root.lookup(tokens[:last]), d.root.lookup(tokens)
	if v == nil {
		return nil, 0
	}
	for _, m := range parent.members {
		if m.name == tokens[last] {
			return v, m.nameOff
		}
	}
	return v, v.start
}

func (r *reporter) add(ve *jsonschema.ValidationError, at *keywordPlace) {
	tokens := instanceTokens(ve.InstanceLocation)
	location, v := r.mask(tokens)
	line, col := at.d.position(at.off)
	violation := Violation{Location: location, Keyword: at.keyword, Schema: fmt.Sprintf("%s:%d:%d", at.d.file, line, col), tokens: tokens}
	if ofName(ve.KeywordLocation) {
		violation.Message = "the member's name: " + message(at, "")
	} else {
		violation.Message = message(at, v)
	}
	if at.keyword == "oneOf" && len(ve.Causes) == 0 {
		violation.Message = "matches more than one of the alternatives"
	}
	r.violations = append(r.violations, violation)
}

// ofName reports that a rule is about a member's name, by the way that the validator took to it.
func ofName(keywordLocation string) bool {
	tokens := strings.Split(keywordLocation, "/")
	for i, t := range tokens {
		if t != "propertyNames" {
			continue
		}
		switch tokens[max(i-1, 0)] {
		case "properties", "patternProperties", "dependentSchemas", "dependencies": // a member of that name
		default:
			return true
		}
	}
	return false
}

// instanceTokens decodes the validator's instance location, which is a JSON pointer with URL-escaped tokens.
func instanceTokens(location string) []string {
	if location == "" {
		return nil
	}
	var tokens []string
	for _, t := range strings.Split(strings.TrimPrefix(location, "/"), "/") {
		if u, err := url.PathUnescape(t); err == nil {
			t = u
		}
		tokens = append(tokens, pointerUnescaper.Replace(t))
	}
	return tokens
}

// mask writes a path as a pointer in which only names that the schema spells, and array indexes, stand; it gives the value there too.
func (r *reporter) mask(tokens []string) (string, any) {
	state := r.e.plan.root
	v := r.instance
	pointer := ""
	for _, t := range tokens {
		switch c := v.(type) {
		case map[string]any:
			exact := false
			if state != nil {
				state, exact = state.Member([]byte(t))
			}
			if exact {
				pointer = child(pointer, t)
			} else {
				pointer += "/*"
			}
			v = c[t]
		case []any:
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(c) {
				return pointer, nil
			}
			if state != nil {
				state = state.Item(i)
			}
			pointer += "/" + t
			v = c[i]
		default: // a property name that propertyNames refuses
			return pointer, v
		}
	}
	return pointer, v
}

// message says what a keyword wants. Only the schema's own words stand in it.
func message(at *keywordPlace, v any) string {
	rule := at.rule
	if rule != nil && rule.kind == 'f' && at.keyword != "additionalProperties" && at.keyword != "additionalItems" {
		return refusedBySchema(at.keyword)
	}
	if rule != nil && rule.kind == 't' { // draft 4: exclusiveMinimum says how minimum is meant
		switch at.keyword {
		case "exclusiveMinimum":
			rule = at.sibling("minimum")
		case "exclusiveMaximum":
			rule = at.sibling("maximum")
		}
	}
	text := ""
	if rule != nil && (rule.kind == '"' || rule.kind == '0') && rule.end-rule.start <= 100 {
		text = " " + at.d.text(rule)
	}
	switch at.keyword {
	case "type":
		return "expected " + typeWords(rule) + ", found " + jsonTypeName(v)
	case "required":
		return "missing " + strings.Join(missing(rule, v), ", ")
	case "dependentRequired", "dependencies":
		return missingBeside(at)
	case "enum", "const":
		return "not one of the allowed values"
	case "format":
		return "not a valid" + text
	case "pattern":
		return "does not match the pattern" + text
	case "contentEncoding":
		return "is not encoded as" + text
	case "contentMediaType":
		return "does not hold" + text
	case "additionalProperties":
		return "has a member that the schema does not allow"
	case "additionalItems":
		return "has an item that the schema does not allow"
	case "uniqueItems":
		return "has equal items"
	case "anyOf", "oneOf":
		return "matches none of the alternatives"
	case "not":
		return "matches what the schema excludes"
	case "contains":
		return "has no item of the required form"
	}
	return "violates " + at.keyword + text
}

// refusedBySchema says what a schema refuses that is false, by the keyword that it stands at.
func refusedBySchema(keyword string) string {
	switch keyword {
	case "properties", "patternProperties", "unevaluatedProperties":
		return "a member that the schema does not allow"
	case "items", "prefixItems", "unevaluatedItems":
		return "an item that the schema does not allow"
	}
	return "no value is allowed"
}

// missingBeside says which member must stand beside which. Both names are the schema's.
func missingBeside(at *keywordPlace) string {
	if len(at.below) == 0 || at.rule == nil || at.rule.kind != '"' {
		return "violates " + at.keyword
	}
	return fmt.Sprintf("missing %q, which %q requires", at.rule.str, at.below[0])
}

func typeWords(rule *value) string {
	if rule == nil {
		return "another type"
	}
	if rule.kind == '"' {
		return rule.str
	}
	var names []string
	for _, item := range rule.items {
		names = append(names, item.str)
	}
	return strings.Join(names, " or ")
}

func jsonTypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// missing lists the required names that are not there. They come from the schema.
func missing(rule *value, v any) []string {
	object, _ := v.(map[string]any)
	var names []string
	if rule != nil {
		for _, item := range rule.items {
			if _, ok := object[item.str]; !ok {
				names = append(names, strconv.Quote(item.str))
			}
		}
	}
	if len(names) == 0 {
		return []string{"a required member"}
	}
	return names
}
