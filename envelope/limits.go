package envelope

import (
	"io"
	"strconv"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope/internal/jsonscan"
)

// Limits bound what a payload may be (docs/format.md 3). Producers and consumers of one stream should agree on them: what a Sealer accepts, an Opener with
// smaller limits refuses.
type Limits struct {
	// MaxDepth is how deep arrays and objects may nest, a token's content counted with its surroundings; at most 10,000. Defaults to 200.
	MaxDepth int
	// MaxDigits of a number, its exponent apart. Defaults to 1,000.
	MaxDigits int
	// MaxExponent of a number, in either direction. Defaults to 1,000.
	MaxExponent int
	// MaxPlaintext is the size of a plaintext payload in bytes. Defaults to 1 MiB.
	MaxPlaintext int
	// MaxSealed is how many flagged values an event may hold. Defaults to 10,000.
	MaxSealed int
	// MaxWire is the size of a payload in wire form in bytes, and of the pointers of all its flagged values together. Defaults to 8 MiB.
	MaxWire int
}

const (
	defaultMaxDepth     = 200
	defaultMaxDigits    = 1000
	defaultMaxExponent  = 1000
	defaultMaxPlaintext = 1 << 20
	defaultMaxSealed    = 10_000
	defaultMaxWire      = 8 << 20

	ceilingDepth    = 10_000      // the walk is recursive, and so is what validates
	ceilingExponent = 999_999_999 // what the scanner compares exactly
)

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.MaxDepth, defaultMaxDepth},
		{&l.MaxDigits, defaultMaxDigits},
		{&l.MaxExponent, defaultMaxExponent},
		{&l.MaxPlaintext, defaultMaxPlaintext},
		{&l.MaxSealed, defaultMaxSealed},
		{&l.MaxWire, defaultMaxWire},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}

// check refuses limits that could not be kept.
func (l Limits) check() error {
	for _, f := range []struct {
		name         string
		value, limit int
	}{
		{"MaxDepth", l.MaxDepth, ceilingDepth},
		{"MaxDigits", l.MaxDigits, 0},
		{"MaxExponent", l.MaxExponent, ceilingExponent},
		{"MaxPlaintext", l.MaxPlaintext, 0},
		{"MaxSealed", l.MaxSealed, 0},
		{"MaxWire", l.MaxWire, 0},
	} {
		if f.value < 0 {
			return &OptionError{"Limits." + f.name, "is negative"}
		}
		if f.limit > 0 && f.value > f.limit {
			return &OptionError{"Limits." + f.name, "is above " + strconv.Itoa(f.limit)}
		}
	}
	return nil
}

func (l Limits) numbers() jsonscan.Limits {
	return jsonscan.Limits{Digits: l.MaxDigits, Exponent: l.MaxExponent}
}

// Options for Sealer, Opener and Resealer.
type Options struct {
	// Limits of payloads. Defaults to those of docs/format.md 3.
	Limits Limits
	// Now dates an event without OccurredAt. Defaults to time.Now.
	Now func() time.Time
	// Random gives the nonces, 12 bytes for each value in one read for each event. For published vectors only: a nonce that comes twice under
	// one event's key gives both plaintexts away. Defaults to crypto/rand.
	Random io.Reader
	// SkipValidation seals payloads without holding them against their schema, for a producer that has validated the same bytes already. Everything
	// else is checked as ever: strict JSON, limits, undeclared members, what each flagged location holds. Consumers may then meet events that their
	// schemas do not allow. Defaults to false: validated.
	SkipValidation bool
}
