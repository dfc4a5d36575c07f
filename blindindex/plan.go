package blindindex

import (
	"fmt"
	"math"
)

// PlanInput says what a blind index is planned for.
type PlanInput struct {
	// Rows is how many rows the table will have, at least 1.
	Rows int64
	// Distinct is how many different values they will hold, at least 1 and at most Rows.
	Distinct int64
	// TopShare is the share of rows that hold the most frequent value, above 0 and at most 1. Defaults to 1/Distinct: all are equally frequent.
	TopShare float64
	// Others are the other blind indexes on the same row. Defaults to none.
	Others []OtherIndex
}

// OtherIndex is another blind index on the same row.
type OtherIndex struct {
	// Bits is its length, from 1: an index of another tool may be shorter than ours can.
	Bits int
	// Distinct is how many different values it has. Defaults to one for each row.
	Distinct int64
}

// Plan says what each length of an index costs and gives away. It assumes that nobody knows the index key; whoever does can try all values.
type Plan struct {
	Input   PlanInput
	Choices []Choice // from MinBits up to MaxBits
	// Min and Max are the lengths that can be recommended, from the fewest bits that still find few wrong rows to the most that still hide;
	// 0 and 0 where none can.
	Min, Max int
	// Why says why no length can be recommended; "" where one can.
	Why string
}

// Choice is one length of an index.
type Choice struct {
	Bits int
	// FalsePositives is how many rows with another value a search finds, on average over the values; what is opened in vain.
	FalsePositives float64
	// ValuesPerBucket is how many values share the bucket of a value, itself included, on average.
	ValuesPerBucket float64
	// JointBits is what all indexes on a row show together, at most: the sum of the least of each one's length and the bits of its values.
	JointBits float64
	// Coincidences is how many rows show what a row shows in all its indexes, itself included, on average, were they independent.
	Coincidences float64
	// LargestShare is the share of rows in the bucket of the most frequent value.
	LargestShare float64
	// Hides says that the choice hides a row among others, a value among others, and the most frequent value; Reason why not.
	Hides  bool
	Reason string
}

// The least that an index must leave open to be called safe: another row that looks the same, and another value that could be behind it.
const (
	leastCoincidences    = 2
	leastValuesPerBucket = 2
)

// NewPlan computes a plan.
//
// Error: *[PlanError].
func NewPlan(in PlanInput) (*Plan, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if in.TopShare == 0 {
		in.TopShare = 1 / float64(in.Distinct)
	}
	p := &Plan{Input: in}
	for bits := MinBits; bits <= MaxBits; bits++ {
		p.Choices = append(p.Choices, in.choice(bits))
	}
	p.recommend()
	return p, nil
}

func (in PlanInput) check() error {
	switch {
	case in.Rows < 1:
		return &PlanError{"the number of rows is at least 1"}
	case in.Distinct < 1 || in.Distinct > in.Rows:
		return &PlanError{"the number of distinct values is at least 1, and at most that of the rows"}
	case in.TopShare != 0 && !(in.TopShare > 0 && in.TopShare <= 1):
		return &PlanError{"the share of the most frequent value lies above 0 and is at most 1"}
	case in.TopShare != 0 && in.TopShare*float64(in.Distinct) < 1-1e-9:
		return &PlanError{fmt.Sprintf("the most frequent of %d values cannot have a share below %.3g", in.Distinct, 1/float64(in.Distinct))}
	case in.Distinct == 1 && in.TopShare != 0 && in.TopShare != 1:
		return &PlanError{"a single value has the share 1"}
	}
	for _, other := range in.Others {
		if other.Bits < 1 || other.Bits > MaxBits {
			return &PlanError{fmt.Sprintf("the length of another index is 1 to %d bits", MaxBits)}
		}
		if other.Distinct < 0 || other.Distinct > in.Rows {
			return &PlanError{"the number of distinct values of another index is at most that of the rows"}
		}
	}
	return nil
}

// choice takes a hash for a random function: 2^bits buckets, and each value in one of them at random.
func (in PlanInput) choice(bits int) Choice {
	rows, distinct := float64(in.Rows), float64(in.Distinct)
	buckets := math.Exp2(float64(bits))
	c := Choice{
		Bits: bits,
		// Averaged over the values, a value has rows/distinct rows of its own.
		FalsePositives:  (rows - rows/distinct) / buckets,
		ValuesPerBucket: 1 + (distinct-1)/buckets,
		JointBits:       in.JointBits(bits),
		LargestShare:    in.TopShare + (1-in.TopShare)/buckets,
	}
	c.Coincidences = rows / math.Exp2(c.JointBits)
	switch {
	case c.Coincidences < leastCoincidences:
		c.Reason = fmt.Sprintf("together the indexes of a row show %.3g bits: fewer than 2 rows (%.2g) look alike", c.JointBits, c.Coincidences)
	case c.ValuesPerBucket < leastValuesPerBucket:
		c.Reason = fmt.Sprintf("fewer than 2 values (%.3g) share a bucket: rows in one hold the same value", c.ValuesPerBucket)
	case in.topStandsOut(bits):
		c.Reason = fmt.Sprintf("the most frequent value, with %.3g%% of the rows, stands out as the largest bucket", 100*in.TopShare)
	default:
		c.Hides = true
	}
	return c
}

// JointBits is what an index of that many bits, which may be fewer than [MinBits], and the others on a row show together at most.
func (in PlanInput) JointBits(bits int) float64 {
	joint := math.Min(float64(bits), math.Log2(float64(in.Distinct)))
	for _, other := range in.Others {
		distinct := other.Distinct
		if distinct == 0 {
			distinct = in.Rows
		}
		joint += math.Min(float64(other.Bits), math.Log2(float64(distinct)))
	}
	return joint
}

// topStandsOut says that the bucket of the most frequent value is larger than any other will be. Let the other values be equally frequent: the
// rows of a bucket without the top value have the standard deviation (1-P)·rows/√((distinct-1)·buckets), and the largest of 2^bits such buckets
// lies about √(2·ln 2^bits) of these above their mean, which the top value's bucket has, too.
func (in PlanInput) topStandsOut(bits int) bool {
	if in.Distinct == 1 {
		return true
	}
	deviation := (1 - in.TopShare) / math.Sqrt(float64(in.Distinct-1)*math.Exp2(float64(bits)))
	return in.TopShare > math.Sqrt(2*float64(bits)*math.Ln2)*deviation
}

// recommend finds the lengths that hide and whose searches find no more wrong rows than the square root of all rows.
func (p *Plan) recommend() {
	most := math.Sqrt(float64(p.Input.Rows))
	hides := false
	for _, c := range p.Choices {
		hides = hides || c.Hides
		if !c.Hides || c.FalsePositives > most {
			continue
		}
		if p.Min == 0 {
			p.Min = c.Bits
		}
		p.Max = c.Bits
	}
	switch {
	case p.Max > 0:
	case !hides:
		p.Why = fmt.Sprintf("even %d bits, the fewest, do not hide: %s", MinBits, p.Choices[0].Reason)
	default:
		p.Why = fmt.Sprintf("the lengths that hide find too many wrong rows: more than %.0f, the square root of all rows, in each search", most)
	}
}

// Choice gives what one length costs; false outside MinBits to MaxBits.
func (p *Plan) Choice(bits int) (Choice, bool) {
	if bits < MinBits || bits > MaxBits {
		return Choice{}, false
	}
	return p.Choices[bits-MinBits], true
}

// PlanError says that nothing can be planned for such an input.
type PlanError struct{ Reason string }

func (e *PlanError) Error() string { return "plan a blind index: " + e.Reason }
