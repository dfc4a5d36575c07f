package envelope

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// fieldError says why a pointer that a caller gave names no sealed location. The pointer is masked: it may spell names that only payloads do.
func fieldError(root *schema.State, i int, pointer string) error {
	if pointer != "" && pointer[0] != '/' {
		return &FieldError{i, "*", "is no JSON pointer: it must begin with a slash"}
	}
	var masked []byte
	st, below := root, false
	for _, part := range strings.Split(pointer, "/")[1:] {
		below = below || st != nil && st.Sealed()
		name := bytes.ReplaceAll(bytes.ReplaceAll([]byte(part), []byte("~1"), []byte("/")), []byte("~0"), []byte("~"))
		masked = append(masked, '/')
		var child *schema.State
		exact := false
		if st != nil {
			child, exact = st.Member(name)
		}
		n, err := strconv.Atoi(part)
		switch {
		case exact:
			masked = appendPointerName(masked, name)
		case err == nil && n >= 0 && strconv.Itoa(n) == part && st != nil && (child == nil || child.Clear()) && st.Item(n) != nil && st.Item(n).Described() && !st.Item(n).Clear():
			masked = strconv.AppendInt(masked, int64(n), 10) // of an item: a member's name may be anybody's number
			child = st.Item(n)
		default:
			masked = append(masked, '*')
		}
		st = child
	}
	if below {
		return &FieldError{i, string(masked), "lies below a sealed location"}
	}
	return &FieldError{i, string(masked), "is no sealed location of this event"}
}
