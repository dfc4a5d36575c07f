package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"testing"
)

// Every pair of neighbours, since a mark borrows from the byte below it.
func TestTheFirstMarkIsTheFirstByteThatDoesNotStandForItself(t *testing.T) {
	t.Parallel()
	for first := range 256 {
		for second := range 256 {
			for at := range 7 {
				text := []byte("aaaaaaaa")
				text[at], text[at+1] = byte(first), byte(second)
				want := 0
				for want < len(text) && plain[text[want]] {
					want++
				}
				if got := bits.TrailingZeros64(special(binary.LittleEndian.Uint64(text))) >> 3; got != want {
					t.Fatalf("%q: %d, want %d", text, got, want)
				}
			}
		}
	}
}
