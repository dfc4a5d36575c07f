package envelope

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Kinds that only a Verifier reports; plaintext, misplaced, malformed and undeclared are shared with LocationError.
const (
	KindSchemaUnknown  Kind = "schema-unknown"  // no schema for the type and version
	KindSchemaMismatch Kind = "schema-mismatch" // the wire form against the derived wire schema
	KindIndexOrphan    Kind = "index-orphan"    // a stored index without a token that it could come from
	KindKeyUnknown     Kind = "key-unknown"     // the keyring knows no such key
	KindKeyDisabled    Kind = "key-disabled"    // the key is disabled or destroyed
	KindKeyStale       Kind = "key-stale"       // a token under a key that is not the primary
	KindIndexKeyStale  Kind = "index-key-stale" // an index under a key that is not the primary
	KindIndexStale     Kind = "index-stale"     // an index that an earlier version of it computed
	KindIndexMissing   Kind = "index-missing"   // a token at an indexed location, and no stored index
	KindUnopenable     Kind = "unopenable"      // the key is at hand and the token does not open
	KindInvalid        Kind = "invalid"         // the plaintext violates its schema
	KindIndexMismatch  Kind = "index-mismatch"  // the stored index is not the value's; without keys, it is no value's
)

// Severity tells a finding, which is a fault, from a warning, which a rotation repairs or which may be none.
type Severity string

const (
	SeverityFinding Severity = "finding"
	SeverityWarning Severity = "warning"
)

// Finding is one thing that a Verifier found in an event. It never holds a value.
type Finding struct {
	Kind     Kind
	Severity Severity
	// Place is masked; for an index it is the payload's root. Its offset is -1 for a violation of the schema, whose place in the wire form is not known.
	Place
	// Keyring and KeyID name the key, for kinds about one.
	Keyring string
	KeyID   string
	// Index names the blind index, for kinds about one.
	Index string
	// Detail says more, without a value.
	Detail string
}

// String says all that the finding holds.
func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s: %s", f.Severity, f.Kind, f.Place)
	if f.Index != "" {
		s += ", index " + f.Index
	}
	if f.Keyring != "" {
		s += ", keyring " + f.Keyring
	}
	if f.KeyID != "" {
		s += ", key " + f.KeyID
	}
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

// NotChecked is something that a Verifier could not look at.
type NotChecked struct {
	Kind Kind
	// Keyring is the one that was missing, or "".
	Keyring string
	Reason  string
}

// Report is what a Verifier says of one event.
type Report struct {
	Findings   []Finding
	NotChecked []NotChecked
	// Type and Version are those of the schema that the event was held against; zero where none was found.
	Type    string
	Version int
	// KeyIDs are the keys that the event's well-formed tokens and stored indexes name, sorted: "seal:KID" and "index:KID".
	KeyIDs []string
}

// KeyStates gives the keys of a keyring without their bytes, as the clear part of its document says. ok is false where no such document is at hand.
type KeyStates interface {
	Keys(keyring string) (keys []keyring.KeyInfo, ok bool)
}

// KeyInfos is a KeyStates by keyring name.
type KeyInfos map[string][]keyring.KeyInfo

// Keys gives the keys of a keyring.
func (k KeyInfos) Keys(name string) ([]keyring.KeyInfo, bool) {
	keys, ok := k[name]
	return keys, ok
}

// VerifierOptions say what a Verifier has at hand.
type VerifierOptions struct {
	// Keyrings open the tokens. Defaults to none: the keyless form.
	Keyrings *keyring.Set
	// KeyStates tell the states of keys in the keyless form. Defaults to none: kinds about keys are not checked.
	KeyStates KeyStates
	// Limits of the payloads. Defaults to those of docs/format.md 3.
	Limits Limits
}

// Verifier looks for faults in stored events. Safe for concurrent use.
type Verifier struct {
	core *core
	keys keyJudge
	// nested tells the indexes that may stand inside a flagged object or array, by event type and version.
	nested map[*schema.EventSchema]map[indexPlace]bool
	// former is KindIndexStale where some index has earlier versions.
	former []Kind
}

// indexPlace is a place that a value of an index comes from: its own, or that of a part of a compound one.
type indexPlace struct {
	name string
	part int // wholeValue for its own
}

