package envelope

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// Rules for every error of this package:
//   - It says where: a masked JSON pointer and a byte offset in the payload, or the event's field.
//   - It never holds a value of a payload, an aggregate id or a header, nor a member's name that the schema does not spell out (shown as "*").
//   - Lower case, no final period; what to do next comes from Hint, so that a program can print the two apart.

// Place is a location in a payload that is safe to print.
type Place struct {
	// Location is a JSON pointer in which only names that the schema spells out stand; every other name is "*". "" is the payload itself.
	Location string
	// Offset is the byte offset in the payload that was given: the plaintext when sealing, the wire form when opening.
	Offset int
}

// LineColumn gives the line and the column, both from 1 and in bytes, of the place in the payload it was found in.
func (p Place) LineColumn(payload []byte) (line, column int) {
	line, column = 1, 1
	for _, c := range payload[:min(max(p.Offset, 0), len(payload))] {
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

func (p Place) place() Place { return p }

func (p Place) String() string {
	at := "at byte " + strconv.Itoa(p.Offset)
	if p.Location == "" {
		return "payload " + at
	}
	return p.Location + " " + at
}

// PlaceOf finds the place in the payload that an error is about.
func PlaceOf(err error) (Place, bool) {
	var placed interface {
		error
		place() Place
	}
	if !errors.As(err, &placed) {
		return Place{}, false
	}
	return placed.place(), true
}

// WhatOf gives the text of an error about a payload without its place, for programs that print places in their own way; else the whole text.
func WhatOf(err error) string {
	var e interface {
		error
		what() string
	}
	if !errors.As(err, &e) {
		return err.Error()
	}
	return e.what()
}

// HintOf says what to do about an error of this package; "" if it has nothing to add.
func HintOf(err error) string {
	var hinted interface {
		error
		Hint() string
	}
	if !errors.As(err, &hinted) {
		return ""
	}
	return hinted.Hint()
}

// Retryable reports whether the same call may succeed later without anything being repaired: a key id that this process has not seen yet.
func Retryable(err error) bool {
	var unknown *keyring.UnknownKeyError
	return errors.As(err, &unknown)
}

// SyntaxError says that a payload is no strict JSON (docs/format.md 3).
type SyntaxError struct {
	Place
	// Rule says which rule is broken, such as "duplicate member name".
	Rule string
}

func (e *SyntaxError) Error() string { return e.Place.String() + ": " + e.what() }

func (e *SyntaxError) what() string { return "not strict JSON: " + e.Rule }

// Hint says what to do next.
func (e *SyntaxError) Hint() string {
	return "payloads are RFC 8259 JSON in UTF-8, with no duplicate names and no lone surrogates; repair the producer"
}

// Names of limits, as LimitError has them.
const (
	LimitPlaintext = "plaintext size"
	LimitWire      = "wire size"
	LimitDepth     = "depth"
	LimitDigits    = "digits of a number"
	LimitExponent  = "exponent of a number"
	LimitSealed    = "flagged values"
	LimitPointers  = "bytes of the pointers of flagged values" // together; its value is that of MaxWire
)

// LimitError says that a payload exceeds a limit.
type LimitError struct {
	Place
	// Limit is one of the Limit constants.
	Limit string
	// Max is the limit's value.
	Max int
}

func (e *LimitError) Error() string { return e.Place.String() + ": " + e.what() }

func (e *LimitError) what() string {
	return fmt.Sprintf("over the limit: %s, at most %d", e.Limit, e.Max)
}

// Hint says what to do next.
func (e *LimitError) Hint() string {
	const raise = ", or raise the limit in Limits for every producer and consumer alike"
	switch e.Limit {
	case LimitDepth:
		return "nest less deeply" + raise
	case LimitDigits, LimitExponent:
		return "send the number as a string" + raise
	case LimitPointers:
		return "shorten the names of members above flagged values" + raise
	case LimitSealed:
		return "split the event, or flag the array or object around the values" + raise
	}
	return "keep large data elsewhere and put a reference into the event" + raise
}

// Kind names what is wrong at a location. The kinds of a Finding are of the same type.
type Kind string

// Kinds of LocationError. The first four are findings of a Verifier too.
const (
	KindPlaintext  Kind = "plaintext"  // a flagged location holds no token
	KindMisplaced  Kind = "misplaced"  // a token where nothing is flagged
	KindMalformed  Kind = "malformed"  // a flagged location holds a broken token, or the payload is no strict JSON
	KindUndeclared Kind = "undeclared" // a member that the schema does not declare, under the policy "reject"

	KindLooksLikeToken Kind = "looks-like-token"  // sealing: an unflagged string has the form of a token
	KindConflict       Kind = "conflict"          // subschemas that meet here disagree on the keyring or the index
	KindIndexTwice     Kind = "index-twice"       // an index without multi meets a second value
	KindIndexType      Kind = "index-type"        // an index meets a value that it cannot compute with
	KindOpenedText     Kind = "opened-text"       // what a token held is no strict JSON value
	KindUnsupported    Kind = "unsupported-token" // a token of a kind that this version does not open
)

// LocationError refuses an event for what stands at one location.
type LocationError struct {
	Place
	Kind Kind
	// Index names the blind index, where the kind is about one.
	Index string
	// Err is the reason, where there is more to say.
	Err error
}

func (e *LocationError) Unwrap() error { return e.Err }

func (e *LocationError) Error() string { return e.Place.String() + ": " + e.what() }

func (e *LocationError) what() string {
	s := locationTexts[e.Kind].what
	if e.Index != "" {
		s += " (index " + e.Index + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Hint says what to do next.
func (e *LocationError) Hint() string { return locationTexts[e.Kind].hint }

// OpenError says that a token does not open. It is the same for a wrong key, tag, pointer, event id, version or type, so that it tells nothing apart.
type OpenError struct {
	Place
	Keyring string
	KeyID   string
}

func (e *OpenError) Error() string { return e.Place.String() + ": " + e.what() }

func (e *OpenError) what() string {
	return fmt.Sprintf("the token does not open under key %s of keyring %s", e.KeyID, e.Keyring)
}

// Hint says what to do next.
func (e *OpenError) Hint() string {
	return "the token was changed, or was sealed for another event, location or key; restore the row from where it came, and look for who can write there"
}

// KeyError says that the key a token or an index needs cannot be used. It wraps the keyring's own error: *keyring.UnknownKeyError (Retryable) or *keyring.KeyStateError.
type KeyError struct {
	Place
	Keyring string
	// KeyID is "" where it is the keyring's primary key that is missing.
	KeyID string
	Err   error
}

func (e *KeyError) Error() string { return e.Place.String() + ": " + e.what() }

func (e *KeyError) what() string { return e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *KeyError) Hint() string {
	var state *keyring.KeyStateError
	switch {
	case Retryable(e.Err):
		return "another process may be a refresh ahead: try again; if it stays, check that --keyring names the keyring this event was sealed under"
	case errors.As(e.Err, &state) && state.State == keyring.Disabled:
		return "run fieldcrypt keys list; enable the key again if this event is still needed"
	case errors.As(e.Err, &state):
		return "run fieldcrypt keys list; a destroyed key, and what was sealed under it, are gone"
	}
	return "check that the keyring can be reached"
}

// OutsideError refuses an event whose aggregate id or headers repeat a flagged value, since these leave in clear.
type OutsideError struct {
	// Place is where the flagged value stands.
	Place
	// Where is "aggregate id", "the name of header 2" or "the value of header 2"; headers are counted from 1 in the order of their names.
	Where string
}

func (e *OutsideError) Error() string { return e.Place.String() + ": " + e.what() }

func (e *OutsideError) what() string {
	return fmt.Sprintf("the flagged value also stands in the %s, which is not sealed", e.Where)
}

// Hint says what to do next.
func (e *OutsideError) Hint() string {
	return "use an identifier that is no personal data, such as a random id"
}

// EventError refuses an event for a field outside its payload.
type EventError struct {
	// Field is the event line's name of the field: "id", "type", "version", "aggregate_type", "aggregate_id", "occurred_at", "headers".
	Field string
	// What is wrong, without the value.
	What string
	Next string
}

func (e *EventError) Error() string { return e.Field + ": " + e.What }

// Hint says what to do next.
func (e *EventError) Hint() string { return e.Next }

// MissingKeyringError says that a set of keyrings lacks one that a schema names.
type MissingKeyringError struct {
	Keyring string
	Type    string
	Version int
}

func (e *MissingKeyringError) Error() string {
	return fmt.Sprintf("keyring %s is not configured, and %s version %d seals with it", e.Keyring, e.Type, e.Version)
}

// Hint says what to do next.
func (e *MissingKeyringError) Hint() string {
	return fmt.Sprintf("configure it with --keyring %s=URL", e.Keyring)
}

// FieldError refuses a pointer of OpenOptions.Fields.
type FieldError struct {
	// Index counts the pointers from 0.
	Index int
	// Location is the pointer, masked.
	Location string
	What     string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("field %d (%s): %s", e.Index+1, e.Location, e.What)
}

// Hint says what to do next.
func (e *FieldError) Hint() string {
	return "run fieldcrypt plan to see the sealed locations; where flags nest, ask for the outermost"
}

// OptionError refuses a combination or a value of options.
type OptionError struct {
	Option string
	What   string
}

func (e *OptionError) Error() string { return "option " + e.Option + ": " + e.What }

// ErrZero refuses a Sealed or a Received that was not made by this package.
var ErrZero = errors.New("the zero value is no event: only a Sealer or a Resealer makes a Sealed, only Parse a Received")

var locationTexts = map[Kind]struct{ what, hint string }{
	KindPlaintext: {
		"a flagged location holds no token",
		"a plaintext stands where a token must; find what wrote it, seal the event again, and treat the value as disclosed",
	},
	KindMisplaced: {
		"a token stands where nothing is flagged",
		"the token was moved, or this is not the schema that the event was sealed under",
	},
	KindMalformed: {
		"a flagged location holds a broken token",
		"the token was cut or re-encoded on its way; restore the row from where it came",
	},
	KindUndeclared: {
		"the schema does not declare this member",
		"declare it in the schema, or choose x-gdpr-undeclared there: seal or clear",
	},
	KindLooksLikeToken: {
		"an unflagged string looks like a token",
		"do not seal an event twice; if the value really has this form, flag the location",
	},
	KindConflict: {
		"the schemas that meet here disagree",
		"let one keyring and one index stand at each location",
	},
	KindIndexTwice: {
		"a second value for an index that holds one",
		"set \"multi\": true on the x-blind-index, in a new version of the schema",
	},
	KindIndexType: {
		"the blind index cannot take this value",
		"an index takes strings, integers, and arrays of these where the schema says so",
	},
	KindOpenedText: {
		"what the token held is not one strict JSON value",
		"a holder of the key sealed something else; find out who",
	},
	KindUnsupported: {
		"the token names a per-subject key, which this version does not know",
		"open it with a later version of fieldcrypt",
	},
}
