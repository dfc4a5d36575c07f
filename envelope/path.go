package envelope

import (
	"strconv"

	"github.com/fieldcrypt/fieldcrypt/envelope/internal/jsonscan"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// This file knows where a walk is: exactly, for what tokens are bound to, and masked, for people.

// frame is one step of the path to the value at hand.
type frame struct {
	name  jsonscan.Span // of the member's name
	index int           // of the item; -1: a member
	node  int32         // of this frame in nodes, once a site needed it; else noNode
}

// node is a frame that outlives the walk's way past it. Sites share the nodes of their common path, so that a long name above many sites is kept once.
type node struct {
	parent int32
	frame  frame
	// length of the path's pointer, escapes apart.
	length int
}

const noNode int32 = -1

// keepPath makes nodes of the frames at hand, and gives the last one's.
func (w *walk) keepPath() int32 {
	at := len(w.path)
	for at > 0 && w.path[at-1].node == noNode {
		at--
	}
	parent, length := noNode, 0
	if at > 0 {
		parent = w.path[at-1].node
		length = w.nodes[parent].length
	}
	for ; at < len(w.path); at++ {
		f := &w.path[at]
		length += 1 + f.name.End - f.name.Start
		own := int32(len(w.nodes))
		w.nodes = append(w.nodes, node{})
		// Field by field: the frame was just written, and a copy of it as a whole would wait for that (measured: 10 ns).
		n := &w.nodes[own]
		n.parent, n.length = parent, length
		n.frame.name.Start, n.frame.name.End, n.frame.name.Escaped = f.name.Start, f.name.End, f.name.Escaped
		n.frame.index, n.frame.node = f.index, noNode
		f.node, parent = own, own
	}
	return parent
}

// appendPointer appends the exact RFC 6901 pointer of a kept path.
func (w *walk) appendPointer(dst []byte, path int32) []byte {
	if path == noNode {
		return dst
	}
	n := &w.nodes[path]
	dst = w.appendPointer(dst, n.parent)
	dst = append(dst, '/')
	if n.frame.index >= 0 {
		return strconv.AppendInt(dst, int64(n.frame.index), 10)
	}
	return appendPointerName(dst, w.text(n.frame.name))
}

func appendPointerName(dst, name []byte) []byte {
	whole := 0
	for whole < len(name) && name[whole] != '~' && name[whole] != '/' {
		whole++
	}
	dst = append(dst, name[:whole]...)
	for _, c := range name[whole:] {
		switch c {
		case '~':
			dst = append(dst, "~0"...)
		case '/':
			dst = append(dst, "~1"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// maskedNode is what may be printed of a node, and the state there.
type maskedNode struct {
	part  string // "" until it was asked for
	state *schema.State
}

// mask gives the last part of a kept path: a name that the schema spells out, an index, or "*". Each node is masked once: many places below a
// long name, and patterns to match it with, do not cost their product.
func (w *walk) mask(path int32) maskedNode {
	if path == noNode {
		return maskedNode{state: w.root}
	}
	for len(w.masked) < len(w.nodes) {
		w.masked = append(w.masked, maskedNode{})
	}
	if w.masked[path].part != "" {
		return w.masked[path]
	}
	n := w.nodes[path]
	m := maskedNode{part: "/*", state: w.mask(n.parent).state}
	if n.frame.index >= 0 {
		m.part = "/" + strconv.Itoa(n.frame.index)
		if m.state != nil {
			m.state = m.state.Item(n.frame.index)
		}
	} else if m.state != nil {
		name, exact := w.Text(n.frame.name, nil), false
		if m.state, exact = m.state.Member(name); exact {
			m.part = "/" + string(appendPointerName(nil, name))
		}
	}
	w.masked[path] = m
	return m
}

func (w *walk) appendMasked(dst []byte, path int32) []byte {
	if path == noNode {
		return dst
	}
	part := w.mask(path).part
	return append(w.appendMasked(dst, w.nodes[path].parent), part...)
}

// placeOf is the place of a kept path.
func (w *walk) placeOf(path int32, offset int) Place {
	return Place{string(w.appendMasked(nil, path)), offset}
}

// placeAt is the place of the path at hand.
func (w *walk) placeAt(offset int) Place { return w.placeOf(w.keepPath(), offset) }
