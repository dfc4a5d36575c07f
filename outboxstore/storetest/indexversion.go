package storetest

import (
	"slices"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// testIndexVersions is about what a store writes down of blind indexes that change. That no search misses a row meanwhile is
// RunSearchLaw's.
func testIndexVersions[Tx any](t *testing.T, d Dialect[Tx]) {
	runPeople(t, d, "a migration writes down what each column holds, of compound, array and mixed indexes too", func(s *people[Tx]) {
		s.expectVersions("email trim.1 8", "name casefold.1 8", "name_birth casefold.1,raw.1 8", "number raw.1 8")
		s.write(1, 20)
		s.expectFound(changes[2][0], question{"name_birth", []string{"IŞıL", "19000101"}}, question{"number", []string{"12"}}, question{"email", []string{"ada@example.com"}}, question{"name", []string{"ayşe"}})
	})

	runPeople(t, d, "a changed index that the schemas do not call previous is refused everywhere, and nothing is changed", func(s *people[Tx]) {
		s.write(1, 3)
		other := s.at(rebuilt)
		_, err := s.store.Pending(s.ctx, other.Indexes())
		as[*outboxstore.IndexChangedError](s.t, err)
		statements, err := s.store.Migrate(s.ctx, other.Indexes())
		if e := as[*outboxstore.IndexChangedError](s.t, err); e.Table != "outbox_events" || e.Hint() == "" {
			s.t.Errorf("%+v", e)
		}
		if slices.ContainsFunc(statements, func(p outboxstore.Statement) bool { return p.Done }) {
			s.t.Errorf("done beside an error: %+v", statements)
		}
		as[*outboxstore.IndexChangedError](s.t, outboxstore.CheckIndexes(s.ctx, s.store, other.Indexes()))
		result, err := s.rebuild(rebuilt, outboxstore.ReencryptOptions{Indexes: other.Indexes()})
		as[*outboxstore.IndexChangedError](s.t, err)
		expectResult(s.suite, result, 0, 0, 0)
		s.expectVersions("email trim.1 8", "name casefold.1 8", "name_birth casefold.1,raw.1 8", "number raw.1 8")
	})

	runPeople(t, d, "before the first row, a schema is free to change", func(s *people[Tx]) {
		as[*outboxstore.IndexChangedError](s.t, outboxstore.CheckIndexes(s.ctx, s.store, s.at(rebuilt).Indexes()))
		s.migrateTo(rebuilt)
		s.expectVersions("email trim.1 16", "name casefold.1 16", "name_birth casefold.1,raw.1 16", "number raw.1 16")
		s.expectNothingPending(s.at(rebuilt).Indexes())
	})

	runPeople(t, d, "until the table is migrated to the new version, nothing is written in it", func(s *people[Tx]) {
		both := s.at(changed)
		as[*outboxstore.IndexPendingError](s.t, outboxstore.CheckIndexes(s.ctx, s.store, both.Indexes()))
		_, err := s.rebuild(changed, outboxstore.ReencryptOptions{Indexes: both.Indexes()})
		as[*outboxstore.IndexPendingError](s.t, err)
		s.migrateTo(changed)
		s.must(outboxstore.CheckIndexes(s.ctx, s.store, both.Indexes()))
		s.expectVersions("email trim.1 16", "email trim.1 8", "name casefold.1 16", "name casefold.1 8", "name_birth casefold.1,raw.1 16", "name_birth casefold.1,raw.1 8", "number raw.1 16", "number raw.1 8")
		s.expectNothingPending(both.Indexes())
	})

	runPeople(t, d, "announcing a new version changes nothing", func(s *people[Tx]) {
		next := s.at(announced)
		s.expectNothingPending(next.Indexes())
		s.must(outboxstore.CheckIndexes(s.ctx, s.store, next.Indexes()))
		s.write(1, 3)
		result, err := s.rebuild(announced, outboxstore.ReencryptOptions{Indexes: next.Indexes()})
		s.must(err)
		expectResult(s.suite, result, 0, 3, 0)
		s.expectVersions("email trim.1 8", "name casefold.1 8", "name_birth casefold.1,raw.1 8", "number raw.1 8")
	})

	runPeople(t, d, "only a whole re-encryption without a failure settles the former version", func(s *people[Tx]) {
		s.write(1, 6)
		s.migrateTo(changed)
		both := s.at(changed).Indexes()
		many := []string{"email trim.1 16", "email trim.1 8", "name casefold.1 16", "name casefold.1 8", "name_birth casefold.1,raw.1 16", "name_birth casefold.1,raw.1 8", "number raw.1 16", "number raw.1 8"}
		_, err := s.rebuild(changed, outboxstore.ReencryptOptions{Indexes: both, After: eventID(3)})
		s.must(err)
		s.expectVersions(many...)
		payload := string(s.get(eventID(2)).Wire().Payload)
		s.set(eventID(2), "payload", breakToken(payload))
		result, err := s.rebuild(changed, outboxstore.ReencryptOptions{Indexes: both})
		s.must(err)
		if result.Failed != 1 {
			s.t.Errorf("%+v", result)
		}
		s.expectVersions(many...)
		s.set(eventID(2), "payload", payload)
		_, err = s.rebuild(changed, outboxstore.ReencryptOptions{})
		s.must(err)
		s.expectVersions(many...) // it was not told of the indexes
		result, err = s.rebuild(changed, outboxstore.ReencryptOptions{Indexes: both})
		s.must(err)
		expectResult(s.suite, result, 0, 6, 0)
		s.expectVersions("email trim.1 16", "name casefold.1 16", "name_birth casefold.1,raw.1 16", "number raw.1 16")
		s.expectNothingPending(s.at(rebuilt).Indexes())
		as[*outboxstore.IndexChangedError](s.t, outboxstore.CheckIndexes(s.ctx, s.store, s.at(former).Indexes()))
	})

	runPeople(t, d, "a table of a fieldcrypt that wrote nothing down is taken to hold what the schemas declare", func(s *people[Tx]) {
		s.write(1, 3)
		s.exec("DROP TABLE fieldcrypt_indexes")
		recorded, err := s.store.IndexVersions(s.ctx)
		s.must(err)
		if len(recorded.Versions) != 0 || recorded.Table != "outbox_events" {
			s.t.Errorf("recorded %+v", recorded)
		}
		s.must(outboxstore.CheckIndexes(s.ctx, s.store, s.at(changed).Indexes()))
		s.migrateTo(changed)
		s.expectVersions("email trim.1 16", "email trim.1 8", "name casefold.1 16", "name casefold.1 8", "name_birth casefold.1,raw.1 16", "name_birth casefold.1,raw.1 8", "number raw.1 16", "number raw.1 8")
	})

	runPeople(t, d, "another table of the database is another matter", func(s *people[Tx]) {
		own := s.open("billing_outbox")
		_, err := own.Migrate(s.ctx, s.at(rebuilt).Indexes())
		s.must(err)
		s.must(outboxstore.CheckIndexes(s.ctx, own, s.at(rebuilt).Indexes()))
		s.expectVersions("email trim.1 8", "name casefold.1 8", "name_birth casefold.1,raw.1 8", "number raw.1 8")
	})

	runPeople(t, d, "verify knows rows of the former version, and does not call them wrong", func(s *people[Tx]) {
		s.write(1, 20)
		s.migrateTo(changed)
		r := s.verifyAs(changed)
		stale := slices.IndexFunc(r.Kinds, func(k outboxstore.KindCount) bool { return k.Kind == envelope.KindIndexStale })
		if r.Findings != 0 || stale < 0 || r.Kinds[stale].Severity != envelope.SeverityWarning || len(r.Kinds) != 1 {
			s.t.Errorf("%+v", r)
		}
		if r := s.verifyAs(rebuilt); r.Findings == 0 {
			s.t.Error("without previous, nothing is wrong")
		}
		_, err := s.rebuild(changed, outboxstore.ReencryptOptions{Indexes: s.at(changed).Indexes()})
		s.must(err)
		if r := s.verifyAs(rebuilt); r.Findings != 0 || r.Warnings != 0 {
			s.t.Errorf("after the rebuild: %+v", r)
		}
	})
}

// people is a suite whose rows are people, of the change changes[2], which is one of the length alone: 8 bits become 16.
type people[Tx any] struct {
	*suite[Tx]
	change [2]how
}

func runPeople[Tx any](t *testing.T, d Dialect[Tx], name string, test func(*people[Tx])) {
	runEmpty(t, d, name, func(s *suite[Tx]) {
		p := &people[Tx]{s, changes[2]}
		p.migrateTo(former)
		test(p)
	})
}

func (s *people[Tx]) at(stage stage) *schema.Registry {
	s.t.Helper()
	registry, err := peopleRegistry(s.change, stage)
	s.must(err)
	return registry
}

func (s *people[Tx]) migrateTo(stage stage) {
	s.t.Helper()
	_, err := s.store.Migrate(s.ctx, s.at(stage).Indexes())
	s.must(err)
}

// person is the n-th row: every combination of the first few values comes up.
func (s *people[Tx]) person(n int) human {
	return human{name: []string{"Işıl", "ışıl", "Ayşe"}[n%3], number: []any{12, "12", 99, "99"}[n%4], birth: "19000101", emails: []string{"ada@example.com", "n"}[:1+n%2]}
}

// write adds rows first … last in the former version.
func (s *people[Tx]) write(first, last int) {
	s.t.Helper()
	sealer, err := envelope.NewSealer(s.at(former), s.rings, envelope.Options{})
	s.must(err)
	for n := first; n <= last; n++ {
		sealed, err := sealer.Seal(s.ctx, s.person(n).event(eventID(n)))
		s.must(err)
		_, err = s.store.WriteBatch(s.ctx, sealed)
		s.must(err)
	}
}

// expectFound asks each question by hashes alone, with all candidates of the former schemas: no row that matches is missed.
func (s *people[Tx]) expectFound(v how, questions ...question) {
	s.t.Helper()
	l := &law[Tx]{suite: s.suite}
	for _, q := range questions {
		got := s.find(l.match(s.at(former), s.ring.Keyring, q))
		n := 0
		for i := 1; i <= 20; i++ {
			if !q.matches(v, s.person(i)) {
				continue
			}
			if n++; !slices.Contains(got, eventID(i)) {
				s.t.Errorf("%q misses row %d", q, i)
			}
		}
		if n == 0 || n == 20 && q.index != "email" {
			s.t.Errorf("%q matches %d rows: it asks nothing", q, n)
		}
	}
}

func (s *people[Tx]) rebuild(stage stage, opts outboxstore.ReencryptOptions) (outboxstore.ReencryptResult, error) {
	s.t.Helper()
	resealer, err := envelope.NewResealer(s.at(stage), s.rings, envelope.Options{})
	s.must(err)
	return outboxstore.Reencrypt(s.ctx, s.store, resealer, opts)
}

func (s *people[Tx]) verifyAs(stage stage) outboxstore.VerifyResult {
	s.t.Helper()
	verifier, err := envelope.NewVerifier(s.at(stage), envelope.VerifierOptions{Keyrings: s.rings})
	s.must(err)
	r, err := outboxstore.Verify(s.ctx, s.store, verifier, outboxstore.VerifyOptions{})
	s.must(err)
	return r
}

// expectVersions compares what is written down: "INDEX NORMALIZER BITS", sorted.
func (s *people[Tx]) expectVersions(want ...string) {
	s.t.Helper()
	got := s.query("SELECT name || ' ' || normalizer || ' ' || bits FROM fieldcrypt_indexes WHERE outbox = 'outbox_events'")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Errorf("written down are\n%q\nwant\n%q", got, want)
	}
}
