package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// auditsOfAProcess is how many entries each process of the test appends.
const auditsOfAProcess = 30

func auditEntry(detail string) audittrail.Entry {
	return audittrail.Entry{Time: time.Now(), Actor: "ada@ops1", Operation: "open", Result: audittrail.OK, Detail: detail}
}

func auditJob[Tx any](ctx context.Context, _ Database[Tx], store Store[Tx], job helperJob) error {
	for n := range auditsOfAProcess {
		if _, err := store.AuditTrail().Append(ctx, auditEntry(fmt.Sprintf("%d of %d", n, job.First))); err != nil {
			return err
		}
		fmt.Println(n + 1)
	}
	return nil
}

func testAuditTrail[Tx any](t *testing.T, d Dialect[Tx]) {
	check := func(s *suite[Tx], head audittrail.Hash) audittrail.Report {
		s.t.Helper()
		report, err := audittrail.Check(s.ctx, s.store.AuditTrail(), audittrail.CheckOptions{Head: head})
		s.must(err)
		return report
	}
	fill := func(s *suite[Tx], n int) (last audittrail.Entry) {
		s.t.Helper()
		for i := range n {
			var err error
			last, err = s.store.AuditTrail().Append(s.ctx, auditEntry(fmt.Sprint(i)))
			s.must(err)
		}
		return last
	}

	run(t, d, "entries are read as they were written, over several pages", func(s *suite[Tx]) {
		if r := check(s, audittrail.Hash{}); r.Finding != nil || r.Entries != 0 {
			s.t.Errorf("at first: %+v", r)
		}
		const n = 2*outboxstore.AuditPageSize + 1
		last := fill(s, n)
		if r := check(s, last.Hash); r.Finding != nil || r.Entries != n || r.Head != last.Hash {
			s.t.Errorf("%+v", r)
		}
		var seq uint64
		for e, err := range audittrail.Entries(s.ctx, s.store.AuditTrail()) {
			s.must(err)
			if seq++; e.Seq != seq || e.Detail != fmt.Sprint(seq-1) {
				s.t.Fatalf("entry %d is %s", seq, e.Text())
			}
		}
	})

	run(t, d, "an entry outside the bounds writes nothing", func(s *suite[Tx]) {
		_, err := s.store.AuditTrail().Append(s.ctx, auditEntry("a\nb"))
		as[*audittrail.EntryError](s.t, err)
		if r := check(s, audittrail.Hash{}); r.Entries != 0 {
			s.t.Errorf("%+v", r)
		}
	})

	run(t, d, "of many processes and goroutines that append there is one chain", func(s *suite[Tx]) {
		const processes, goroutines = 3, 4
		done := make(chan error, processes+goroutines)
		for n := range processes {
			p := s.start("audit", helperJob{First: n})
			go func() { done <- p.wait() }()
		}
		for range goroutines {
			store := s.open("")
			go func() {
				for n := range auditsOfAProcess {
					if _, err := store.AuditTrail().Append(s.ctx, auditEntry(fmt.Sprint(n))); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range processes + goroutines {
			s.must(<-done)
		}
		if r := check(s, audittrail.Hash{}); r.Finding != nil || r.Entries != (processes+goroutines)*auditsOfAProcess {
			s.t.Errorf("%+v", r)
		}
	})

	run(t, d, "killed processes leave one chain, in which all is that they told of", func(s *suite[Tx]) {
		const together, rounds = 3, 7
		killed, told := 0, uint64(0)
		for round := range rounds {
			var helpers []*helper
			for n := range together {
				helpers = append(helpers, s.start("audit", helperJob{First: round*together + n}))
			}
			for _, h := range helpers { // the others go on meanwhile
				last, alive := h.killAfter(rand.IntN(auditsOfAProcess / 3))
				told += uint64(last)
				if alive {
					killed++
				}
			}
			r := check(s, audittrail.Hash{})
			if r.Finding != nil || r.Entries < told || r.Entries > told+uint64(killed) {
				s.t.Fatalf("%d killed after %d entries that were told of: %+v", killed, told, r)
			}
		}
		if s.t.Logf("%d of %d kills met a process at work", killed, together*rounds); killed < rounds {
			s.t.Errorf("only %d kills met a process at work", killed)
		}
	})

	for what, c := range map[string]struct {
		sql  string
		want audittrail.Kind
		seq  uint64
	}{
		"a changed entry":               {"UPDATE fieldcrypt_audit SET entry = replace(entry, 'ada@ops1', 'eve@ops1') WHERE seq = 3", audittrail.Changed, 3},
		"a removed entry":               {"DELETE FROM fieldcrypt_audit WHERE seq = 1", audittrail.Missing, 1},
		"several removed entries":       {"DELETE FROM fieldcrypt_audit WHERE seq IN (3, 4)", audittrail.Missing, 3},
		"a row with another number":     {"UPDATE fieldcrypt_audit SET seq = 0 WHERE seq = 2", audittrail.OutOfOrder, 1},
		"a row moved to the end":        {"UPDATE fieldcrypt_audit SET seq = 7 WHERE seq = 2", audittrail.Missing, 2},
		"an entry that is no entry":     {"UPDATE fieldcrypt_audit SET entry = 'x' WHERE seq = 6", audittrail.Changed, 6},
		"a tail that was cut off":       {"DELETE FROM fieldcrypt_audit WHERE seq > 4", audittrail.Cut, 0},
		"a table that was emptied":      {"DELETE FROM fieldcrypt_audit", audittrail.Cut, 0},
		"an entry in another's place":   {"UPDATE fieldcrypt_audit SET entry = (SELECT entry FROM fieldcrypt_audit WHERE seq = 5) WHERE seq = 4", audittrail.Changed, 4},
		"a hash beside it that is none": {"UPDATE fieldcrypt_audit SET hash = substr(hash, 2) WHERE seq = 4", audittrail.Changed, 4},
	} {
		run(t, d, what+" is found", func(s *suite[Tx]) {
			last := fill(s, 6)
			s.exec(c.sql)
			r := check(s, last.Hash)
			if r.Finding == nil || r.Finding.Kind != c.want || r.Finding.Seq != c.seq {
				s.t.Errorf("found %v, want %s at %d", r.Finding, c.want, c.seq)
			}
		})
	}

	run(t, d, "after a changed last entry nothing is added", func(s *suite[Tx]) {
		fill(s, 2)
		s.exec("UPDATE fieldcrypt_audit SET entry = replace(entry, 'ada', 'eve') WHERE seq = 2")
		_, err := s.store.AuditTrail().Append(s.ctx, auditEntry("x"))
		as[*audittrail.BrokenError](s.t, err)
	})

	runEmpty(t, d, "without the table it says so", func(s *suite[Tx]) {
		_, err := s.store.AuditTrail().Append(s.ctx, auditEntry("x"))
		_, checkErr := audittrail.Check(s.ctx, s.store.AuditTrail(), audittrail.CheckOptions{})
		for _, err := range []error{err, checkErr} {
			if e := as[*outboxstore.MissingError](s.t, err); e.Table != outboxstore.AuditTable {
				s.t.Error(err)
			}
		}
	})
}
