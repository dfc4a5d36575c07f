package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxDocumentBytes = 16 << 20 // FHIR R4, the largest schema we know in use, has 3.4 MB
	maxDocumentDepth = 500
	maxSubschemas    = 60_000 // of a file in 2020-12, where jsonschema/v5 looks for dynamic anchors below each of them: half a minute
	maxNumberDigits  = 1000   // the validator hands numbers to math/big, which expands exponents
	maxNumberExp     = 1000
)

// value is a JSON value of a schema document with its place in the source. encoding/json would lose the place, and would let the
// last of two equal names win, which can drop a flag.
type value struct {
	kind    jsontext.Kind // '{', '[', '"', '0', 't', 'f' or 'n'
	start   int           // byte offsets in the source
	end     int
	str     string // decoded, of a string
	members []member
	items   []*value
}

type member struct {
	name    string
	nameOff int
	value   *value
}

func (v *value) member(name string) *value {
	for i := range v.members {
		if v.members[i].name == name {
			return v.members[i].value
		}
	}
	return nil
}

// document is one loaded schema file.
type document struct {
	file  string // for people
	url   string // where it was loaded from; an absolute URL
	src   []byte
	root  *value
	lines []int // offsets of line starts

	draft     *draft
	id        string              // the root's URL: its $id, resolved, or url
	nodes     map[string]*node    // every schema position, by JSON pointer
	resources map[string]*node    // embedded resources by URL; the root's is id
	anchors   map[anchorKey]*node // $anchor, $dynamicAnchor, and "$id": "#name" of older drafts
	dynamic   map[string][]*node  // $dynamicAnchor by name, whatever its resource
	rootNode  *node

	eventType    string // "" where the document is no event schema
	eventVersion int
	referenced   bool
}

type anchorKey struct{ resource, name string }

func (d *document) position(off int) (line, col int) {
	i := sort.SearchInts(d.lines, off+1) - 1
	return i + 1, off - d.lines[i] + 1
}

// finding places a finding at an offset of the document.
func (d *document) finding(off int, pointer, rule, message, hint string) Finding {
	line, col := d.position(off)
	return Finding{File: d.file, Line: line, Column: col, Location: pointer, Rule: rule, Message: message, Hint: hint}
}

// parseDocument reads a schema document strictly: RFC 8259, UTF-8, no duplicate name anywhere, bounded depth and numbers.
func parseDocument(file, url string, src []byte) (*document, *Finding) {
	d := &document{file: file, url: url, src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	p := parser{d: d, dec: jsontext.NewDecoder(bytes.NewReader(src))}
	root, err := p.value(0)
	if err == nil {
		if _, err = p.dec.ReadToken(); err == nil {
			err = &parseError{off: p.skip(p.offset), what: "text after the JSON value"}
		} else if err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		f := p.finding(err)
		return nil, &f
	}
	d.root = root
	return d, nil
}

type parser struct {
	d      *document
	dec    *jsontext.Decoder
	offset int // end of the last token
}

type parseError struct {
	off  int
	what string
}

func (e *parseError) Error() string { return e.what }

// skip moves an offset over white space and the separators that the decoder has checked.
func (p *parser) skip(off int) int {
	for off < len(p.d.src) && strings.IndexByte(" \t\r\n,:", p.d.src[off]) >= 0 {
		off++
	}
	return off
}

func (p *parser) token() (tok jsontext.Token, start int, err error) {
	start = p.skip(p.offset)
	tok, err = p.dec.ReadToken()
	if err == nil {
		p.offset = int(p.dec.InputOffset())
	}
	return tok, start, err
}

func (p *parser) value(depth int) (*value, error) {
	tok, start, err := p.token()
	if err != nil {
		return nil, err
	}
	if depth > maxDocumentDepth {
		return nil, &parseError{off: start, what: fmt.Sprintf("nested deeper than %d levels", maxDocumentDepth)}
	}
	v := &value{kind: tok.Kind(), start: start}
	switch v.kind {
	case '{':
		err = p.object(v, depth)
	case '[':
		err = p.array(v, depth)
	case '"':
		v.str = tok.String()
	case '0':
		err = p.number(start)
	}
	v.end = p.offset
	return v, err
}

func (p *parser) object(v *value, depth int) error {
	for p.dec.PeekKind() != '}' {
		tok, start, err := p.token()
		if err != nil {
			return err
		}
		name := tok.String()
		child, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.members = append(v.members, member{name: name, nameOff: start, value: child})
	}
	_, _, err := p.token()
	return err
}

func (p *parser) array(v *value, depth int) error {
	for p.dec.PeekKind() != ']' {
		child, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.items = append(v.items, child)
	}
	_, _, err := p.token()
	return err
}

func (p *parser) number(start int) error {
	text := string(p.d.src[start:p.offset])
	mantissa, exp, _ := strings.Cut(strings.ToLower(text), "e")
	if len(mantissa) > maxNumberDigits {
		return &parseError{off: start, what: fmt.Sprintf("a number of more than %d digits", maxNumberDigits)}
	}
	if exp == "" {
		return nil
	}
	if n, err := strconv.Atoi(exp); err != nil || n > maxNumberExp || n < -maxNumberExp {
		return &parseError{off: start, what: fmt.Sprintf("a number with an exponent beyond ±%d", maxNumberExp)}
	}
	return nil
}

// finding says where and why the text is not strict JSON. The decoder's own text quotes the source, and is left out.
func (p *parser) finding(err error) Finding {
	off, rule, what := p.offset, "syntax", "not valid JSON"
	var own *parseError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &own):
		off, what = own.off, own.what
	case errors.Is(err, jsontext.ErrDuplicateName):
		rule, what = "duplicate-name", "a name stands twice in one object"
		if errors.As(err, &syntactic) {
			off = int(syntactic.ByteOffset)
		}
	case errors.As(err, &syntactic):
		off = int(syntactic.ByteOffset)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		off, what = len(p.d.src), "the JSON text ends too early"
	}
	if off > len(p.d.src) {
		off = len(p.d.src)
	}
	return p.d.finding(off, "", rule, what, "a schema file holds one JSON value (RFC 8259, UTF-8) without duplicate names")
}

// lookup finds the value at a JSON pointer (decoded tokens).
func (v *value) lookup(tokens []string) *value {
	for _, t := range tokens {
		switch v.kind {
		case '{':
			v = v.member(t)
		case '[':
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(v.items) || strconv.Itoa(i) != t {
				return nil
			}
			v = v.items[i]
		default:
			return nil
		}
		if v == nil {
			return nil
		}
	}
	return v
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// child appends one token to a JSON pointer.
func child(pointer, token string) string { return pointer + "/" + pointerEscaper.Replace(token) }

// splitPointer decodes a JSON pointer; ok is false for a text that is none.
func splitPointer(p string) (tokens []string, ok bool) {
	if p == "" {
		return nil, true
	}
	if p[0] != '/' {
		return nil, false
	}
	for _, t := range strings.Split(p[1:], "/") {
		tokens = append(tokens, pointerUnescaper.Replace(t))
	}
	return tokens, true
}
