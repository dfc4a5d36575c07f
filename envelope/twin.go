package envelope

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

const twinText = "has two members whose names differ in case alone, and one of them is sealed: encoding/json takes them for one"

// twin finds a member that encoding/json may take for a sealed one: a sibling of a token, or of what holds one, whose name differs in case alone. Such a
// member can be added in clear by whoever can write to the table or the topic, wherever the schema lets undeclared members be clear. It gives the offset
// behind the object that holds both, -1 if there is none. The text is in wire form, and was checked.
func twin(wire []byte) (offset int) {
	if !bytes.Contains(wire, []byte(tokenPrefix)) {
		return -1
	}
	d := twinFinder{jsontext.NewDecoder(bytes.NewBuffer(wire))}
	if _, err := d.value(); err != nil {
		return int(d.InputOffset())
	}
	return -1
}

type twinFinder struct{ *jsontext.Decoder }

// twinError ends the search. Any other error of the decoder does so too: text that it does not take was not checked.
type twinError struct{}

func (twinError) Error() string { return twinText }

// value reads a value and says whether it is or holds a token.
func (d twinFinder) value() (sealed bool, err error) {
	switch d.PeekKind() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	}
	value, err := d.ReadToken()
	if err != nil {
		return false, err
	}
	return value.Kind() == '"' && strings.HasPrefix(value.String(), tokenPrefix), nil
}

func (d twinFinder) object() (sealed bool, err error) {
	if _, err := d.ReadToken(); err != nil {
		return false, err
	}
	seen := make(map[string]bool) // whether a member of the folded name is sealed
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return false, err
		}
		name := strings.Map(fold, token.String())
		here, err := d.value()
		if err != nil {
			return false, err
		}
		sealed = sealed || here
		if there, twice := seen[name]; twice && (here || there) {
			return false, twinError{}
		}
		seen[name] = seen[name] || here
	}
	_, err = d.ReadToken()
	return sealed, err
}

func (d twinFinder) array() (sealed bool, err error) {
	if _, err := d.ReadToken(); err != nil {
		return false, err
	}
	for d.PeekKind() != ']' {
		here, err := d.value()
		if err != nil {
			return false, err
		}
		sealed = sealed || here
	}
	_, err = d.ReadToken()
	return sealed, err
}

// fold gives the first of the runes that Unicode's simple folding, and so encoding/json, takes for one.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
