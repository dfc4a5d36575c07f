package envelope

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Event is a caller's plaintext event.
type Event struct {
	// ID is a UUID in its 36-character form, in either case, neither nil nor max. Defaults to a new UUIDv7.
	ID string
	// Type is 1 to 255 bytes of [A-Za-z0-9._-].
	Type string
	// Version of the type's schema, 1 to 2^31 - 1. Defaults to 1.
	Version int
	// AggregateType is what kind of thing the event is about. Defaults to the type up to its first dot.
	AggregateType string
	// AggregateID is which one. It leaves in clear.
	AggregateID string
	// AggregateVersion counts the aggregate's events, where the caller does. Defaults to none.
	AggregateVersion *int64
	// OccurredAt is kept to the microsecond, in UTC. Defaults to now.
	OccurredAt time.Time
	// Headers leave in clear. Names that begin with ce_ or are content-type belong to the broker's envelope and are refused.
	Headers map[string]string
	// Payload is the JSON text.
	Payload []byte
}

// Wire is an event whose payload is in wire form: what a row, a broker's message or a file holds. Nothing in it is trusted yet.
type Wire struct {
	ID               string
	Type             string
	Version          int
	AggregateType    string
	AggregateID      string
	AggregateVersion *int64
	OccurredAt       time.Time
	Headers          map[string]string
	Payload          []byte
}

// clone copies what is mutable, the payload apart.
func (w Wire) clone() Wire {
	w.unshare()
	return w
}

// unshare is clone where the value stands.
func (w *Wire) unshare() {
	if w.Headers != nil {
		w.Headers = maps.Clone(w.Headers)
	}
	if w.AggregateVersion != nil {
		version := *w.AggregateVersion
		w.AggregateVersion = &version
	}
}

// Received is a Wire event whose form (id, type, version, strict JSON, limits) was checked. It can be verified, opened, re-sealed and relayed, not
// written. Whether its tokens are real, only opening tells.
type Received struct{ wire Wire }

// Parse checks a Wire event. It needs neither schema nor keys.
func Parse(w Wire, limits Limits) (Received, error) {
	limits = limits.WithDefaults()
	if err := limits.check(); err != nil {
		return Received{}, err
	}
	w = w.clone()
	if err := w.normalize(); err != nil {
		return Received{}, err
	}
	if len(w.Payload) > limits.MaxWire {
		return Received{}, sizeError(LimitWire, limits.MaxWire)
	}
	var walk walk
	walk.reset(w.Payload, walkStrict, nil, 0, limits)
	if err := walk.run(); err != nil {
		return Received{}, err
	}
	return Received{w}, nil
}

// Wire gives the event back; its payload is shared and must not be changed.
func (r Received) Wire() Wire { return r.wire.clone() }

// IsZero says that the value was not made by Parse.
func (r Received) IsZero() bool { return r.wire.ID == "" }

func sizeError(limit string, most int) error {
	return &LimitError{Place{Offset: most}, limit, most}
}

const (
	maxTypeLen   = 255
	maxVersion   = 1<<31 - 1
	uuidTextLen  = 36
	brokerPrefix = "ce_"
	contentType  = "content-type"
)

// The years 1 to 9999 as seconds of Unix's clock.
const (
	firstSecond = -62135596800
	endSecond   = 253402300800
)

// normalize checks the fields around the payload, and writes the id in its one form.
func (w *Wire) normalize() error {
	var err error
	if w.ID, err = canonicalID(w.ID); err != nil {
		return err
	}
	if err := checkType(w.Type); err != nil {
		return err
	}
	if w.Version < 1 || w.Version > maxVersion {
		return &EventError{Field: "version", What: "is not within 1 to 2147483647", Next: "a version is the number N in the schema's file name TYPE.vN.json"}
	}
	if w.AggregateType == "" {
		w.AggregateType, _, _ = strings.Cut(w.Type, ".")
	}
	if err := checkText("aggregate_type", w.AggregateType); err != nil {
		return err
	}
	if err := checkText("aggregate_id", w.AggregateID); err != nil {
		return err
	}
	w.OccurredAt = w.OccurredAt.UTC().Round(0) // without the monotonic clock
	if over := w.OccurredAt.Nanosecond() % int(time.Microsecond); over != 0 {
		w.OccurredAt = w.OccurredAt.Add(-time.Duration(over))
	}
	if s := w.OccurredAt.Unix(); s < firstSecond || s >= endSecond {
		return &EventError{Field: "occurred_at", What: "lies outside the years 1 to 9999", Next: "RFC 3339 cannot write it"}
	}
	if len(w.Headers) == 0 {
		return nil
	}
	return checkHeaders(w.Headers)
}

// canonicalID lowers a UUID's text. Other spellings (braces, urn:, no hyphens) are refused, since the id's text is part of each token's key.
func canonicalID(id string) (string, error) {
	const next = "give a UUID such as 0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55, or none when sealing: a UUIDv7 is made then"
	if id == "" {
		return "", &EventError{Field: "id", What: "is missing", Next: next}
	}
	if len(id) != uuidTextLen {
		return "", &EventError{Field: "id", What: "is no UUID of 36 characters", Next: next}
	}
	if isCanonicalID(id) {
		return id, nil
	}
	parsed, err := uuid.Parse(id) // its error holds the text
	if err != nil {
		return "", &EventError{Field: "id", What: "is no UUID", Next: next}
	}
	if parsed == uuid.Nil || parsed == uuid.Max {
		return "", &EventError{Field: "id", What: "is the nil or the max UUID", Next: next}
	}
	return strings.ToLower(id), nil // what parsed.String() would write anew for each event
}

