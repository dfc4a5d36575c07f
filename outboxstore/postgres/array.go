package postgres

import (
	"encoding/hex"
	"strings"
)

// textArray writes a list in Postgres' text form of an array.
func textArray(list []*string) string {
	size := 2
	for _, s := range list {
		if s != nil {
			size += len(*s) + len(*s)/8
		}
		size += 5
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteByte('{')
	for i, s := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		if s == nil {
			b.WriteString("NULL")
			continue
		}
		b.WriteByte('"')
		writeEscaped(&b, *s)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

func writeEscaped(b *strings.Builder, s string) {
	for {
		i := strings.IndexAny(s, `"\`)
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		b.WriteByte('\\')
		b.WriteByte(s[i])
		s = s[i+1:]
	}
}

// byteaText is a bytea in its text form.
func byteaText(value []byte) string { return `\x` + hex.EncodeToString(value) }

// pointers is a list without NULL.
func pointers(list []string) []*string {
	p := make([]*string, len(list))
	for i := range list {
		p[i] = &list[i]
	}
	return p
}

// byteas are the text forms of several values.
func byteas(values [][]byte) []*string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = byteaText(v)
	}
	return pointers(list)
}