// placesOf lists where the value of an index comes from.
func placesOf(ix *schema.Index) []indexPlace {
	if len(ix.Parts) == 0 {
		return []indexPlace{{ix.Name, wholeValue}}
	}
	places := make([]indexPlace, len(ix.Parts))
	for i := range places {
		places[i] = indexPlace{ix.Name, i}
	}
	return places
}

// stands says whether a state is that place.
func (p indexPlace) stands(st *schema.State) bool {
	if p.part == wholeValue {
		own := st.Index()
		return own != nil && own.Name == p.name
	}
	return slices.ContainsFunc(st.Parts(), func(o schema.PartOf) bool { return o.Index.Name == p.name && o.Part == p.part })
}

// NewVerifier makes a Verifier. Keyrings may be missing, and what they would show is then listed as not checked.
func NewVerifier(reg *schema.Registry, opts VerifierOptions) (*Verifier, error) {
	c, err := newCore(reg, opts.Keyrings, Options{Limits: opts.Limits})
	if err != nil {
		return nil, err
	}
	v := &Verifier{core: c, nested: make(map[*schema.EventSchema]map[indexPlace]bool)}
	var names []string
	for _, es := range reg.Events() {
		v.nested[es] = make(map[indexPlace]bool)
		for _, l := range es.Plan().Locations() {
			if l.Index != nil && l.Nested {
				v.nested[es][indexPlace{l.Index.Name, wholeValue}] = true
			}
			for _, part := range l.Parts {
				if l.Nested {
					v.nested[es][indexPlace{part.Index.Name, part.Part}] = true
				}
			}
		}
		names = append(names, es.Plan().Keyrings()...)
	}
	if slices.ContainsFunc(reg.Indexes(), func(ix *schema.Index) bool { return len(ix.Previous) > 0 }) {
		v.former = []Kind{KindIndexStale}
	}
	v.keys = newKeyJudge(c.rings, opts.KeyStates, names)
	return v, nil
}

// NotChecked lists the kinds that this Verifier checks in no event.
func (v *Verifier) NotChecked() []NotChecked {
	var list []NotChecked
	if v.keyless() {
		for _, kind := range append([]Kind{KindUnopenable, KindInvalid, KindIndexMismatch}, v.former...) {
			list = append(list, NotChecked{Kind: kind, Reason: reasonKeyless})
		}
	}
	return append(list, v.keys.notChecked...)
}

const reasonKeyless = "needs keys"

func (v *Verifier) keyless() bool { return v.core.rings == nil }

// StoredIndexes are the blind indexes that stand beside an event.
type StoredIndexes struct {
	// Values are the stored forms by index name; a name without a value is absent.
	Values map[string][][]byte
	// Unknown says that the indexes are not at hand, as in event lines without them. Defaults to false: what Values lacks is missing.
	Unknown bool
}

// Verify reports on one event. It takes a Wire and not a Received, so that what does not parse is a finding too. An error says that the check
// itself could not be done (the context ended, a keyring's store is away), nothing about the event.
func (v *Verifier) Verify(ctx context.Context, w Wire, stored StoredIndexes) (Report, error) {
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	var report Report
	w = w.clone()
	if err := w.normalize(); err != nil {
		report.refused(err)
		return report, nil
	}
	if len(w.Payload) > v.core.limits.MaxWire {
		report.refused(sizeError(LimitWire, v.core.limits.MaxWire))
		return report, nil
	}
	es, err := v.core.registry.Event(w.Type, w.Version)
	if err != nil {
		report.add(Finding{Kind: KindSchemaUnknown, Severity: SeverityFinding, Detail: err.Error()})
		return report, nil
	}
	report.Type, report.Version = es.Type(), es.Version()
	op := v.core.newOpening(v.core.work(), es, &w)
	defer op.close()
	op.work.walk.found = func(e *LocationError) { report.refused(e) }
	if err := op.work.walk.run(); err != nil {
		report.refused(err)
		return report, nil
	}
	check := verification{verifier: v, opening: &op, report: &report, stored: stored}
	walked := len(report.Findings) == 0
	if err := check.tokens(ctx); err != nil {
		return Report{}, err
	}
	if err := check.payload(ctx); err != nil {
		return Report{}, err
	}
	check.wireForm(w.Payload, walked)
	if err := check.indexes(ctx); err != nil {
		return Report{}, err
	}
	report.KeyIDs = check.keyIDs()
	return report, nil
}

