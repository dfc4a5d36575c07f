package blindindex

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// The first byte of a message says what it encodes, so that the string "1" and the integer 1 never share an index.
const (
	stringMessage   = 's'
	integerMessage  = 'i'
	compoundMessage = 'c'
	slowMessage     = 'a' // what argon2id makes of one of the others; never given to a caller
)

// Messages gives the messages of a JSON value's text: none for null and for a string that normalises to nothing, one for a string or an
// integer, and for an array of these the distinct ones sorted by their bytes. A compound index takes an array with one value for each part, and
// gives one message, or none where a part has none.
//
// Errors: *[TypeError] for every other value, *[SyntaxError] for what is not one strict JSON value, *[NumberLimitError], *[PartsError].
func (ix *Index) Messages(jsonText []byte) ([][]byte, error) {
	text := trimSpace(jsonText)
	array := len(text) > 0 && text[0] == '['
	switch {
	case ix.parts != nil && array:
		return ix.compoundMessages(text)
	case ix.parts != nil:
		return nil, &PartsError{Index: ix.name, Want: len(ix.parts), Got: 1}
	case array:
		return ix.arrayMessages(text)
	}
	message, err := ix.message(ix.normalizer, text, notAnItem)
	if err != nil || message == nil {
		return nil, err
	}
	return [][]byte{message}, nil
}

// trimSpace takes JSON's white space off both ends.
func trimSpace(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }

// notAnItem is the item number of a value that stands in no array.
const notAnItem = -1

