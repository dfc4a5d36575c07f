package storetest

import (
	"crypto/sha256"
	"errors"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

func testKeyrings[Tx any](t *testing.T, d Dialect[Tx]) {
	seen := func(kek string, revision uint64, of string) keyring.Seen {
		return keyring.Seen{KEK: kek, Revision: revision, Digest: sha256.Sum256([]byte(of))}
	}
	recall := func(s *suite[Tx], name string) map[string]keyring.Seen {
		s.t.Helper()
		all, err := s.store.KeyringMemory().Recall(s.ctx, name)
		s.must(err)
		byKEK := map[string]keyring.Seen{}
		for _, one := range all {
			byKEK[one.KEK] = one
		}
		return byKEK
	}

	run(t, d, "the newest document of each keyring and KEK is remembered, and never goes back", func(s *suite[Tx]) {
		memory := s.store.KeyringMemory()
		if got := recall(s, "default"); len(got) != 0 {
			s.t.Errorf("at first: %v", got)
		}
		for _, one := range []keyring.Seen{seen("a", 3, "3"), seen("a", 2, "2"), seen("a", 3, "another 3"), seen("b", 1, "1")} {
			s.must(memory.Record(s.ctx, "default", one))
		}
		s.must(memory.Record(s.ctx, "health", seen("a", 9, "9")))
		if got := recall(s, "default"); len(got) != 2 || got["a"] != seen("a", 3, "3") || got["b"] != seen("b", 1, "1") {
			s.t.Errorf("remembered %v", got)
		}
		s.must(memory.Record(s.ctx, "default", seen("a", 1<<53-1, "last")))
		if got := recall(s, "default"); got["a"] != seen("a", 1<<53-1, "last") {
			s.t.Errorf("remembered %v", got)
		}
	})

	run(t, d, "of many that record at once the newest stays", func(s *suite[Tx]) {
		var wg sync.WaitGroup
		for revision := uint64(1); revision <= 20; revision++ {
			memory := s.open("").KeyringMemory()
			wg.Go(func() {
				if err := memory.Record(s.ctx, "default", seen("a", revision, "x")); err != nil {
					s.t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := recall(s, "default"); got["a"].Revision != 20 {
			s.t.Errorf("remembered %v", got)
		}
	})

	run(t, d, "a process that starts anew notices that a keyring went back", func(s *suite[Tx]) {
		memory := s.store.KeyringMemory()
		old := s.ring.Document()
		open := func() error {
			k, err := keyring.Open(s.ctx, "default", s.ring.Store, s.ring.KEK, keyring.Options{Memory: memory})
			if err == nil {
				k.Close()
			}
			return err
		}
		s.must(open())
		s.ring.Stage(keyring.Seal)
		s.must(open())
		s.ring.Put(old)
		as[*keyring.RollbackError](s.t, open())
	})

	runEmpty(t, d, "without the table it says so", func(s *suite[Tx]) {
		_, err := s.store.KeyringMemory().Recall(s.ctx, "default")
		for _, err := range []error{err, s.store.KeyringMemory().Record(s.ctx, "default", seen("a", 1, "1"))} {
			if e := as[*outboxstore.MissingError](s.t, err); e.Table != outboxstore.KeyringTable {
				s.t.Error(err)
			}
		}
	})

	run(t, d, "a changed row is an error", func(s *suite[Tx]) {
		s.must(s.store.KeyringMemory().Record(s.ctx, "default", seen("a", 1, "1")))
		s.exec("UPDATE " + outboxstore.KeyringTable + " SET revision = -1")
		if _, err := s.store.KeyringMemory().Recall(s.ctx, "default"); err == nil {
			s.t.Error("a negative revision is taken")
		}
	})

	run(t, d, "the rows that need a key are counted with the oldest", func(s *suite[Tx]) {
		s.invoices(1, 3)
		row, err := s.store.Get(s.ctx, eventID(1))
		s.must(err)
		counts, err := s.store.KeyCounts(s.ctx)
		s.must(err)
		for id, want := range counts {
			use, err := s.store.KeyUse(s.ctx, id)
			s.must(err)
			if use.Rows != want || use.Oldest.After(row.CreatedAt) || use.Oldest.IsZero() {
				s.t.Errorf("key %s: %+v, want %d rows since %s", id, use, want, row.CreatedAt)
			}
		}
		if use, err := s.store.KeyUse(s.ctx, "seal:00000001"); err != nil || use != (outboxstore.KeyUse{}) {
			s.t.Errorf("a key that nothing needs: %+v, %v", use, err)
		}
	})

	runEmpty(t, d, "without the outbox nobody can say what needs a key", func(s *suite[Tx]) {
		if _, err := s.store.KeyUse(s.ctx, "seal:00000001"); !errors.As(err, new(*outboxstore.MissingError)) {
			s.t.Error(err)
		}
	})
}
