package cloudevents

import (
	"maps"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

const httpPrefix = "ce-"

// HTTP writes an event for an HTTP request or response in CloudEvents' binary mode. header is meant for an http.Header and has its canonical names; the
// body shares the event's payload and must not be changed. The event's own headers go as extension attributes.
//
// Errors are *Error of KindUnfit or KindTooLarge, envelope.ErrZero, and *envelope.OptionError without Options.Source.
func (c *Codec) HTTP(e envelope.InWireForm) (header map[string][]string, body []byte, err error) {
	out, err := c.outgoing(e)
	if err != nil {
		return nil, nil, err
	}
	extensions, err := c.extensions(out)
	if err != nil {
		return nil, nil, err
	}
	header = map[string][]string{"Content-Type": {payloadType}}
	for _, list := range [][]attribute{out.attributes, extensions} {
		for _, a := range list {
			header["Ce-"+strings.ToUpper(a.name[:1])+a.name[1:]] = []string{percentEncode(a.value)}
		}
	}
	return header, out.payload, nil
}

// ParseHTTP reads what HTTP wrote, and any request or response after CloudEvents' HTTP binding that has the attributes of an event, in binary or structured
// mode. header is an http.Header; what in it is no attribute is passed over. Read the body through an http.MaxBytesReader of MaxBody. The event shares the
// body, which must not be changed while the event is used.
//
// Errors are *Error, and those of envelope.Parse.
func (c *Codec) ParseHTTP(header map[string][]string, body []byte) (envelope.Received, error) {
	if len(body) > c.maxText() {
		return envelope.Received{}, tooLarge("body", c.maxText())
	}
	in := c.incoming()
	lower := make(map[string][]string, len(header)) // HTTP's names have no case
	for name, values := range header {
		if name = strings.ToLower(name); name == contentTypeName || strings.HasPrefix(name, httpPrefix) {
			lower[name] = append(lower[name], values...)
		}
	}
	types := lower[contentTypeName]
	delete(lower, contentTypeName)
	for n, name := range slices.Sorted(maps.Keys(lower)) {
		values := lower[name]
		name = strings.TrimPrefix(name, httpPrefix)
		label := name
		if !isReserved(name) {
			label = attributeLabel(n)
		}
		switch {
		case len(values) == 0:
			continue
		case name == attrDataContentType:
			return envelope.Received{}, misplacedType()
		case len(values) > 1:
			return envelope.Received{}, duplicate(label)
		}
		value, ok := percentDecode(values[0])
		if !ok {
			return envelope.Received{}, malformed(label, "is not percent-encoded UTF-8", "CloudEvents' HTTP binding, section 3.1.3.2, says how values are encoded")
		}
		if err := in.attribute(n, name, value); err != nil {
			return envelope.Received{}, err
		}
	}
	switch len(types) {
	case 0:
		return envelope.Received{}, missing(contentTypeName)
	case 1:
	default:
		return envelope.Received{}, duplicate(contentTypeName)
	}
	kind, err := modeOf(types[0])
	if err != nil {
		return envelope.Received{}, err
	}
	if kind == modeStructured {
		return c.parseJSON(body, in.attributes)
	}
	return in.received(types[0], body)
}

// percentEncode encodes a value as CloudEvents' HTTP binding 3.1.3.2 says: each byte of UTF-8 that is not printable ASCII, and space, quote and percent.
func percentEncode(value string) string {
	const digits = "0123456789ABCDEF"
	var to strings.Builder
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '%' {
			to.WriteByte('%')
			to.WriteByte(digits[c>>4])
			to.WriteByte(digits[c&15])
		} else {
			to.WriteByte(c)
		}
	}
	return to.String()
}

// percentDecode takes quotes away, as older writers put them, and decodes once. That the result is UTF-8 is seen to by whoever takes it for a String.
func percentDecode(text string) (value string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		if text, ok = unquote(text); !ok {
			return "", false
		}
	}
	if strings.IndexByte(text, '%') < 0 {
		return text, true
	}
	to := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if i+2 >= len(text) {
				return "", false
			}
			high, low := unhex(text[i+1]), unhex(text[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			c, i = byte(high<<4|low), i+2
		}
		to = append(to, c)
	}
	return string(to), true
}

// unquote reads a quoted-string of RFC 9110, section 5.6.4, that is the whole text.
func unquote(text string) (content string, ok bool) {
	var to strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return to.String(), i == len(text)-1
		case '\\':
			if i++; i == len(text) {
				return "", false
			}
		}
		to.WriteByte(text[i])
	}
	return "", false
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
