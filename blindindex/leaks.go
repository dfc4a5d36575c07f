package blindindex

import "math"

// BucketCount says that so many buckets, distinct stored values, have so many rows each.
type BucketCount struct {
	Rows    int64
	Buckets int64
}

// Leaks is what a stored index shows to whoever reads its column and has no key: how rows fall into buckets. It holds no value.
type Leaks struct {
	Rows       int64 // rows that have the index; of an index with several values a row, its values
	Buckets    int64 // distinct stored values
	Singletons int64 // buckets of a single row: its value is unlike any other
	Largest    int64 // rows of the largest bucket
	bits       float64
}

// MeasureLeaks sums up how an index's rows fall into buckets. Counts that are not positive are left out.
func MeasureLeaks(counts []BucketCount) Leaks {
	var l Leaks
	for _, c := range counts {
		if c.Rows <= 0 || c.Buckets <= 0 {
			continue
		}
		l.Rows += c.Rows * c.Buckets
		l.Buckets += c.Buckets
		l.Largest = max(l.Largest, c.Rows)
		if c.Rows == 1 {
			l.Singletons += c.Buckets
		}
	}
	for _, c := range counts {
		if c.Rows > 0 && c.Buckets > 0 {
			l.bits += float64(c.Rows*c.Buckets) / float64(l.Rows) * math.Log2(float64(l.Rows)/float64(c.Rows))
		}
	}
	return l
}

// LargestShare is the share of rows in the largest bucket: how often a guess of the most frequent value is right. 0 without rows.
func (l Leaks) LargestShare() float64 {
	if l.Rows == 0 {
		return 0
	}
	return float64(l.Largest) / float64(l.Rows)
}

// MinEntropy is -log2 of the largest bucket's share, in bits: the less, the more the index shows of the most frequent value. 0 without rows.
func (l Leaks) MinEntropy() float64 {
	if l.Rows == 0 {
		return 0
	}
	return math.Abs(math.Log2(l.LargestShare())) // -log2 of 1 is no negative zero
}

// Bits is the Shannon entropy of the buckets, in bits: how much a row's bucket tells of it, on average.
func (l Leaks) Bits() float64 { return l.bits }
