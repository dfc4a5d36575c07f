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
	former   bool
	met      []metIndex
	messages []message
	arena    []byte // of messages: plaintext
}

// metIndex is a version of an index of which an event has a value, or a part.
type metIndex struct {
	index *schema.Index
	made  *blindindex.Index
	// versions is how many there are of the index here: the current one, and the former ones behind it. 0 for a former one.
	versions int
	count    int      // of its messages
	parts    [][]byte // of a compound index: by part, nil where there is none
}

// message is one value, normalised and encoded, of met[of].
type message struct {
	of   int
	text []byte
}

// reset starts another event and keeps the memory; nothing of the last one stays in it.
func (x *indexing) reset(c *core) {
	x.core, x.former = c, false
	clear(x.met)
	x.met = x.met[:0]
	clear(x.messages)
	x.messages = x.messages[:0]
	clear(x.arena)
	x.arena = x.arena[:0]
}

// large says that more memory is held on to than is kept.
func (x *indexing) large() bool { return cap(x.messages) > keepItems || cap(x.arena) > keepBytes }

// add takes a walk's hits. place tells where a hit stands, for errors.
func (x *indexing) add(w *walk, place func(hit) Place) error {
	for i := range w.hits {
		h := &w.hits[i]
		at, err := x.find(h.index)
		if err != nil {
			return err
		}
		for version := range x.met[at].versions {
			count, err := x.take(at+version, h.part, w.Buf[h.start:h.end])
			if err != nil {
				return &LocationError{Place: place(*h), Kind: KindIndexType, Index: h.index.Name, Err: err}
			}
			if count > 1 && !h.index.Multi {
				return &LocationError{Place: place(*h), Kind: KindIndexTwice, Index: h.index.Name}
			}
		}
	}
	return nil
}

// take takes a value of met[at], or one of a part, and says how many there are now.
func (x *indexing) take(at, part int, value []byte) (count int, err error) {
	if part != wholeValue {
		return x.takePart(at, part, value)
	}
	met := &x.met[at]
	if grown, done := met.made.AppendMessage(x.arena, value); done {
		text := grown[len(x.arena):len(grown):len(grown)]
		if x.arena = grown; len(text) > 0 {
			x.messages = append(x.messages, message{})
			m := &x.messages[len(x.messages)-1]
			m.of, m.text = at, text
			met.count++
		}
		return met.count, nil
	}
	texts, err := met.made.Messages(value)
	for _, text := range texts {
		x.messages = append(x.messages, message{at, text})
	}
	met.count += len(texts)
	return met.count, err
}

// takePart takes a part of a compound index; the last one that was missing makes the value.
func (x *indexing) takePart(at, part int, value []byte) (count int, err error) {
	met := &x.met[at]
	own, err := met.made.PartMessage(part, value)
	if err != nil || own == nil {
		return 0, err
	}
	if met.parts[part] != nil {
		return 2, nil
	}
	met.parts[part] = own
	joined, err := met.made.Join(met.parts)
	if err != nil || joined == nil {
		return 0, err
	}
	x.messages = append(x.messages, message{at, joined})
	met.count++
	return met.count, nil
}

// find gives the place of an index's current version in met.
func (x *indexing) find(index *schema.Index) (int, error) {
	for i := range x.met {
		if met := &x.met[i]; met.versions > 0 && (met.index == index || met.index.Name == index.Name) {
			return i, nil
		}
	}
	made, ok := x.core.indexes[index.Name]
	if !ok {
		return 0, fmt.Errorf("index %s: not in the registry", index.Name)
	}
	at := len(x.met)
	x.meet(index, made)
	if x.former {
		for _, former := range made.Previous() {
			x.meet(index, former)
		}
	}
	x.met[at].versions = len(x.met) - at
	return at, nil
}

func (x *indexing) meet(index *schema.Index, made *blindindex.Index) {
	x.met = append(x.met, metIndex{})
	met := &x.met[len(x.met)-1]
	met.index, met.made = index, made
	if n := made.Parts(); n > 0 {
		met.parts = make([][]byte, n)
	}
}

