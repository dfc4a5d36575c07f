// Package schema: see doc.go (being written by the schema owner).
package schema

import "io/fs"

// Index is one blind index as the schemas declare it. All fields are data; package blindindex computes with them.
type Index struct {
	// Name is the index's name, [a-z][a-z0-9_]{0,40}; the outbox column is bidx_NAME.
	Name string
	// Normalize holds the normaliser steps in order; empty means raw.
	Normalize []string
	// Bits is the index length, 8 to 256. Defaults to 128.
	Bits int
	// Multi says that an event may hold several values: an array column.
	Multi bool
	// String and Integer say which JSON types the indexed values may have (null is always allowed).
	String, Integer bool
	// Keyring names the keyring whose primary index key is used.
	Keyring string
}

// Registry holds the loaded schemas; immutable and safe for concurrent use.
type Registry struct{}

// Load reads schema files and directories (walked; files ending in .json).
func Load(paths ...string) (*Registry, error) { panic("contract") }

// LoadFS reads every .json file below the root of each file system.
func LoadFS(fsys ...fs.FS) (*Registry, error) { panic("contract") }

// Event returns the schema of an event type, or an *UnknownEventError.
func (r *Registry) Event(typ string, version int) (*EventSchema, error) { panic("contract") }

// Events returns all event schemas, sorted by type and version.
func (r *Registry) Events() []*EventSchema { panic("contract") }

// Indexes returns every blind index of the registry, sorted by name.
func (r *Registry) Indexes() []*Index { panic("contract") }

// Findings returns what loading noticed without refusing it (flag-unused, file-unreferenced, …).
func (r *Registry) Findings() []Finding { panic("contract") }

// Finding is a lint finding, or one reason for a refused schema. It never holds a payload value.
type Finding struct {
	File     string // as it was loaded
	Line     int    // from 1
	Column   int    // in bytes, from 1
	Location string // JSON pointer in File
	Rule     string // stable id, such as "flag-unused"
	Message  string
	Hint     string
}

// LoadError says why a set of schemas was refused: one or more findings.
type LoadError struct{ Findings []Finding }

func (e *LoadError) Error() string { panic("contract") }

// UnknownEventError says that no schema claims (Type, Version).
type UnknownEventError struct {
	Type     string
	Version  int
	Versions []int // the versions known of that type
}

func (e *UnknownEventError) Error() string { panic("contract") }

// EventSchema is one event type's schema at one version.
type EventSchema struct{}

func (e *EventSchema) Type() string { panic("contract") }
func (e *EventSchema) Version() int { panic("contract") }
func (e *EventSchema) File() string { panic("contract") }
func (e *EventSchema) Plan() *Plan  { panic("contract") }

// Validate checks a plaintext payload that is strict JSON already (the caller's duty). It returns nil or a *ValidationError.
func (e *EventSchema) Validate(payload []byte) error { panic("contract") }

// ValidationError lists what a payload violates, in a stable order, without any payload value.
type ValidationError struct {
	Type       string
	Version    int
	Violations []Violation
}

func (e *ValidationError) Error() string { panic("contract") }

// Violation is one broken rule.
type Violation struct {
	Location string // JSON pointer in the payload, names that the schema does not declare masked as "*"
	Keyword  string // the keyword that failed, such as "required"
	Schema   string // file and JSON pointer of the keyword
	Message  string
}

// Offset returns the byte offset in payload of the value that the violation is about, -1 if it is not there.
func (v *Violation) Offset(payload []byte) int { panic("contract") }

// Plan says for each location of a payload what happens to it. Immutable, safe for concurrent use.
type Plan struct{}

// Root is the state of the payload itself.
func (p *Plan) Root() *State { panic("contract") }

// DefaultKeyring names the keyring that undeclared members are sealed under.
func (p *Plan) DefaultKeyring() string { panic("contract") }

// Keyrings returns the names of all keyrings that the plan may use, sorted. Empty: the event needs no keyring.
func (p *Plan) Keyrings() []string { panic("contract") }

// Indexes returns the plan's blind indexes, sorted by name.
func (p *Plan) Indexes() []*Index { panic("contract") }

// State is what the Plan knows of one location.
type State struct{}

// Clear reports that nothing at or below this location is sealed, indexed or refused: a walker may copy the value after checking its syntax
// (and still has to refuse strings that look like tokens).
func (s *State) Clear() bool { panic("contract") }

// Sealed reports that the whole value is sealed, whatever its JSON type (flagged, below nothing flagged; or undeclared under the policy "seal").
// Below a sealed location states go on, so that indexes there are computed; Sealed may be true again there (nested flags): the outermost counts.
func (s *State) Sealed() bool { panic("contract") }

// SealedIfObject reports that the value is sealed whole if, and only if, it is an object (policy "seal", no name declared).
func (s *State) SealedIfObject() bool { panic("contract") }

// Keyring names the keyring of a Sealed or SealedIfObject location.
func (s *State) Keyring() string { panic("contract") }

// PadTo is the length in bytes of the longest JSON text that the schema allows here where it bounds the value (boolean, const, enum), else 0.
func (s *State) PadTo() int { panic("contract") }

// Index returns the blind index of this location, or nil.
func (s *State) Index() *Index { panic("contract") }

// Member steps to an object's member by its decoded name. A nil state: the member is undeclared and the policy refuses it.
// exact reports that the schema itself spells the name, so that it may stand in an error; every other name must be masked as "*".
// The name is not kept.
func (s *State) Member(name []byte) (child *State, exact bool) { panic("contract") }

// Item steps to an array's item.
func (s *State) Item(i int) *State { panic("contract") }

// Conflict is not nil where subschemas that meet here disagree on keyring or index: the event must be refused with it.
func (s *State) Conflict() error { panic("contract") }

// Locations lists the plan for people: every location that is sealed, indexed or open, in a stable order.
func (p *Plan) Locations() []Location { panic("contract") }

// Location is one line of a plan's map.
type Location struct {
	Pointer    string // with * for an item or any name, /…/ for recursion
	Sealed     bool
	Index      *Index
	Keyring    string
	Undeclared string   // "reject", "seal", "clear": what happens to members that the schema does not declare; "" where it does not apply
	Sources    []string // "FILE:LINE:COL" of the flags that say so
}
