package keyring

// Purpose is what a key is for. The two never share a key.
type Purpose string

const (
	// Seal keys derive the key of each event.
	Seal Purpose = "seal"
	// Index keys derive the key of each blind index.
	Index Purpose = "index"
)

// Purposes lists every purpose, in the order in which documents hold them.
func Purposes() []Purpose {
	return []Purpose{Seal, Index}
}

// Valid says whether p is a purpose that this package knows.
func (p Purpose) Valid() bool {
	return p == Seal || p == Index
}
