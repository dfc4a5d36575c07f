package keyring

import "testing"

func TestANewIDIsNoneThatThisOrAnotherKeyringUses(t *testing.T) {
	t.Parallel()
	own := &header{keys: []keyRecord{{id: 1, purpose: Seal, state: Destroyed}}}
	others := []*Description{nil, {doc: &document{header: &header{keys: []keyRecord{{id: 2, purpose: Index, state: Primary}}}}}}
	draws := []KeyID{0, 1, 2, 1, 3, 4}
	got := freeKeyID(func() KeyID {
		id := draws[0]
		draws = draws[1:]
		return id
	}, own, others)
	if got != 3 || len(draws) != 1 {
		t.Fatalf("got %s after which %d draws were left", got, len(draws))
	}
}

func TestRandomIDsDiffer(t *testing.T) {
	t.Parallel()
	// Of 64 ids of 32 bits two are equal once in two million runs.
	seen := map[KeyID]bool{}
	for range 64 {
		seen[randomKeyID()] = true
	}
	if len(seen) != 64 {
		t.Fatalf("%d different ids of 64", len(seen))
	}
}
