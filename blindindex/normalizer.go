package blindindex

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Normalizer is a list of steps, such as nfkc then casefold; immutable, safe for concurrent use. The zero value is raw.
type Normalizer struct {
	steps []step
}

// step is one normaliser step at its current version.
type step struct {
	name    string
	version int
	apply   func(string) string
	// unicode says that what apply does depends on the Unicode version. It does wherever a property or mapping of code points is asked: a
	// code point that Unicode 15.0 leaves unassigned may turn out to be white space, a letter with case, a digit, or a compatibility form.
	unicode bool
}

// rawStep is the name for no step at all.
const rawStep = "raw"

// builtSteps returns the steps that can be used.
func builtSteps() []step {
	return []step{
		{name: "trim", version: 1, apply: trim, unicode: true},
		{name: "nfkc", version: 1, apply: nfkc, unicode: true},
		{name: "casefold", version: 1, apply: caseFold, unicode: true},
		{name: "casefold-tr", version: 1, apply: caseFoldTurkish, unicode: true},
		{name: "digits", version: 1, apply: digits, unicode: true},
	}
}

// plannedSteps are steps of the format that this version does not have.
func plannedSteps() []string { return []string{"alnum", "last4", "email", "phone", "argon2id"} }

// ParseNormalizer reads step names ("trim", "nfkc", "casefold", "casefold-tr", "digits"; none, or "raw" alone, for no normalisation).
//
// Errors: *[UnknownStepError] for a step that is unknown or not built yet, *[RawStepError].
func ParseNormalizer(names []string) (*Normalizer, error) {
	n := &Normalizer{}
	built := builtSteps()
	for position, name := range names {
		if name == rawStep {
			if len(names) > 1 {
				return nil, &RawStepError{Position: position}
			}
			break
		}
		i := slices.IndexFunc(built, func(s step) bool { return s.name == name })
		if i < 0 {
			return nil, newUnknownStepError(name, position)
		}
		n.steps = append(n.steps, built[i])
	}
	return n, nil
}

// ID is the normaliser id that index keys are derived with: the steps as name.version, joined by "+"; raw.1 for none.
func (n *Normalizer) ID() string {
	if len(n.steps) == 0 {
		return rawStep + ".1"
	}
	parts := make([]string, len(n.steps))
	for i, s := range n.steps {
		parts[i] = fmt.Sprintf("%s.%d", s.name, s.version)
	}
	return strings.Join(parts, "+")
}

// Normalize applies the steps in order. A string with a code point that Unicode 15.0 does not assign skips every step that depends on
// Unicode, and so does one that is not valid UTF-8 (which no JSON string is). It is judged once, as it came: no step makes an unassigned code
// point, and none may hide one from the next.
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

// UnknownStepError says that a normaliser step cannot be used.
type UnknownStepError struct {
	Step     string
	Position int    // in the list of steps, from 0
	NotBuilt bool   // the step is one of the format's, which this version does not have yet
	Nearest  string // the step that was probably meant, "" if none is near
}

func newUnknownStepError(name string, position int) *UnknownStepError {
	e := &UnknownStepError{Step: name, Position: position}
	bare, _, _ := strings.Cut(name, "(") // phone(TR), argon2id(3,65536)
	if e.NotBuilt = slices.Contains(plannedSteps(), bare); !e.NotBuilt {
		e.Nearest = nearestStep(name)
	}
	return e
}

func (e *UnknownStepError) Error() string {
	if e.NotBuilt {
		return fmt.Sprintf("normaliser step %q (number %d) is not built yet; use %s until it is", e.Step, e.Position+1, stepList())
	}
	if e.Nearest != "" {
		return fmt.Sprintf("unknown normaliser step %q (number %d), did you mean %q? the steps are %s", e.Step, e.Position+1, e.Nearest, stepList())
	}
	return fmt.Sprintf("unknown normaliser step %q (number %d); the steps are %s", e.Step, e.Position+1, stepList())
}

// RawStepError says that "raw", which means no step, stands beside steps.
type RawStepError struct {
	Position int // in the list of steps, from 0
}

func (e *RawStepError) Error() string {
	return fmt.Sprintf("normaliser step \"raw\" (number %d) means no normalisation and cannot stand beside other steps; leave it out", e.Position+1)
}

func stepList() string {
	names := []string{rawStep}
	for _, s := range builtSteps() {
		names = append(names, s.name)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
