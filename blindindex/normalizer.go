package blindindex

import (
	"fmt"
	"strings"
	"unicode"
)

// Normalizer is a list of steps, such as nfkc then casefold; immutable, safe for concurrent use. The zero value is raw.
type Normalizer struct {
	steps []step
	slow  *slowHash // argon2id, always the last step: it works on the message, under the index's key
}

// step is one normaliser step at its current version.
type step struct {
	name      string
	parameter string // what stands in parentheses, "" if nothing does
	version   int
	apply     func(string) string
	// unicode says that what apply does depends on the Unicode version. It does wherever a property or mapping of code points is asked: a
	// code point that Unicode 15.0 leaves unassigned may turn out to be white space, a letter with case, a digit, or a compatibility form.
	unicode bool
}

// rawStep is the name for no step at all.
const rawStep = "raw"

// The names of the steps that take parameters.
const (
	phoneStep = "phone"
	slowStep  = "argon2id"
)

// plainSteps returns the steps without parameters.
func plainSteps() []step {
	return []step{
		{name: "trim", version: 1, apply: trim, unicode: true},
		{name: "nfkc", version: 1, apply: nfkc, unicode: true},
		{name: "casefold", version: 1, apply: caseFold, unicode: true},
		{name: "casefold-tr", version: 1, apply: caseFoldTurkish, unicode: true},
		{name: "digits", version: 1, apply: digits, unicode: true},
		{name: "alnum", version: 1, apply: alnum, unicode: true},
		{name: "last4", version: 1, apply: last4},
		{name: "email", version: 1, apply: email, unicode: true},
	}
}

// ParseNormalizer reads steps: trim, nfkc, casefold, casefold-tr, digits, alnum, last4, email, phone(REGION), and as the last one
// argon2id(PASSES,KIB); none, or "raw" alone, for no normalisation.
//
// Errors: *[UnknownStepError], *[StepParameterError], *[StepPlaceError].
func ParseNormalizer(names []string) (*Normalizer, error) {
	n := &Normalizer{}
	for position, name := range names {
		if name == rawStep {
			if len(names) > 1 {
				return nil, &StepPlaceError{Step: name, Position: position, Rule: "means no normalisation and cannot stand beside other steps; leave it out"}
			}
			break
		}
		if n.slow != nil {
			return nil, &StepPlaceError{Step: names[position-1], Position: position - 1, Rule: "must be the last step; move it to the end"}
		}
		if err := n.add(name, position); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *Normalizer) add(name string, position int) error {
	for _, s := range plainSteps() {
		if s.name == name {
			n.steps = append(n.steps, s)
			return nil
		}
	}
	bare, parameter, _ := strings.Cut(name, "(")
	parameter, closed := strings.CutSuffix(parameter, ")")
	switch bare {
	case phoneStep:
		phone := newPhone(parameter)
		if phone == nil || !closed {
			return &StepParameterError{Step: name, Position: position, Want: "a region whose dialling rules are known, by its ISO 3166-1 code in capitals, such as phone(TR)"}
		}
		n.steps = append(n.steps, step{name: phoneStep, parameter: parameter, version: 1, apply: phone.normalize, unicode: true})
	case slowStep:
		slow := newSlowHash(parameter)
		if slow == nil || !closed {
			return &StepParameterError{Step: name, Position: position, Want: slowHashWant()}
		}
		n.slow = slow
	default:
		return &UnknownStepError{Step: name, Position: position, Nearest: nearestStep(name)}
	}
	return nil
}

// ID is the normaliser id that index keys are derived with: the steps as name.version, parameters in parentheses, joined by "+"; raw.1 for
// none.
func (n *Normalizer) ID() string {
	var parts []string
	for _, s := range n.steps {
		parts = append(parts, stepID(s.name, s.version, s.parameter))
	}
	if n.slow != nil {
		parts = append(parts, stepID(slowStep, 1, n.slow.parameter()))
	}
	if len(parts) == 0 {
		return rawStep + ".1"
	}
	return strings.Join(parts, "+")
}

func stepID(name string, version int, parameter string) string {
	id := fmt.Sprintf("%s.%d", name, version)
	if parameter != "" {
		id += "(" + parameter + ")"
	}
	return id
}

// Normalize applies the steps in order, argon2id apart, which needs a key. A string with a code point that Unicode 15.0 does not assign skips
// every step that depends on Unicode (all but last4), and so does one that is not valid UTF-8 (which no JSON string is). It is judged once, as
// it came: no step makes an unassigned code point, and none may hide one from the next.
func (n *Normalizer) Normalize(s string) string {
	if len(n.steps) == 0 {
		return s
	}
	assigned := isUTF8(s) && isAssigned(s)
	for _, step := range n.steps {
		if step.unicode && !assigned {
			continue
		}
		s = step.apply(s)
	}
	return s
}

// trim takes code points with the property White_Space from both ends.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.Is(unicode.White_Space, r) })
}

// alnum keeps letters (General_Category L) and decimal digits (Nd), as they are.
func alnum(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.L, r) || unicode.Is(unicode.Nd, r) {
			return r
		}
		return -1
	}, s)
}

// last4 keeps the last four code points; a text of fewer gives nothing, since it would be given whole.
func last4(s string) string {
	runes := []rune(s)
	if len(runes) < 4 {
		return ""
	}
	return string(runes[len(runes)-4:])
}

// UnknownStepError says that there is no such normaliser step.
type UnknownStepError struct {
	Step     string
	Position int    // in the list of steps, from 0
	Nearest  string // the step that was probably meant, "" if none is near
}

func (e *UnknownStepError) Error() string {
	if e.Nearest != "" {
		return fmt.Sprintf("unknown normaliser step %q (number %d), did you mean %q? the steps are %s", e.Step, e.Position+1, e.Nearest, stepList())
	}
	return fmt.Sprintf("unknown normaliser step %q (number %d); the steps are %s", e.Step, e.Position+1, stepList())
}

// StepParameterError says that a normaliser step cannot have these parameters, or needs some.
type StepParameterError struct {
	Step     string
	Position int    // in the list of steps, from 0
	Want     string // what it takes
}

func (e *StepParameterError) Error() string {
	return fmt.Sprintf("normaliser step %q (number %d) needs %s", e.Step, e.Position+1, e.Want)
}

// StepPlaceError says that a normaliser step may not stand where it does.
type StepPlaceError struct {
	Step     string
	Position int    // in the list of steps, from 0
	Rule     string // what it breaks, and what to do
}

func (e *StepPlaceError) Error() string {
	return fmt.Sprintf("normaliser step %q (number %d) %s", e.Step, e.Position+1, e.Rule)
}

func stepNames() []string {
	names := []string{rawStep}
	for _, s := range plainSteps() {
		names = append(names, s.name)
	}
	return append(names, phoneStep, slowStep)
}

func stepList() string {
	names := stepNames()
	names[len(names)-2] += "(REGION)"
	names[len(names)-1] += "(PASSES,KIB)"
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
