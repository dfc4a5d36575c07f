package cloudevents

import (
	"errors"
	"net/url"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Options for New.
type Options struct {
	// HeaderAttributes names the extension attribute that carries a header of the event whose own name cannot be an attribute's, as in
	// {"correlation-id": "correlationid"}; "" leaves the header out. Both directions use it, in the JSON and the HTTP form; on a broker a header goes under its
	// own name. Defaults to none: a header whose name does not fit is refused.
	HeaderAttributes map[string]string
	// KeepHeader says which of the headers and extension attributes of a message that is read become headers of the event, by their names there; for
	// those that brokers, proxies and tracers add. Defaults to all.
	KeepHeader func(name string) bool
	// Limits of payloads that are read. Defaults to those of docs/format.md 3.
	Limits envelope.Limits
	// Source is the attribute of that name: a URI reference that says where events come from, such as "https://shop.example/invoices" or "/shop". Together
	// with the id it is unique. Needed to write. Defaults to none, which is enough to read.
	Source string
}

// Codec writes and reads messages. Safe for concurrent use. Its zero value reads with the defaults of Options.
type Codec struct {
	source      string
	limits      envelope.Limits
	keep        func(name string) bool
	attributeOf map[string]string
	headerOf    map[string]string
}

// New makes a Codec. An error is an *envelope.OptionError.
func New(opts Options) (*Codec, error) {
	c := &Codec{
		source: opts.Source, limits: opts.Limits, keep: opts.KeepHeader,
		attributeOf: make(map[string]string), headerOf: make(map[string]string),
	}
	var refused *envelope.OptionError
	if _, err := envelope.Parse(envelope.Wire{}, opts.Limits); errors.As(err, &refused) {
		return nil, err
	}
	if c.source != "" && !isSource(c.source, true) {
		return nil, &envelope.OptionError{Option: "Source", What: "is no URI reference of printable ASCII, such as https://shop.example/invoices"}
	}
	for header, attribute := range opts.HeaderAttributes {
		const option = "HeaderAttributes"
		switch {
		case header == "":
			return nil, &envelope.OptionError{Option: option, What: "names a header without a name"}
		case attribute == "":
			c.attributeOf[header] = ""
			continue
		case !isAttributeName(attribute):
			return nil, &envelope.OptionError{Option: option, What: "names an attribute that is not of a-z and 0-9 alone"}
		case isReserved(attribute):
			return nil, &envelope.OptionError{Option: option, What: "names an attribute that has a meaning of its own"}
		case c.headerOf[attribute] != "":
			return nil, &envelope.OptionError{Option: option, What: "names one attribute for two headers"}
		}
		c.attributeOf[header], c.headerOf[attribute] = attribute, header
	}
	return c, nil
}

func (c *Codec) keeps(name string) bool { return c.keep == nil || c.keep(name) }

// isSource says whether text can be a source. What is written is held to the characters of RFC 3986; what is read, to what a parser takes.
func isSource(text string, strict bool) bool {
	if text == "" || !isString(text) {
		return false
	}
	if strict && slices.ContainsFunc([]byte(text), func(c byte) bool { return c <= ' ' || c >= 0x7f || slices.Contains([]byte("\"<>\\^`{|}"), c) }) {
		return false
	}
	_, err := url.Parse(text)
	return err == nil
}

// MaxBody is the size in bytes of the largest body that is read, in whatever form: what an http.MaxBytesReader should let through.
func (c *Codec) MaxBody() int { return c.maxText() }
