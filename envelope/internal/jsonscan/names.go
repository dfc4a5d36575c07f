package jsonscan

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
)

// names finds duplicate names. The names of all objects that are open at a moment stand on one stack. A short object compares their signs as they
// come; a long one sorts them by their hashes when it ends, so that 100,000 names cost n log n. The hash is keyed by a random seed, so nobody outside
// can make names collide; equal hashes are still compared by their bytes.
type names struct {
	stack []name
	arena []byte // decoded names that had escapes
	seed  maphash.Seed
}

type name struct {
	span Span
	sign uint32
}

// sign is what names are compared by first: the length, and the first, the middle and the last byte. Names that are made to share it cost one
// comparison with each of the few others of a short object.
func sign(text []byte) uint32 {
	n := len(text)
	if n == 0 {
		return 0
	}
	return uint32(text[0]) | uint32(text[n/2])<<8 | uint32(text[n-1])<<16 | uint32(n)<<24
}

func (n *names) reset() {
	n.stack = n.stack[:0]
	clear(n.arena) // names may be personal
	n.arena = n.arena[:0]
}

// OpenObject starts an object's names; its mark goes to AddName and CloseObject.
func (s *Scanner) OpenObject() (mark int) { return len(s.names.stack) }

// Name gives the content of a name that String read, valid until Reset.
func (s *Scanner) Name(span Span) []byte {
	if span.Escaped {
		return s.decoded(s.Buf[span.Start:span.End])
	}
	return s.Buf[span.Start:span.End]
}

// AddName adds a name, of which text is the content. In a long object duplicates show in CloseObject only.
func (s *Scanner) AddName(mark int, span Span, text []byte) *Fault {
	own := sign(text)
	n := &s.names
	if others := n.stack[mark:]; len(others) <= shortObject {
		for i := range others {
			if others[i].sign == own && s.isName(others[i].span, text) {
				return Duplicate(span)
			}
		}
	}
	n.stack = append(n.stack, name{span, own})
	return nil
}

// decoded appends a name's content to the arena.
func (s *Scanner) decoded(raw []byte) []byte {
	from := len(s.names.arena)
	s.names.arena = Decode(s.names.arena, raw)
	return s.names.arena[from:len(s.names.arena):len(s.names.arena)]
}

// isName compares a name on the stack with a content.
func (s *Scanner) isName(span Span, text []byte) bool {
	raw := s.Buf[span.Start:span.End]
	if !span.Escaped {
		return bytes.Equal(raw, text)
	}
	from := len(s.names.arena)
	same := bytes.Equal(s.decoded(raw), text)
	clear(s.names.arena[from:])
	s.names.arena = s.names.arena[:from]
	return same
}

// CloseObject ends an object's names.
func (s *Scanner) CloseObject(mark int) *Fault {
	own := s.names.stack[mark:]
	s.names.stack = s.names.stack[:mark]
	if len(own) <= shortObject+1 {
		return nil
	}
	return s.duplicateOf(own)
}

// hashed is a name of a long object that ends; at is its place among them.
type hashed struct {
	hash uint64
	at   int
}

// duplicateOf finds the first name of a long object that stood there before.
func (s *Scanner) duplicateOf(names []name) *Fault {
	if s.names.seed == (maphash.Seed{}) {
		s.names.seed = maphash.MakeSeed()
	}
	own := make([]hashed, len(names))
	from := len(s.names.arena)
	for i := range names {
		own[i] = hashed{maphash.Bytes(s.names.seed, s.Name(names[i].span)), i}
		clear(s.names.arena[from:])
		s.names.arena = s.names.arena[:from]
	}
	slices.SortFunc(own, func(a, b hashed) int {
		if c := cmp.Compare(a.hash, b.hash); c != 0 {
			return c
		}
		return a.at - b.at
	})
	first := len(names)
	for i := range own {
		// Other names of the same hash are as good as never there, so that these runs are those of equal names: short, or the object is refused.
		for j := i - 1; j >= 0 && own[j].hash == own[i].hash && own[i].at < first; j-- {
			if s.isName(names[own[j].at].span, s.Name(names[own[i].at].span)) {
				first = own[i].at
			}
		}
	}
	if first == len(names) {
		return nil
	}
	return Duplicate(names[first].span)
}

// Duplicate is the fault of a name that the object has already.
func Duplicate(span Span) *Fault {
	return &Fault{Offset: span.Start - 1, Rule: RuleDuplicate, Name: span}
}

// Kept is how many names' memory the Scanner holds on to.
func (s *Scanner) Kept() int { return cap(s.names.stack) + cap(s.names.arena) }