func (ix *Index) arrayMessages(text []byte) ([][]byte, error) {
	var messages [][]byte
	err := ix.eachItem(text, func(item int, value []byte) error {
		message, err := ix.message(ix.normalizer, value, item)
		if message != nil {
			messages = append(messages, message)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(messages, bytes.Compare)
	return slices.CompactFunc(messages, bytes.Equal), nil
}

// eachItem calls fn with the text of each item of an array, itself no array and no object.
func (ix *Index) eachItem(text []byte, fn func(item int, value []byte) error) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	if _, err := dec.ReadToken(); err != nil { // the opening bracket
		return &SyntaxError{Index: ix.name, Item: notAnItem}
	}
	for item := 0; ; item++ {
		switch dec.PeekKind() {
		case ']':
			if _, err := dec.ReadToken(); err != nil {
				return &SyntaxError{Index: ix.name, Item: item}
			}
			if int(dec.InputOffset()) != len(text) {
				return &SyntaxError{Index: ix.name, Item: notAnItem}
			}
			return nil
		case '[':
			return &TypeError{Index: ix.name, Item: item, Got: "an array in an array"}
		case '{':
			return &TypeError{Index: ix.name, Item: item, Got: "an object"}
		}
		value, err := dec.ReadValue()
		if err != nil {
			// The decoder's own error quotes the text that it stumbled over.
			return &SyntaxError{Index: ix.name, Item: item}
		}
		if err := fn(item, value); err != nil {
			return err
		}
	}
}

// message encodes one value that is no array; nil where it has no index.
func (ix *Index) message(n *Normalizer, text []byte, item int) ([]byte, error) {
	if len(text) == 0 {
		return nil, &SyntaxError{Index: ix.name, Item: item}
	}
	switch text[0] {
	case '"':
		decoded, err := jsontext.AppendUnquote(nil, text)
		if err != nil {
			return nil, &SyntaxError{Index: ix.name, Item: item}
		}
		return stringMessageOf(n, string(decoded)), nil
	case '{':
		return nil, &TypeError{Index: ix.name, Item: item, Got: "an object"}
	case '[': // of a part: elsewhere an array was taken apart before
		return nil, &TypeError{Index: ix.name, Item: item, Got: "an array"}
	}
	switch string(text) {
	case "null":
		return nil, nil
	case "true", "false":
		return nil, &TypeError{Index: ix.name, Item: item, Got: "a boolean"}
	}
	number, ok := scanNumber(text)
	if !ok {
		return nil, &SyntaxError{Index: ix.name, Item: item}
	}
	if limit, most := number.exceeds(); limit != "" {
		return nil, &NumberLimitError{Index: ix.name, Item: item, Limit: limit, Max: most}
	}
	digits, ok := number.integer()
	if !ok {
		return nil, &TypeError{Index: ix.name, Item: item, Got: "a number with a fraction"}
	}
	return append([]byte{integerMessage}, digits...), nil
}

// stringMessageOf encodes a decoded string; nil where it normalises to nothing.
func stringMessageOf(n *Normalizer, s string) []byte {
	normalized := n.Normalize(s)
	if normalized == "" {
		return nil
	}
	message := make([]byte, 0, 1+len(normalized))
	message = append(message, stringMessage)
	return append(message, normalized...)
}

// validMessage reports that a message is one that [Index.Messages] can give.
func (ix *Index) validMessage(message []byte) bool {
	if ix.parts != nil {
		_, ok := ix.split(message)
		return ok
	}
	return validPart(message)
}

func validPart(message []byte) bool {
	return len(message) > 1 && (message[0] == stringMessage || message[0] == integerMessage)
}

// Query gives the messages that a search for text must ask: as a string and, if asInteger and text is a JSON number with an integral value,
// as an integer. Text that is not valid UTF-8, that normalises to nothing, or that is no integer where only integers are asked, gives none:
// no stored value can be equal to it. A compound index gives none either: see [Index.Search], which also asks for previous versions.
func (ix *Index) Query(text string, asString, asInteger bool) [][]byte {
	if ix.parts != nil {
		return nil
	}
	return queryMessages(ix.normalizer, Asked{Text: text, String: asString, Integer: asInteger})
}

func queryMessages(n *Normalizer, asked Asked) [][]byte {
	var messages [][]byte
	if asked.Integer {
		if digits, ok := parseInteger([]byte(asked.Text)); ok {
			messages = append(messages, append([]byte{integerMessage}, digits...))
		}
	}
	if asked.String && isUTF8(asked.Text) {
		if message := stringMessageOf(n, asked.Text); message != nil {
			messages = append(messages, message)
		}
	}
	return messages
}

// place words where in a value an error lies.
func place(index string, item int) string {
	if item == notAnItem {
		return fmt.Sprintf("blind index %q", index)
	}
	return fmt.Sprintf("blind index %q: item %d", index, item)
}

// TypeError says that a value of this type has no blind index. It does not hold the value.
type TypeError struct {
	Index string
	Item  int    // the number of the array item from 0, -1 if the value stands in no array
	Got   string // such as "a boolean"
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("%s: %s cannot be indexed; let the schema allow only strings, integers, arrays of these, and null there", place(e.Index, e.Item), e.Got)
}

// SyntaxError says that a value is not one strict JSON value. It does not hold the value.
type SyntaxError struct {
	Index string
	Item  int // the number of the array item from 0, -1 if the value stands in no array
}

func (e *SyntaxError) Error() string {
	return place(e.Index, e.Item) + ": the value is not one JSON value by RFC 8259 in UTF-8 without halves of surrogate pairs; give the value's exact JSON text"
}

// NumberLimitError says that a number's text is too long, or its exponent too large, to be written out. It does not hold the number.
type NumberLimitError struct {
	Index string
	Item  int    // the number of the array item from 0, -1 if the value stands in no array
	Limit string // "digits" or "exponent"
	Max   int
}

func (e *NumberLimitError) Error() string {
	if e.Limit == exponentLimit {
		return fmt.Sprintf("%s: the number's exponent lies outside ±%d; bound the number in the schema", place(e.Index, e.Item), e.Max)
	}
	return fmt.Sprintf("%s: the number has more than %d digits; bound the number in the schema", place(e.Index, e.Item), e.Max)
}

// MessageError says that bytes were given as a message that [Index.Messages] and [Index.Query] never give. It does not hold them.
type MessageError struct{ Index string }

func (e *MessageError) Error() string {
	return fmt.Sprintf("blind index %q: these bytes are no message; take messages from Messages or Query", e.Index)
}
