package blindindex

import "bytes"

// The limits of a number's text are the format's for payloads. They also bound what an integer expands to: 2,000 digits.
const (
	maxNumberDigits = 1000
	maxExponent     = 1000
)

// The names of the limits, as NumberLimitError gives them.
const (
	digitsLimit   = "digits"
	exponentLimit = "exponent"
)

// number is the text of a JSON number, taken apart.
type number struct {
	negative         bool
	whole, fraction  []byte // the digits on either side of the point
	exponent         int    // bounded by exponentOverflow
	exponentTooLarge bool
}

// scanNumber reads a whole text as a number of RFC 8259.
func scanNumber(text []byte) (n number, ok bool) {
	if len(text) > 0 && text[0] == '-' {
		n.negative = true
		text = text[1:]
	}
	n.whole, text = scanDigits(text)
	if len(n.whole) == 0 || (n.whole[0] == '0' && len(n.whole) > 1) {
		return n, false
	}
	if len(text) > 0 && text[0] == '.' {
		n.fraction, text = scanDigits(text[1:])
		if len(n.fraction) == 0 {
			return n, false
		}
	}
	if len(text) == 0 {
		return n, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return n, false
	}
	return n, n.scanExponent(text[1:])
}

func (n *number) scanExponent(text []byte) bool {
	negative := false
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		negative = text[0] == '-'
		text = text[1:]
	}
	digits, rest := scanDigits(text)
	if len(digits) == 0 || len(rest) > 0 {
		return false
	}
	for _, d := range digits {
		n.exponent = n.exponent*10 + int(d-'0')
		if n.exponent > maxExponent {
			n.exponentTooLarge = true
			n.exponent = maxExponent + 1 // so that no number of digits overflows it
		}
	}
	if negative {
		n.exponent = -n.exponent
	}
	return true
}

func scanDigits(text []byte) (digits, rest []byte) {
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

// exceeds names the limit that the number breaks, "" if none.
func (n number) exceeds() (limit string, most int) {
	if len(n.whole)+len(n.fraction) > maxNumberDigits {
		return digitsLimit, maxNumberDigits
	}
	if n.exponentTooLarge {
		return exponentLimit, maxExponent
	}
	return "", 0
}

// integer writes the number's value with all its digits, a minus sign where it is negative, no leading zeros, and zero as "0"; ok is false
// where the value has a fraction. It must not exceed the limits.
func (n number) integer() (text []byte, ok bool) {
	digits := bytes.Join([][]byte{n.whole, n.fraction}, nil)
	scale := n.exponent - len(n.fraction) // the value is digits × 10^scale
	digits = bytes.TrimLeft(digits, "0")
	if len(digits) == 0 {
		return []byte("0"), true
	}
	if scale < 0 {
		significant := bytes.TrimRight(digits, "0")
		if len(digits)-len(significant) < -scale {
			return nil, false
		}
		digits = digits[:len(digits)+scale]
	} else {
		digits = append(digits, bytes.Repeat([]byte("0"), scale)...)
	}
	if n.negative {
		digits = append([]byte("-"), digits...)
	}
	return digits, true
}

// parseInteger reads a text that is a JSON number with an integral value, within the limits.
func parseInteger(text []byte) (digits []byte, ok bool) {
	n, ok := scanNumber(text)
	if !ok {
		return nil, false
	}
	if limit, _ := n.exceeds(); limit != "" {
		return nil, false
	}
	return n.integer()
}
