package blindindex

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLeaks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counts           []BucketCount
		rows, buckets    int64
		single, largest  int64
		share, min, bits float64
	}{
		"nothing":                      {nil, 0, 0, 0, 0, 0, 0, 0},
		"one bucket":                   {[]BucketCount{{5, 1}}, 5, 1, 0, 5, 1, 0, 0},
		"all unlike":                   {[]BucketCount{{1, 8}}, 8, 8, 8, 1, 0.125, 3, 3},
		"half in one, the rest apart":  {[]BucketCount{{4, 1}, {1, 4}}, 8, 5, 4, 4, 0.5, 1, 2},
		"what is no count is left out": {[]BucketCount{{0, 7}, {-1, 1}, {2, 0}, {2, 2}}, 4, 2, 0, 2, 0.5, 1, 1},
	} {
		l := MeasureLeaks(c.counts)
		if l.Rows != c.rows || l.Buckets != c.buckets || l.Singletons != c.single || l.Largest != c.largest || l.LargestShare() != c.share || l.MinEntropy() != c.min || math.Abs(l.Bits()-c.bits) > 1e-12 {
			t.Errorf("%s: %+v, share %v, min-entropy %v", name, l, l.LargestShare(), l.MinEntropy())
		}
		if math.Signbit(l.MinEntropy()) {
			t.Errorf("%s: a negative zero", name)
		}
	}
}

// Whatever the counts: 0 ≤ min-entropy ≤ Shannon entropy ≤ log2 of the buckets ≤ log2 of the rows.
func TestLeaksAreOrdered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) BucketCount {
			return BucketCount{rapid.Int64Range(1, 1e6).Draw(t, "rows"), rapid.Int64Range(1, 1e6).Draw(t, "buckets")}
		}), 1, 10).Draw(t, "counts")
		l := MeasureLeaks(counts)
		ordered := []float64{0, l.MinEntropy(), l.Bits(), math.Log2(float64(l.Buckets)), math.Log2(float64(l.Rows))}
		for i := range ordered[1:] {
			if ordered[i] > ordered[i+1]+1e-9 {
				t.Fatalf("%v of %+v", ordered, counts)
			}
		}
	})
}
