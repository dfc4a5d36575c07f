package jsonscan

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
)

// names finds duplicate names. The names of all objects that are open at a moment stand on one stack, as offsets, so that nothing of the input is
// held on to. A short object compares names as they come: their lengths, mostly. A long one sorts them by their hashes when it ends, so that 100,000
// names cost n log n and no memory of their own. The hash is keyed by a random seed, so nobody outside can make names collide; equal hashes are still
// compared by their bytes.
type names struct {
	seed  maphash.Seed
	stack []name
	arena []byte // decoded names that had escapes
}

type name struct {
	span Span
	// from and to are where the content stands in the arena, if the span has escapes.
	from, to int
	hash     uint64 // of the content, in a long object that ends
}

func (n *names) reset() {
	n.stack = n.stack[:0]
	clear(n.arena) // names may be personal
	n.arena = n.arena[:0]
}

// OpenObject starts an object's names; its mark goes to AddName and CloseObject.
func (s *Scanner) OpenObject() (mark int) { return len(s.names.stack) }

// content gives a name's text.
func (s *Scanner) content(n *name) []byte {
	if n.span.Escaped {
		return s.names.arena[n.from:n.to:n.to]
	}
	return s.Buf[n.span.Start:n.span.End]
}

// AddName adds a name that String read, and gives its content, valid until Reset. In a long object duplicates show in CloseObject only.
func (s *Scanner) AddName(mark int, span Span) ([]byte, *Fault) {
	own := name{span: span}
	if span.Escaped {
		own.from = len(s.names.arena)
		s.names.arena = Decode(s.names.arena, s.Buf[span.Start:span.End])
		own.to = len(s.names.arena)
	}
	text := s.content(&own)
	if others := s.names.stack[mark:]; len(others) <= shortObject {
		for i := range others {
			if other := s.content(&others[i]); len(other) == len(text) && string(other) == string(text) {
				return nil, duplicate(span)
			}
		}
	}
	s.names.stack = append(s.names.stack, own)
	return text, nil
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

// duplicateOf finds the first name of a long object that stood there before.
func (s *Scanner) duplicateOf(own []name) *Fault {
	if s.names.seed == (maphash.Seed{}) {
		s.names.seed = maphash.MakeSeed()
	}
	for i := range own {
		own[i].hash = maphash.Bytes(s.names.seed, s.content(&own[i]))
	}
	slices.SortFunc(own, func(a, b name) int {
		if c := cmp.Compare(a.hash, b.hash); c != 0 {
			return c
		}
		if c := bytes.Compare(s.content(&a), s.content(&b)); c != 0 {
			return c
		}
		return cmp.Compare(a.span.Start, b.span.Start)
	})
	var fault *Fault
	for i := 1; i < len(own); i++ {
		if own[i].hash == own[i-1].hash && bytes.Equal(s.content(&own[i]), s.content(&own[i-1])) && (fault == nil || own[i].span.Start < fault.Name.Start) {
			fault = duplicate(own[i].span)
		}
	}
	return fault
}

func duplicate(span Span) *Fault {
	return &Fault{Offset: span.Start - 1, Rule: RuleDuplicate, Name: span}
}

// Kept is how many names' memory the Scanner holds on to.
func (s *Scanner) Kept() int { return cap(s.names.stack) + cap(s.names.arena) }
