package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The law of search (RunSearchLaw) is about people: a simple index over strings, one over strings and integers, an array, and
// a compound, each with two versions.
const personType = "person.registered"

// how is one version of all indexes. Its fields are exported for a helper process, which gets them as JSON.
type how struct {
	Name, Number, Email, Birth []string
	Bits                       int
}

// changes are pairs of versions: the new one finds more than the former, less, something else, or the same by other hashes.
// Of 8 bits, other people's rows match all the time.
var changes = [][2]how{
	{{Bits: 128}, {Name: []string{"trim", "nfkc", "casefold-tr"}, Number: []string{"digits"}, Email: []string{"email"}, Birth: []string{"digits"}, Bits: 128}},
	{{Name: []string{"nfkc", "casefold"}, Number: []string{"digits"}, Email: []string{"casefold"}, Bits: 128}, {Name: []string{"trim"}, Bits: 64}},
	{{Name: []string{"casefold"}, Email: []string{"trim"}, Bits: 8}, {Name: []string{"casefold"}, Email: []string{"trim"}, Bits: 16}},
	{{Name: []string{"alnum", "last4"}, Number: []string{"digits", "last4"}, Bits: 24}, {Name: []string{"alnum", "casefold"}, Number: []string{"alnum"}, Birth: []string{"alnum"}, Bits: 8}},
}

// stage is how far a change has come, in the order of docs/blind-index.md.
type stage int

const (
	former    stage = iota // the former version alone
	announced              // the new one is searched, too
	changed                // the new one is written, the former is searched, too
	rebuilt                // the new one alone
)

// at gives the version that is written, and those that are searched beside it.
func at(change [2]how, s stage) (current how, previous []how) {
	switch s {
	case former:
		return change[0], nil
	case announced:
		return change[0], change[1:]
	case changed:
		return change[1], change[:1]
	default:
		return change[1], nil
	}
}

// peopleSchema is the schema of a stage.
func peopleSchema(change [2]how, s stage) string {
	current, previous := at(change, s)
	index := func(name string, multi bool, steps func(how) []string) string {
		word := map[string]any{"name": name, "normalize": notNull(steps(current)), "bits": current.Bits, "multi": multi}
		var list []any
		for _, v := range previous {
			if v.Bits != current.Bits || !slices.Equal(steps(v), steps(current)) {
				list = append(list, map[string]any{"normalize": notNull(steps(v)), "bits": v.Bits})
			}
		}
		if list != nil {
			word["previous"] = list
		}
		return marshal(word)
	}
	parts := func(v how) []any { return []any{notNull(v.Name), notNull(v.Birth)} }
	compound := map[string]any{"fields": []string{"/name", "/birth"}, "normalize": parts(current), "bits": current.Bits}
	for _, v := range previous {
		compound["previous"] = []any{map[string]any{"normalize": parts(v), "bits": v.Bits}}
	}
	return `{"type": "object", "additionalProperties": false, "properties": {
  "name":   {"type": ["string", "null"], "x-gdpr-sensitive": true, "x-blind-index": ` + index("name", false, func(v how) []string { return v.Name }) + `},
  "number": {"type": ["string", "integer", "null"], "x-gdpr-sensitive": true, "x-blind-index": ` + index("number", false, func(v how) []string { return v.Number }) + `},
  "birth":  {"type": ["string", "integer"], "x-gdpr-sensitive": true},
  "emails": {"type": "array", "items": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": ` + index("email", true, func(v how) []string { return v.Email }) + `}}},
 "x-blind-indexes": {"name_birth": ` + marshal(compound) + `}}`
}

func notNull(steps []string) []string { return append([]string{}, steps...) }

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of strings, numbers, lists and maps of the suite's own
	}
	return string(text)
}

func peopleRegistry(change [2]how, s stage) (*schema.Registry, error) {
	return schema.LoadFS(fstest.MapFS{personType + ".v1.json": {Data: []byte(peopleSchema(change, s))}})
}

// human is a row's content. A nil member is absent.
type human struct {
	name   any      // nil, string, or jsonNull
	number any      // the same, or int
	birth  any      // nil, string or int
	emails []string // nil for none
}

type null struct{}

// jsonNull is a null that is there.
var jsonNull = null{}

// event is a row of a human.
func (h human) event(id string) envelope.Event {
	members := map[string]any{}
	for name, value := range map[string]any{"name": h.name, "number": h.number, "birth": h.birth} {
		switch value.(type) {
		case nil:
		case null:
			members[name] = nil
		default:
			members[name] = value
		}
	}
	if h.emails != nil {
		members["emails"] = h.emails
	}
	return envelope.Event{ID: id, Type: personType, Version: 1, AggregateID: "p", Payload: []byte(marshal(members))}
}

