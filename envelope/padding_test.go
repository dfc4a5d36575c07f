package envelope

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPaddedLengthsOfTheFormat(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{
		{1, 16}, {15, 16}, {16, 16}, {17, 32}, {256, 256}, {257, 272}, {512, 512}, {513, 544}, {1000, 1024}, {1025, 1088}, {4097, 4352}, {65537, 67584},
	} {
		if got := paddedLen(c[0]); got != c[1] {
			t.Errorf("P(%d) = %d, want %d", c[0], got, c[1])
		}
	}
}

func TestPaddingIsMonotonicInBlocksAndAtMostAnEighth(t *testing.T) {
	t.Parallel()
	last := 0
	for n := 1; n < 1<<17; n++ {
		p := paddedLen(n)
		switch {
		case p < n || p < last:
			t.Fatalf("P(%d) = %d after %d", n, p, last)
		case p%padBlock != 0:
			t.Fatalf("P(%d) = %d is no multiple of a block", n, p)
		case paddedLen(p) != p:
			t.Fatalf("P(P(%d)) = %d, not %d", n, paddedLen(p), p)
		case n > padFine && (p-n)*8 > n:
			t.Fatalf("P(%d) = %d adds more than an eighth", n, p)
		}
		last = p
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.IntRange(1, 1<<30).Draw(t, "a")
		b := rapid.IntRange(a, 1<<30).Draw(t, "b")
		if paddedLen(a) > paddedLen(b) || paddedLen(a)%padBlock != 0 {
			t.Fatalf("P(%d) = %d, P(%d) = %d", a, paddedLen(a), b, paddedLen(b))
		}
	})
}
