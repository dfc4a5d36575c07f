package envelope

import (
	"bytes"
	"context"
)

// Sealed is an event in wire form that may be written: made by a Sealer or a Resealer alone. Its zero value is refused by every store, and so is one
// whose Buffer was reset.
type Sealed struct {
	wire   Wire
	keys   []keyUse
	values []storedValue // of each index together, sorted
	core   *core         // what opens it again, for SameContent
	// buffer holds what the fields point to, as long as its generation is the same; nil: its own memory.
	buffer     *Buffer
	generation uint64
}

// IsZero says that the value was made by nobody, or that its Buffer was reset.
func (s Sealed) IsZero() bool {
	return s.core == nil || s.buffer != nil && s.buffer.generation != s.generation
}

// Wire gives the event; its payload is shared and must not be changed.
func (s Sealed) Wire() Wire {
	if s.IsZero() {
		return Wire{}
	}
	return s.wire.clone()
}

// KeyIDs are the keys that the event needs, sorted: "seal:KID" and "index:KID". Empty where nothing is flagged.
func (s Sealed) KeyIDs() []string {
	if s.IsZero() || len(s.keys) == 0 {
		return nil
	}
	ids := make([]string, len(s.keys))
	for i, k := range s.keys {
		ids[i] = keyIDText(k.purpose, k.id)
	}
	return sortedKeyIDs(ids)
}

// BlindIndexes are stored forms by index name, to be kept and not to be changed; more than one only for a multi index, sorted. A name without a value
// is absent.
func (s Sealed) BlindIndexes() map[string][][]byte {
	if s.IsZero() {
		return nil
	}
	indexes := make(map[string][][]byte)
	for _, v := range s.values {
		stored := v.stored
		if s.buffer != nil {
			stored = bytes.Clone(stored)
		}
		indexes[v.index.Name] = append(indexes[v.index.Name], stored)
	}
	return indexes
}

// SameContent says whether a stored event is this one: same id, type, version, aggregate type, id and version, and the same payload bytes once both are
// opened with the keyrings of the Sealer that made s. An event that does not open returns that error.
func (s Sealed) SameContent(ctx context.Context, stored Received) (bool, error) {
	if s.IsZero() || stored.IsZero() {
		return false, ErrZero
	}
	a, b := s.wire, stored.wire
	if a.ID != b.ID || a.Type != b.Type || a.Version != b.Version || a.AggregateType != b.AggregateType || a.AggregateID != b.AggregateID ||
		!sameVersion(a.AggregateVersion, b.AggregateVersion) {
		return false, nil
	}
	if bytes.Equal(a.Payload, b.Payload) {
		return true, nil
	}
	theirs, err := s.core.opened(ctx, stored) // all, or none: a Sealer has all its keyrings
	if err != nil {
		return false, err
	}
	defer theirs.close()
	ours, err := s.core.opened(ctx, Received{a})
	if err != nil {
		return false, err
	}
	defer ours.close()
	return ours.sameText(&theirs), nil
}

// opened opens every token of an event where it stands. The caller closes what it gets.
func (c *core) opened(ctx context.Context, r Received) (opening, error) {
	op, err := c.opening(ctx, &r)
	if err != nil {
		return opening{}, err
	}
	if err := op.sites(ctx, openEach, nil); err != nil {
		op.close()
		return opening{}, err
	}
	return op, nil
}

// sameText says whether two events that were opened are the same text, of which no copy is made. Events of one text have their tokens at the same
// locations, so piece is held against piece.
func (op *opening) sameText(other *opening) bool {
	a, b := &op.work.walk, &other.work.walk
	if len(a.sites) != len(b.sites) {
		return false
	}
	endA, endB := 0, 0
	for i := range a.sites {
		x, y := &a.sites[i], &b.sites[i]
		if !bytes.Equal(a.Buf[endA:x.start], b.Buf[endB:y.start]) || !bytes.Equal(x.text, y.text) {
			return false
		}
		endA, endB = x.end, y.end
	}
	return bytes.Equal(a.Buf[endA:], b.Buf[endB:])
}

func sameVersion(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