// Few values in many spellings: which of them are the same depends on the version.
var (
	names  = []string{"Işıl", "IŞIL", "ışıl", " Işıl", "isil", "İSİL", "I\u0307sil", "Ayşe", "AYŞE", "ﬁliz", "FİLİZ", "filiz", "\uff26iliz", "Straße", "STRASSE", "", "  ", "--", "x\u0378"}
	texts  = []string{"12", "012", "1 2", "١٢", "12.0", "-7", "TR-12", "tr12", "99", "1900-01-01", "19000101", ""}
	emails = []string{"ada@example.com", "ADA@example.com", "Ada@EXAMPLE.com ", "ayşe@example.com", "ışıl@example.com", "IŞIL@example.com", "no address", ""}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func randomHuman(r *rand.Rand) human {
	h := human{name: pick(r, names), number: pick(r, texts), birth: pick(r, texts)}
	if r.IntN(2) == 0 {
		h.number = pick(r, []int{12, -7, 0, 99})
	}
	if r.IntN(3) == 0 {
		h.birth = pick(r, []int{12, 19000101})
	}
	for i, member := range []*any{&h.name, &h.number, &h.birth} {
		switch r.IntN(12) {
		case 0:
			*member = nil
		case 1:
			if i < 2 { // a birth is no null
				*member = jsonNull
			}
		}
	}
	for range r.IntN(4) {
		h.emails = append(h.emails, pick(r, emails))
	}
	return h
}

// The model of what an index calls equal knows of normalisers alone: no key, no hash, no message.

// keysOf are the forms of a row's value in one version of an index, each with its type in front.
func (h human) keysOf(v how, index string) []string {
	switch index {
	case "name":
		return typed(v.Name, h.name)
	case "number":
		return typed(v.Number, h.number)
	case "email":
		var all []string
		for _, email := range h.emails {
			all = append(all, typed(v.Email, email)...)
		}
		return all
	default:
		return pairs(typed(v.Name, h.name), typed(v.Birth, h.birth))
	}
}

func typed(steps []string, value any) []string {
	switch x := value.(type) {
	case int:
		return []string{"i" + strconv.Itoa(x)}
	case string:
		if text := normalize(steps, x); text != "" {
			return []string{"s" + text}
		}
	}
	return nil
}

func normalize(steps []string, text string) string {
	n, err := blindindex.ParseNormalizer(steps)
	if err != nil {
		panic(err) // of the suite's own steps
	}
	return n.Normalize(text)
}

func pairs(a, b []string) (all []string) {
	for _, x := range a {
		for _, y := range b {
			all = append(all, fmt.Sprintf("%q,%q", x, y))
		}
	}
	return all
}

// question is what is looked for in one index.
type question struct {
	index  string
	values []string
}

func randomQuestion(r *rand.Rand) question {
	switch r.IntN(4) {
	case 0:
		return question{"name", []string{pick(r, names)}}
	case 1:
		return question{"number", []string{pick(r, texts)}}
	case 2:
		return question{"email", []string{pick(r, emails)}}
	default:
		return question{"name_birth", []string{pick(r, names), pick(r, texts)}}
	}
}

// keys are the forms of the question in one version. A number may be asked as a text and as an integer.
func (q question) keys(v how) []string {
	both := func(steps []string, text string) []string {
		all := typed(steps, text)
		// JSON's numbers: no zero in front, no space; 12.0 is an integer.
		if n, err := strconv.Atoi(strings.TrimSuffix(text, ".0")); err == nil && strings.TrimSuffix(text, ".0") == strconv.Itoa(n) {
			all = append(all, "i"+strconv.Itoa(n))
		}
		return all
	}
	switch q.index {
	case "name":
		return typed(v.Name, q.values[0])
	case "number":
		return both(v.Number, q.values[0])
	case "email":
		return typed(v.Email, q.values[0])
	default:
		return pairs(typed(v.Name, q.values[0]), both(v.Birth, q.values[1]))
	}
}

// matches says whether a version calls something of the row and the question equal.
func (q question) matches(v how, h human) bool {
	held := h.keysOf(v, q.index)
	return slices.ContainsFunc(q.keys(v), func(key string) bool { return slices.Contains(held, key) })
}

// asked is the question as the product takes it, with the types of the index.
func (q question) asked(ix *schema.Index) []blindindex.Asked {
	if len(ix.Parts) == 0 {
		return []blindindex.Asked{{Text: q.values[0], String: ix.String, Integer: ix.Integer}}
	}
	var all []blindindex.Asked
	for i, part := range ix.Parts {
		all = append(all, blindindex.Asked{Text: q.values[i], String: part.String, Integer: part.Integer})
	}
	return all
}
