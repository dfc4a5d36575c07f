package envelope

import (
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Buffer is memory that a Sealer or a Resealer appends to, so that sealing many events allocates next to nothing: payloads in wire form and blind
// indexes, one event after the other. It holds no plaintext. What was sealed into it is valid until Reset; then those Sealed values are as the zero
// value, which every store refuses, rather than another event's bytes.
//
// The zero value is ready. Not safe for concurrent use, Reset beside the use of a Sealed least of all: one goroutine seals into a Buffer, writes,
// resets.
type Buffer struct {
	bytes  []byte
	keys   []keyUse
	values []storedValue
	// generation counts the resets.
	generation uint64
}

// keyUse is a key that an event needs.
type keyUse struct {
	purpose keyring.Purpose
	id      keyring.KeyID
}

// maxStoredValue is the longest stored form of a blind index: a key id and 256 bits.
const maxStoredValue = 4 + 32

// storedValue is one value of a blind index.
type storedValue struct {
	index  *schema.Index
	stored []byte
}

// NewBuffer makes a Buffer that appends to memory, behind what memory holds already. The memory is the Buffer's from then on.
func NewBuffer(memory []byte) *Buffer { return &Buffer{bytes: memory} }

// Len is how many bytes the Buffer holds.
func (b *Buffer) Len() int { return len(b.bytes) }

// Reset empties the Buffer and keeps its memory. What was sealed into it is nothing any more.
func (b *Buffer) Reset() {
	clear(b.values)
	b.bytes, b.keys, b.values = b.bytes[:0], b.keys[:0], b.values[:0]
	b.generation++
}

// bufferMark is where an event begins in a Buffer.
type bufferMark struct{ bytes, keys, values int }

func (b *Buffer) mark() bufferMark { return bufferMark{len(b.bytes), len(b.keys), len(b.values)} }

// rewind drops what came after the mark: nothing of a refused event remains.
func (b *Buffer) rewind(m bufferMark) {
	clear(b.bytes[m.bytes:])
	clear(b.values[m.values:])
	b.bytes, b.keys, b.values = b.bytes[:m.bytes], b.keys[:m.keys], b.values[:m.values]
}

func (b *Buffer) addKey(purpose keyring.Purpose, id keyring.KeyID) {
	b.keys = append(b.keys, keyUse{purpose, id})
}

// payload gives the n bytes of an event's payload, which stand first.
func (b *Buffer) payload(m bufferMark, n int) []byte { return b.bytes[m.bytes : m.bytes+n : m.bytes+n] }

// since gives an event the keys and values that came after the mark.
func (b *Buffer) since(m bufferMark) (keys []keyUse, values []storedValue) {
	return b.keys[m.keys:len(b.keys):len(b.keys)], b.values[m.values:len(b.values):len(b.values)]
}
