package envelope

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The errors of encoding/json quote values ("number 4711", a time, a text behind ",string"), and those of a type's own methods hold what they like. So the
// two below say what is known of them without a value, and do not wrap them.

// EncodeError says that a Go value has no JSON that can be sealed.
type EncodeError struct {
	// GoType is the Go type at fault, as code spells it.
	GoType string
	// What is wrong with its value.
	What string
}

func (e *EncodeError) Error() string { return "go type " + e.GoType + ": " + e.What }

// Hint says what to do next.
func (e *EncodeError) Hint() string {
	return "json.Marshal shows the whole error, which may hold values: look at it where no log is kept"
}

// DecodeError says that an opened payload does not fit a Go type.
type DecodeError struct {
	// Place is as far as encoding/json tells it and the schema spells it out; its Offset is one of the opened payload.
	Place
	// GoType is the Go type at fault, as code spells it.
	GoType string
	// What is wrong.
	What string
}

func (e *DecodeError) Error() string { return e.Place.String() + ": " + e.what() }

func (e *DecodeError) what() string { return "go type " + e.GoType + ": " + e.What }

// Hint says what to do next.
func (e *DecodeError) Hint() string {
	return "compare the Go type with the schema; json.Unmarshal shows the whole error, which may hold values: look at it where no log is kept"
}

// StillSealedError refuses an event that has values which this reader cannot open, for lack of a keyring.
type StillSealedError struct {
	Type string
	// Location is the first such value's JSON pointer, masked.
	Location string
	Keyring  string
}

func (e *StillSealedError) Error() string {
	location := e.Location
	if location == "" {
		location = "payload"
	}
	return location + ": stays sealed, since keyring " + e.Keyring + " is not configured"
}

// Hint says what to do next.
func (e *StillSealedError) Hint() string {
	return "configure the keyring; or set Typed.Partial, to read the event without these values, or ask with OpenOptions.Fields for others"
}

func goType[T any]() string { return reflect.TypeFor[T]().String() }

func encodeError[T any](err error) error {
	e := &EncodeError{GoType: goType[T]()}
	var unsupported *json.UnsupportedTypeError
	var value *json.UnsupportedValueError
	var method *json.MarshalerError
	switch {
	case errors.As(err, &method):
		e.GoType, e.What = typeName(method.Type, e.GoType), "its own MarshalJSON or MarshalText gives an error or no JSON"
	case errors.As(err, &unsupported):
		e.GoType, e.What = typeName(unsupported.Type, e.GoType), "no value of it has JSON"
	case errors.As(err, &value):
		e.What = "holds a value that JSON does not have, such as NaN, an infinity or a cycle"
	default:
		e.What = "json.Marshal refuses the value"
	}
	return e
}

func decodeError[T any](err error, root *schema.State) error {
	e := &DecodeError{GoType: goType[T](), What: "a value of its own UnmarshalJSON, UnmarshalText or tag option \"string\" is refused"}
	var wrong *json.UnmarshalTypeError
	var noTime *time.ParseError
	var noBase64 base64.CorruptInputError
	switch {
	case errors.As(err, &wrong):
		e.Place = Place{Location: locate(root, wrong.Field), Offset: max(0, int(wrong.Offset))}
		e.GoType, e.What = typeName(wrong.Type, e.GoType), "does not take this "+jsonKind(wrong.Value)
	case errors.As(err, &noTime):
		e.What = "a time is not one of RFC 3339"
	case errors.As(err, &noBase64):
		e.What = "bytes are not in base64"
	}
	return e
}

func typeName(t reflect.Type, otherwise string) string {
	if t == nil {
		return otherwise // an error that was made by hand
	}
	return t.String()
}

// jsonKind is the first word of UnmarshalTypeError.Value; what follows it, as in "number 4711", is the value.
func jsonKind(value string) string {
	switch kind, _, _ := strings.Cut(value, " "); kind {
	case "array", "bool", "number", "object", "string":
		return kind
	}
	return "value"
}

// locate gives the JSON pointer of the Go fields a.b.c as far as the schema spells out their names: it knows neither which item of an array it was nor the
// names of a map, and a field may be an embedded struct, which JSON does not show.
func locate(root *schema.State, fields string) string {
	pointer, at := []byte{}, root
	if fields == "" {
		return ""
	}
	for _, field := range strings.Split(fields, ".") {
		name := []byte(field)
		if child, exact := at.Member(name); exact {
			pointer, at = appendPointerName(append(pointer, '/'), name), child
		} else if item := at.Item(0); item != nil {
			if child, exact := item.Member(name); exact {
				pointer, at = appendPointerName(append(pointer, "/*/"...), name), child
			}
		}
		if at == nil {
			break
		}
	}
	return string(pointer)
}