// messagesOf gives the messages of one index, nil if it met no value.
func (x *indexing) messagesOf(name string) [][]byte {
	for i := range x.met {
		if x.met[i].versions > 0 && x.met[i].index.Name == name {
			return x.textsOf(i)
		}
	}
	return nil
}

func (x *indexing) textsOf(at int) [][]byte {
	var texts [][]byte
	for _, m := range x.messages {
		if m.of == at {
			texts = append(texts, m.text)
		}
	}
	return texts
}

// formedVersion is what was gathered of one version of an index.
type formedVersion struct {
	made     *blindindex.Index
	messages [][]byte
}

// formed gives what was gathered of each version of an index, the current one first; nil if it met no value.
func (x *indexing) formed(name string) []formedVersion {
	var versions []formedVersion
	for i := range x.met {
		if x.met[i].index.Name == name {
			versions = append(versions, formedVersion{x.met[i].made, x.textsOf(i)})
		}
	}
	return versions
}

// store appends the stored forms under the primary index keys: of each index together, distinct, and sorted by their bytes.
func (x *indexing) store(b *Buffer) error {
	for at := range x.met {
		if met := &x.met[at]; met.versions > 0 && met.count > 0 {
			if err := x.storeOne(b, at); err != nil {
				return fmt.Errorf("index %s: %w", met.index.Name, err)
			}
		}
	}
	return nil
}

func (x *indexing) storeOne(b *Buffer, at int) error {
	met := &x.met[at]
	ring, ok := ringOf(x.core.rings, met.index.Keyring)
	if !ok {
		return fmt.Errorf("keyring %s is not configured", met.index.Keyring)
	}
	key, err := ring.Primary(keyring.Index)
	if err != nil {
		return err
	}
	b.addKey(keyring.Index, key.ID())
	from := len(b.values)
	for i := range x.messages {
		if x.messages[i].of != at {
			continue
		}
		start := len(b.bytes)
		if b.bytes, err = met.made.AppendValue(b.bytes, key, x.messages[i].text); err != nil {
			return err
		}
		b.values = append(b.values, storedValue{met.index, b.bytes[start:len(b.bytes):len(b.bytes)]})
	}
	if own := b.values[from:]; len(own) > 1 {
		slices.SortFunc(own, func(a, b storedValue) int { return bytes.Compare(a.stored, b.stored) })
		own = slices.CompactFunc(own, func(a, b storedValue) bool { return bytes.Equal(a.stored, b.stored) })
		b.values = b.values[:from+len(own)]
	}
	return nil
}

// sameIndexes says whether what is stored is what would be written, whatever the order of a multi index's values.
func sameIndexes(stored map[string][][]byte, written []storedValue) bool {
	rest := 0
	for _, values := range stored {
		if len(values) > 0 {
			rest++
		}
	}
	for len(written) > 0 {
		name, n := written[0].index.Name, 1
		for n < len(written) && written[n].index == written[0].index {
			n++
		}
		values := stored[name]
		if !slices.EqualFunc(sorted(values), written[:n], func(a []byte, b storedValue) bool { return bytes.Equal(a, b.stored) }) {
			return false
		}
		written = written[n:]
		rest--
	}
	return rest == 0
}

// sorted gives values in the order of their bytes: that in which a store gives a multi index's says nothing.
func sorted(values [][]byte) [][]byte {
	if len(values) < 2 {
		return values
	}
	values = slices.Clone(values)
	slices.SortFunc(values, bytes.Compare)
	return values
}

func keyIDText(purpose keyring.Purpose, id keyring.KeyID) string {
	return string(purpose) + ":" + id.String()
}

// sortedKeyIDs sorts key ids in place and drops what comes twice.
func sortedKeyIDs(ids []string) []string {
	slices.SortFunc(ids, strings.Compare)
	return slices.Compact(ids)
}
