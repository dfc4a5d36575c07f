package keyring

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// unmarshalStrict reads JSON as RFC 8259 and RFC 7493 want it: valid UTF-8, no
// duplicate names, names compared exactly, nothing after the value, and no
// member that v does not have. place is where text stands in the document.
func unmarshalStrict(text []byte, v any, place string) *DocumentError {
	err := json.Unmarshal(text, v, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	fault := &DocumentError{Place: place, Rule: RuleSyntax, Detail: "not valid JSON"}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		fault.Place += string(syntax.JSONPointer)
		fault.Detail = fmt.Sprintf("not valid JSON at byte %d", syntax.ByteOffset)
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		fault.Place += string(semantic.JSONPointer)
		fault.Rule, fault.Detail = RuleType, "a value of the wrong type or out of range"
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		fault.Rule, fault.Detail = RuleDuplicateName, "a member name stands twice"
	case errors.Is(err, json.ErrUnknownName):
		fault.Rule, fault.Detail = RuleUnknownMember, "a member that this version does not know"
	}
	return fault
}
