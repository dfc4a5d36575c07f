package jsonscan

// A Fault says which rule or limit the input breaks, and where. It never holds a piece of the input.
type Fault struct {
	// Offset of the byte at fault.
	Offset int
	// Rule that is broken; "" where it is a limit.
	Rule string
	// Limit that is exceeded, with its value; "" where it is a rule.
	Limit string
	Max   int
	// Name is the member name at fault, where the fault is a name: its raw text between the quotes.
	Name Span
}

// Rules.
const (
	RuleEnd        = "the text ends too early"
	RuleValue      = "a value was expected"
	RuleName       = "a member name in double quotes was expected"
	RuleColon      = "a colon was expected after a member name"
	RuleObject     = "a comma or the object's end was expected"
	RuleArray      = "a comma or the array's end was expected"
	RuleTrailing   = "something follows the value"
	RuleControl    = "an unescaped control character in a string"
	RuleEscape     = "an invalid escape in a string"
	RuleSurrogate  = "an escape that is half a surrogate pair"
	RuleUTF8       = "invalid UTF-8"
	RuleDuplicate  = "a duplicate member name"
	RuleZero       = "a number with a leading zero"
	RuleDigit      = "a digit was expected"
	RuleLiteral    = "a misspelt literal"
	RuleByteOrder  = "a byte order mark before the value"
	LimitDigits    = "digits of a number"
	LimitExponent  = "exponent of a number"
	shortObject    = 24 // names up to which an object's are compared one by one; measured: sorting wins from about here
	exponentDigits = 9  // of an exponent, after leading zeros, that an int holds on every platform
)

// Span is a part of the input.
type Span struct {
	Start, End int
	// Escaped says that a string has escapes, so that its raw text is not its content.
	Escaped bool
}
