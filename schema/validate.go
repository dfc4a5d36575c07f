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
func (e *EventSchema) Validate(payload []byte) error {
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
	keyword := lastToken(ve.AbsoluteKeywordLocation)
	slices.SortFunc(ve.Causes, func(a, b *jsonschema.ValidationError) int { // the validator's order is random
		return cmp.Or(cmp.Compare(a.InstanceLocation, b.InstanceLocation), cmp.Compare(a.KeywordLocation, b.KeywordLocation))
	})
	switch {
	case len(r.violations) == maxViolations:
	case keyword == "anyOf" || keyword == "oneOf":
		r.add(ve, keyword)
		if best := closest(ve.Causes); best != nil {
			r.report(best)
		}
	case len(ve.Causes) == 0:
		r.add(ve, keyword)
	case keyword == "minContains" || keyword == "contains":
		r.add(ve, keyword)
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

func lastToken(location string) string {
	_, fragment := splitURL(location)
	tokens := strings.Split(fragment, "/")
	for i := len(tokens) - 1; i >= 0; i-- {
		if _, err := strconv.Atoi(tokens[i]); err != nil {
			return tokens[i]
		}
	}
	return ""
}

func (r *reporter) add(ve *jsonschema.ValidationError, keyword string) {
	if len(r.violations) == maxViolations {
		return
	}
	tokens := instanceTokens(ve.InstanceLocation)
	location, v := r.mask(tokens)
	d, pointer := r.locate(ve.AbsoluteKeywordLocation)
	violation := Violation{Location: location, Keyword: keyword, Schema: d.file, tokens: tokens}
	ptr, _ := splitPointer(pointer)
	var rule *value
	if rule = d.root.lookup(ptr); rule != nil {
		line, col := d.position(rule.start)
		violation.Schema = fmt.Sprintf("%s:%d:%d", d.file, line, col)
	}
	violation.Message = message(d, keyword, rule, v)
	r.violations = append(r.violations, violation)
}

// locate finds the document and pointer of a keyword's absolute location.
func (r *reporter) locate(location string) (*document, string) {
	u, fragment := splitURL(decodeLocation(location))
	if d := r.e.reg.byURL[u]; d != nil {
		return d, fragment
	}
	return r.e.doc, ""
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
func message(d *document, keyword string, rule *value, v any) string {
	text := ""
	if rule != nil && (rule.kind == '"' || rule.kind == '0') && rule.end-rule.start <= 100 {
		text = " " + d.text(rule)
	}
	switch keyword {
	case "type":
		return "expected " + typeWords(rule) + ", found " + jsonTypeName(v)
	case "required":
		return "missing " + strings.Join(missing(rule, v), ", ")
	case "enum", "const":
		return "not one of the allowed values"
	case "format":
		return "not a valid" + text
	case "pattern":
		return "does not match the pattern" + text
	case "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf":
		return "violates " + keyword + text
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return "violates " + keyword + text
	case "additionalProperties", "unevaluatedProperties":
		return "has a member that the schema does not allow"
	case "additionalItems", "unevaluatedItems", "items":
		return "has an item that the schema does not allow"
	case "uniqueItems":
		return "has equal items"
	case "anyOf":
		return "matches none of the alternatives"
	case "oneOf":
		return "does not match exactly one of the alternatives"
	case "not":
		return "matches what the schema excludes"
	case "contains":
		return "has no item of the required form"
	case "":
		return "not allowed"
	}
	return "violates " + keyword
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
