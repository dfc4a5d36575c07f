package keyring

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring/internal/strictjson"
)

const (
	// defaultPropagation is how long a key stays staged, so that every process
	// has loaded it before anything is written under it.
	defaultPropagation = 10 * time.Minute
	maxPropagation     = 365 * 24 * time.Hour
	// maxRevision is the largest integer that every JSON reader keeps exact.
	maxRevision = 1<<53 - 1
)

// The clear part as it stands in a document:
//
//	{"name":"default","revision":2,"kek":"…","propagation":"10m0s","stores":[],
//	 "keys":[{"id":"0f3a9c01","purpose":"seal","state":"primary",
//	          "states":[{"state":"staged","time":"2026-11-30T12:00:00Z","author":"…"},
//	                    {"state":"primary","time":"2026-11-30T12:10:00Z","author":"…"}]}]}
//
// "written" tells who wrote this revision, and when. A keyring that was moved has
// "moved_to", the KEK of its new place, and takes no change any more. One that was
// restored under another KEK than its backup names that one, "formerly".
//
// A store is {"url":"…"}, for tables of the caller's own {"url":"…","query":"…"}.
// A key that is held has "hold":{"until","reason","time","author"}, a destroyed one
// of which no backup is left "everywhere":{"time","author"}.
type clearPart struct {
	Name        string       `json:"name"`
	Revision    uint64       `json:"revision"`
	KEK         string       `json:"kek"`
	Written     *clearMark   `json:"written,omitempty"`
	MovedTo     string       `json:"moved_to,omitempty"`
	Formerly    string       `json:"formerly,omitempty"`
	Propagation string       `json:"propagation"`
	Stores      []clearStore `json:"stores"`
	Keys        []clearKey   `json:"keys"`
}

type clearStore struct {
	URL   string `json:"url"`
	Query string `json:"query,omitempty"`
}

type clearKey struct {
	ID         string       `json:"id"`
	Purpose    string       `json:"purpose"`
	State      string       `json:"state"`
	States     []clearState `json:"states"`
	Hold       *clearHold   `json:"hold,omitempty"`
	Everywhere *clearMark   `json:"everywhere,omitempty"`
}

type clearHold struct {
	Until  string `json:"until"`
	Reason string `json:"reason"`
	Time   string `json:"time"`
	Author string `json:"author"`
}

type clearMark struct {
	Time   string `json:"time"`
	Author string `json:"author"`
}

type clearState struct {
	State  string `json:"state"`
	Time   string `json:"time"`
	Author string `json:"author"`
}

// header is the checked clear part.
type header struct {
	name        string
	revision    uint64
	kek         string
	propagation time.Duration
	// written is zero in documents of before it was written down.
	written StateChange
	movedTo string
	// formerly is the KEK of the keyring whose place this one took; "" if none.
	formerly string
	stores   []DataStore
	keys     []keyRecord
}

// keks are the KEKs under which documents of this keyring were seen: a restored
// one goes on with the revisions of the one that was lost.
func (h *header) keks() []string {
	if h.formerly == "" {
		return []string{h.kek}
	}
	return []string{h.kek, h.formerly}
}

// keyRecord is what the clear part says of one key.
type keyRecord struct {
	id      KeyID
	purpose Purpose
	state   State
	// history is never empty; its last state is state.
	history []StateChange
	// hold is nil where nobody holds the key.
	hold *Hold
	// everywhere is the second date of a destroyed key; nil before.
	everywhere *StateChange
}

// since returns the latest change of the key.
func (r *keyRecord) since() StateChange {
	return r.history[len(r.history)-1]
}

// enter appends a state to the key's history.
func (r *keyRecord) enter(s State, at time.Time, author string) {
	r.state = s
	r.history = append(r.history, StateChange{State: s, At: at, Author: author})
}

// times are written as RFC 3339 in UTC with up to microseconds.
func formatTime(t time.Time) string {
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}

func parseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t.UTC(), err == nil && formatTime(t) == s
}

// text writes the clear part.
func (h *header) text() (string, error) {
	part := clearPart{
		Name:        h.name,
		Revision:    h.revision,
		KEK:         h.kek,
		Propagation: h.propagation.String(),
		Stores:      []clearStore{},
		Keys:        []clearKey{},
	}
	if h.written.Author != "" {
		part.Written = &clearMark{Time: formatTime(h.written.At), Author: h.written.Author}
	}
	part.MovedTo, part.Formerly = h.movedTo, h.formerly
	for _, s := range h.stores {
		part.Stores = append(part.Stores, clearStore(s))
	}
	for _, r := range h.keys {
		k := clearKey{ID: r.id.String(), Purpose: string(r.purpose), State: string(r.state)}
		for _, c := range r.history {
			k.States = append(k.States, clearState{State: string(c.State), Time: formatTime(c.At), Author: c.Author})
		}
		if r.hold != nil {
			k.Hold = &clearHold{Until: formatTime(r.hold.Until), Reason: r.hold.Reason, Time: formatTime(r.hold.At), Author: r.hold.Author}
		}
		if r.everywhere != nil {
			k.Everywhere = &clearMark{Time: formatTime(r.everywhere.At), Author: r.everywhere.Author}
		}
		part.Keys = append(part.Keys, k)
	}
	b, err := strictjson.Marshal(part)
	return string(b), err
}

