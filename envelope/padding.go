package envelope

import "math/bits"

const (
	padBlock = 16
	// padFine is the length up to which lengths go up in single blocks, so that short values do not tell each other apart.
	padFine = 256
)

// paddedLen is P(L) of docs/format.md 4.6: blocks up to 256 bytes, above it Padmé (Nikitin and others, PoPETs 2019), which leaks O(log log L) bits of the
// length at an overhead of at most 12%.
func paddedLen(n int) int {
	if n <= padFine {
		return (n + padBlock - 1) / padBlock * padBlock
	}
	e := bits.Len(uint(n)) - 1
	s := bits.Len(uint(e))
	m := 1<<(e-s) - 1
	return (n + m) &^ m
}
