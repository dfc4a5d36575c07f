package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// entry is one line of the printed map: a location, and all others below which the same lines would stand.
type entry struct {
	schema.Location
	also []string // a recursion, or a definition that is used in several places
}

// entriesOf folds a plan's locations: one that only says "as there" becomes part of the line that it refers to. FHIR's Patient has some 4,400
// locations in less than 100 lines, most being ways to an extension.
func entriesOf(locations []schema.Location) []*entry {
	targets := map[string]bool{}
	for _, l := range locations {
		if refersOnly(l) {
			targets[target(l)] = true
		}
	}
	var entries []*entry
	at := map[string]*entry{}
	add := func(l schema.Location) {
		at[l.Pointer] = &entry{Location: l}
		entries = append(entries, at[l.Pointer])
	}
	for _, l := range locations {
		for i := range l.Pointer { // what others refer to and nothing is said of stands before the first line below it
			if up := l.Pointer[:i]; l.Pointer[i] == '/' && targets[up] && at[up] == nil {
				add(schema.Location{Pointer: up})
			}
		}
		if !refersOnly(l) {
			add(l)
		}
	}
	for _, l := range locations {
		if refersOnly(l) {
			e := at[target(l)]
			e.also = append(e.also, l.Pointer)
		}
	}
	return entries
}

// refersOnly reports a location of which nothing is said but that it is as another.
func refersOnly(l schema.Location) bool {
	return l.SameAs != "" && !l.Sealed && !l.SealedIfObject && l.Index == nil && len(l.Parts) == 0 && l.Undeclared == ""
}

func target(l schema.Location) string { return strings.TrimSuffix(l.SameAs, ".") }

// shown shows the payload itself as a dot: "" would not be seen.
func shown(pointer string) string {
	if pointer == "" {
		return "."
	}
	return pointer
}

// describe says what happens at a location, and which lines say so.
func (e *entry) describe() string {
	var parts []string
	switch {
	case e.Sealed:
		parts = append(parts, "sealed under "+e.Keyring)
	case e.SealedIfObject:
		parts = append(parts, "an object is sealed whole under "+e.Keyring)
	case e.Nested:
		parts = append(parts, "inside a sealed value")
	}
	if e.Index != nil {
		parts = append(parts, "index "+e.Index.Name+" ("+indexText(e.Index)+")")
	}
	for _, p := range e.Parts {
		parts = append(parts, fmt.Sprintf("part %d of %d of index %s (%s, %d bits)", p.Part+1, len(p.Index.Parts), p.Index.Name, normalizerText(p.Index.Parts[p.Part].Normalize), p.Index.Bits))
	}
	switch e.Undeclared {
	case "reject":
		parts = append(parts, "undeclared members are refused")
	case "seal":
		parts = append(parts, "undeclared members are sealed under "+e.Keyring)
	case "clear":
		parts = append(parts, "undeclared members stay in clear")
	}
	if e.SameAs != "" {
		parts = append(parts, "below it as below "+e.SameAs)
	}
	if len(e.also) > 0 {
		parts = append(parts, "the same below "+few(e.also))
	}
	text := strings.Join(parts, "; ")
	if len(e.Sources) > 0 {
		text += "  [" + few(e.Sources) + "]"
	}
	return text
}

// few lists the first of many.
func few(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most-1], ", ") + " and " + strconv.Itoa(len(list)-most+1) + " more"
}

func indexText(index *schema.Index) string {
	text := normalizerText(index.Normalize) + ", " + strconv.Itoa(index.Bits) + " bits"
	if index.Multi {
		text += ", several values"
	}
	if n := len(index.Previous); n > 0 {
		text += ", " + strconv.Itoa(n) + " earlier"
	}
	return text
}

func normalizerText(steps []string) string {
	normalizer, err := blindindex.ParseNormalizer(steps)
	if err != nil { // loading has checked the steps
		return strings.Join(steps, "+")
	}
	return normalizer.ID()
}

// location is a line of the machine's map.
type location struct {
	Type           string   `json:"type"`
	Version        int      `json:"version"`
	Pointer        string   `json:"pointer"`
	Sealed         bool     `json:"sealed"`
	SealedIfObject bool     `json:"sealed_if_object,omitempty"`
	Nested         bool     `json:"nested,omitempty"`
	Keyring        string   `json:"keyring,omitempty"`
	Index          *index   `json:"index,omitempty"`
	Parts          []part   `json:"parts,omitempty"`
	Undeclared     string   `json:"undeclared,omitempty"`
	SameAs         *string  `json:"same_as,omitempty"`
	Also           []string `json:"also,omitempty"`
	Sources        []string `json:"sources"`
}

type index struct {
	Name       string   `json:"name"`
	Normalize  []string `json:"normalize"`
	Normalizer string   `json:"normalizer"`
	Bits       int      `json:"bits"`
	Multi      bool     `json:"multi"`
	Keyring    string   `json:"keyring"`
}

// part is a part of a compound index, from 1.
type part struct {
	Name       string `json:"name"`
	Part       int    `json:"part"`
	Of         int    `json:"of"`
	Normalizer string `json:"normalizer"`
	Bits       int    `json:"bits"`
	Keyring    string `json:"keyring"`
}

func (e *entry) machine(event *schema.EventSchema) location {
	object := location{
		Type: event.Type(), Version: event.Version(), Pointer: e.Pointer, Sealed: e.Sealed, SealedIfObject: e.SealedIfObject, Nested: e.Nested, Keyring: e.Keyring,
		Undeclared: e.Undeclared, Also: e.also, Sources: append([]string{}, e.Sources...),
	}
	if e.SameAs != "" {
		pointer := target(e.Location)
		object.SameAs = &pointer
	}
	if e.Index != nil {
		object.Index = &index{e.Index.Name, append([]string{}, e.Index.Normalize...), normalizerText(e.Index.Normalize), e.Index.Bits, e.Index.Multi, e.Index.Keyring}
	}
	for _, p := range e.Parts {
		object.Parts = append(object.Parts, part{p.Index.Name, p.Part + 1, len(p.Index.Parts), normalizerText(p.Index.Parts[p.Part].Normalize), p.Index.Bits, p.Index.Keyring})
	}
	return object
}