const clearPlace = "/clear"

// parseClear reads and checks the clear part by itself. It cannot know whether
// anybody changed it; only opening the keysets shows that.
func parseClear(text string) (*header, *DocumentError) {
	var part clearPart
	if fault := unmarshalStrict([]byte(text), &part, clearPlace); fault != nil {
		return nil, fault
	}
	if fault := part.checkPresent(); fault != nil {
		return nil, fault
	}
	h := &header{name: part.Name, revision: part.Revision, kek: part.KEK}
	fail := func(member string, rule Rule, detail string) (*header, *DocumentError) {
		return nil, &DocumentError{Place: clearPlace + "/" + member, Rule: rule, Detail: detail}
	}
	if !ValidName(h.name) {
		return fail("name", RuleName, "not a keyring's name")
	}
	if h.revision < 1 || h.revision > maxRevision {
		return fail("revision", RuleRevision, fmt.Sprintf("want 1 to %d", uint64(maxRevision)))
	}
	if !printable(h.kek, maxURIBytes) {
		return fail("kek", RuleKEK, fmt.Sprintf("want 1 to %d bytes of printable text", maxURIBytes))
	}
	propagation, err := time.ParseDuration(part.Propagation)
	if err != nil || propagation < 0 || propagation > maxPropagation || propagation.String() != part.Propagation {
		return fail("propagation", RulePropagation, fmt.Sprintf("want a Go duration from 0s to %s as Go writes it", maxPropagation))
	}
	h.propagation = propagation
	if part.Written != nil {
		at, ok := parseTime(part.Written.Time)
		if !ok || !printable(part.Written.Author, maxAuthorBytes) {
			return fail("written", RuleHistory, "want a time in RFC 3339 in UTC and an author")
		}
		h.written = StateChange{At: at, Author: part.Written.Author}
	}
	if h.movedTo = part.MovedTo; h.movedTo != "" && (!printable(h.movedTo, maxURIBytes) || h.movedTo == h.kek) {
		return fail("moved_to", RuleKEK, fmt.Sprintf("want another key-encryption key, 1 to %d bytes of printable text", maxURIBytes))
	}
	if h.formerly = part.Formerly; h.formerly != "" && (!printable(h.formerly, maxURIBytes) || h.formerly == h.kek) {
		return fail("formerly", RuleKEK, fmt.Sprintf("want another key-encryption key, 1 to %d bytes of printable text", maxURIBytes))
	}
	for i, st := range part.Stores {
		s, err := newDataStore(DataStore(st))
		if err != nil || s != DataStore(st) || slices.Contains(h.stores, s) {
			return fail("stores/"+strconv.Itoa(i), RuleStores, "not a store's URL without a password, with or without a query, that stands once")
		}
		h.stores = append(h.stores, s)
	}
	for i, k := range part.Keys {
		r, fault := k.parse(clearPlace + "/keys/" + strconv.Itoa(i))
		if fault != nil {
			return nil, fault
		}
		h.keys = append(h.keys, r)
	}
	return h, h.checkKeys()
}

func (part *clearPart) checkPresent() *DocumentError {
	missing := func(member string) *DocumentError {
		return &DocumentError{Place: clearPlace, Rule: RuleMissingMember, Detail: member + " is missing"}
	}
	switch {
	case part.Name == "":
		return missing("name")
	case part.KEK == "":
		return missing("kek")
	case part.Propagation == "":
		return missing("propagation")
	case part.Stores == nil:
		return missing("stores")
	case part.Keys == nil:
		return missing("keys")
	}
	return nil
}

