package filekeyring

import (
	"fmt"

	"golang.org/x/crypto/argon2"
)

// Argon2id holds the cost parameters of RFC 9106. They stand in the file, so a
// file opens whatever the defaults become.
type Argon2id struct {
	// MemoryKiB is the memory in KiB, from 8 for each thread up to 2 GiB.
	// Defaults to 65536 (64 MiB), RFC 9106's second recommendation.
	MemoryKiB uint32
	// Threads is the number of lanes, up to 64. Defaults to 4.
	Threads uint32
	// Time is the number of passes, up to 64. Defaults to 3.
	Time uint32
}

// What a file may ask of a reader. RFC 9106's first recommendation (2 GiB, one
// pass) fits; a hostile file costs no more than that memory and a few seconds.
const (
	maxTime         = 64
	maxMemoryKiB    = 2 << 20
	maxThreads      = 64
	minThreadKiB    = 8       // RFC 9106, section 3.1
	maxTimesMemory  = 8 << 20 // passes × KiB: 8 GiB written in all
	minSaltBytes    = 16
	maxSaltBytes    = 64
	newSaltBytes    = 16
	derivedKeyBytes = 32
)

func (a Argon2id) withDefaults() Argon2id {
	if a.Time == 0 {
		a.Time = 3
	}
	if a.MemoryKiB == 0 {
		a.MemoryKiB = 64 << 10
	}
	if a.Threads == 0 {
		a.Threads = 4
	}
	return a
}

func (a Argon2id) check() error {
	switch {
	case a.Time < 1 || a.Time > maxTime:
		return &ParameterError{Name: "time", Value: uint64(a.Time), Min: 1, Max: maxTime}
	case a.Threads < 1 || a.Threads > maxThreads:
		return &ParameterError{Name: "threads", Value: uint64(a.Threads), Min: 1, Max: maxThreads}
	case a.MemoryKiB < minThreadKiB*a.Threads || a.MemoryKiB > maxMemoryKiB:
		return &ParameterError{Name: "memory_kib", Value: uint64(a.MemoryKiB), Min: uint64(minThreadKiB * a.Threads), Max: maxMemoryKiB}
	case uint64(a.Time)*uint64(a.MemoryKiB) > maxTimesMemory:
		return &ParameterError{Name: "time × memory_kib", Value: uint64(a.Time) * uint64(a.MemoryKiB), Min: 1, Max: maxTimesMemory}
	}
	return nil
}

func (a Argon2id) key(passphrase, salt []byte) []byte {
	return argon2.IDKey(passphrase, salt, a.Time, a.MemoryKiB, uint8(a.Threads), derivedKeyBytes)
}

// ParameterError: an Argon2id parameter is out of bounds.
type ParameterError struct {
	Name            string
	Value, Min, Max uint64
}

func (e *ParameterError) Error() string {
	return fmt.Sprintf("argon2id %s is %d, want %d to %d", e.Name, e.Value, e.Min, e.Max)
}
