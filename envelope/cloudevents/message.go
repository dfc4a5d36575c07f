package cloudevents

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Header of a message. It has the fields of franz-go's kgo.RecordHeader, confluent-kafka-go's kafka.Header and kafka-go's protocol.Header, so that each
// converts into the other: kgo.RecordHeader(h).
type Header struct {
	Key   string
	Value []byte
}

// Message is an event on a broker (docs/format.md 10): the payload in wire form, byte for byte, as the body, and the rest in headers.
type Message struct {
	Headers []Header
	Body    []byte
}

// Format keeps headers and body out of logs, whatever the verb.
func (m Message) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "message with %d headers and a body of %d bytes", len(m.Headers), len(m.Body))
}

// LogValue is what Format prints, for slog.
func (m Message) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(m)) }

const brokerPrefix = "ce_"

// Message writes an event for a broker: CloudEvents' binary mode with the header names of its Kafka binding. The body shares the event's payload and must
// not be changed. Messages of one aggregate stay in order if the aggregate id is their key.
//
// The event's own headers may hold any UTF-8, line breaks too; a broker whose protocol is text must take care of that, as for any header.
//
// Errors are *Error of KindUnfit or KindTooLarge, envelope.ErrZero, and *envelope.OptionError without Options.Source.
func (c *Codec) Message(e envelope.InWireForm) (Message, error) {
	out, err := c.outgoing(e)
	if err != nil {
		return Message{}, err
	}
	m := Message{Body: out.payload, Headers: make([]Header, 0, len(out.attributes)+1+len(out.headers))}
	add := func(name, value string) { m.Headers = append(m.Headers, Header{name, []byte(value)}) }
	for _, a := range out.attributes {
		add(brokerPrefix+a.name, a.value)
	}
	add(contentTypeName, payloadType)
	for _, h := range out.headers {
		add(h.name, h.value)
	}
	return m, nil
}

// ParseMessage reads what Message wrote, and any message after CloudEvents' Kafka binding that has the attributes of an event: in binary mode, or in
// structured mode with the content type application/cloudevents+json. Header names are compared as they are, in lower case. The event shares the message's
// body, which must not be changed while the event is used.
//
// Errors are *Error, and those of envelope.Parse.
func (c *Codec) ParseMessage(m Message) (envelope.Received, error) {
	if len(m.Body) > c.maxText() {
		return envelope.Received{}, tooLarge("body", c.maxText())
	}
	contentType, err := c.contentTypeOf(m.Headers)
	if err != nil {
		return envelope.Received{}, err
	}
	kind, err := modeOf(contentType)
	if err != nil {
		return envelope.Received{}, err
	}
	in := c.incoming()
	for i, h := range m.Headers {
		name, isAttribute := strings.CutPrefix(h.Key, brokerPrefix)
		switch {
		case isAttribute && name == attrDataContentType:
			return envelope.Received{}, misplacedType()
		case isAttribute:
			err = in.attribute(i, name, string(h.Value))
		case h.Key == contentTypeName || kind == modeStructured || !c.keeps(h.Key):
			continue
		default:
			if err = in.grow(len(h.Key) + len(h.Value)); err == nil {
				err = in.header(headerLabel(i), h.Key, string(h.Value))
			}
		}
		if err != nil {
			return envelope.Received{}, err
		}
	}
	if kind == modeStructured {
		return c.parseJSON(m.Body, in.attributes)
	}
	return in.received(contentType, m.Body)
}

// contentTypeOf finds the one content type, and refuses names that only look like those of this format, since another reader may take them for it.
func (c *Codec) contentTypeOf(headers []Header) (contentType string, err error) {
	found := false
	for i, h := range headers {
		lower := strings.ToLower(h.Key)
		switch {
		case h.Key == contentTypeName && found:
			return "", duplicate(contentTypeName)
		case h.Key == contentTypeName:
			contentType, found = string(h.Value), true
		case lower == contentTypeName || strings.HasPrefix(lower, brokerPrefix) && !strings.HasPrefix(h.Key, brokerPrefix):
			return "", malformed(headerLabel(i), "has a name that begins with ce_ or is content-type but for its case", "these names are written in lower case on a broker")
		}
	}
	if err := c.checkFound(found); err != nil {
		return "", err
	}
	return contentType, nil
}

func (c *Codec) checkFound(found bool) error {
	if !found {
		return missing(contentTypeName)
	}
	return nil
}

func misplacedType() error {
	return malformed(attrDataContentType, "is no header of a message", "the payload's type is the header content-type")
}
