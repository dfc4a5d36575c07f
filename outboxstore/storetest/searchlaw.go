package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// RunSearchLaw is the law that a search finds each row that holds the value exactly once and no other row: before, during and
// after a rotation of the keys and a change of the indexes, which come in random order and beside each other, whose steps
// processes see early or late, and whose re-encryption is killed at random moments.
//
// A row that was not rebuilt yet is found by what the version that it was written in calls equal, too: before the rebuild
// nobody can know more of it than its hash. So the law, for each row and each question, is
//
//	found ⇔ the searcher's version calls them equal, and so does the row's
//
// and while a re-encryption is at work, any of the two versions may be the row's. cases is the number of random histories.
func RunSearchLaw[Tx any](t *testing.T, d Dialect[Tx], cases int) {
	cases = max(2, cases/lawScale)
	total := &lawCounts{}
	for range cases {
		l := newLaw(t, d)
		l.run()
		total.add(&l.counts)
	}
	t.Logf("%d histories: %+v", cases, *total)
	rare := cases < 10 || total.stale > 0 && total.falsely > 0 // some changes have none
	if total.alive < total.kills/3 || total.mixed < cases || !rare || total.found < 50*cases {
		t.Errorf("the law does not reach what it claims in %d histories: %+v", cases, *total)
	}
}

// lawCounts say what a law has reached.
type lawCounts struct {
	questions, found int
	kills, alive     int // kills, and those that met a re-encryption at work
	mixed            int // checks that met rows of both versions
	stale            int // rows that the searcher's version calls equal and the row's does not
	falsely          int // rows that hashes alone would have given
}

func (c *lawCounts) add(o *lawCounts) {
	c.questions, c.found, c.kills, c.alive = c.questions+o.questions, c.found+o.found, c.kills+o.kills, c.alive+o.alive
	c.mixed, c.stale, c.falsely = c.mixed+o.mixed, c.stale+o.stale, c.falsely+o.falsely
}

// keyPhase is how far the rotation has come.
type keyPhase int

const (
	single   keyPhase = iota // one index key
	staged                   // the next one is searched, too
	promoted                 // the next one writes
	retired                  // the former one is disabled
)

// law is one history.
type law[Tx any] struct {
	*suite[Tx]
	random  *rand.Rand
	change  [2]how
	keys    []keyringtest.Key // seal, index, index, seal
	phase   keyPhase
	stage   stage
	views   map[view]*process
	rows    map[string]human
	ids     []string
	counts  lawCounts
	history string
}

// view is what a process knows of the change and of the rotation.
type view struct {
	phase keyPhase
	stage stage
}

// process is what such a process works with.
type process struct {
	registry *schema.Registry
	ring     *keyring.Keyring
	sealer   *envelope.Sealer
	opener   *envelope.Opener
}

func newLaw[Tx any](t *testing.T, d Dialect[Tx]) *law[Tx] {
	t.Helper()
	seed := rand.Uint64()
	s := &suite[Tx]{t: t, ctx: t.Context(), dialect: d, address: d.Create(t)}
	l := &law[Tx]{
		suite: s, random: rand.New(rand.NewPCG(seed, seed)), views: map[view]*process{}, rows: map[string]human{},
		keys: []keyringtest.Key{
			keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary),
			keyringtest.NewKey(keyring.Index, keyring.Staged), keyringtest.NewKey(keyring.Seal, keyring.Staged),
		},
		history: fmt.Sprintf("seed %d", seed),
	}
	l.change = pick(l.random, changes)
	var err error
	s.db, err = d.Connect(context.Background(), s.address)
	s.must(err)
	t.Cleanup(func() { s.must(s.db.Close()) })
	s.store = s.open("")
	return l
}

// keysAt are the keys in a phase. The seal key is rotated in the same steps.
func (l *law[Tx]) keysAt(p keyPhase) []keyringtest.Key {
	keys := slices.Clone(l.keys)
	states := map[keyPhase][2]keyring.State{
		staged: {keyring.Primary, keyring.Staged}, promoted: {keyring.Active, keyring.Primary}, retired: {keyring.Disabled, keyring.Primary},
	}[p]
	if p == single {
		return keys[:2]
	}
	for i, next := range []int{0, 0, 1, 1} {
		keys[i].State = states[next]
	}
	return keys
}

