package outboxstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// KindCount sums up one kind of finding.
type KindCount struct {
	Kind     envelope.Kind
	Severity envelope.Severity
	Count    int64    // findings; a row can have several
	Rows     []string // the first rows' ids by key order, as they may be shown
}

// TypeCount sums up the events of one schema. Events without a schema are those of the type "".
type TypeCount struct {
	Type     string
	Version  int
	Rows     int64
	Findings int64
	Warnings int64
}

// KeyCount says how many rows name a key in a token or a stored index, "seal:KID" or "index:KID".
type KeyCount struct {
	KeyID string
	Rows  int64
}

// VerifyResult is what Verify found. It holds no value.
type VerifyResult struct {
	Kinds      []KindCount // findings first, then warnings, each by name
	Types      []TypeCount // by type and version
	Keys       []KeyCount  // by key id; who names more than 1,000 keys has the rest counted under ""
	Rows       int64
	Findings   int64
	Warnings   int64
	NotChecked []envelope.NotChecked
}

// maxKeysCounted bounds VerifyResult.Keys: who can write tokens can make up ids.
const maxKeysCounted = 1000

// Tally sums up reports of an envelope.Verifier, in memory that does not grow with their number. Not safe for concurrent use.
type Tally struct {
	firstRows  int
	rows       int64
	kinds      map[kindKey]*KindCount
	types      map[typeKey]*TypeCount
	keys       map[string]int64
	notChecked map[envelope.NotChecked]bool
}

type kindKey struct {
	kind     envelope.Kind
	severity envelope.Severity
}

type typeKey struct {
	typ     string
	version int
}

// NewTally begins with what the Verifier checks in no event. It keeps the first ids of each kind, 10 if firstRows is not positive.
func NewTally(notChecked []envelope.NotChecked, firstRows int) *Tally {
	if firstRows <= 0 {
		firstRows = defaultFirstRows
	}
	t := &Tally{
		firstRows: firstRows, kinds: map[kindKey]*KindCount{}, types: map[typeKey]*TypeCount{}, keys: map[string]int64{},
		notChecked: map[envelope.NotChecked]bool{},
	}
	for _, n := range notChecked {
		t.notChecked[n] = true
	}
	return t
}

// Add counts one event's report, under an id that may be shown: see DisplayID.
func (t *Tally) Add(id string, report envelope.Report) {
	t.rows++
	typ := t.typeOf(report.Type, report.Version)
	typ.Rows++
	for _, key := range report.KeyIDs {
		t.countKey(key, 1)
	}
	for _, n := range report.NotChecked {
		t.notChecked[n] = true
	}
	for _, f := range report.Findings {
		if f.Severity == envelope.SeverityFinding {
			typ.Findings++
		} else {
			typ.Warnings++
		}
		k := t.kindOf(f.Kind, f.Severity)
		k.Count++
		k.Rows = insertFirst(k.Rows, id, t.firstRows)
	}
}

// AddUnreadable counts something that is no event and has no id, as malformed.
func (t *Tally) AddUnreadable(n int64) {
	if n <= 0 {
		return
	}
	t.rows += n
	typ := t.typeOf("", 0)
	typ.Rows += n
	typ.Findings += n
	t.kindOf(envelope.KindMalformed, envelope.SeverityFinding).Count += n
}

// merge adds what another Tally, of the same Verifier, has counted.
func (t *Tally) merge(o *Tally) {
	t.rows += o.rows
	for key, n := range o.keys {
		t.countKey(key, n)
	}
	for n := range o.notChecked {
		t.notChecked[n] = true
	}
	for key, other := range o.types {
		typ := t.typeOf(key.typ, key.version)
		typ.Rows += other.Rows
		typ.Findings += other.Findings
		typ.Warnings += other.Warnings
	}
	for key, other := range o.kinds {
		k := t.kindOf(key.kind, key.severity)
		k.Count += other.Count
		for _, id := range other.Rows {
			k.Rows = insertFirst(k.Rows, id, t.firstRows)
		}
	}
}

func (t *Tally) countKey(id string, n int64) {
	if _, known := t.keys[id]; !known && len(t.keys) >= maxKeysCounted {
		id = ""
	}
	t.keys[id] += n
}

func (t *Tally) kindOf(kind envelope.Kind, severity envelope.Severity) *KindCount {
	k := t.kinds[kindKey{kind, severity}]
	if k == nil {
		k = &KindCount{Kind: kind, Severity: severity}
		t.kinds[kindKey{kind, severity}] = k
	}
	return k
}

func (t *Tally) typeOf(typ string, version int) *TypeCount {
	c := t.types[typeKey{typ, version}]
	if c == nil {
		c = &TypeCount{Type: typ, Version: version}
		t.types[typeKey{typ, version}] = c
	}
	return c
}

// insertFirst keeps the lowest n ids in order, for workers do not finish in the rows' order.
func insertFirst(ids []string, id string, n int) []string {
	at, found := slices.BinarySearch(ids, id)
	if found || at == n {
		return ids
	}
	ids = slices.Insert(ids, at, id)
	return ids[:min(len(ids), n)]
}

// Result is what was counted so far.
func (t *Tally) Result() VerifyResult {
	r := VerifyResult{Rows: t.rows}
	for _, k := range t.kinds {
		k := *k
		k.Rows = slices.Clone(k.Rows)
		r.Kinds = append(r.Kinds, k)
		if k.Severity == envelope.SeverityFinding {
			r.Findings += k.Count
		} else {
			r.Warnings += k.Count
		}
	}
	slices.SortFunc(r.Kinds, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Kind, b.Kind))
	})
	for _, c := range t.types {
		r.Types = append(r.Types, *c)
	}
	slices.SortFunc(r.Types, func(a, b TypeCount) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), cmp.Compare(a.Version, b.Version))
	})
	for id, n := range t.keys {
		r.Keys = append(r.Keys, KeyCount{id, n})
	}
	slices.SortFunc(r.Keys, func(a, b KeyCount) int { return strings.Compare(a.KeyID, b.KeyID) })
	for n := range t.notChecked {
		r.NotChecked = append(r.NotChecked, n)
	}
	slices.SortFunc(r.NotChecked, func(a, b envelope.NotChecked) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Keyring, b.Keyring), strings.Compare(a.Reason, b.Reason))
	})
	return r
}
