package keyring

import (
	"errors"
	"fmt"

	"github.com/fieldcrypt/fieldcrypt/keyring/internal/strictjson"
)

// Rule is what a keyring document breaks. New ones may be added.
type Rule string

// What [DocumentError] reports.
const (
	RuleTooLarge      Rule = "too-large"
	RuleSyntax        Rule = "syntax"
	RuleDuplicateName Rule = "duplicate-name"
	RuleUnknownMember Rule = "unknown-member"
	RuleMissingMember Rule = "missing-member"
	RuleType          Rule = "type"
	RuleFormat        Rule = "format"
	RuleName          Rule = "name"
	RuleRevision      Rule = "revision"
	RuleKEK           Rule = "kek"
	RulePropagation   Rule = "propagation"
	RuleStores        Rule = "stores"
	RuleHold          Rule = "hold"
	RuleKeyID         Rule = "key-id"
	RulePurpose       Rule = "purpose"
	RuleState         Rule = "state"
	RuleHistory       Rule = "history"
	RuleDuplicateID   Rule = "duplicate-id"
	RuleNoPrimary     Rule = "no-primary"
	RuleTwoPrimaries  Rule = "two-primaries"
	RuleEncoding      Rule = "keyset-encoding"
	RuleKeyset        Rule = "keyset"
	RuleKeyType       Rule = "key-type"
	RuleKeyPrefix     Rule = "key-prefix"
	RuleKeyParameters Rule = "key-parameters"
	RuleKeySize       Rule = "key-size"
	RuleKeysetIDs     Rule = "keyset-ids"
	RuleKeysetStatus  Rule = "keyset-status"
	RuleKeysetPrimary Rule = "keyset-primary"
	RuleKeyChanged    Rule = "key-changed"
)

// DocumentError: a keyring document is not as it must be. Nothing of it was
// used.
type DocumentError struct {
	// Keyring is the name that was asked for.
	Keyring string
	// Place is a JSON pointer into the document; what stands after /clear
	// points into the JSON text that this string holds.
	Place string
	Rule  Rule
	// Detail says what was found and what was wanted.
	Detail string
}

func (e *DocumentError) Error() string {
	name := e.Keyring
	if name == "" {
		name = "document"
	}
	return fmt.Sprintf("keyring %s: %s: %s (%s)", name, placeText(e.Place), e.Detail, e.Rule)
}

// Hint says what to do.
func (e *DocumentError) Hint() string {
	switch e.Rule {
	case RuleFormat, RuleUnknownMember:
		return "the document may be one of a newer fieldcrypt; use that version, or restore the document from a backup"
	default:
		return "the document was damaged or changed by hand; restore it from a backup"
	}
}

func placeText(place string) string {
	if place == "" {
		return "the document"
	}
	return place
}

// unmarshalStrict reads a part of the document; place is where it stands.
func unmarshalStrict(text []byte, v any, place string) *DocumentError {
	err := strictjson.Unmarshal(text, v)
	if err == nil {
		return nil
	}
	e := &DocumentError{Place: place, Rule: RuleSyntax, Detail: err.Error()}
	if f, ok := errors.AsType[*strictjson.Fault](err); ok {
		e.Place += f.Pointer
		switch f.Kind {
		case strictjson.DuplicateName:
			e.Rule = RuleDuplicateName
		case strictjson.UnknownMember:
			e.Rule = RuleUnknownMember
		case strictjson.Type:
			e.Rule = RuleType
		}
	}
	return e
}