// process makes what a process of that view works with.
func (l *law[Tx]) process(v view) *process {
	l.t.Helper()
	if p := l.views[v]; p != nil {
		return p
	}
	registry, err := peopleRegistry(l.change, v.stage)
	l.must(err)
	rings, err := helperJob{Keys: l.keysAt(v.phase)}.keyrings(l.ctx)
	l.must(err)
	p := &process{registry: registry}
	p.ring, _ = rings.Keyring("default")
	p.sealer, err = envelope.NewSealer(registry, rings, envelope.Options{})
	l.must(err)
	p.opener, err = envelope.NewOpener(registry, rings, envelope.Options{})
	l.must(err)
	l.views[v] = p
	return p
}

// someView is that of a process which may not have seen the last step of the change or of the rotation.
func (l *law[Tx]) someView() view {
	v := view{l.phase, l.stage}
	if v.phase > single && l.random.IntN(2) == 0 {
		v.phase--
	}
	if v.stage > former && l.random.IntN(2) == 0 {
		v.stage--
	}
	return v
}

func (l *law[Tx]) step(format string, args ...any) {
	l.history += "\n" + fmt.Sprintf(format, args...)
}

func (l *law[Tx]) run() {
	l.t.Helper()
	l.migrateStage()
	l.write(view{}, 8)
	l.check(view{}, false)
	// The steps of both, in random order beside each other.
	rotates := []bool{true, true, false, false}
	l.random.Shuffle(len(rotates), func(i, j int) { rotates[i], rotates[j] = rotates[j], rotates[i] })
	for _, rotate := range rotates {
		if rotate {
			l.phase++
		} else {
			l.stage++
			l.migrateStage()
		}
		l.step("phase %d, stage %d", l.phase, l.stage)
		for range 2 {
			l.write(l.someView(), 4)
			l.check(l.someView(), false)
		}
	}
	l.rebuild()
	l.phase, l.stage = retired, rebuilt
	l.step("the former ones are gone")
	last := view{l.phase, l.stage}
	l.expectNothingPending(l.process(last).registry.Indexes())
	l.must(outboxstore.CheckIndexes(l.ctx, l.store, l.process(last).registry.Indexes()))
	l.check(last, false)
	l.write(last, 2)
	l.check(last, false)
}

// migrateStage is the migration that comes before processes of the stage.
func (l *law[Tx]) migrateStage() {
	l.t.Helper()
	_, err := l.store.Migrate(l.ctx, l.process(view{l.phase, l.stage}).registry.Indexes())
	l.must(err)
}

// write adds rows as a process of that view.
func (l *law[Tx]) write(v view, n int) {
	l.t.Helper()
	p := l.process(v)
	var batch []envelope.Sealed
	for range n {
		id, h := randomUUID(), randomHuman(l.random)
		sealed, err := p.sealer.Seal(l.ctx, h.event(id))
		l.must(err)
		batch = append(batch, sealed)
		l.rows[id] = h
		l.ids = append(l.ids, id)
	}
	_, err := l.store.WriteBatch(l.ctx, batch...)
	l.must(err)
	slices.Sort(l.ids)
	l.step("%d rows by %+v", n, v)
}

// rebuild re-encrypts, beside writers and searchers, in processes that are killed.
func (l *law[Tx]) rebuild() {
	l.t.Helper()
	now := view{l.phase, l.stage}
	job := helperJob{Keys: l.keysAt(l.phase), Change: l.change, Stage: l.stage}
	for range 4 {
		h := l.start("rebuild", job)
		if l.random.IntN(2) == 0 {
			l.write(now, 1)
			l.check(l.someView(), true)
		}
		_, alive := h.killAfter(l.random.IntN(5))
		if l.counts.kills++; alive {
			l.counts.alive++
		}
		l.step("killed: %v", alive)
		l.check(l.someView(), false)
	}
	l.write(now, 2)
	if err := l.start("rebuild", job).wait(); err != nil {
		l.t.Fatalf("%v\n%s", err, l.history)
	}
	l.step("rebuilt")
	l.check(now, false)
	l.expectRebuilt(now)
}

