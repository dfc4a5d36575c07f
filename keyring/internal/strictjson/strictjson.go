// Package strictjson reads the small JSON documents that this module writes
// itself, and refuses whatever it would not have written: unknown members,
// duplicate names, invalid UTF-8, half a surrogate pair, a second value.
package strictjson

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what is wrong with a text.
type Kind int

// The kinds of faults.
const (
	Syntax Kind = iota + 1
	DuplicateName
	UnknownMember
	Type
)

// Fault is what is wrong with a text, and where. It repeats no value of it.
type Fault struct {
	Kind Kind
	// Pointer is an RFC 6901 pointer to the value at fault.
	Pointer string
	// Offset is the byte near which it stands.
	Offset int64
}

func (f *Fault) Error() string {
	switch f.Kind {
	case DuplicateName:
		return "a member name stands twice"
	case UnknownMember:
		return "a member that this version does not know"
	case Type:
		return "a value of the wrong type or out of range"
	default:
		return fmt.Sprintf("not valid JSON at byte %d", f.Offset)
	}
}

// Unmarshal reads one JSON value into v, a pointer to a struct with json tags.
// Names are compared exactly. A member that is absent or null leaves its zero
// value, which is for the caller to judge. The error is a *Fault.
func Unmarshal(text []byte, v any) error {
	err := json.Unmarshal(text, v, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	f := &Fault{Kind: Syntax}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		f.Pointer, f.Offset = string(syntax.JSONPointer), syntax.ByteOffset
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		f.Kind, f.Pointer, f.Offset = Type, string(semantic.JSONPointer), semantic.ByteOffset
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		f.Kind = DuplicateName
	case errors.Is(err, json.ErrUnknownName):
		f.Kind = UnknownMember
	}
	return f
}

// Marshal writes v as compact JSON.
func Marshal(v any) ([]byte, error) { return json.Marshal(v) }
