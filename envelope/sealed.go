package envelope

import (
	"bytes"
	"context"
	"maps"
	"slices"
)

// Sealed is an event in wire form that may be written: made by a Sealer or a Resealer alone. Its zero value is refused by every store.
type Sealed struct {
	wire    Wire
	keyIDs  []string
	indexes map[string][][]byte
	core    *core // what opens it again, for SameContent
}

// IsZero says that the value was made by nobody.
func (s Sealed) IsZero() bool { return s.core == nil }

// Wire gives the event; its payload is shared and must not be changed.
func (s Sealed) Wire() Wire { return s.wire.clone() }

// KeyIDs are the keys that the event needs, sorted: "seal:KID" and "index:KID". Empty where nothing is flagged.
func (s Sealed) KeyIDs() []string { return slices.Clone(s.keyIDs) }

// BlindIndexes are stored forms by index name; more than one only for a multi index. A name without a value is absent.
func (s Sealed) BlindIndexes() map[string][][]byte {
	indexes := maps.Clone(s.indexes)
	for name, values := range indexes {
		indexes[name] = slices.Clone(values)
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
	opener := &Opener{s.core}
	theirs, err := opener.Open(ctx, stored, OpenOptions{})
	if err != nil {
		return false, err
	}
	ours, err := opener.Open(ctx, Received{a}, OpenOptions{})
	if err != nil {
		return false, err
	}
	if len(theirs.StillSealed) > 0 || len(ours.StillSealed) > 0 {
		return false, nil // a Sealer has all its keyrings, so nothing stays sealed; fail closed should that change
	}
	return bytes.Equal(ours.Event.Payload, theirs.Event.Payload), nil
}

func sameVersion(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