// keyIDs lists the keys that the tokens and the stored indexes name.
func (c *verification) keyIDs() []string {
	var keys []keyUse
	add := func(key keyUse) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for i := range c.work.walk.sites {
		add(keyUse{keyring.Seal, c.work.walk.sites[i].token.kid})
	}
	for _, values := range c.stored.Values {
		for _, value := range values {
			if id, err := blindindex.KeyID(value); err == nil { // else a finding
				add(keyUse{keyring.Index, id})
			}
		}
	}
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = keyIDText(key.purpose, key.id)
	}
	return sortedKeyIDs(ids)
}

func (r *Report) add(f Finding) { r.Findings = append(r.Findings, f) }

// unchecked notes what could not be looked at, once.
func (r *Report) unchecked(n NotChecked) {
	if !slices.Contains(r.NotChecked, n) {
		r.NotChecked = append(r.NotChecked, n)
	}
}

// refused turns an error of the walk or of Parse into a finding.
func (r *Report) refused(err error) {
	f := Finding{Kind: KindMalformed, Severity: SeverityFinding, Detail: err.Error()}
	f.Place, _ = PlaceOf(err)
	var location *LocationError
	if errors.As(err, &location) {
		f.Index = location.Index
		switch location.Kind {
		case KindPlaintext, KindMisplaced, KindMalformed, KindUndeclared:
			f.Kind, f.Detail = location.Kind, ""
		}
	}
	r.add(f)
}

// verification is one event's check.
type verification struct {
	verifier *Verifier
	*opening
	report *Report
	stored StoredIndexes
	// shut are the keyrings some of whose tokens did not open: what depends on all of them cannot be said.
	shut map[string]bool
	bad  map[int]bool // sites that did not open
	// valid says that every site was opened, and that the plaintext matches its schema.
	valid bool
}

// wireForm checks the event's own rules, as far as the derived wire schema has them. Where the walk has found a fault the schema would tell it
// again, at places that say less; and the wire form of a plaintext that matches its schema matches the derived one: that is the law of its
// derivation (docs/architecture.md, "The Plan"), and looking again would cost more than all the rest.
func (c *verification) wireForm(payload []byte, walked bool) {
	if c.valid {
		return
	}
	if !walked {
		c.report.unchecked(NotChecked{Kind: KindSchemaMismatch, Reason: "the wire form has other faults"})
		return
	}
	err := c.schema.ValidateWireRules(payload)
	var invalid *schema.ValidationError
	var none *schema.WireError
	switch {
	case err == nil:
	case errors.As(err, &invalid):
		for _, violation := range invalid.Violations {
			c.report.add(Finding{
				Kind: KindSchemaMismatch, Severity: SeverityFinding, Place: Place{violation.Location, violation.Offset(payload)},
				Detail: violation.Keyword + ": " + violation.Message,
			})
		}
	case errors.As(err, &none):
		c.report.unchecked(NotChecked{Kind: KindSchemaMismatch, Reason: err.Error()})
	default:
		c.report.add(Finding{Kind: KindSchemaMismatch, Severity: SeverityFinding, Detail: err.Error()})
	}
}

// tokens judges the key of each token.
func (c *verification) tokens(ctx context.Context) error {
	for i := range c.work.walk.sites {
		if i%everySites == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s := &c.work.walk.sites[i]
		err := c.verifier.keys.judge(ctx, c.report, Finding{Place: c.place(s), Keyring: s.state.Keyring()}, keyring.Seal, s.token.kid)
		if err != nil {
			return err
		}
	}
	return nil
}

// payload opens what can be opened, and validates the whole.
func (c *verification) payload(ctx context.Context) error {
	c.work.indexes.reset(c.core)
	c.work.indexes.former = true
	c.shut, c.bad = make(map[string]bool), make(map[int]bool)
	if c.verifier.keyless() {
		return nil
	}
	// The first pass tells the sites that open, each by itself; the second puts the payload together from these.
	for i := range c.work.walk.sites {
		if i%everySites == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s := &c.work.walk.sites[i]
		name := s.state.Keyring()
		if !c.hasRing(s) {
			c.report.unchecked(NotChecked{Kind: KindUnopenable, Keyring: name, Reason: ReasonNoKeyring})
		} else if err := c.open(ctx, s, &c.work.indexes); err == nil {
			continue
		} else if err := c.unopened(ctx, s, err); err != nil {
			return err
		}
		c.shut[name], c.bad[i] = true, true
	}
	if len(c.bad) > 0 {
		c.report.unchecked(NotChecked{Kind: KindInvalid, Reason: "some locations do not open"})
		return nil
	}
	var limit *LimitError
	switch err := c.sites(ctx, openEach, nil); {
	case errors.As(err, &limit):
		c.report.add(Finding{Kind: KindUnopenable, Severity: SeverityFinding, Place: limit.Place, Detail: err.Error()})
		return nil
	case err != nil:
		return err
	}
	plaintext := c.appendPayload(nil)
	defer clear(plaintext)
	return c.validate(plaintext)
}

