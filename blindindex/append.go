package blindindex

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// This file computes what most fields hold, plain ASCII strings and integers, into the caller's memory: it gives what Messages and Value give.

// AppendMessage appends the message of a JSON value's text to dst, if the value is a string of ASCII without escapes or an integer without
// fraction and exponent, and the index's steps can be taken on ASCII in place. done is false for every other value, and dst as it was: ask
// [Index.Messages], which also says what is wrong. out is dst where the value has no index. jsonText must be one strict JSON value, and not
// overlap dst.
func (ix *Index) AppendMessage(dst, jsonText []byte) (out []byte, done bool) {
	if len(jsonText) == 0 || ix.parts != nil {
		return dst, false
	}
	switch first := jsonText[0]; {
	case first == '"':
		return ix.appendString(dst, jsonText)
	case first == '-' || '0' <= first && first <= '9':
		return appendInteger(dst, jsonText)
	}
	return dst, false
}

func (ix *Index) appendString(dst, text []byte) (out []byte, done bool) {
	if len(text) < 2 || text[len(text)-1] != '"' {
		return dst, false
	}
	content := text[1 : len(text)-1]
	strange := uint8(0)
	for _, c := range content {
		strange |= notPlain[c]
	}
	if strange != 0 {
		return dst, false
	}
	from := len(dst) + 1
	out = append(append(dst, stringMessage), content...)
	normalized, ok := ix.normalizer.ascii(out[from:])
	if !ok {
		clear(out[from:]) // it may be beyond what the caller clears
		return dst, false
	}
	end := from + len(content)
	if len(normalized) == 0 {
		clear(out[from:end])
		return dst, true
	}
	out = append(out[:from], normalized...)
	clear(out[len(out):end]) // so that nothing is left beyond what the caller knows of
	return out, true
}

// notPlain marks the bytes that do not stand for themselves in a JSON string, or are not ASCII.
var notPlain = func() (t [256]uint8) {
	for c := range t {
		if c < ' ' || c >= 0x80 || c == '\\' || c == '"' {
			t[c] = 1
		}
	}
	return t
}()

// ascii applies the steps to a text of ASCII without control characters, in place; ok is false for a step that has no such form. On ASCII no
// step depends on the Unicode version.
func (n *Normalizer) ascii(text []byte) (normalized []byte, ok bool) {
	for _, s := range n.steps {
		switch s.name {
		case "trim":
			text = bytes.Trim(text, " ")
		case "email": // both sides of the @ alike
			text = bytes.Trim(text, " ")
			for i, c := range text {
				if 'A' <= c && c <= 'Z' {
					text[i] = c | 0x20
				}
			}
		case "alnum":
			kept := text[:0]
			for _, c := range text {
				if '0' <= c && c <= '9' || 'A' <= c&^0x20 && c&^0x20 <= 'Z' {
					kept = append(kept, c)
				}
			}
			text = kept
		case "last4":
			if len(text) < 4 {
				return nil, true
			}
			text = text[len(text)-4:]
		case "nfkc":
		case "casefold", "casefold-tr":
			turkish := s.name == "casefold-tr"
			for i, c := range text {
				if c-'A' > 'Z'-'A' {
					continue
				}
				if turkish && c == 'I' {
					return nil, false // it becomes the dotless i, which is not ASCII
				}
				text[i] = c | 0x20
			}
		case "digits":
			kept := text[:0]
			for _, c := range text {
				if '0' <= c && c <= '9' {
					kept = append(kept, c)
				}
			}
			text = kept
		default:
			return nil, false
		}
	}
	return text, true
}

func appendInteger(dst, text []byte) (out []byte, done bool) {
	digits := text
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > maxNumberDigits || digits[0] == '0' && len(text) > 1 {
		return dst, false // -0 too
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return dst, false
		}
	}
	return append(append(dst, integerMessage), text...), true
}

// AppendValue appends the stored form of one message under an index key, as [Index.Value] gives it, to dst. dst and message must not overlap.
func (ix *Index) AppendValue(dst []byte, key *keyring.Key, message []byte) ([]byte, error) {
	if err := ix.checkKey(key); err != nil {
		return dst, err
	}
	if !ix.validMessage(message) {
		return dst, &MessageError{Index: ix.name}
	}
	message, err := ix.slowed(key, message)
	if err != nil {
		return dst, err
	}
	from := len(dst)
	out, err := key.AppendMAC(binary.BigEndian.AppendUint32(dst, uint32(key.ID())), ix.info, message)
	if err != nil {
		return dst, fmt.Errorf("blind index %q: derive the index key from key %s: %w", ix.name, key.ID(), err)
	}
	return out[:from+len(truncate(out[from:], ix.bits))], nil
}
