package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The words of the vocabulary.
const (
	wordSensitive    = "x-gdpr-sensitive"
	wordIndex        = "x-blind-index"
	wordCompound     = "x-blind-indexes"
	wordUndeclared   = "x-gdpr-undeclared"
	wordOverlay      = "x-gdpr-overlay"
	wordKeyring      = "x-gdpr-keyring"
	wordSubject      = "x-gdpr-subject"
	wordEventType    = "x-event-type"
	wordEventVersion = "x-event-version"
)

// recordWords describe processing for the Art. 30 record; they change nothing in a payload.
func recordWords() []string {
	return []string{"x-gdpr-category", "x-gdpr-purpose", "x-gdpr-legal-basis", "x-gdpr-retention", "x-gdpr-subjects", "x-gdpr-recipients",
		"x-gdpr-transfers"}
}

func vocabularyWords() []string {
	return append([]string{wordSensitive, wordIndex, wordCompound, wordUndeclared, wordOverlay, wordKeyring, wordSubject, wordEventType,
		wordEventVersion}, recordWords()...)
}

func isRootWord(name string) bool {
	switch name {
	case wordCompound, wordUndeclared, wordOverlay, wordEventType, wordEventVersion:
		return true
	}
	return false
}

func isWord(name string) bool {
	return strings.HasPrefix(name, "x-") && slices.Contains(vocabularyWords(), name)
}

// speller remembers which keywords are near misses: a large schema says the same few words thousands of times.
type speller map[string]string

// check reports that a keyword looks like a word of the vocabulary but is none, and the nearest right word.
func (s speller) check(name string) (nearest string, bad bool) {
	nearest, known := s[name]
	if !known {
		nearest, _ = misspelling(name)
		s[name] = nearest
	}
	return nearest, nearest != ""
}

// misspelling reports that a keyword looks like a word of the vocabulary but is none, and the nearest right word.
func misspelling(name string) (nearest string, bad bool) {
	if isWord(name) {
		return "", false
	}
	n := flatten(name)
	best := 1 << 30
	for _, w := range vocabularyWords() {
		if d := damerauLevenshtein(n, flat(w)); d < best {
			best, nearest = d, w
		}
	}
	if best <= 2 || strings.Contains(n, "gdpr") || strings.Contains(n, "gpdr") {
		return nearest, true
	}
	return "", false
}

var separators = strings.NewReplacer("-", "", "_", "")

func flat(s string) string { return separators.Replace(strings.ToLower(s)) }

// flatten is flat for a name that may hold look-alikes: compatibility forms, invisible characters, other dashes, and letters of other
// scripts that print like Latin ones.
func flatten(s string) string {
	ascii := true
	for i := 0; i < len(s); i++ {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return flat(s)
	}
	return flat(strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case unicode.In(r, unicode.Cf, unicode.M, unicode.Pd):
			return -1
		}
		if i := strings.IndexRune(lookAlikes, r); i >= 0 {
			return rune(latin[utf8.RuneCountInString(lookAlikes[:i])])
		}
		return r
	}, norm.NFKD.String(strings.ToLower(s))))
}

// lookAlikes are letters that print like the letter at the same place of latin.
const (
	lookAlikes = "абсԁеɡցһіјӏмпорԛгѕѵѡхуᴢɑαεινορτυχɩıոս"
	latin      = "abcdegghijlmnopqrsvwxyzaaeivoptuxiinu"
)

func distance(name, word string) int { return damerauLevenshtein(flatten(name), flat(word)) }