// unopened reports why a token did not open. Its key's state was reported before.
func (c *verification) unopened(ctx context.Context, s *site, err error) error {
	f := Finding{Kind: KindUnopenable, Severity: SeverityFinding, Place: c.place(s), Keyring: s.state.Keyring(), KeyID: s.token.kid.String()}
	var key *KeyError
	var location *LocationError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &key):
		var state *keyring.KeyStateError
		if Retryable(err) || errors.As(err, &state) {
			return nil
		}
		return err
	case errors.As(err, &location) && (location.Kind == KindIndexTwice || location.Kind == KindIndexType):
		f.Kind, f.Index = KindIndexMismatch, location.Index
	}
	f.Detail = err.Error()
	c.report.add(f)
	return nil
}

func (c *verification) validate(plaintext []byte) error {
	err := c.schema.Check(plaintext)
	var invalid *schema.ValidationError
	switch {
	case err == nil:
		c.valid = true
	case errors.As(err, &invalid):
		for _, violation := range invalid.Violations {
			c.report.add(Finding{
				Kind: KindInvalid, Severity: SeverityFinding, Place: Place{violation.Location, -1},
				Detail: violation.Keyword + ": " + violation.Message,
			})
		}
	default:
		c.report.add(Finding{Kind: KindInvalid, Severity: SeverityFinding, Detail: err.Error()})
	}
	return nil
}

// indexes compares the stored indexes with the tokens and, where there are keys, with the values.
func (c *verification) indexes(ctx context.Context) error {
	if c.stored.Unknown {
		for _, kind := range append([]Kind{KindIndexOrphan, KindIndexKeyStale, KindIndexMissing, KindIndexMismatch}, c.verifier.former...) {
			c.report.unchecked(NotChecked{Kind: kind, Reason: "the indexes are not at hand"})
		}
		return nil
	}
	plan := c.schema.Plan()
	for _, name := range slices.Sorted(maps.Keys(c.stored.Values)) {
		if len(c.stored.Values[name]) > 0 && indexOf(plan, name) == nil {
			c.report.add(Finding{Kind: KindIndexOrphan, Severity: SeverityFinding, Index: name, Detail: "the schema has no such index"})
		}
	}
	for _, ix := range plan.Indexes() {
		stored := c.stored.Values[ix.Name]
		if len(stored) == 0 {
			c.missing(ix)
			continue
		}
		if !c.mayCarry(ix) {
			c.report.add(Finding{Kind: KindIndexOrphan, Severity: SeverityFinding, Index: ix.Name})
			continue
		}
		if err := c.compare(ctx, ix, stored); err != nil {
			return err
		}
	}
	return nil
}

// mayCarry says whether some token of the event can hold a value of the index, of a compound one some token each part.
func (c *verification) mayCarry(ix *schema.Index) bool {
	for _, place := range placesOf(ix) {
		nested := c.verifier.nested[c.schema][place]
		if !slices.ContainsFunc(c.work.walk.sites, func(s site) bool {
			return place.stands(s.state) || nested && s.state.Index() == nil && s.state.Keyring() == ix.Keyring
		}) {
			return false
		}
	}
	return true
}

