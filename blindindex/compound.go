package blindindex

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// minParts is how many parts a compound index has at least. Its number is written as a uint16.
const minParts = 2

// NewCompound makes an index over several values of an event together, such as a name and a birth date; parts are the steps of each, in order.
//
// Errors: as [New], and *[PartsError] for fewer than two parts.
func NewCompound(name string, parts [][]string, bits int) (*Index, error) {
	if len(parts) < minParts || len(parts) > math.MaxUint16 {
		return nil, &PartsError{Index: name, Want: minParts, Got: len(parts)}
	}
	ix := Index{name: name, bits: bits}
	ids := make([]string, len(parts))
	for i, steps := range parts {
		normalizer, err := ParseNormalizer(steps)
		if err != nil {
			return nil, fmt.Errorf("blind index %q, part %d: %w", name, i+1, err)
		}
		ix.parts = append(ix.parts, normalizer)
		ix.slow = ix.slow || normalizer.slow != nil
		ids[i] = normalizer.ID()
	}
	return newIndex(ix, strings.Join(ids, ","))
}

// Parts is the number of a compound index's parts, 0 for a simple one.
func (ix *Index) Parts() int { return len(ix.parts) }

// NormalizerID is the normaliser id that index keys are derived with; of a compound index the parts' ids joined by ",".
func (ix *Index) NormalizerID() string {
	if ix.parts == nil {
		return ix.normalizer.ID()
	}
	ids := make([]string, len(ix.parts))
	for i, part := range ix.parts {
		ids[i] = part.ID()
	}
	return strings.Join(ids, ",")
}

// PartMessage gives the message of a value as one part of a compound index, from 0; nil where it has none. See [Index.Messages] for its errors;
// an array is none.
func (ix *Index) PartMessage(part int, jsonText []byte) ([]byte, error) {
	if part < 0 || part >= len(ix.parts) {
		return nil, &PartsError{Index: ix.name, Want: len(ix.parts), Got: part + 1}
	}
	return ix.message(ix.parts[part], trimSpace(jsonText), notAnItem)
}

// Join gives the message of a compound index, one for each part in order; nil if a part has none.
//
// Errors: *[PartsError], *[MessageError] for what is no part's message.
func (ix *Index) Join(messages [][]byte) ([]byte, error) {
	if ix.parts == nil || len(messages) != len(ix.parts) {
		return nil, &PartsError{Index: ix.name, Want: len(ix.parts), Got: len(messages)}
	}
	for _, message := range messages {
		if message == nil {
			return nil, nil
		}
		if !validPart(message) {
			return nil, &MessageError{Index: ix.name}
		}
	}
	return join(messages), nil
}

// join writes
//
//	'c' ‖ uint16(n) ‖ LP(message 1) ‖ … ‖ LP(message n)
func join(messages [][]byte) []byte {
	joined := binary.BigEndian.AppendUint16([]byte{compoundMessage}, uint16(len(messages)))
	for _, message := range messages {
		joined = binary.BigEndian.AppendUint32(joined, uint32(len(message)))
		joined = append(joined, message...)
	}
	return joined
}

// split takes a compound's message apart; ok is false for bytes that Join does not give.
func (ix *Index) split(message []byte) (parts [][]byte, ok bool) {
	const head = 3
	if len(message) < head || message[0] != compoundMessage || int(binary.BigEndian.Uint16(message[1:])) != len(ix.parts) {
		return nil, false
	}
	rest := message[head:]
	for range ix.parts {
		if len(rest) < 4 {
			return nil, false
		}
		size := binary.BigEndian.Uint32(rest)
		rest = rest[4:]
		if uint64(len(rest)) < uint64(size) || !validPart(rest[:size]) {
			return nil, false
		}
		parts, rest = append(parts, rest[:size]), rest[size:]
	}
	return parts, len(rest) == 0
}

func (ix *Index) compoundMessages(text []byte) ([][]byte, error) {
	var parts [][]byte
	count := 0
	err := ix.eachItem(text, func(item int, value []byte) error {
		if count++; item >= len(ix.parts) {
			return nil // counted on, for the error
		}
		message, err := ix.message(ix.parts[item], value, item)
		parts = append(parts, message)
		return err
	})
	if err != nil {
		return nil, err
	}
	if count != len(ix.parts) {
		return nil, &PartsError{Index: ix.name, Want: len(ix.parts), Got: count}
	}
	message, err := ix.Join(parts)
	if err != nil || message == nil {
		return nil, err
	}
	return [][]byte{message}, nil
}

// slowed gives what is hashed in the place of a message: where a normaliser ends in argon2id, its slow hash. The salt is the index's own under
// that key, HMAC-SHA256(IK, "salt") cut to 16 bytes.
func (ix *Index) slowed(key *keyring.Key, message []byte) ([]byte, error) {
	if !ix.slow {
		return message, nil
	}
	salt, err := key.AppendMAC(nil, ix.info, []byte(slowSaltText))
	if err != nil {
		return nil, fmt.Errorf("blind index %q: derive the index key from key %s: %w", ix.name, key.ID(), err)
	}
	salt = salt[:slowSaltSize]
	if ix.parts == nil {
		return ix.normalizer.slow.message(message, salt), nil
	}
	parts, ok := ix.split(message)
	if !ok {
		return nil, &MessageError{Index: ix.name}
	}
	for i, part := range ix.parts {
		if part.slow != nil {
			parts[i] = part.slow.message(parts[i], salt)
		}
	}
	return join(parts), nil
}

// PartsError says that a compound index was given another number of values than it has parts, or a simple one several. It holds none of them.
type PartsError struct {
	Index string
	Want  int // the parts of the index; 0 for a simple one
	Got   int
}

func (e *PartsError) Error() string {
	if e.Want == 0 {
		return fmt.Sprintf("blind index %q: %d values were given to an index of one value; it is no compound index", e.Index, e.Got)
	}
	return fmt.Sprintf("blind index %q: %d values were given to a compound index of %d; give one for each part, in the order of its fields", e.Index, e.Got, e.Want)
}
