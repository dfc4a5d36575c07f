package blindindex

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// WithPrevious gives the index with earlier versions of it, of which rows may still hold values: other normalisers or lengths. They are searched
// and never written. A row that was not rebuilt yet is found by what its own version calls equal.
//
// Errors: *[PreviousError].
func (ix *Index) WithPrevious(previous ...*Index) (*Index, error) {
	for i, former := range previous {
		reason := ""
		switch {
		case former == nil:
			reason = "it is nil"
		case former.name != ix.name:
			reason = fmt.Sprintf("it is named %q", former.name)
		case len(former.parts) != len(ix.parts):
			reason = "it has another number of parts"
		case bytes.Equal(former.info, ix.info) || slices.ContainsFunc(previous[:i], func(o *Index) bool { return bytes.Equal(o.info, former.info) }):
			reason = "it is the index itself, or stands twice"
		}
		if reason != "" {
			return nil, &PreviousError{Index: ix.name, Position: i, Reason: reason}
		}
	}
	with := *ix
	with.previous = slices.Clone(previous)
	return &with, nil
}

// Previous gives the earlier versions that are searched.
func (ix *Index) Previous() []*Index { return slices.Clone(ix.previous) }

// Versions gives the index and its earlier versions, the one that is written first.
func (ix *Index) Versions() []*Index { return append([]*Index{ix}, ix.previous...) }

// Asked is a value that is looked for, as text, with the types that it may have: as a string, and as an integer if it is one.
type Asked struct {
	Text            string
	String, Integer bool
}

// Search is what a search asks of an index, in all its versions. It holds the value, so keep it in memory.
type Search struct {
	versions []*Index
	messages [][][]byte // by version
}

// Search prepares a search: for one value, or for one for each part of a compound index. See [Index.Query] for what is found as what.
//
// Errors: *[PartsError].
func (ix *Index) Search(values ...Asked) (*Search, error) {
	if want := max(1, len(ix.parts)); len(values) != want {
		return nil, &PartsError{Index: ix.name, Want: len(ix.parts), Got: len(values)}
	}
	s := &Search{versions: ix.Versions()}
	for _, version := range s.versions {
		s.messages = append(s.messages, version.asked(values))
	}
	return s, nil
}

// asked gives the messages of one version: of a compound one for each choice of types.
func (ix *Index) asked(values []Asked) [][]byte {
	if ix.parts == nil {
		return queryMessages(ix.normalizer, values[0])
	}
	choices := [][][]byte{nil}
	for i, value := range values {
		var longer [][][]byte
		for _, message := range queryMessages(ix.parts[i], value) {
			for _, choice := range choices {
				longer = append(longer, append(slices.Clone(choice), message))
			}
		}
		choices = longer
	}
	messages := make([][]byte, len(choices))
	for i, choice := range choices {
		messages[i] = join(choice)
	}
	return messages
}

// Messages gives the messages of the version that is written: what a row's value is compared with after opening. None: no row holds it.
func (s *Search) Messages() [][]byte { return s.messages[0] }

// Candidates computes what a WHERE column = ANY($1) asks: the stored forms of every message, in every version, under every key; distinct and
// sorted by their bytes. Give it every usable index key of the index's keyring, so that a search never misses during a rotation.
func (s *Search) Candidates(keys []*keyring.Key) ([][]byte, error) {
	var all [][]byte
	for i, version := range s.versions {
		for _, key := range keys {
			var err error
			if all, err = version.appendValues(all, key, s.messages[i]); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(all, bytes.Compare)
	return slices.CompactFunc(all, bytes.Equal), nil
}

// PreviousError says that an index cannot be the earlier version of another.
type PreviousError struct {
	Index    string
	Position int // in the list of previous indexes, from 0
	Reason   string
}

func (e *PreviousError) Error() string {
	return fmt.Sprintf("blind index %q: previous index number %d cannot be an earlier version: %s", e.Index, e.Position+1, e.Reason)
}