func (k *clearKey) parse(place string) (keyRecord, *DocumentError) {
	fail := func(at string, rule Rule, detail string) (keyRecord, *DocumentError) {
		return keyRecord{}, &DocumentError{Place: place + at, Rule: rule, Detail: detail}
	}
	id, err := ParseKeyID(k.ID)
	if err != nil || id == 0 {
		return fail("/id", RuleKeyID, "want 8 lower-case hex digits, not all zero")
	}
	r := keyRecord{id: id, purpose: Purpose(k.Purpose), state: State(k.State)}
	if !r.purpose.Valid() {
		return fail("/purpose", RulePurpose, fmt.Sprintf("want %s or %s", Seal, Index))
	}
	if !r.state.Valid() {
		return fail("/state", RuleState, "want "+stateNames)
	}
	for i, s := range k.States {
		at := "/states/" + strconv.Itoa(i)
		if !State(s.State).Valid() {
			return fail(at+"/state", RuleState, "want "+stateNames)
		}
		when, ok := parseTime(s.Time)
		if !ok {
			return fail(at+"/time", RuleHistory, "want RFC 3339 in UTC, up to microseconds, without trailing zeros")
		}
		if !printable(s.Author, maxAuthorBytes) {
			return fail(at+"/author", RuleHistory, fmt.Sprintf("want 1 to %d bytes of printable text", maxAuthorBytes))
		}
		r.history = append(r.history, StateChange{State: State(s.State), At: when, Author: s.Author})
	}
	if len(r.history) == 0 || r.since().State != r.state {
		return fail("/states", RuleHistory, "the last state of the history is not the key's state")
	}
	if k.Hold != nil {
		until, okUntil := parseTime(k.Hold.Until)
		at, okAt := parseTime(k.Hold.Time)
		if !okUntil || !okAt || !printable(k.Hold.Author, maxAuthorBytes) || !printable(k.Hold.Reason, maxReasonBytes) {
			return fail("/hold", RuleHold, fmt.Sprintf("want until and time in RFC 3339 in UTC, an author, and a reason of 1 to %d bytes of printable text", maxReasonBytes))
		}
		r.hold = &Hold{Until: until, Reason: k.Hold.Reason, At: at, Author: k.Hold.Author}
	}
	if k.Everywhere != nil {
		at, ok := parseTime(k.Everywhere.Time)
		if !ok || !printable(k.Everywhere.Author, maxAuthorBytes) || r.state != Destroyed {
			return fail("/everywhere", RuleHistory, "want a time in RFC 3339 in UTC and an author, on a destroyed key")
		}
		r.everywhere = &StateChange{State: Destroyed, At: at, Author: k.Everywhere.Author}
	}
	return r, nil
}

const stateNames = string(Staged) + ", " + string(Primary) + ", " + string(Active) + ", " + string(Disabled) + " or " + string(Destroyed)

// checkKeys checks what holds over all keys: an id names one key, and each
// purpose has one primary.
func (h *header) checkKeys() *DocumentError {
	seen := map[KeyID]bool{}
	primaries := map[Purpose]int{}
	for i, r := range h.keys {
		place := clearPlace + "/keys/" + strconv.Itoa(i)
		if seen[r.id] {
			return &DocumentError{Place: place, Rule: RuleDuplicateID, Detail: "key id " + r.id.String() + " stands twice"}
		}
		seen[r.id] = true
		if r.state != Primary {
			continue
		}
		primaries[r.purpose]++
		if primaries[r.purpose] > 1 {
			return &DocumentError{Place: place, Rule: RuleTwoPrimaries, Detail: fmt.Sprintf("a second primary %s key", r.purpose)}
		}
	}
	for _, p := range Purposes() {
		if primaries[p] == 0 {
			return &DocumentError{Place: clearPlace + "/keys", Rule: RuleNoPrimary, Detail: fmt.Sprintf("no primary %s key", p)}
		}
	}
	return nil
}

// clone copies the header so that a change never touches what was loaded.
func (h *header) clone() *header {
	c := *h
	c.stores = slices.Clone(h.stores)
	c.keys = make([]keyRecord, len(h.keys))
	for i, r := range h.keys {
		c.keys[i] = r
		c.keys[i].history = append([]StateChange(nil), r.history...)
	}
	return &c
}

// latest tells who wrote the document; in one that does not say so, who made its newest change of a key.
func (h *header) latest() StateChange {
	if h.written.Author != "" {
		return h.written
	}
	var last StateChange
	for _, r := range h.keys {
		if c := r.since(); !c.At.Before(last.At) {
			last = c
		}
	}
	return last
}

// staged returns the staged keys of a purpose, the one that was staged first
// first.
func (h *header) staged(p Purpose) []*keyRecord {
	var found []*keyRecord
	for i := range h.keys {
		if r := &h.keys[i]; r.purpose == p && r.state == Staged {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b *keyRecord) int { return a.since().At.Compare(b.since().At) })
	return found
}

// has says whether any key, of whichever purpose and state, has this id.
func (h *header) has(id KeyID) bool {
	return slices.ContainsFunc(h.keys, func(r keyRecord) bool { return r.id == id })
}

// destroyed says whether the key has no bytes any more.
func (h *header) destroyed(id KeyID) bool {
	return slices.ContainsFunc(h.keys, func(r keyRecord) bool { return r.id == id && r.state == Destroyed })
}

// find returns the record of one key, nil if there is none.
func (h *header) find(p Purpose, id KeyID) *keyRecord {
	for i := range h.keys {
		if r := &h.keys[i]; r.purpose == p && r.id == id {
			return r
		}
	}
	return nil
}

// primary returns the record of a purpose's primary key.
func (h *header) primary(p Purpose) *keyRecord {
	for i := range h.keys {
		if r := &h.keys[i]; r.purpose == p && r.state == Primary {
			return r
		}
	}
	return nil
}
