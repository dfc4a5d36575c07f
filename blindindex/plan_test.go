package blindindex

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"testing"
)

// keyspace is a number of bits that stands for "as many values as rows".
const keyspace = 256

// TestPlanAgreesWithCipherSweet takes the figures that CipherSweet publishes for its planner (its documentation "Blind Index Planning", and
// tests/Planner/FieldIndexPlannerTest.php at commit 07fb3a6), recomputes them from our coincidences by its rule, and says what we recommend and why
// that differs. Its rule: the fewest bits with 2 to √R coincidences, and the fewest bits with no more than 2 of them, or than the least possible.
func TestPlanAgreesWithCipherSweet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows     int64
		others   []OtherIndex
		domain   int    // bits of the values; keyspace where it is not the limit
		min, max int    // CipherSweet's
		ours     string // ours, and why not the same
	}{
		{1 << 16, nil, keyspace, 8, 15, "8-15"},
		{1 << 16, nil, 14, 8, 14, "8-13"}, // at 14 bits each of 2^14 values has a bucket of its own
		{1 << 8, nil, keyspace, 4, 7, "none"},
		{1 << 8, nil, 7, 4, 7, "none"}, // fewer than 8 bits are no index of ours
		{1 << 31, nil, keyspace, 16, 30, "16-30"},
		{1 << 31, nil, 29, 16, 29, "16-28"},
		{1 << 31, nil, 24, 16, 24, "16-23"},
		{1 << 31, nil, 8, 1, 8, "none"}, // each of 256 values has a bucket of its own from 8 bits on
		{1 << 16, []OtherIndex{{Bits: 4}, {Bits: 4}}, keyspace, 1, 7, "none"},
		{1 << 16, []OtherIndex{{Bits: 4}, {Bits: 4}}, 15, 1, 7, "none"},
		{1 << 16, []OtherIndex{{Bits: 4}, {Bits: 4}}, 8, 1, 7, "none"},
		{1 << 31, []OtherIndex{{Bits: 4}, {Bits: 4}}, keyspace, 8, 22, "16-22"}, // its wrong rows are those of a search by all indexes at once, ours by this one
		{50_000, nil, keyspace, 8, 15, "8-14"},                                  // at 15 bits it has 1.53 coincidences: fewer than 2
		{50_000, []OtherIndex{{Bits: 4}}, keyspace, 4, 11, "8-10"},
	} {
		in := PlanInput{Rows: c.rows, Distinct: c.rows, Others: c.others}
		if c.domain < keyspace {
			in.Distinct = min(c.rows, 1<<c.domain)
		}
		low, high := cipherSweet(in)
		if low != c.min || high != c.max {
			t.Errorf("%+v: by its rule %d to %d bits, published %d to %d", in, low, high, c.min, c.max)
		}
		p, err := NewPlan(in)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%d-%d", p.Min, p.Max)
		if p.Why != "" {
			got = "none"
		}
		if got != c.ours {
			t.Errorf("%+v: we recommend %s (%s), want %s", in, got, p.Why, c.ours)
		}
	}
}

// cipherSweet applies its rule to our joint bits.
func cipherSweet(in PlanInput) (low, high int) {
	coincidences := func(bits int) float64 { return float64(in.Rows) / math.Exp2(in.JointBits(bits)) }
	boundary := max(2, coincidences(257))
	for bits := 256; bits >= 1; bits-- {
		if high == 0 && coincidences(bits) > boundary {
			high = bits + 1
		}
		if c := coincidences(bits); c >= 2 && c <= math.Sqrt(float64(in.Rows)) {
			low = bits
		}
	}
	if low == 0 {
		low = 1
	}
	if high == 0 {
		high = min(256, int(math.Log2(float64(in.Distinct))))
	}
	return min(low, high), high
}

