package keyring

import "time"

// State is where a key stands in its life: staged → primary → active →
// disabled → destroyed.
type State string

const (
	// Staged keys open and are searched, but nothing is written under them:
	// they wait until every process has them.
	Staged State = "staged"
	// Primary is the one key of a purpose that writes use.
	Primary State = "primary"
	// Active keys were primary once. They open and are searched.
	Active State = "active"
	// Disabled keys are kept and not used.
	Disabled State = "disabled"
	// Destroyed keys have no bytes any more, only a name and a history.
	Destroyed State = "destroyed"
)

// Usable says whether a key in this state opens ciphertexts and is searched.
func (s State) Usable() bool {
	return s == Staged || s == Primary || s == Active
}

// Valid says whether s is a state that this package knows.
func (s State) Valid() bool {
	return s.Usable() || s == Disabled || s == Destroyed
}

// StateChange is one step in the life of a key.
type StateChange struct {
	State  State
	At     time.Time
	Author string
}
