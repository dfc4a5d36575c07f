package cloudevents

import "strconv"

// Rules for the errors of this package are those of package envelope: they say where, and never hold a value, or a name that this package does not spell
// itself. Attributes and headers of other names are counted, from 1: "attribute 3", "header 2", in the order of the message; of the names where they come
// from or go into a map.

// Kind tells what is wrong with a message.
type Kind string

// Kinds of Error.
const (
	KindDuplicate   Kind = "duplicate"   // an attribute, a header or the data stands twice
	KindMalformed   Kind = "malformed"   // it is there, and not of the form that it must have
	KindMismatch    Kind = "mismatch"    // two parts of the message contradict each other
	KindMissing     Kind = "missing"     // a part that must be there
	KindTooLarge    Kind = "too-large"   // over a limit
	KindUnfit       Kind = "unfit"       // writing: the event has something that this form cannot carry
	KindUnsupported Kind = "unsupported" // another version, mode or media type, or no event of fieldcrypt's
)

// Error refuses a message, or an event that no message can carry. What is wrong with the payload itself, and with identifiers, is said by the errors of
// package envelope.
type Error struct {
	// Attribute that is at fault by CloudEvents' name, or "content-type", "headers" (all together), "body", "data", "attribute N", "header N"; "attribute *" is
	// one of a structured message whose headers repeat its attributes.
	Attribute string
	Kind      Kind
	// What is wrong, without the value.
	What string
	Next string
}

func (e *Error) Error() string { return e.Attribute + ": " + e.What }

// Hint says what to do next.
func (e *Error) Hint() string { return e.Next }

const contentTypeName = "content-type"

func attributeLabel(n int) string { return "attribute " + strconv.Itoa(n+1) }

func headerLabel(n int) string { return "header " + strconv.Itoa(n+1) }

func missing(name string) error {
	return &Error{name, KindMissing, "is missing", "docs/format.md 10 lists what a message has; is this one from a producer of fieldcrypt's?"}
}

func duplicate(name string) error {
	return &Error{name, KindDuplicate, "stands twice", "which one holds is not guessed: find what added the other, or leave it out with Options.KeepHeader"}
}

func malformed(name, what, next string) error { return &Error{name, KindMalformed, what, next} }

func unsupported(name, what, next string) error { return &Error{name, KindUnsupported, what, next} }

func unfit(name, what, next string) error { return &Error{name, KindUnfit, what, next} }

func tooLarge(name string, most int) error {
	return &Error{name, KindTooLarge, "over the limit: " + strconv.Itoa(most) + " bytes", "keep large data elsewhere and put a reference into the event"}
}