// What a plan expects is what happens: values thrown into buckets by a hash, counted.
func TestPlanExpectsWhatHappens(t *testing.T) {
	t.Parallel()
	const rows, distinct, bits = 200_000, 20_000, 10
	p, err := NewPlan(PlanInput{Rows: rows, Distinct: distinct})
	if err != nil {
		t.Fatal(err)
	}
	choice, _ := p.Choice(bits)
	random := rand.New(rand.NewPCG(1, 2))
	seed := maphash.MakeSeed()
	bucketOf := make([]int, distinct)
	rowsOf := make([]int, distinct)
	values := map[int]int{}
	for v := range bucketOf {
		bucketOf[v] = int(maphash.Comparable(seed, v) % (1 << bits))
		values[bucketOf[v]]++
	}
	inBucket := map[int]int{}
	for range rows {
		v := random.IntN(distinct)
		rowsOf[v]++
		inBucket[bucketOf[v]]++
	}
	wrong, sharing := 0.0, 0.0
	for v := range bucketOf {
		wrong += float64(inBucket[bucketOf[v]]-rowsOf[v]) / distinct
		sharing += float64(values[bucketOf[v]]) / distinct
	}
	if math.Abs(wrong/choice.FalsePositives-1) > 0.1 {
		t.Errorf("%.1f wrong rows in a search, expected %.1f", wrong, choice.FalsePositives)
	}
	if math.Abs(sharing/choice.ValuesPerBucket-1) > 0.1 {
		t.Errorf("%.2f values in a bucket, expected %.2f", sharing, choice.ValuesPerBucket)
	}
}

func TestPlanRefusesAndSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in  PlanInput
		why string
	}{
		{PlanInput{Rows: 500, Distinct: 500}, "even 8 bits, the fewest, do not hide: together the indexes of a row show 8 bits: fewer than 2 rows (2) look alike"},
		{PlanInput{Rows: 1_000_000, Distinct: 81}, "even 8 bits, the fewest, do not hide: fewer than 2 values (1.31) share a bucket: rows in one hold the same value"},
		{PlanInput{Rows: 1_000_000, Distinct: 100_000, TopShare: 0.015}, "even 8 bits, the fewest, do not hide: the most frequent value, with 1.5% of the rows, stands out as the largest bucket"},
		{PlanInput{Rows: 1_000_000, Distinct: 1_000_000, Others: []OtherIndex{{Bits: 128}}}, "even 8 bits, the fewest, do not hide: together the indexes of a row show 27.9 bits: fewer than 2 rows (0.0039) look alike"},
		{PlanInput{Rows: 1_000_000, Distinct: 1}, "even 8 bits, the fewest, do not hide: fewer than 2 values (1) share a bucket: rows in one hold the same value"},
		{PlanInput{Rows: 1 << 40, Distinct: 1 << 10}, "the lengths that hide find too many wrong rows: more than 1048576, the square root of all rows, in each search"},
	} {
		p, err := NewPlan(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if p.Why != c.why || p.Min != 0 || p.Max != 0 {
			t.Errorf("%+v: %d to %d, %q", c.in, p.Min, p.Max, p.Why)
		}
	}
}

func TestPlanRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, in := range []PlanInput{
		{}, {Rows: 1}, {Rows: -1, Distinct: 1}, {Rows: 10, Distinct: 11}, {Rows: 10, Distinct: -1}, {Rows: 10, Distinct: 2, TopShare: 0.4}, {Rows: 10, Distinct: 2, TopShare: 1.1},
		{Rows: 10, Distinct: 2, TopShare: -0.5}, {Rows: 10, Distinct: 2, TopShare: math.NaN()}, {Rows: 10, Distinct: 1, TopShare: 0.5},
		{Rows: 10, Distinct: 2, Others: []OtherIndex{{}}}, {Rows: 10, Distinct: 2, Others: []OtherIndex{{Bits: 257}}}, {Rows: 10, Distinct: 2, Others: []OtherIndex{{Bits: 8, Distinct: 11}}},
	} {
		var refused *PlanError
		if _, err := NewPlan(in); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	if _, ok := (&Plan{}).Choice(7); ok {
		t.Error("7 bits")
	}
}
