package keyring

import (
	"fmt"
	"maps"
	"slices"
)

// Set is the keyrings of a process by name.
type Set struct {
	rings map[string]*Keyring
}

// SharedError: two keyrings share what each must have for itself.
type SharedError struct {
	// What is shared: "name", "key id" or "key-encryption key", and its value.
	What, Value string
	// Keyrings are the names of the two.
	Keyrings [2]string
}

func (e *SharedError) Error() string {
	if e.What == "name" {
		return fmt.Sprintf("two keyrings have the name %s", e.Value)
	}
	return fmt.Sprintf("keyrings %s and %s share the %s %s", e.Keyrings[0], e.Keyrings[1], e.What, e.Value)
}

// Hint says what to do.
func (e *SharedError) Hint() string {
	return "configure each keyring once, under one name; a copy of a keyring is not a second keyring"
}

// NewSet refuses two keyrings that share a name, a key id, or the KEK that
// seals them.
func NewSet(rings ...*Keyring) (*Set, error) {
	s := &Set{rings: map[string]*Keyring{}}
	keks := map[string]string{}
	ids := map[KeyID]string{}
	for _, k := range rings {
		if k == nil {
			return nil, fmt.Errorf("a keyring of the set is nil")
		}
		name := k.Name()
		if _, taken := s.rings[name]; taken {
			return nil, &SharedError{What: "name", Value: name, Keyrings: [2]string{name, name}}
		}
		s.rings[name] = k
		for _, info := range k.Keys() {
			if other, taken := ids[info.ID]; taken {
				return nil, &SharedError{What: "key id", Value: info.ID.String(), Keyrings: [2]string{other, name}}
			}
			ids[info.ID] = name
		}
		if other, taken := keks[k.KEKURI()]; taken {
			return nil, &SharedError{What: "key-encryption key", Value: k.KEKURI(), Keyrings: [2]string{other, name}}
		}
		keks[k.KEKURI()] = name
	}
	return s, nil
}

// Keyring returns the keyring with this name.
func (s *Set) Keyring(name string) (*Keyring, bool) {
	if s == nil {
		return nil, false
	}
	k, ok := s.rings[name]
	return k, ok
}

// Names returns the names of all keyrings, sorted.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.rings))
}

// Unlisted names the keyrings of the set that list stores and not this one: one
// of their keys could be disabled although data here needs it. A service asks
// when it starts, with its outbox's URL, and warns. A keyring that lists no store
// at all is not named: none of its keys is disabled without a word about that.
func (s *Set) Unlisted(storeURL string) []string {
	var names []string
	for _, name := range s.Names() {
		ring, _ := s.Keyring(name)
		if d := ring.Describe(); len(d.Stores()) > 0 && !d.Lists(storeURL) {
			names = append(names, name)
		}
	}
	return names
}
