package envelope

import (
	"bytes"
	"context"
	"encoding/json"
)

// Typed seals Go values of T as events of one type and version, and opens such events into T. It is encoding/json around a Sealer and an Opener: what T
// looks like as JSON is said by its tags and its MarshalJSON and UnmarshalJSON, and what of it is sealed by the schema alone.
//
//	var issued = envelope.Typed[Invoice]{Type: "invoice.issued"}
//	…
//	sealed, err := issued.Seal(ctx, sealer, envelope.Event{AggregateID: invoice.Number}, invoice)
//	…
//	invoice, opened, err := issued.Open(ctx, opener, received, envelope.OpenOptions{})
//
// It holds nothing but what it was made with: its zero value apart from Type is ready, and it is safe for concurrent use.
type Typed[T any] struct {
	// Type of the event, as in Event.
	Type string
	// Version of the type's schema. Defaults to 1.
	Version int
	// Floats opens a number into float64 where T has `any`, as json.Unmarshal does; numbers that float64 does not have are rounded. Defaults to false:
	// such a number is a json.Number that holds its text.
	Floats bool
	// Partial takes events that hold values which the Opener has no keyring for: these are JSON null, so that they leave T's fields as they are in its
	// zero value, and Opened.StillSealed lists them. Defaults to false: such an event is a *StillSealedError.
	Partial bool
}

// Seal writes v as the event's payload and seals that. The event has no payload of its own, and its type and version are those of t or left out.
// Neither v nor anything it points to is changed, so the same value may be sealed again, or in several goroutines at once.
//
// The JSON is what json.Marshal writes of a pointer to v, but for <, > and &, which stay as they are. Text that is not valid UTF-8 is refused, where json.Marshal would
// replace it, and so is what Open would refuse: two members whose names differ in case alone, one of them sealed, and a clear member whose name differs in
// case alone from one that the schema seals.
//
// Errors are *EncodeError where v has no such JSON, *EventError where the event is of another type, and those of Sealer.Seal; the offsets that these give
// count in the JSON that was written.
func (t Typed[T]) Seal(ctx context.Context, s *Sealer, e Event, v T) (Sealed, error) {
	if err := t.fill(&e); err != nil {
		return Sealed{}, err
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	if err := to.Encode(&v); err != nil { // through a pointer, or methods on *T would not be called, and a big.Int be {}
		return Sealed{}, encodeError[T](err)
	}
	e.Payload = bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	if spellsReplacement(e.Payload) {
		return Sealed{}, &EncodeError{GoType: goType[T](), What: "holds text that is not valid UTF-8"}
	}
	sealed, err := s.Seal(ctx, e)
	if err != nil {
		return Sealed{}, err
	}
	es, err := s.core.registry.Event(e.Type, e.Version)
	if err != nil {
		return Sealed{}, err
	}
	if at, what := twin(sealed.wire.Payload, es.Plan().Root()); at >= 0 {
		return Sealed{}, &EncodeError{GoType: goType[T](), What: what}
	}
	return sealed, nil
}

// Open opens an event and reads its payload into a T. The event must be of t's type and version. What is not asked for with opts.Fields, or is redacted,
// is JSON null. Members that T does not have are passed over.
//
// Names are compared as json.Unmarshal does, an exact match first, then in any case. So that nobody can put a clear member over a sealed one, an event is
// refused where a member that is or holds a sealed value has a sibling whose name differs in case alone, and where a clear one would be read for a value
// that the schema seals, were it not for the case of a name.
//
// Errors are *DecodeError where the payload does not fit T, *StillSealedError where a keyring is missing, *EventError where the event is of another type,
// and those of Opener.Open. With an error, T is its zero value.
func (t Typed[T]) Open(ctx context.Context, o *Opener, r Received, opts OpenOptions) (T, Opened, error) {
	var none T
	e := Event{Type: r.wire.Type, Version: r.wire.Version}
	if r.IsZero() {
		return none, Opened{}, ErrZero
	}
	if err := t.fill(&e); err != nil {
		return none, Opened{}, err
	}
	opts.SealedAsNull = true
	opened, err := o.Open(ctx, r, opts)
	if err != nil {
		return none, Opened{}, err
	}
	if err := t.complete(opened.StillSealed); err != nil {
		return none, Opened{}, err
	}
	es, err := o.core.registry.Event(r.wire.Type, r.wire.Version)
	if err != nil {
		return none, Opened{}, err
	}
	if at, what := twin(r.wire.Payload, es.Plan().Root()); at >= 0 {
		return none, Opened{}, &DecodeError{Place: Place{Offset: at}, GoType: goType[T](), What: what}
	}
	var v T
	from := json.NewDecoder(bytes.NewReader(opened.Event.Payload))
	if !t.Floats {
		from.UseNumber()
	}
	if err := from.Decode(&v); err != nil {
		return none, Opened{}, decodeError[T](err, es.Plan().Root())
	}
	return v, opened, nil
}

// fill gives the event t's type and version, or refuses one that has others.
func (t Typed[T]) fill(e *Event) error {
	version := t.Version
	if version == 0 {
		version = 1
	}
	const next = "the Go type belongs to one type and version of events; take the Typed of this one, or Sealer.Seal and Opener.Open"
	switch {
	case e.Payload != nil:
		return &EventError{Field: "payload", What: "is given beside the Go value that it is made from", Next: "leave Event.Payload out"}
	case e.Type != "" && e.Type != t.Type:
		return &EventError{Field: "type", What: "is not the one of this Typed", Next: next}
	case e.Version != 0 && e.Version != version:
		return &EventError{Field: "version", What: "is not the one of this Typed", Next: next}
	}
	e.Type, e.Version = t.Type, version
	return nil
}

// complete refuses what stays sealed though nobody asked for that.
func (t Typed[T]) complete(still []StillSealed) error {
	if t.Partial {
		return nil
	}
	for _, s := range still {
		if s.Reason == ReasonNoKeyring {
			return &StillSealedError{Type: t.Type, Location: s.Location, Keyring: s.Keyring}
		}
	}
	return nil
}

// spellsReplacement says whether JSON text has the escape that encoding/json writes for a byte that is no UTF-8; U+FFFD itself it writes as it is.
func spellsReplacement(text []byte) bool {
	const escape = `\ufffd`
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(escape))
		if at < 0 {
			return false
		}
		at += from
		backslashes := 0 // before it, which take each other away in pairs
		for backslashes < at && text[at-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return true
		}
		from = at + len(escape)
	}
}
