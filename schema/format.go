package schema

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// formats are the checks that replace the validator's own.
func formats() map[string]func(any) bool {
	return map[string]func(any) bool{"uri-template": isURITemplate}
}

func knownFormat(name string) bool { return slices.Contains(knownFormats(), name) }

// knownFormats lists the formats that are checked, in every draft alike.
func knownFormats() []string {
	names := slices.Collect(maps.Keys(jsonschema.Formats))
	for name := range formats() {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// formatHint says what to do about a format that is not known.
func formatHint(name string) string {
	const listed = " (docs/vocabulary.md lists the formats that are checked)"
	nearest, best := "", 3
	for _, known := range knownFormats() {
		if d := damerauLevenshtein(strings.ToLower(name), known); d < best {
			nearest, best = known, d
		}
	}
	if nearest != "" {
		return "did you mean " + nearest + listed + "?"
	}
	return "correct it, remove it, or use pattern" + listed
}

// isURITemplate checks the grammar of RFC 6570. The validator's own check refuses an expression with an operator, such as {/owner}.
func isURITemplate(v any) bool {
	s, ok := v.(string)
	if !ok {
		return true
	}
	var literal strings.Builder
	for s != "" {
		open := strings.IndexAny(s, "{}")
		if open < 0 {
			literal.WriteString(s)
			break
		}
		if s[open] == '}' {
			return false
		}
		literal.WriteString(s[:open])
		literal.WriteByte('x') // stands for the expansion
		end := strings.IndexByte(s, '}')
		if end < open || !isTemplateExpression(s[open+1:end]) {
			return false
		}
		s = s[end+1:]
	}
	for _, r := range literal.String() {
		if r <= ' ' || strings.ContainsRune(`"<>\^`+"`|", r) || r == 0x7f {
			return false
		}
	}
	_, err := url.Parse(literal.String())
	return err == nil
}

// isTemplateExpression checks what stands between braces: an operator, then variables with modifiers, separated by commas.
func isTemplateExpression(e string) bool {
	if e != "" && strings.IndexByte("+#./;?&", e[0]) >= 0 {
		e = e[1:]
	}
	if e == "" {
		return false
	}
	for _, spec := range strings.Split(e, ",") {
		name, prefix, hasPrefix := strings.Cut(spec, ":")
		if hasPrefix && !isPrefixLength(prefix) {
			return false
		}
		if !hasPrefix {
			name = strings.TrimSuffix(name, "*")
		}
		if !isVariableName(name) {
			return false
		}
	}
	return true
}

// isPrefixLength checks max-length of RFC 6570: 1 to 9999, without a leading zero.
func isPrefixLength(s string) bool {
	if len(s) < 1 || len(s) > 4 || s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// isVariableName checks varname of RFC 6570: letters, digits, _ and %XX, in parts separated by dots.
func isVariableName(s string) bool {
	for _, part := range strings.Split(s, ".") {
		if part == "" {
			return false
		}
		for i := 0; i < len(part); i++ {
			c := part[i]
			switch {
			case c == '_', c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			case c == '%' && i+2 < len(part) && isHex(part[i+1]) && isHex(part[i+2]):
				i += 2
			default:
				return false
			}
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
