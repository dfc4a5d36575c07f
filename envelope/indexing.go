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
	met  []metIndex
}

type metIndex struct {
	index    *schema.Index
	made     *blindindex.Index
	messages [][]byte
}

// add takes a walk's hits. place tells where a hit stands, for errors.
func (x *indexing) add(w *walk, place func(hit) Place) error {
	for _, h := range w.hits {
		made, ok := x.core.indexes[h.index.Name]
		if !ok {
			return fmt.Errorf("index %s: not in the registry", h.index.Name)
		}
		messages, err := made.Messages(w.Buf[h.start:h.end])
		if err != nil {
			return &LocationError{Place: place(h), Kind: KindIndexType, Index: h.index.Name, Err: err}
		}
		if len(messages) == 0 {
			continue
		}
		met := x.find(h.index, made)
		if !h.index.Multi && len(met.messages)+len(messages) > 1 {
			return &LocationError{Place: place(h), Kind: KindIndexTwice, Index: h.index.Name}
		}
		met.messages = append(met.messages, messages...)
	}
	return nil
}

func (x *indexing) find(index *schema.Index, made *blindindex.Index) *metIndex {
	for i := range x.met {
		if x.met[i].index.Name == index.Name {
			return &x.met[i]
		}
	}
	x.met = append(x.met, metIndex{index: index, made: made})
	return &x.met[len(x.met)-1]
}

// messages of one index, nil if it met no value.
func (x *indexing) messages(name string) [][]byte {
	for i := range x.met {
		if x.met[i].index.Name == name {
			return x.met[i].messages
		}
	}
	return nil
}

// values computes the stored forms under the primary index keys, and the ids of the keys used.
func (x *indexing) values() (map[string][][]byte, []string, error) {
	var ids []string
	stored := make(map[string][][]byte, len(x.met))
	for _, met := range x.met {
		ring, ok := ringOf(x.core.rings, met.index.Keyring)
		if !ok {
			return nil, nil, fmt.Errorf("index %s: keyring %s is not configured", met.index.Name, met.index.Keyring)
		}
		key, err := ring.Primary(keyring.Index)
		if err != nil {
			return nil, nil, fmt.Errorf("index %s: %w", met.index.Name, err)
		}
		if stored[met.index.Name], err = met.made.Values(key, met.messages); err != nil {
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
