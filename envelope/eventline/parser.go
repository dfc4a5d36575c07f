package eventline

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope/internal/jsonscan"
)

// parser reads one line after the other and keeps its scanner's memory.
type parser struct {
	jsonscan.Scanner
	form Form
	at   Position
	out  *Line
}

// around bounds numbers beside the payload: what an int64 has, and then some.
var around = jsonscan.Limits{Digits: 100, Exponent: 100}

// line reads the members of a line; the line keeps text.
func (p *parser) line(text []byte, form Form, at Position, now func() time.Time) (*Line, error) {
	p.Reset(text, around)
	p.form, p.at, p.out = form, at, &Line{}
	p.Space()
	p.out.Position = p.here()
	if p.Peek() != '{' {
		if fault := p.Expected(jsonscan.RuleValue); fault.Rule == jsonscan.RuleByteOrder {
			return nil, p.syntax(fault, "")
		}
		return nil, p.refuse(p.Pos, "", "not a JSON object", "an event line is one JSON object with type, aggregate_id and payload")
	}
	if err := p.object("", p.member); err != nil {
		return nil, err
	}
	if fault := p.End(); fault != nil {
		return nil, p.syntax(fault, "")
	}
	if err := p.complete(); err != nil {
		return nil, err
	}
	p.out.fill(now)
	return p.out, nil
}

// object reads an object's members, Pos at its brace. Each gets its decoded name, Pos at the value.
func (p *parser) object(location string, member func(name []byte, at int) error) error {
	p.Pos++
	p.Space()
	if p.Peek() == '}' {
		p.Pos++
		return nil
	}
	mark := p.OpenObject()
	for {
		if p.Peek() != '"' {
			return p.syntax(p.Expected(jsonscan.RuleName), location)
		}
		at := p.Pos
		span, fault := p.String()
		if fault != nil {
			return p.syntax(fault, location)
		}
		name := p.Name(span)
		if fault := p.AddName(mark, span, name); fault != nil {
			return p.syntax(fault, location)
		}
		p.Space()
		if p.Peek() != ':' {
			return p.syntax(p.Expected(jsonscan.RuleColon), location)
		}
		p.Pos++
		p.Space()
		if err := member(name, at); err != nil {
			return err
		}
		p.Space()
		switch p.Peek() {
		case ',':
			p.Pos++
			p.Space()
			continue
		case '}':
			p.Pos++
			if fault := p.CloseObject(mark); fault != nil {
				return p.syntax(fault, location)
			}
			return nil
		}
		return p.syntax(p.Expected(jsonscan.RuleObject), location)
	}
}

// member reads one member of the line.
func (p *parser) member(name []byte, at int) error {
	m, ok := memberOf(name)
	switch {
	case !ok:
		return p.refuse(at, "*", "an unknown member", unknownHint(string(name), p.form))
	case m.sealedOnly() && p.form == Plaintext:
		return p.refuse(at, m.String(), "a member of sealed lines in a plaintext line", "this line is sealed already; fieldcrypt open reads it")
	}
	p.out.columns[m] = p.Pos + 1
	switch m {
	case memberID:
		return p.text(m, &p.out.ID)
	case memberType:
		return p.text(m, &p.out.Type)
	case memberVersion:
		n, err := p.integer(m, 1, math.MaxInt32)
		p.out.Version = int(n)
		return err
	case memberAggregateType:
		return p.text(m, &p.out.AggregateType)
	case memberAggregateID:
		return p.text(m, &p.out.AggregateID)
	case memberAggregateVersion:
		n, err := p.integer(m, math.MinInt64, math.MaxInt64)
		p.out.AggregateVersion = &n
		return err
	case memberOccurredAt:
		return p.time(m, &p.out.OccurredAt)
	case memberHeaders:
		return p.headers(m)
	case memberKeyIDs:
		return p.keyIDs(m)
	case memberBlindIndexes:
		return p.blindIndexes(m)
	}
	return p.payload(m)
}