// expectRebuilt asks verify and what is written down, and that a further run finds nothing to do.
func (l *law[Tx]) expectRebuilt(v view) {
	l.t.Helper()
	p := l.process(v)
	rings, err := helperJob{Keys: l.keysAt(v.phase)}.keyrings(l.ctx)
	l.must(err)
	verifier, err := envelope.NewVerifier(p.registry, envelope.VerifierOptions{Keyrings: rings})
	l.must(err)
	r, err := outboxstore.Verify(l.ctx, l.store, verifier, outboxstore.VerifyOptions{})
	l.must(err)
	if r.Rows != int64(len(l.rows)) || r.Findings != 0 || r.Warnings != 0 {
		l.t.Fatalf("after the rebuild: %+v\n%s", r, l.history)
	}
	recorded, err := l.store.IndexVersions(l.ctx)
	l.must(err)
	if len(recorded.Versions) != len(p.registry.Indexes()) {
		l.t.Fatalf("the table is said to hold %v\n%s", recorded.Versions, l.history)
	}
}

// rebuildJob re-encrypts with the schemas of a stage.
func rebuildJob[Tx any](ctx context.Context, _ Database[Tx], store Store[Tx], job helperJob) error {
	registry, err := peopleRegistry(job.Change, job.Stage)
	if err != nil {
		return err
	}
	rings, err := job.keyrings(ctx)
	if err != nil {
		return err
	}
	resealer, err := envelope.NewResealer(registry, rings, envelope.Options{})
	if err != nil {
		return err
	}
	result, err := outboxstore.Reencrypt(ctx, store, resealer, outboxstore.ReencryptOptions{
		BatchSize: 2,
		Indexes:   registry.Indexes(),
		Progress:  func(r outboxstore.ReencryptResult) { fmt.Fprintln(os.Stdout, r.Rotated+r.Skipped) },
	})
	if err == nil && result.Failed > 0 {
		err = fmt.Errorf("%d rows failed", result.Failed)
	}
	return err
}

// check asks questions as a process of that view, some of two indexes at once. rebuilding says that a re-encryption is at
// work meanwhile.
func (l *law[Tx]) check(v view, rebuilding bool) {
	l.t.Helper()
	var before, after map[string]map[string]int
	if !rebuilding {
		before = l.writtenVersions()
	}
	type answer struct {
		questions []question
		rows      map[string]int
	}
	var answers []answer
	for range 12 {
		questions := []question{randomQuestion(l.random)}
		if second := randomQuestion(l.random); l.random.IntN(3) == 0 && second.index != questions[0].index {
			questions = append(questions, second)
		}
		answers = append(answers, answer{questions, l.search(v, questions)})
		l.counts.questions++
	}
	if !rebuilding { // a database may still commit what a killed process had asked of it
		after = l.writtenVersions()
	}
	for _, a := range answers {
		for _, id := range l.ids {
			could, must := l.expect(v, a.questions, id, before)
			if !rebuilding {
				later, still := l.expect(v, a.questions, id, after)
				could, must = could || later, must && still
			}
			switch n := a.rows[id]; {
			case n > 1:
				l.t.Fatalf("%+v finds row %s %d times for %q\n%s", v, id, n, a.questions, l.history)
			case n == 1 && !could:
				l.t.Fatalf("%+v finds row %s, %+v, for %q\n%s", v, id, l.rows[id], a.questions, l.history)
			case n == 0 && must:
				l.t.Fatalf("%+v misses row %s, %+v, for %q\n%s", v, id, l.rows[id], a.questions, l.history)
			default:
				l.counts.found += n
			}
		}
	}
}

// search is what `fieldcrypt find` does. It counts each row.
func (l *law[Tx]) search(v view, questions []question) map[string]int {
	l.t.Helper()
	p := l.process(v)
	var matches []outboxstore.Match
	for _, q := range questions {
		matches = append(matches, l.match(p.registry, p.ring, q))
	}
	found := map[string]int{}
	for row, err := range l.store.Find(l.ctx, matches, outboxstore.FindOptions{PageSize: 1 + l.random.IntN(5)}) {
		l.must(err)
		l.must(row.Err)
		all := true
		for _, q := range questions {
			holds, err := p.opener.Holds(l.ctx, row.Received, q.index, l.prepare(p.registry, q).Messages())
			l.must(err)
			all = all && holds
		}
		if all {
			found[row.ID]++
		} else {
			l.counts.falsely++
		}
	}
	return found
}

