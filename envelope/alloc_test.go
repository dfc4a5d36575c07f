//go:build !race

package envelope

import (
	"context"
	"testing"
)

// Not parallel, and not under -race: allocations are counted over the whole process, and the race detector drops what pools keep.
func TestAllocationsAreTheEventsKeyAlone(t *testing.T) {
	m := measured(t)
	resealer := &Resealer{m.trusted.core}
	sealed, err := m.sealer.Seal(context.Background(), m.event)
	if err != nil {
		t.Fatal(err)
	}
	stored := sealed.BlindIndexes()
	var buf Buffer
	for name, c := range map[string]struct {
		most float64
		do   func()
	}{
		"seal": {2, m.seal(m.trusted)},
		"open": {2, m.open()},
		"reseal what is fresh": {2, func() {
			buf.Reset()
			if _, changed, err := resealer.AppendReseal(context.Background(), &buf, m.sealed, stored); changed || err != nil {
				t.Fatal(changed, err)
			}
		}},
	} {
		c.do()
		// A half for what a collection in between makes the pools lose.
		if n := testing.AllocsPerRun(500, c.do); n > c.most+0.5 {
			t.Errorf("%s: %v allocations, at most %v", name, n, c.most)
		}
	}
}