// missing looks for a value that should have an index: with keys in what was opened, else for a token at the index's own location.
func (c *verification) missing(ix *schema.Index) {
	if !c.verifier.keyless() {
		versions := c.work.indexes.formed(ix.Name)
		none := slices.IndexFunc(versions, func(m formedVersion) bool { return len(m.messages) == 0 })
		switch {
		case none > 0 && len(versions[0].messages) > 0: // rightly NULL, when it was written
			c.report.add(Finding{Kind: KindIndexStale, Severity: SeverityWarning, Index: ix.Name, Keyring: ix.Keyring,
				Detail: "its previous version " + versions[none].made.NormalizerID() + " has none of this value"})
		case len(c.work.indexes.messagesOf(ix.Name)) > 0:
			c.report.add(Finding{Kind: KindIndexMissing, Severity: SeverityFinding, Index: ix.Name, Keyring: ix.Keyring})
		case c.shut[ix.Keyring]:
			c.report.unchecked(NotChecked{Kind: KindIndexMissing, Keyring: ix.Keyring, Reason: "some locations do not open"})
		}
		return
	}
	var last *site
	for _, place := range placesOf(ix) {
		at := slices.IndexFunc(c.work.walk.sites, func(s site) bool { return place.stands(s.state) })
		if at < 0 {
			return
		}
		last = &c.work.walk.sites[at]
	}
	c.report.add(Finding{Kind: KindIndexMissing, Severity: SeverityWarning, Place: c.place(last), Index: ix.Name, Detail: "the value may be empty"})
}

// malformedIndex says what shows without a key that stored values are none of an index: a plaintext in their place, say, or a hash that was cut short.
func malformedIndex(ix *schema.Index, stored [][]byte) string {
	if len(stored) > 1 && !ix.Multi {
		return fmt.Sprintf("%d stored values, and an event has one", len(stored))
	}
	for _, value := range stored {
		err := blindindex.CheckStored(value, ix.Bits)
		if err != nil && !slices.ContainsFunc(ix.Previous, func(v schema.IndexVersion) bool { return blindindex.CheckStored(value, v.Bits) == nil }) {
			return err.Error()
		}
	}
	if len(stored) > 1 && len(slices.CompactFunc(sorted(stored), bytes.Equal)) < len(stored) {
		return "a stored value is there twice"
	}
	return ""
}

// compare judges the form of stored values, their keys and, with keys, the values: all must be under one key, and those of the messages under it.
func (c *verification) compare(ctx context.Context, ix *schema.Index, stored [][]byte) error {
	if detail := malformedIndex(ix, stored); detail != "" {
		c.report.add(Finding{Kind: KindIndexMismatch, Severity: SeverityFinding, Index: ix.Name, Detail: detail})
		return nil
	}
	f := Finding{Index: ix.Name, Keyring: ix.Keyring}
	ids := make([]keyring.KeyID, 0, 1)
	for _, value := range stored {
		id, err := blindindex.KeyID(value)
		if err != nil {
			return fmt.Errorf("index %s: %w", ix.Name, err) // its form was looked at
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if err := c.verifier.keys.judge(ctx, c.report, f, keyring.Index, id); err != nil {
			return err
		}
	}
	if c.verifier.keyless() {
		return nil
	}
	ring, ok := ringOf(c.core.rings, ix.Keyring)
	if !ok {
		c.report.unchecked(NotChecked{Kind: KindIndexMismatch, Keyring: ix.Keyring, Reason: ReasonNoKeyring})
		return nil
	}
	if c.shut[ix.Keyring] {
		c.report.unchecked(NotChecked{Kind: KindIndexMismatch, Keyring: ix.Keyring, Reason: "some locations do not open"})
		return nil
	}
	mismatch := Finding{Kind: KindIndexMismatch, Severity: SeverityFinding, Index: ix.Name, Keyring: ix.Keyring}
	if len(ids) != 1 {
		mismatch.Detail = "the values are under several keys"
		c.report.add(mismatch)
		return nil
	}
	mismatch.KeyID = ids[0].String()
	key, err := ring.Key(ctx, keyring.Index, ids[0])
	if err != nil {
		return nil // its state was reported
	}
	given := sorted(stored)
	for i, version := range c.work.indexes.formed(ix.Name) {
		want, err := version.made.Values(key, version.messages)
		if err != nil {
			return fmt.Errorf("index %s: %w", ix.Name, err)
		}
		if !slices.EqualFunc(given, want, bytes.Equal) {
			continue
		}
		if i > 0 {
			c.report.add(Finding{Kind: KindIndexStale, Severity: SeverityWarning, Index: ix.Name, Keyring: ix.Keyring, KeyID: mismatch.KeyID,
				Detail: "of its previous version " + version.made.NormalizerID()})
		}
		return nil
	}
	c.report.add(mismatch)
	return nil
}