// damerauLevenshtein counts insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
func damerauLevenshtein(s, t string) int {
	a, b := []rune(s), []rune(t)
	if d := len(a) - len(b); d > 2 || d < -2 { // more than anyone here asks about
		return 3
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

// words is what the vocabulary says at one schema object.
type words struct {
	sensitive    bool
	sensitiveOff int
	index        *indexWord
	indexOff     int
	keyring      string
	keyringOff   int
	subject      bool
	undeclared   Policy
	compounds    *compoundWords
}

// indexWord is an x-blind-index as written; its name may be missing.
type indexWord struct {
	name      string
	normalize []string
	bits      int
	multi     bool
	previous  []IndexVersion
}

// slow says that a version of the index is computed with argon2id.
func (ix *indexWord) slow() bool {
	return slices.ContainsFunc(append([]IndexVersion{{Normalize: ix.normalize}}, ix.previous...), func(v IndexVersion) bool {
		return slices.ContainsFunc(v.Normalize, isSlowStep)
	})
}

// DefaultIndexBits is the length of a blind index that does not say bits.
const DefaultIndexBits = 128

var (
	keyringName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	indexName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)
	typeName    = regexp.MustCompile(`^[A-Za-z0-9._-]{1,255}$`)
	isoDuration = regexp.MustCompile(`^P(?:[0-9]+W|(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?)$`)
)

func validType(t string) bool { return typeName.MatchString(t) }

const maxVersion = 1<<31 - 1

// wordReader reads the vocabulary of one object (a schema object, or an entry of an overlay).
type wordReader struct {
	d       *document
	pointer string
	root    bool // a document's root
	overlay bool // an entry of x-gdpr-overlay
	spell   speller
	out     *findings
}

func (r *wordReader) refuse(off int, pointer, rule, message, hint string) {
	r.out.add(r.d.finding(off, pointer, rule, message, hint))
}

// read collects the words of obj and refuses what the table of the format does not allow.
func (r *wordReader) read(obj *value) words {
	var w words
	for _, m := range obj.members {
		p := child(r.pointer, m.name)
		if nearest, bad := r.spell.check(m.name); bad {
			r.refuse(m.nameOff, p, "word-unknown", fmt.Sprintf("%q is no word of the vocabulary", m.name), fmt.Sprintf("did you mean %s?", nearest))
			continue
		}
		if !isWord(m.name) {
			if r.overlay {
				r.refuse(m.nameOff, p, "word-misplaced", fmt.Sprintf("%q may not stand in an overlay", m.name), "an overlay entry holds words of the x-gdpr vocabulary alone")
			}
			continue
		}
		if isRootWord(m.name) && !r.root {
			r.refuse(m.nameOff, p, "word-misplaced", fmt.Sprintf("%s may stand at the root of a schema file alone", m.name), "move it to the root")
			continue
		}
		r.word(&w, m, p)
	}
	return w
}

func (r *wordReader) word(w *words, m member, p string) {
	v := m.value
	wrong := func(want string) {
		r.refuse(v.start, p, "word-type", fmt.Sprintf("%s must be %s", m.name, want), "see docs/vocabulary.md")
	}
	switch {
	case m.name == wordSensitive:
		if v.kind != 't' && v.kind != 'f' {
			wrong("true or false, without quotes")
			return
		}
		w.sensitive, w.sensitiveOff = v.kind == 't', m.nameOff
	case m.name == wordIndex:
		w.index, w.indexOff = r.indexWord(m, p), m.nameOff
	case m.name == wordKeyring:
		if v.kind != '"' || !keyringName.MatchString(v.str) {
			wrong("a keyring's name, [a-z][a-z0-9_-]{0,62}")
			return
		}
		w.keyring, w.keyringOff = v.str, m.nameOff
	case m.name == wordUndeclared:
		policy, ok := parsePolicy(v.str)
		if v.kind != '"' || !ok {
			wrong(`"reject", "seal" or "clear"`)
			return
		}
		w.undeclared = policy
	case m.name == wordSubject:
		if v.kind != 't' {
			wrong("true")
			return
		}
		w.subject = true
	case m.name == wordCompound:
		w.compounds = r.compoundWords(m, p)
	case m.name == wordOverlay:
		if v.kind != '{' {
			wrong("an object that maps schema locations to words")
		}
	case m.name == wordEventType:
		if v.kind != '"' || !validType(v.str) {
			wrong("1 to 255 characters of [A-Za-z0-9._-]")
		}
	case m.name == wordEventVersion:
		if _, ok := parseVersion(r.d.text(v)); v.kind != '0' || !ok {
			wrong("an integer from 1 to 2147483647")
		}
	case m.name == "x-gdpr-retention":
		if v.kind != '"' || !validDuration(v.str) {
			wrong("an ISO 8601 duration, such as P10Y")
		}
	default: // the record of processing
		if !isText(v) {
			wrong("a string or an array of strings")
		}
	}
}

func (d *document) text(v *value) string { return string(d.src[v.start:v.end]) }

func parseVersion(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= maxVersion && strconv.Itoa(n) == text
}

func validDuration(s string) bool {
	return isoDuration.MatchString(s) && strings.ContainsAny(s, "0123456789") && !strings.HasSuffix(s, "T")
}

func isText(v *value) bool {
	if v.kind == '"' {
		return true
	}
	if v.kind != '[' {
		return false
	}
	for _, item := range v.items {
		if item.kind != '"' {
			return false
		}
	}
	return true
}

func (r *wordReader) indexWord(m member, p string) *indexWord {
	ix := &indexWord{bits: DefaultIndexBits}
	v := m.value
	if v.kind == 't' {
		return ix
	}
	if v.kind != '{' {
		r.refuse(v.start, p, "word-type", "x-blind-index must be true or an object", "leave the word out where there is no index")
		return nil
	}
	ok := true
	bad := func(im member, rule, message, hint string) {
		ok = false
		r.refuse(im.value.start, child(p, im.name), rule, message, hint)
	}
	for _, im := range v.members {
		ip := child(p, im.name)
		switch im.name {
		case "name":
			if im.value.kind != '"' || !indexName.MatchString(im.value.str) {
				bad(im, "index-name", "an index name must match [a-z][a-z0-9_]{0,40}", "such as tax_id")
			}
			ix.name = im.value.str
		case "normalize":
			steps, fine := r.steps(im.value, ip)
			ix.normalize, ok = steps, ok && fine
		case "bits":
			n, fine := r.bits(im, ip)
			ix.bits, ok = n, ok && fine
		case "multi":
			if im.value.kind != 't' && im.value.kind != 'f' {
				bad(im, "word-type", "multi must be true or false", "true where an event may hold several values of this index")
			}
			ix.multi = im.value.kind == 't'
		case "previous":
			versions, fine := r.previous(im.value, ip, r.simpleVersion)
			ix.previous, ok = versions, ok && fine
		default:
			ok = false
			r.refuse(im.nameOff, ip, "word-unknown", fmt.Sprintf("x-blind-index has no member %q", im.name), "its members are name, normalize, bits, multi and previous")
		}
	}
	if !ok {
		return nil
	}
	if ix.multi && ix.slow() {
		r.refuse(v.start, p, "index-normalize", "argon2id does not go together with multi: an event's many values would each cost one slow hash", "leave argon2id out, or index one value")
		return nil
	}
	if !r.distinct(v, p, ix.previous, IndexVersion{Normalize: ix.normalize, Bits: ix.bits}) {
		return nil
	}
	return ix
}

// Policy says what happens to a member that the schema does not declare.
type Policy uint8

// The policies, from the mildest to the strictest; the zero value says nothing.
const (
	PolicyNone   Policy = iota
	PolicyClear         // copied
	PolicySeal          // sealed under the plan's default keyring
	PolicyReject        // the event is refused; the default
)

func (p Policy) String() string {
	switch p {
	case PolicyClear:
		return "clear"
	case PolicySeal:
		return "seal"
	case PolicyReject:
		return "reject"
	}
	return ""
}

func parsePolicy(s string) (Policy, bool) {
	for _, p := range []Policy{PolicyClear, PolicySeal, PolicyReject} {
		if p.String() == s {
			return p, true
		}
	}
	return PolicyNone, false
}
