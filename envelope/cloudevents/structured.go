package cloudevents

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// AppendJSON appends an event in CloudEvents' JSON format, of the content type MediaType. The payload stands in the member data byte for byte, but for the
// white space around it. The event's own headers are extension attributes.
//
// Errors are *Error of KindUnfit or KindTooLarge, envelope.ErrZero, and *envelope.OptionError without Options.Source.
func (c *Codec) AppendJSON(dst []byte, e envelope.InWireForm) ([]byte, error) {
	out, err := c.outgoing(e)
	if err != nil {
		return nil, err
	}
	extensions, err := c.extensions(out)
	if err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	for _, list := range [][]attribute{out.attributes, {{attrDataContentType, payloadType}}, extensions} {
		for _, a := range list {
			dst = append(append(append(dst, '"'), a.name...), `":`...)
			if dst, err = jsontext.AppendQuote(dst, a.value); err != nil {
				return nil, unfit(a.name, "is not valid UTF-8", "repair the producer") // Parse and Seal let none pass
			}
			dst = append(dst, ',')
		}
	}
	dst = append(dst, `"`+memberData+`":`...)
	return append(append(dst, bytes.Trim(out.payload, " \t\r\n")...), '}'), nil
}

// ParseJSON reads what AppendJSON wrote, and any event in CloudEvents' JSON format that has the attributes of one: the payload is the bytes of the member
// data, or what data_base64 holds. An attribute that is an integer or a boolean counts as its text, one that is null as absent.
//
// Errors are *Error, and those of envelope.Parse.
func (c *Codec) ParseJSON(text []byte) (envelope.Received, error) {
	if len(text) > c.maxText() {
		return envelope.Received{}, tooLarge("body", c.maxText())
	}
	return c.parseJSON(text, nil)
}

// parseJSON reads an event and holds the attributes of the message around it, if there are any, against the event's.
func (c *Codec) parseJSON(text []byte, around map[string]string) (envelope.Received, error) {
	// Names that stand twice are looked for here; those in the payload are for envelope to judge, which can say where.
	p := structured{Decoder: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true)), in: c.incoming(), null: map[string]bool{}}
	if err := p.object(); err != nil {
		return envelope.Received{}, err
	}
	for name, value := range around {
		if inside, ok := p.in.attributes[name]; !ok || inside != value {
			label := "attribute *"
			if isReserved(name) {
				label = name
			}
			return envelope.Received{}, &Error{label, KindMismatch, "is another in the message's headers than in its body", "both must say the same; find what changed one of them"}
		}
	}
	contentType, ok := p.in.attributes[attrDataContentType]
	if !ok {
		contentType = payloadType // as the format says
	}
	return p.in.received(contentType, p.data)
}

type structured struct {
	*jsontext.Decoder
	in *incoming
	// null are the members that are null: absent, but they stand there once.
	null map[string]bool
	data []byte
	has  bool // data, in one of its two forms
}

func (p *structured) object() error {
	switch p.PeekKind() {
	case '{':
	case '[':
		return unsupported("body", "is a batch", "one message holds one event")
	default:
		return malformed("body", "is no JSON object", "an event in JSON is one object")
	}
	if _, err := p.ReadToken(); err != nil {
		return syntax(err)
	}
	for n := 0; p.PeekKind() != '}'; n++ {
		token, err := p.ReadToken()
		if err != nil {
			return syntax(err)
		}
		if err := p.member(n, token.String()); err != nil {
			return err
		}
	}
	if _, err := p.ReadToken(); err != nil {
		return syntax(err)
	}
	if _, err := p.ReadToken(); !errors.Is(err, io.EOF) {
		return malformed("body", "has something after the event", "one message holds one event")
	}
	return nil
}

func (p *structured) member(n int, name string) error {
	switch name {
	case memberData, memberDataBase64:
		if p.has {
			return duplicate(memberData)
		}
		p.has = true
		return p.readData(name)
	}
	label := name
	if !isReserved(name) {
		label = attributeLabel(n)
	}
	if p.null[name] {
		return duplicate(label)
	}
	var value string
	kind := p.PeekKind()
	switch kind {
	case '{', '[':
		return malformed(label, "is an object or an array", "attributes are strings, integers and booleans")
	}
	token, err := p.ReadToken()
	if err != nil {
		return syntax(err)
	}
	switch kind {
	case 'n':
		if !isAttributeName(name) {
			return malformed(label, "has a name that no attribute may have", "attributes are of a-z and 0-9")
		}
		if _, twice := p.in.attributes[name]; twice {
			return duplicate(label)
		}
		p.null[name] = true
		return p.in.grow(len(name))
	case 't', 'f', '"':
		value = token.String()
	case '0':
		value = token.String()
		if i, err := strconv.ParseInt(value, 10, 64); err != nil || strconv.FormatInt(i, 10) != value {
			return malformed(label, "is a number, but no integer", "attributes are strings, integers and booleans")
		}
	}
	if kind != '"' && isReserved(name) && name != attrAggregateVersion {
		return malformed(label, "is no string", "this attribute is a string")
	}
	return p.in.attribute(n, name, value)
}

// readData takes the payload's bytes as they are.
func (p *structured) readData(name string) error {
	if name == memberData {
		raw, err := p.ReadValue()
		if err != nil {
			return syntax(err)
		}
		p.data = bytes.Clone(raw)
		return nil
	}
	if p.PeekKind() != '"' {
		return malformed(memberData, "is no string of base64", "data_base64 holds bytes in base64")
	}
	token, err := p.ReadToken()
	if err != nil {
		return syntax(err)
	}
	text := token.String()
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return malformed(memberData, "is no canonical base64", "data_base64 holds bytes in base64 with padding, and nothing else")
	}
	p.data = data
	return nil
}

// syntax says where, and nothing of what stands there: jsontext quotes it.
func syntax(err error) error {
	what := "is not strict JSON"
	var at *jsontext.SyntacticError
	if errors.As(err, &at) {
		what += ", at or after byte " + strconv.FormatInt(at.ByteOffset, 10)
	}
	return malformed("body", what, "an event in JSON is one object of RFC 8259, in UTF-8")
}
