package envelope

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// indexing gathers the messages of an event's blind indexes.
type indexing struct {
	core *core
	// former says that those of earlier versions are gathered too.
	former bool
	met    []metIndex
}

// metIndex is an index of which an event has a value, or a part.
type metIndex struct {
	index    *schema.Index
	versions []metVersion // the current one first
}

type metVersion struct {
	made     *blindindex.Index
	messages [][]byte
	parts    [][]byte // of a compound index: by part, nil where there is none
}

// add takes a walk's hits. place tells where a hit stands, for errors.
func (x *indexing) add(w *walk, place func(hit) Place) error {
	for _, h := range w.hits {
		met, err := x.find(h.index)
		if err != nil {
			return err
		}
		for i := range met.versions {
			count, err := met.versions[i].add(w.Buf[h.start:h.end], h.part)
			if err != nil {
				return &LocationError{Place: place(h), Kind: KindIndexType, Index: h.index.Name, Err: err}
			}
			if count > 1 && !h.index.Multi {
				return &LocationError{Place: place(h), Kind: KindIndexTwice, Index: h.index.Name}
			}
		}
	}
	return nil
}

// add takes a value, or one of a part, and says how many there are now.
func (m *metVersion) add(text []byte, part int) (count int, err error) {
	if part == wholeValue {
		messages, err := m.made.Messages(text)
		m.messages = append(m.messages, messages...)
		return len(m.messages), err
	}
	message, err := m.made.PartMessage(part, text)
	if err != nil || message == nil {
		return 0, err
	}
	if m.parts[part] != nil {
		return 2, nil
	}
	m.parts[part] = message
	joined, err := m.made.Join(m.parts)
	if err != nil || joined == nil {
		return 0, err
	}
	m.messages = [][]byte{joined}
	return 1, nil
}

func (x *indexing) find(index *schema.Index) (*metIndex, error) {
	for i := range x.met {
		if x.met[i].index.Name == index.Name {
			return &x.met[i], nil
		}
	}
	made, ok := x.core.indexes[index.Name]
	if !ok {
		return nil, fmt.Errorf("index %s: not in the registry", index.Name)
	}
	met := metIndex{index: index, versions: []metVersion{newMetVersion(made)}}
	if x.former {
		for _, former := range made.Previous() {
			met.versions = append(met.versions, newMetVersion(former))
		}
	}
	x.met = append(x.met, met)
	return &x.met[len(x.met)-1], nil
}

func newMetVersion(made *blindindex.Index) metVersion {
	m := metVersion{made: made}
	if made.Parts() > 0 {
		m.parts = make([][]byte, made.Parts())
	}
	return m
}

// messages of one index, nil if it met no value.
func (x *indexing) messages(name string) [][]byte {
	for i := range x.met {
		if x.met[i].index.Name == name {
			return x.met[i].versions[0].messages
		}
	}
	return nil
}

// formed gives what was gathered of each version of an index, the current one first; nil if it met no value.
func (x *indexing) formed(name string) []metVersion {
	for i := range x.met {
		if x.met[i].index.Name == name {
			return x.met[i].versions
		}
	}
	return nil
}

// values computes the stored forms under the primary index keys, and the ids of the keys used.
func (x *indexing) values() (map[string][][]byte, []string, error) {
	var ids []string
	stored := make(map[string][][]byte, len(x.met))
	for _, met := range x.met {
		current := met.versions[0]
		if len(current.messages) == 0 {
			continue
		}
		ring, ok := ringOf(x.core.rings, met.index.Keyring)
		if !ok {
			return nil, nil, fmt.Errorf("index %s: keyring %s is not configured", met.index.Name, met.index.Keyring)
		}
		key, err := ring.Primary(keyring.Index)
		if err != nil {
			return nil, nil, fmt.Errorf("index %s: %w", met.index.Name, err)
		}
		if stored[met.index.Name], err = current.made.Values(key, current.messages); err != nil {
			return nil, nil, fmt.Errorf("index %s: %w", met.index.Name, err)
		}
		ids = append(ids, keyIDText(keyring.Index, key.ID()))
	}
	return stored, ids, nil
}

// sameIndexes says whether what is stored is what would be written, whatever the order of a multi index's values.
func sameIndexes(stored, written map[string][][]byte) bool {
	filled := 0
	for name, values := range stored {
		if len(values) == 0 {
			continue
		}
		filled++
		if !slices.EqualFunc(sortedClone(values), written[name], bytes.Equal) {
			return false
		}
	}
	return filled == len(written)
}

// sortedClone sorts a copy: the order in which a store gives a multi index's values says nothing.
func sortedClone(values [][]byte) [][]byte {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, bytes.Compare)
	return sorted
}

func keyIDText(purpose keyring.Purpose, id keyring.KeyID) string {
	return string(purpose) + ":" + id.String()
}

// sortedKeyIDs sorts key ids in place and drops what comes twice.
func sortedKeyIDs(ids []string) []string {
	slices.SortFunc(ids, strings.Compare)
	return slices.Compact(ids)
}
