package envelope

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

const (
	twinText  = "has two members whose names differ in case alone, and one of them is sealed: encoding/json takes them for one"
	aliasText = "has a clear member and the schema a sealed one whose names differ in case alone: encoding/json takes them for one"
)

// twin finds a member that encoding/json may take for a sealed one, since their names differ in case alone: a sibling of a token, or of what holds one,
// or a member that the schema does not spell where it spells a sealed one, which need not be there. Such a member can be added in clear by whoever can
// write to the table or the topic, wherever the schema lets undeclared members be clear. It gives the offset behind the object that holds both, or at
// the member, and what is wrong; -1 if there is none. The text is in wire form, and was checked.
func twin(wire []byte, root *schema.State) (offset int, what string) {
	if !bytes.Contains(wire, []byte(tokenPrefix)) && (root == nil || root.Clear()) {
		return -1, ""
	}
	d := twinFinder{jsontext.NewDecoder(bytes.NewBuffer(wire)), make(map[*schema.State]map[string][]*schema.State)}
	_, err := d.value([]reading{{state: root}})
	var found twinError
	switch {
	case err == nil:
		return -1, ""
	case errors.As(err, &found):
		return int(d.InputOffset()), found.what
	}
	return int(d.InputOffset()), twinText
}

type twinFinder struct {
	*jsontext.Decoder
	spelled map[*schema.State]map[string][]*schema.State // see of
}

// reading is a location that encoding/json may read a value for; other says that a name on the way differs in case from the schema's.
type reading struct {
	state *schema.State
	other bool
}

// maxReadings of one value: there are several only where a schema spells names that differ in case alone.
const maxReadings = 64

// twinError ends the search. Any other error of the decoder does so too: text that it does not take was not checked.
type twinError struct{ what string }

func (e twinError) Error() string { return e.what }

// value reads a value and says whether it is or holds a token.
func (d twinFinder) value(as []reading) (sealed bool, err error) {
	kind := d.PeekKind()
	below := as[:0:0]
	for _, r := range as {
		switch {
		case r.state == nil || r.state.Clear() || slices.Contains(below, r):
		case !r.state.Sealed() && (!r.state.SealedIfObject() || kind != '{'):
			below = append(below, r)
		case r.other:
			return false, twinError{aliasText}
		}
	}
	if len(below) > maxReadings {
		return false, twinError{aliasText}
	}
	switch kind {
	case '{':
		return d.object(below)
	case '[':
		return d.array(below)
	}
	value, err := d.ReadToken()
	if err != nil {
		return false, err
	}
	return value.Kind() == '"' && strings.HasPrefix(value.String(), tokenPrefix), nil
}

func (d twinFinder) object(as []reading) (sealed bool, err error) {
	if _, err := d.ReadToken(); err != nil {
		return false, err
	}
	seen := make(map[string]bool) // whether a member of the folded name is sealed
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return false, err
		}
		text := token.String()
		name := strings.Map(fold, text)
		here, err := d.value(d.members(as, text, name))
		if err != nil {
			return false, err
		}
		sealed = sealed || here
		if there, twice := seen[name]; twice && (here || there) {
			return false, twinError{twinText}
		}
		seen[name] = seen[name] || here
	}
	_, err = d.ReadToken()
	return sealed, err
}

// members gives what a member may be read for: what the schema says of its name, and, where it does not spell that, what it says of the same in another case.
func (d twinFinder) members(as []reading, name, folded string) []reading {
	var list []reading
	for _, r := range as {
		child, exact := r.state.Member([]byte(name))
		list = append(list, reading{child, r.other})
		if exact {
			continue
		}
		for _, other := range d.of(r.state)[folded] {
			list = append(list, reading{other, true})
		}
	}
	return list
}

// of gives the members that a state spells, by their folded names; what is clear is left out.
func (d twinFinder) of(st *schema.State) map[string][]*schema.State {
	if known, ok := d.spelled[st]; ok {
		return known
	}
	spelled := make(map[string][]*schema.State)
	for name, child := range st.Members() {
		if child != nil && !child.Clear() {
			name = strings.Map(fold, name)
			spelled[name] = append(spelled[name], child)
		}
	}
	d.spelled[st] = spelled
	return spelled
}

func (d twinFinder) array(as []reading) (sealed bool, err error) {
	if _, err := d.ReadToken(); err != nil {
		return false, err
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		items := make([]reading, len(as))
		for n, r := range as {
			items[n] = reading{r.state.Item(i), r.other}
		}
		here, err := d.value(items)
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
