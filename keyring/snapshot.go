package keyring

import (
	"fmt"
	"slices"
)

// snapshot is one loaded document: immutable, but for the wiping of materials.
type snapshot struct {
	doc   *document
	seal  side
	index side
}

// side is what a snapshot holds for one purpose.
type side struct {
	primary *Key
	// usable starts with the primary; the others stand in document order.
	usable []*Key
	// byID also holds keys that may not be used, without material.
	byID map[KeyID]*Key
}

func (s *snapshot) side(p Purpose) *side {
	switch p {
	case Seal:
		return &s.seal
	case Index:
		return &s.index
	default:
		return nil
	}
}

// newSnapshot extracts the usable keys. A key that old holds already keeps its
// material; the same id with other bytes is refused, since data under it would
// stop to open.
func newSnapshot(d *document, sec secrets, old *snapshot) (*snapshot, error) {
	s := &snapshot{doc: d}
	for _, p := range Purposes() {
		s.side(p).byID = map[KeyID]*Key{}
	}
	for _, r := range d.keys {
		k := &Key{id: r.id, purpose: r.purpose, state: r.state}
		side := s.side(r.purpose)
		side.byID[k.id] = k
		if !r.state.Usable() {
			continue
		}
		m, err := newMaterial(sec[r.id])
		if err != nil {
			return nil, fmt.Errorf("keyring %s: extracting %s key %s: %w", d.name, r.purpose, r.id, err)
		}
		k.material = m
		if was := old.material(r.purpose, r.id); was != nil {
			same := was.same(m)
			m.wipe(ErrClosed)
			if !same {
				return nil, &DocumentError{Keyring: d.name, Place: "/keysets/" + string(r.purpose), Rule: RuleKeyChanged, Detail: "key " + r.id.String() + " has other bytes than before"}
			}
			k.material = was
		}
		if r.state == Primary {
			side.primary = k
			side.usable = slices.Insert(side.usable, 0, k)
			continue
		}
		side.usable = append(side.usable, k)
	}
	return s, nil
}

// material returns what the snapshot holds for a key, nil if it may not be used.
func (s *snapshot) material(p Purpose, id KeyID) *material {
	if s == nil {
		return nil
	}
	if k := s.side(p).byID[id]; k != nil {
		return k.material
	}
	return nil
}

// keys returns all usable keys of both purposes.
func (s *snapshot) keys() []*Key {
	return slices.Concat(s.seal.usable, s.index.usable)
}
