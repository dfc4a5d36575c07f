package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func testBuckets[Tx any](t *testing.T, d Dialect[Tx]) {
	run(t, d, "rows are counted by what their index shows", func(s *suite[Tx]) {
		s.expectBuckets("name", "")
		s.sameName(1, 5)
		s.invoices(6, 8)
		_, err := s.store.WriteBatch(s.ctx, s.seal(ping(9)))
		s.must(err)
		s.expectBuckets("name", "1x3 5x1")
		s.expectBuckets("tax_id", "1x8")
		s.expectBuckets("email", "1x16") // two for each
		s.expectRowBuckets([]string{"name"}, "1x3 5x1")
		s.expectRowBuckets([]string{"name", "tax_id", "email"}, "1x8")
		s.expectRowBuckets(nil, "")
	})

	run(t, d, "each key is a picture of its own", func(s *suite[Tx]) {
		s.sameName(1, 3)
		s.ring.Rotate(keyring.Index)
		s.sameName(4, 8)
		all, err := s.store.IndexBuckets(s.ctx, "name")
		s.must(err)
		got := []string{}
		for _, key := range all {
			got = append(got, buckets(key.Buckets))
		}
		slices.Sort(got)
		if len(all) != 2 || all[0].KeyID >= all[1].KeyID || !slices.Equal(got, []string{"3x1", "5x1"}) {
			s.t.Errorf("%v", all)
		}
		s.expectRowBuckets([]string{"name"}, "3x1 5x1")
	})

	run(t, d, "an unknown index is named, and what is no index value", func(s *suite[Tx]) {
		s.invoices(1, 2)
		for _, index := range []string{"other", `x" --`, ""} {
			if _, err := s.store.IndexBuckets(s.ctx, index); err == nil {
				s.t.Errorf("%q has buckets", index)
			}
			if _, err := s.store.RowBuckets(s.ctx, []string{"name", index}); err == nil {
				s.t.Errorf("%q has rows", index)
			}
		}
		s.must(s.db.SetIndex(s.ctx, eventID(1), "name", false, [][]byte{{1, 2, 3}}))
		_, err := s.store.IndexBuckets(s.ctx, "name")
		if err == nil || !strings.Contains(err.Error(), "blind index name") {
			s.t.Errorf("%v", err)
		}
	})
}

// buckets writes counts as ROWSxBUCKETS.
func buckets(counts []blindindex.BucketCount) string {
	texts := make([]string, len(counts))
	for i, c := range counts {
		texts[i] = fmt.Sprintf("%dx%d", c.Rows, c.Buckets)
	}
	return strings.Join(texts, " ")
}

func (s *suite[Tx]) expectBuckets(index, want string) {
	s.t.Helper()
	all, err := s.store.IndexBuckets(s.ctx, index)
	s.must(err)
	var got []blindindex.BucketCount
	for _, key := range all {
		got = append(got, key.Buckets...)
	}
	if len(all) > 1 || buckets(got) != want {
		s.t.Errorf("%s: %v, want %s", index, all, want)
	}
}

func (s *suite[Tx]) expectRowBuckets(indexes []string, want string) {
	s.t.Helper()
	counts, err := s.store.RowBuckets(s.ctx, indexes)
	s.must(err)
	if got := buckets(counts); got != want {
		s.t.Errorf("%v: %s, want %s", indexes, got, want)
	}
}