// complete checks that nothing is missing.
func (p *parser) complete() error {
	required := []member{memberType, memberAggregateID, memberPayload}
	if p.form == Sealed {
		required = append(required, memberID)
	}
	for _, m := range required {
		if p.out.columns[m] == 0 {
			hint := "a line needs type, aggregate_id and payload"
			if m == memberID {
				hint = "a sealed event's id is part of what its tokens are bound to"
			}
			return p.refuse(p.out.Column-1, m.String(), "the member is missing", hint)
		}
	}
	return nil
}

// stringValue reads a string's content.
func (p *parser) stringValue(location, wanted string) (string, error) {
	at := p.Pos
	if p.Peek() != '"' {
		return "", p.refuse(at, location, wanted, "")
	}
	span, fault := p.String()
	if fault != nil {
		return "", p.syntax(fault, location)
	}
	return string(p.Text(span, nil)), nil
}

func (p *parser) text(m member, into *string) (err error) {
	at := p.Pos
	if *into, err = p.stringValue(m.String(), "must be a string"); err == nil && *into == "" {
		return p.refuse(at, m.String(), "is empty", "leave an optional member out")
	}
	return err
}

func (p *parser) integer(m member, least, most int64) (int64, error) {
	at := p.Pos
	if c := p.Peek(); c != '-' && (c < '0' || c > '9') {
		return 0, p.refuse(at, m.String(), "must be an integer", "leave an optional member out instead of null")
	}
	if fault := p.Number(); fault != nil {
		return 0, p.syntax(fault, m.String())
	}
	n, err := strconv.ParseInt(string(p.Buf[at:p.Pos]), 10, 64)
	if err != nil || n < least || n > most {
		return 0, p.refuse(at, m.String(), "must be an integer from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10)+", with neither fraction nor exponent", "")
	}
	return n, nil
}

func (p *parser) time(m member, into *time.Time) error {
	at := p.Pos
	text, err := p.stringValue(m.String(), "must be a string")
	if err != nil {
		return err
	}
	if into.UnmarshalText([]byte(text)) != nil {
		return p.refuse(at, m.String(), "is no time of RFC 3339", "write it as 2026-11-30T12:00:00Z")
	}
	return nil
}

func (p *parser) headers(m member) error {
	if p.Peek() != '{' {
		return p.refuse(p.Pos, m.String(), "must be an object of strings", "")
	}
	p.out.Headers = make(map[string]string)
	return p.object(m.String(), func(name []byte, _ int) (err error) {
		p.out.Headers[string(name)], err = p.stringValue(m.String(), "a header's value must be a string")
		return err
	})
}

var keyIDForm = regexp.MustCompile(`^(?:seal|index):[0-9a-f]{8}$`)

func (p *parser) keyIDs(m member) error {
	const wanted = "must be an array of strings like seal:0f3a9c01"
	p.out.KeyIDs = []string{}
	return p.strings(m, wanted, func(text string, at int) error {
		if !keyIDForm.MatchString(text) {
			return p.refuse(at, m.String(), wanted, "")
		}
		p.out.KeyIDs = append(p.out.KeyIDs, text)
		return nil
	})
}

// strings reads an array of strings.
func (p *parser) strings(m member, wanted string, item func(text string, at int) error) error {
	if p.Peek() != '[' {
		return p.refuse(p.Pos, m.String(), wanted, "")
	}
	p.Pos++
	p.Space()
	if p.Peek() == ']' {
		p.Pos++
		return nil
	}
	for {
		at := p.Pos
		text, err := p.stringValue(m.String(), wanted)
		if err != nil {
			return err
		}
		if err := item(text, at); err != nil {
			return err
		}
		p.Space()
		switch p.Peek() {
		case ',':
			p.Pos++
			p.Space()
			continue
		case ']':
			p.Pos++
			return nil
		}
		return p.syntax(p.Expected(jsonscan.RuleArray), m.String())
	}
}

var indexName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

func (p *parser) blindIndexes(m member) error {
	const wanted = "must be an object of strings like bi1:5b2e77d0:…, or of arrays of these"
	if p.Peek() != '{' {
		return p.refuse(p.Pos, m.String(), wanted, "")
	}
	p.out.BlindIndexes = make(map[string][][]byte)
	return p.object(m.String(), func(name []byte, at int) error {
		if !indexName.Match(name) {
			return p.refuse(at, m.String(), "a name that no index can have", "an index's name is a-z, then a-z, 0-9 and underscores")
		}
		index := string(name)
		add := func(text string, at int) error {
			stored, err := blindindex.ParseText(text)
			if err != nil {
				return p.refuse(at, m.String(), wanted, "")
			}
			p.out.BlindIndexes[index] = append(p.out.BlindIndexes[index], stored)
			return nil
		}
		if p.Peek() == '[' {
			return p.strings(m, wanted, add)
		}
		start := p.Pos
		text, err := p.stringValue(m.String(), wanted)
		if err != nil {
			return err
		}
		return add(text, start)
	})
}

// payload finds where the payload ends. What is in it is for envelope to judge, which knows the schema: if the line is JSON, the end found here is
// the right one; if it is not, envelope or what follows says so.
func (p *parser) payload(m member) error {
	start, depth := p.Pos, 0
	p.out.payloadColumn = start + 1
	buf := p.Buf
	for i := start; i < len(buf); i++ {
		switch buf[i] {
		case '"':
			end := closingQuote(buf, i)
			if end < 0 {
				return p.refuse(i, m.String(), "a string in the payload does not end", "an event stands on one line")
			}
			i = end
			if depth == 0 {
				return p.payloadEnd(start, i+1)
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return p.payloadEnd(start, i)
			}
			if depth--; depth == 0 {
				return p.payloadEnd(start, i+1)
			}
		case ',', ' ', '\t', '\r':
			if depth == 0 {
				return p.payloadEnd(start, i)
			}
		}
	}
	return p.refuse(len(buf), m.String(), "the line ends within the payload", "an event stands on one line")
}

func (p *parser) payloadEnd(start, end int) error {
	if start == end {
		return p.refuse(start, memberPayload.String(), "a value was expected", "")
	}
	p.Pos = end
	p.out.Payload = p.Buf[start:end:end]
	return nil
}

// closingQuote finds the end of the string that begins at i, -1 if there is none.
func closingQuote(buf []byte, i int) int {
	for i++; i < len(buf); i++ {
		n := bytes.IndexAny(buf[i:], `"\`)
		if n < 0 {
			return -1
		}
		if i += n; buf[i] == '"' {
			return i
		}
		i++ // what is escaped
	}
	return -1
}

func (p *parser) here() Position {
	at := p.at
	at.Column = p.Pos + 1
	return at
}

func (p *parser) refuse(offset int, location, what, hint string) error {
	at := p.at
	at.Column = offset + 1
	return &Error{Position: at, Location: location, What: what, Next: hint}
}

func (p *parser) syntax(f *jsonscan.Fault, location string) error {
	what := "not strict JSON: " + f.Rule
	if f.Limit != "" {
		what = "over the limit: " + f.Limit + ", at most " + strconv.Itoa(f.Max)
	}
	return p.refuse(f.Offset, location, what, "each line is one JSON object in UTF-8, without duplicate names")
}

// unknownHint names the member that was probably meant. The name itself came from outside and is not shown.
func unknownHint(name string, form Form) string {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name))
	var known []string
	for m := range memberCount {
		if m.sealedOnly() && form == Plaintext {
			continue
		}
		if strings.ReplaceAll(m.String(), "_", "") == plain {
			return "did you mean " + m.String() + "?"
		}
		known = append(known, m.String())
	}
	slices.Sort(known)
	return "a line may have " + strings.Join(known, ", ")
}
