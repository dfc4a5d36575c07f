package blindindex

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
)

// Bounds of argon2id(passes,KiB): what one value may cost whoever computes it, some seconds at most, and no less than makes it slow at all.
const (
	maxSlowPasses    = 16
	minSlowKiB       = 1 << 10
	maxSlowKiB       = 256 << 10
	maxSlowPassesKiB = 1 << 20
)

const (
	slowHashSize = 32
	slowSaltSize = 16
	slowLanes    = 1 // so that its cost is the same wherever it runs
	slowSaltText = "salt"
)

// slowHash is the step argon2id: it makes guessing dear for whoever holds the index key, and every search and write as dear. Argon2id is RFC
// 9106's. Immutable; safe for concurrent use.
type slowHash struct {
	passes, kib uint32
	// slots bound how many hashes of an index are computed at once: each needs its memory.
	slots chan struct{}
}

// newSlowHash reads PASSES,KIB, nil for what is outside the bounds.
func newSlowHash(parameter string) *slowHash {
	passes, kib, ok := strings.Cut(parameter, ",")
	if !ok {
		return nil
	}
	h := &slowHash{passes: canonicalUint(passes), kib: canonicalUint(kib), slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if h.passes < 1 || h.passes > maxSlowPasses || h.kib < minSlowKiB || h.kib > maxSlowKiB || h.passes*h.kib > maxSlowPassesKiB {
		return nil
	}
	return h
}

// canonicalUint reads a number in its one spelling; 0 for anything else.
func canonicalUint(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > math.MaxInt32 || strconv.FormatUint(n, 10) != text {
		return 0
	}
	return uint32(n)
}

func slowHashWant() string {
	return fmt.Sprintf("(PASSES,KIB): 1 to %d passes over %d to %d KiB of memory, together at most %d, such as argon2id(2,19456)", maxSlowPasses, minSlowKiB, maxSlowKiB, maxSlowPassesKiB)
}

func (h *slowHash) parameter() string { return fmt.Sprintf("%d,%d", h.passes, h.kib) }

// message computes 'a' ‖ Argon2id(message, salt).
func (h *slowHash) message(message, salt []byte) []byte {
	h.slots <- struct{}{}
	defer func() { <-h.slots }()
	return append([]byte{slowMessage}, argon2.IDKey(message, salt, h.passes, h.kib, slowLanes, slowHashSize)...)
}

// SlowHashTime measures what a step argon2id(PASSES,KIB) costs here: the fastest of three hashes, by the given clock.
//
// Errors: those of [ParseNormalizer].
func SlowHashTime(step string, now func() time.Time) (time.Duration, error) {
	n, err := ParseNormalizer([]string{step})
	if err != nil {
		return 0, err
	}
	if n.slow == nil {
		return 0, &StepParameterError{Step: step, Want: "to be argon2id" + slowHashWant()}
	}
	fastest := time.Duration(math.MaxInt64)
	for range 3 {
		start := now()
		n.slow.message([]byte{stringMessage, '1'}, make([]byte, slowSaltSize))
		fastest = min(fastest, now().Sub(start))
	}
	return fastest, nil
}