// prepare is a question as the product asks it of an index.
func (l *law[Tx]) prepare(registry *schema.Registry, q question) *blindindex.Search {
	l.t.Helper()
	at := slices.IndexFunc(registry.Indexes(), func(ix *schema.Index) bool { return ix.Name == q.index })
	made, err := envelope.BlindIndex(registry.Indexes()[at])
	l.must(err)
	search, err := made.Search(q.asked(registry.Indexes()[at])...)
	l.must(err)
	return search
}

func (l *law[Tx]) match(registry *schema.Registry, ring *keyring.Keyring, q question) outboxstore.Match {
	l.t.Helper()
	candidates, err := l.prepare(registry, q).Candidates(ring.Usable(keyring.Index))
	l.must(err)
	return outboxstore.Match{Index: q.index, Candidates: candidates}
}

// expect says whether a row may be found, and whether it has to be.
func (l *law[Tx]) expect(v view, questions []question, id string, written map[string]map[string]int) (could, must bool) {
	could, must = true, true
	current, _ := at(l.change, v.stage)
	for _, q := range questions {
		equal := [2]bool{q.matches(l.change[0], l.rows[id]), q.matches(l.change[1], l.rows[id])}
		searched := q.matches(current, l.rows[id])
		if written == nil { // of either version
			could = could && searched && (equal[0] || equal[1])
			must = must && searched && equal[0] && equal[1]
			continue
		}
		held := searched && equal[written[id][q.index]]
		if searched && !held {
			l.counts.stale++
		}
		could, must = could && held, must && held
	}
	return could, must
}

// writtenVersions says in which version each row's indexes were written: 0 for the former, 1 for the new one. Where a value
// has no index in either, it does not matter.
func (l *law[Tx]) writtenVersions() map[string]map[string]int {
	l.t.Helper()
	all := map[string]map[string]int{}
	var met [2]bool
	for row, err := range l.store.Scan(l.ctx, outboxstore.ScanOptions{}) {
		l.must(err)
		all[row.ID] = map[string]int{}
		for _, index := range []string{"name", "number", "email", "name_birth"} {
			version := l.writtenVersion(row, index)
			all[row.ID][index] = version
			met[version] = true
		}
	}
	if len(all) != len(l.rows) {
		l.t.Fatalf("%d rows, want %d\n%s", len(all), len(l.rows), l.history)
	}
	if met[0] && met[1] {
		l.counts.mixed++
	}
	return all
}

func (l *law[Tx]) writtenVersion(row *outboxstore.Row, index string) int {
	l.t.Helper()
	stored := row.Indexes[index]
	for version, s := range []stage{former, rebuilt} {
		p := l.process(view{promoted, s}) // both keys
		at := slices.IndexFunc(p.registry.Indexes(), func(ix *schema.Index) bool { return ix.Name == index })
		made, err := envelope.BlindIndex(p.registry.Indexes()[at])
		l.must(err)
		messages := l.rows[row.ID].messages(l.suite.t, made)
		if len(messages) == 0 && len(stored) == 0 {
			return version
		}
		for _, key := range p.ring.Usable(keyring.Index) {
			values, err := made.Values(key, messages)
			l.must(err)
			if len(values) > 0 && slices.EqualFunc(stored, values, bytes.Equal) {
				return version
			}
		}
	}
	l.t.Fatalf("row %s has an index %s of neither version\n%s", row.ID, index, l.history)
	return 0
}

// messages are those of a row's value.
func (h human) messages(t *testing.T, ix *blindindex.Index) [][]byte {
	t.Helper()
	text := func(value any) []byte {
		if value == any(jsonNull) {
			value = nil
		}
		return []byte(marshal(value))
	}
	values := map[string]any{"name": h.name, "number": h.number, "email": h.emails}
	if value, ok := values[ix.Name()]; ok {
		messages, err := ix.Messages(text(value))
		if err != nil {
			t.Fatal(err)
		}
		return messages
	}
	messages, err := ix.Messages([]byte("[" + string(text(h.name)) + "," + string(text(h.birth)) + "]"))
	if err != nil {
		t.Fatal(err)
	}
	return messages
}
