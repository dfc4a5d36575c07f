package cloudevents

import (
	"encoding/base64"
	"maps"
	"math"
	"mime"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// Names of attributes. The two that begin with aggregate are extensions.
const (
	attrAggregateType    = "aggregatetype"
	attrAggregateVersion = "aggregateversion"
	attrDataContentType  = "datacontenttype"
	attrDataSchema       = "dataschema"
	attrID               = "id"
	attrSource           = "source"
	attrSpecVersion      = "specversion"
	attrSubject          = "subject"
	attrTime             = "time"
	attrType             = "type"

	memberData       = "data"
	memberDataBase64 = "data_base64"
)

const (
	specVersion  = "1.0"
	schemaPrefix = "fieldcrypt:"
	payloadType  = "application/json"

	// maxAttributes is how many bytes all names and values of attributes and headers may have together, written and read.
	maxAttributes = 64 << 10
)

// required are the attributes that every message has, but for those of its data.
var required = [...]string{attrSpecVersion, attrID, attrType, attrSource, attrSubject, attrAggregateType, attrDataSchema}

// timeForm is RFC 3339, of which package time takes a little more.
var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$`)

// isReserved says that a name has a meaning of its own, here or in CloudEvents.
func isReserved(name string) bool {
	switch name {
	case attrAggregateType, attrAggregateVersion, attrDataContentType, attrDataSchema, attrID, attrSource, attrSpecVersion, attrSubject, attrTime, attrType, memberData:
		return true
	}
	return false
}

// isAttributeName is CloudEvents' rule for names.
func isAttributeName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// isString is CloudEvents' rule for the type String: Unicode without control characters and noncharacters.
func isString(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe {
			return false
		}
	}
	return true
}

type attribute struct{ name, value string }

// outgoing is an event on its way out.
type outgoing struct {
	// attributes without datacontenttype and extensions of the event's own, in the order in which they are written.
	attributes []attribute
	headers    []attribute // the event's own, in the order of their names
	payload    []byte
	// size of all names and values, counted as a reader does that finds datacontenttype among the attributes.
	size int
}

func (c *Codec) outgoing(e envelope.InWireForm) (outgoing, error) {
	var w envelope.Wire
	switch e := e.(type) { // a type that embeds one of these is neither
	case envelope.Sealed:
		w = e.Wire()
	case envelope.Received:
		w = e.Wire()
	}
	if w.ID == "" {
		return outgoing{}, envelope.ErrZero
	}
	if c.source == "" {
		return outgoing{}, &envelope.OptionError{Option: "Source", What: "is needed to write a message"}
	}
	out := outgoing{payload: w.Payload}
	add := func(name, value string) { out.attributes = append(out.attributes, attribute{name, value}) }
	add(attrSpecVersion, specVersion)
	add(attrID, w.ID)
	add(attrType, w.Type)
	add(attrSource, c.source)
	add(attrSubject, w.AggregateID)
	add(attrAggregateType, w.AggregateType)
	if w.AggregateVersion != nil {
		add(attrAggregateVersion, strconv.FormatInt(*w.AggregateVersion, 10))
	}
	if !w.OccurredAt.IsZero() {
		add(attrTime, w.OccurredAt.Format(time.RFC3339Nano))
	}
	add(attrDataSchema, schemaPrefix+w.Type+"/"+strconv.Itoa(w.Version))
	out.size = len(attrDataContentType) + len(payloadType)
	for _, a := range out.attributes {
		out.size += len(a.name) + len(a.value)
		if !isString(a.value) {
			return outgoing{}, unfit(a.name, "has a character that no attribute of CloudEvents may have", "a control character or a noncharacter of Unicode: use another identifier")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Headers)) {
		out.headers = append(out.headers, attribute{name, w.Headers[name]})
		out.size += len(name) + len(w.Headers[name])
	}
	if out.size > maxAttributes {
		return outgoing{}, tooLarge("headers", maxAttributes)
	}
	return out, nil
}

// extensions gives the event's own headers as attributes.
func (c *Codec) extensions(out outgoing) ([]attribute, error) {
	var list []attribute
	for i, header := range out.headers {
		name, mapped := c.attributeOf[header.name]
		if _, taken := c.headerOf[header.name]; taken && !mapped {
			return nil, unfit(headerLabel(i), "has the name of an attribute that carries another header", "see Options.HeaderAttributes")
		}
		switch {
		case !mapped && (!isAttributeName(header.name) || isReserved(header.name)):
			return nil, unfit(headerLabel(i), "has a name that no extension attribute may have",
				"attributes are of a-z and 0-9 and none of CloudEvents' own: rename the header, or name an attribute for it in Options.HeaderAttributes")
		case !mapped:
			name = header.name
		case name == "":
			continue
		}
		if !isString(header.value) {
			return nil, unfit(headerLabel(i), "has a character that no attribute of CloudEvents may have", "a control character or a noncharacter of Unicode: encode the value")
		}
		list = append(list, attribute{name, header.value})
		if out.size += len(name) - len(header.name); out.size > maxAttributes {
			return nil, tooLarge("headers", maxAttributes)
		}
	}
	return list, nil
}

// incoming collects what a message holds.
type incoming struct {
	codec *Codec
	// attributes are all that stand in the message, extensions too; datacontenttype only where it is an attribute.
	attributes map[string]string
	headers    map[string]string
	size       int
}

func (c *Codec) incoming() *incoming {
	return &incoming{codec: c, attributes: make(map[string]string), headers: make(map[string]string)}
}

func (in *incoming) grow(n int) error {
	if in.size += n; in.size > maxAttributes {
		return tooLarge("headers", maxAttributes)
	}
	return nil
}

// attribute adds one; n counts what the message has, from 0, since a name that is not known here is not shown.
func (in *incoming) attribute(n int, name, value string) error {
	label := name
	if !isReserved(name) {
		label = attributeLabel(n)
	}
	if err := in.grow(len(name) + len(value)); err != nil {
		return err
	}
	if !isAttributeName(name) || name == memberData {
		return malformed(label, "has a name that no attribute may have", "attributes are of a-z and 0-9")
	}
	if _, twice := in.attributes[name]; twice {
		return duplicate(label)
	}
	if !isString(value) {
		return malformed(label, "has a character that no attribute may have", "attributes are UTF-8 without control characters and noncharacters")
	}
	in.attributes[name] = value
	if isReserved(name) || !in.codec.keeps(name) {
		return nil
	}
	if header, mapped := in.codec.headerOf[name]; mapped {
		name = header
	}
	return in.header(label, name, value)
}

// header adds one of the event's own.
func (in *incoming) header(label, name, value string) error {
	if _, twice := in.headers[name]; twice {
		return duplicate(label)
	}
	in.headers[name] = value
	return nil
}

// received puts an event together.
func (in *incoming) received(contentType string, payload []byte) (envelope.Received, error) {
	if v, ok := in.attributes[attrSpecVersion]; ok && v != specVersion {
		return envelope.Received{}, unsupported(attrSpecVersion, "is not 1.0", "this version reads CloudEvents 1.0")
	}
	for _, name := range required {
		if _, ok := in.attributes[name]; !ok {
			return envelope.Received{}, missing(name)
		}
		if in.attributes[name] == "" {
			return envelope.Received{}, malformed(name, "is empty", "repair the producer")
		}
	}
	if err := checkPayloadType(contentType); err != nil {
		return envelope.Received{}, err
	}
	if !isSource(in.attributes[attrSource], false) {
		return envelope.Received{}, malformed(attrSource, "is no URI reference", "repair the producer")
	}
	w := envelope.Wire{
		ID: in.attributes[attrID], Type: in.attributes[attrType], AggregateType: in.attributes[attrAggregateType], AggregateID: in.attributes[attrSubject],
		Payload: payload,
	}
	var err error
	if w.Version, err = versionOf(in.attributes[attrDataSchema], w.Type); err != nil {
		return envelope.Received{}, err
	}
	if text, ok := in.attributes[attrAggregateVersion]; ok {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != text {
			return envelope.Received{}, malformed(attrAggregateVersion, "is no integer of 64 bits in plain digits", "repair the producer")
		}
		w.AggregateVersion = &n
	}
	if text, ok := in.attributes[attrTime]; ok {
		if !timeForm.MatchString(text) || w.OccurredAt.UnmarshalText([]byte(text)) != nil {
			return envelope.Received{}, malformed(attrTime, "is no time of RFC 3339", "write it as 2026-11-30T12:00:00Z")
		}
	}
	if len(in.headers) > 0 {
		w.Headers = in.headers
	}
	if len(payload) == 0 {
		return envelope.Received{}, missing(memberData)
	}
	return envelope.Parse(w, in.codec.limits)
}

// versionOf reads fieldcrypt:TYPE/VERSION.
func versionOf(schema, typ string) (int, error) {
	rest, ours := strings.CutPrefix(schema, schemaPrefix)
	at := strings.LastIndexByte(rest, '/')
	if !ours || at < 0 {
		return 0, unsupported(attrDataSchema, "is not of the form fieldcrypt:TYPE/VERSION", "this is no event of fieldcrypt's, or its producer must name the schema that it was sealed under")
	}
	version, err := strconv.ParseInt(rest[at+1:], 10, 32)
	if err != nil || version < 1 || strconv.FormatInt(version, 10) != rest[at+1:] {
		return 0, malformed(attrDataSchema, "has no version from 1 to 2147483647 in plain digits", "write it as fieldcrypt:TYPE/VERSION")
	}
	if rest[:at] != typ {
		return 0, &Error{Attribute: attrDataSchema, Kind: KindMismatch, What: "names another type than the attribute type", Next: "both are the event's type; find what changed one of them"}
	}
	return int(version), nil
}

// checkPayloadType takes what CloudEvents takes for JSON: the subtype json, or one that ends in +json.
func checkPayloadType(contentType string) error {
	if contentType == "" {
		return missing(contentTypeName)
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return malformed(contentTypeName, "is no media type", "fieldcrypt's payloads are application/json")
	}
	_, subtype, _ := strings.Cut(media, "/")
	if subtype != "json" && !strings.HasSuffix(subtype, "+json") || strings.HasPrefix(subtype, "cloudevents") {
		return unsupported(contentTypeName, "is not JSON", "fieldcrypt's payloads are application/json")
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return unsupported(contentTypeName, "has another charset than UTF-8", "fieldcrypt's payloads are UTF-8")
	}
	return nil
}

// mode is how a message holds its event.
type mode int

const (
	modeBinary mode = iota
	modeStructured
)

// MediaType is the content type of an event in the JSON form.
const MediaType = "application/cloudevents+json"

// modeOf tells the mode by the content type, as CloudEvents' bindings say.
func modeOf(contentType string) (mode, error) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(media, "application/cloudevents") {
		return modeBinary, nil // what it is else, checkPayloadType judges
	}
	if media != MediaType {
		return 0, unsupported(contentTypeName, "is a batch, or an event in another form than JSON", "one message holds one event, in "+MediaType+" or in headers")
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return 0, unsupported(contentTypeName, "has another charset than UTF-8", "events are UTF-8")
	}
	return modeStructured, nil
}

// maxText is the size of the largest text of an event in the JSON form: a payload in base64, and attributes of which each byte is escaped.
func (c *Codec) maxText() int {
	const attributes = maxAttributes * len(`\u0000`)
	most := c.limits.WithDefaults().MaxWire
	if most > math.MaxInt/2-attributes {
		return math.MaxInt
	}
	return base64.StdEncoding.EncodedLen(most) + attributes
}
