package storetest

import (
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

func testFind[Tx any](t *testing.T, d Dialect[Tx]) {
	run(t, d, "a search finds the rows that hold the value, by key order", func(s *suite[Tx]) {
		s.sameName(2, 5)
		s.invoices(6, 8)
		s.expectIDs(s.find(s.match("name", "MÜŞTERI 000002")), ids(2, 5))
		s.expectIDs(s.find(s.match("tax_id", personOf(3).taxID)), ids(3, 3))
		s.expectIDs(s.find(s.match("name", "nobody")), nil)
	})

	run(t, d, "a multi index finds a row by each of its values, once", func(s *suite[Tx]) {
		s.invoices(1, 4)
		first, second := s.match("email", personOf(2).emails[0]), s.match("email", "SECOND.000002@EXAMPLE.ORG")
		s.expectIDs(s.find(first), ids(2, 2))
		s.expectIDs(s.find(second), ids(2, 2))
		both := outboxstore.Match{Index: "email", Candidates: append(first.Candidates, second.Candidates...)}
		s.expectIDs(s.find(both), ids(2, 2))
	})

	run(t, d, "several indexes are all to match", func(s *suite[Tx]) {
		s.sameName(2, 5)
		name := s.match("name", personOf(2).name)
		s.expectIDs(s.find(name, s.match("tax_id", personOf(4).taxID)), ids(4, 4))
		s.expectIDs(s.find(name, s.match("email", personOf(5).emails[1])), ids(5, 5))
		s.expectIDs(s.find(name, s.match("email", personOf(5).emails[1]), s.match("tax_id", personOf(4).taxID)), nil)
	})

	run(t, d, "after and limit", func(s *suite[Tx]) {
		s.sameName(1, 7)
		var got []string
		opts := outboxstore.FindOptions{After: eventID(2), Limit: 3, PageSize: 2}
		for row, err := range s.store.Find(s.ctx, []outboxstore.Match{s.match("name", personOf(1).name)}, opts) {
			s.must(err)
			got = append(got, row.ID)
		}
		s.expectIDs(got, ids(3, 5))
	})

	run(t, d, "no candidate finds nothing, no index is an error, an unknown one is named", func(s *suite[Tx]) {
		s.invoices(1, 2)
		s.expectIDs(s.find(outboxstore.Match{Index: "name"}), nil)
		s.expectIDs(s.find(s.match("tax_id", personOf(1).taxID), outboxstore.Match{Index: "email"}), nil)
		for _, matches := range [][]outboxstore.Match{nil, {{Index: "other", Candidates: [][]byte{{1}}}}, {{Index: `x" OR 1=1 --`, Candidates: [][]byte{{1}}}}} {
			n := 0
			for row, err := range s.store.Find(s.ctx, matches, outboxstore.FindOptions{}) {
				if err == nil {
					s.t.Errorf("%v found %s", matches, row.ID)
				}
				n++
			}
			if n != 1 {
				s.t.Errorf("%v gave %d errors", matches, n)
			}
		}
	})

	run(t, d, "a search finds each row exactly once before, during and after a rotation", func(s *suite[Tx]) {
		s.sameName(1, 6)
		want, other := ids(1, 6), s.match
		name := func() []string { return s.find(other("name", personOf(1).name)) }
		email := func() []string { return s.find(other("email", personOf(3).emails[0])) }
		check := func() {
			s.t.Helper()
			s.expectIDs(name(), want)
			s.expectIDs(email(), ids(3, 3))
		}
		check()
		s.ring.Stage(keyring.Index)
		s.ring.Refresh()
		check()
		s.ring.Promote(keyring.Index)
		s.ring.Refresh()
		check()
		_, err := outboxstore.Reencrypt(s.ctx, s.store, s.resealer, outboxstore.ReencryptOptions{
			BatchSize: 1,
			Progress:  func(outboxstore.ReencryptResult) { check() },
		})
		s.must(err)
		check()
	})
}

// sameName writes events first … last of one name.
func (s *suite[Tx]) sameName(first, last int) {
	s.t.Helper()
	var batch []envelope.Sealed
	for n := first; n <= last; n++ {
		p := personOf(n)
		p.name = personOf(first).name
		e := invoice(n)
		e.Payload = p.payload("n")
		batch = append(batch, s.seal(e))
	}
	_, err := s.store.WriteBatch(s.ctx, batch...)
	s.must(err)
}
