package jsonscan

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
)

// names finds duplicate names. The names of all objects that are open at a moment stand on one stack. A short object compares hashes as names come;
// a long one sorts them when it ends, so that 100,000 names cost n log n and no memory of their own. The hash is keyed by a random seed, so nobody
// outside can make names collide; equal hashes are still compared by their bytes.
type names struct {
	seed  maphash.Seed
	stack []name
	arena []byte // decoded names that had escapes
}

type name struct {
	hash uint64
	span Span
	text []byte // the content: a part of the input or of the arena
}

func (n *names) reset() {
	if n.seed == (maphash.Seed{}) {
		n.seed = maphash.MakeSeed()
	}
	n.clear(0)
	n.arena = n.arena[:0]
}

// clear pops names and drops their references to the input.
func (n *names) clear(mark int) {
	clear(n.stack[mark:])
	n.stack = n.stack[:mark]
}

// OpenObject starts an object's names; its mark goes to AddName and CloseObject.
func (s *Scanner) OpenObject() (mark int) { return len(s.names.stack) }

// AddName adds a name that String read, and gives its content, valid until Reset. In a long object duplicates show in CloseObject only.
func (s *Scanner) AddName(mark int, span Span) ([]byte, *Fault) {
	n := &s.names
	text := s.Buf[span.Start:span.End]
	if span.Escaped {
		from := len(n.arena)
		n.arena = Decode(n.arena, text)
		text = n.arena[from:len(n.arena):len(n.arena)]
	}
	hash := maphash.Bytes(n.seed, text)
	if len(n.stack)-mark <= shortObject {
		for i := mark; i < len(n.stack); i++ {
			if n.stack[i].hash == hash && bytes.Equal(n.stack[i].text, text) {
				return nil, duplicate(span)
			}
		}
	}
	n.stack = append(n.stack, name{hash, span, text})
	return text, nil
}

// CloseObject ends an object's names.
func (s *Scanner) CloseObject(mark int) *Fault {
	own := s.names.stack[mark:]
	if len(own) <= shortObject+1 {
		s.names.clear(mark)
		return nil
	}
	slices.SortFunc(own, func(a, b name) int {
		if c := cmp.Compare(a.hash, b.hash); c != 0 {
			return c
		}
		if c := bytes.Compare(a.text, b.text); c != 0 {
			return c
		}
		return cmp.Compare(a.span.Start, b.span.Start)
	})
	var fault *Fault
	for i := 1; i < len(own); i++ {
		if own[i].hash == own[i-1].hash && bytes.Equal(own[i].text, own[i-1].text) && (fault == nil || own[i].span.Start < fault.Name.Start) {
			fault = duplicate(own[i].span)
		}
	}
	s.names.clear(mark)
	return fault
}

func duplicate(span Span) *Fault {
	return &Fault{Offset: span.Start - 1, Rule: RuleDuplicate, Name: span}
}

// Kept is how many names' memory the Scanner holds on to.
func (s *Scanner) Kept() int { return cap(s.names.stack) + cap(s.names.arena) }