// isCanonicalID says that an id is in its one form already, as most are.
func isCanonicalID(id string) bool {
	if len(id) != uuidTextLen || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return false
	}
	// Without a branch for each character: no processor foretells the digits of ids.
	hyphens := 0
	for i := range uuidTextLen {
		hyphens += int(idChars[id[i]])
	}
	return hyphens == 4 && id != nilID && id != maxID
}

// idChars counts hyphens among lower-case hex digits; each other character counts for more of them than an id has.
var idChars = func() (t [256]uint8) {
	for c := range t {
		t[c] = uuidTextLen
	}
	for _, c := range "0123456789abcdef" {
		t[c] = 0
	}
	t['-'] = 1
	return t
}()

const (
	nilID = "00000000-0000-0000-0000-000000000000"
	maxID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
)

func checkType(typ string) error {
	const next = "a type is 1 to 255 bytes of A-Z, a-z, 0-9, dot, underscore and hyphen"
	switch {
	case typ == "":
		return &EventError{Field: "type", What: "is missing", Next: next}
	case len(typ) > maxTypeLen:
		return &EventError{Field: "type", What: "is longer than 255 bytes", Next: next}
	}
	strange := uint8(0)
	for i := range len(typ) {
		strange |= notInType[typ[i]]
	}
	if strange != 0 {
		return &EventError{Field: "type", What: "has a character that a type may not have", Next: next}
	}
	return nil
}

// notInType marks the bytes that an event's type may not have.
var notInType = func() (t [256]uint8) {
	for c := range t {
		t[c] = 1
	}
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-" {
		t[c] = 0
	}
	return t
}()

// checkText checks a text that a database keeps: NUL is in no Postgres text.
func checkText(field, text string) error {
	switch {
	case text == "":
		return &EventError{Field: field, What: "is missing", Next: "name what the event is about"}
	case !utf8.ValidString(text):
		return &EventError{Field: field, What: "is not valid UTF-8", Next: "repair the producer"}
	case strings.IndexByte(text, 0) >= 0:
		return &EventError{Field: field, What: "holds a NUL byte", Next: "no database keeps it as text; repair the producer"}
	}
	return nil
}

func checkHeaders(headers map[string]string) error {
	for name, value := range headers {
		switch lower := strings.ToLower(name); {
		case name == "":
			return &EventError{Field: "headers", What: "an empty name", Next: "name the header"}
		case !utf8.ValidString(name) || !utf8.ValidString(value):
			return &EventError{Field: "headers", What: "a name or a value is not valid UTF-8", Next: "repair the producer"}
		case strings.HasPrefix(lower, brokerPrefix) || strings.HasPrefix(lower, contentType):
			return &EventError{
				Field: "headers", What: "a name begins with ce_ or content-type",
				Next: "these belong to the message on the broker and are made by the relay; choose another name",
			}
		}
	}
	return nil
}

// newID makes a UUIDv7.
func (c *core) newID() (string, error) {
	if c.random == nil {
		id, err := uuid.NewV7()
		return id.String(), err
	}
	id, err := uuid.NewV7FromReader(c.random)
	return id.String(), err
}

// Format keeps payloads, aggregate ids and headers out of logs, whatever the verb: an event prints as its type, version and id.
func (e Event) Format(f fmt.State, _ rune) { Wire(e).describe(f, "event") }

// Format is that of Event.
func (w Wire) Format(f fmt.State, _ rune) { w.describe(f, "wire event") }

// Format is that of Event.
func (r Received) Format(f fmt.State, _ rune) { r.wire.describe(f, "received event") }

// Format is that of Event.
func (s Sealed) Format(f fmt.State, _ rune) { s.wire.describe(f, "sealed event") }

// LogValue is what Format prints, for slog.
func (e Event) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(e)) }

// errInClear ends json.Marshal of what holds values in clear: the handlers of log/slog call it for whatever lies inside a struct, a slice or a map.
var errInClear = errors.New("an event in clear is not written as JSON, so that no log holds it: seal it, or write its fields one by one")

// MarshalJSON gives an error: whoever wants the payload in clear as JSON has it in Payload.
func (e Event) MarshalJSON() ([]byte, error) { return nil, errInClear }

// LogValue is what Format prints, for slog.
func (w Wire) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(w)) }

// LogValue is what Format prints, for slog.
func (r Received) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }

// LogValue is what Format prints, for slog.
func (s Sealed) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(s)) }

func (w Wire) describe(f fmt.State, what string) {
	typ, id := w.Type, w.ID
	if checkType(typ) != nil {
		typ = "(no valid type)" // it may be anything
	}
	if canonical, err := canonicalID(id); err == nil {
		id = canonical
	} else {
		id = "(no valid id)"
	}
	fmt.Fprintf(f, "%s %s version %d, id %s, payload of %d bytes", what, typ, w.Version, id, len(w.Payload))
}

// Format is that of Event.
func (o Opened) Format(f fmt.State, _ rune) {
	Wire(o.Event).describe(f, "opened event")
	fmt.Fprintf(f, ", %d locations sealed", len(o.StillSealed))
}

// MarshalJSON is that of Event.
func (o Opened) MarshalJSON() ([]byte, error) { return nil, errInClear }

// LogValue is what Format prints, for slog.
func (o Opened) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(o)) }
