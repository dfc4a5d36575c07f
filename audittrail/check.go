package audittrail

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Kind is what Check finds.
type Kind string

// The kinds.
const (
	// Changed: an entry is not what was written.
	Changed Kind = "changed"
	// Missing: one or more entries are gone.
	Missing Kind = "missing"
	// OutOfOrder: an entry stands where it does not belong: put in, doubled, or swapped with another.
	OutOfOrder Kind = "out-of-order"
	// Unlinked: an entry does not hold the hash of the one before it: one of the two was replaced.
	Unlinked Kind = "unlinked"
	// Cut: no entry has the hash that was noted as the head. Entries at the end are gone, or the chain was written anew.
	Cut Kind = "cut"
)

// Finding is the first place where a trail is not whole.
type Finding struct {
	Kind Kind
	// Seq is the entry that is wrong, as far as can be told; 0 for Cut.
	Seq uint64
	// Detail says it in words.
	Detail string
}

// String is the finding in words.
func (f Finding) String() string {
	if f.Seq == 0 {
		return fmt.Sprintf("%s: %s", f.Kind, f.Detail)
	}
	return fmt.Sprintf("%s at entry %d: %s", f.Kind, f.Seq, f.Detail)
}

// CheckOptions of Check.
type CheckOptions struct {
	// Head is the hash of an entry that was the newest one once, noted elsewhere. Defaults to none: a tail that was cut off is not found then.
	Head Hash
}

// Report is what Check says.
type Report struct {
	// Entries is the number of whole entries from the first on.
	Entries uint64
	// Head is the hash of the last of them.
	Head Hash
	// Finding is nil if the trail is whole. What comes after it was not looked at.
	Finding *Finding
	// Torn says that the last line of a file has no end: a process was killed while it wrote it. The next entry repairs it.
	Torn bool
	// Unfinished are the entries that begin an operation whose outcome is not there: it goes on, or its process was killed. At most a thousand; UnfinishedCount is
	// the number of all.
	Unfinished      []uint64
	UnfinishedCount int
}

const maxUnfinished = 1000

// Check reads a whole trail, in memory that does not grow with it but for operations without an outcome, of which it knows the first 100,000. An error means that
// it could not be read.
func Check(ctx context.Context, log Log, opts CheckOptions) (Report, error) {
	c := checker{open: map[uint64]bool{}, head: opts.Head}
	for l, err := range log.Lines(ctx) {
		if err != nil {
			return c.report, err
		}
		if l.Torn {
			// A whole entry but for its end counts: the next writer ends it.
			if _, err := Parse(l.Text); err != nil {
				c.report.Torn = true
				continue
			}
		}
		if c.report.Finding = c.line(l); c.report.Finding != nil {
			break
		}
	}
	if c.report.Finding == nil && opts.Head != (Hash{}) && !c.sawHead {
		c.report.Finding = &Finding{Kind: Cut, Detail: "no entry has the hash " + opts.Head.String() + ": entries at the end are gone, or the chain was written anew"}
	}
	c.report.Entries, c.report.Head = c.last.Seq, c.last.Hash
	for seq := range c.open {
		c.report.Unfinished = append(c.report.Unfinished, seq)
	}
	slices.Sort(c.report.Unfinished)
	c.report.UnfinishedCount = len(c.report.Unfinished)
	c.report.Unfinished = c.report.Unfinished[:min(len(c.report.Unfinished), maxUnfinished)]
	return c.report, nil
}

type checker struct {
	report  Report
	last    Entry
	open    map[uint64]bool
	head    Hash
	sawHead bool
}

const maxOpen = 100_000

func (c *checker) line(l Line) *Finding {
	next := c.last.Seq + 1
	if l.Table {
		switch {
		case l.Seq < 1:
			return &Finding{OutOfOrder, next, fmt.Sprintf("a row has the number %d", l.Seq)}
		case uint64(l.Seq) > next:
			return missing(next, uint64(l.Seq))
		}
	}
	e, err := Parse(l.Text)
	if err != nil {
		return &Finding{Changed, next, err.Error()}
	}
	if l.Table && (uint64(l.Seq) != e.Seq || string(l.Hash) != string(e.Hash[:])) {
		return &Finding{Changed, next, "its row's number or hash is not its own"}
	}
	switch {
	case e.Seq > next:
		return missing(next, e.Seq)
	case e.Seq < next:
		return &Finding{OutOfOrder, e.Seq, fmt.Sprintf("it stands after entry %d", c.last.Seq)}
	case e.Previous != c.last.Hash:
		return &Finding{Unlinked, e.Seq, "it does not hold the hash of the entry before it: one of the two was replaced"}
	}
	c.last = e
	if e.Hash == c.head {
		c.sawHead = true
	}
	if e.Result == Begun && len(c.open) < maxOpen {
		c.open[e.Seq] = true
	}
	delete(c.open, e.Of)
	return nil
}

func missing(next, found uint64) *Finding {
	if found == next+1 {
		return &Finding{Missing, next, "it is gone"}
	}
	return &Finding{Missing, next, fmt.Sprintf("it and those up to %d are gone", found-1)}
}

// Entries reads the entries of a trail up to the first that is none, which ends it as a *BrokenError. It proves each entry, and not the chain: see Check.
func Entries(ctx context.Context, log Log) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for l, err := range log.Lines(ctx) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			e, err := Parse(l.Text)
			if err != nil && l.Torn {
				return
			}
			if err != nil {
				yield(Entry{}, &BrokenError{Log: log.String(), Err: err})
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
