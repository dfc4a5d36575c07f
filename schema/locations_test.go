package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// mapLines writes a plan's map, one location a line.
func mapLines(p *schema.Plan) []string {
	var lines []string
	for _, l := range p.Locations() {
		line := l.Pointer
		for _, w := range []struct {
			is   bool
			text string
		}{
			{l.Sealed, "sealed " + l.Keyring}, {l.SealedIfObject, "object " + l.Keyring}, {l.Nested, "nested"}, {l.Undeclared != "", l.Undeclared},
			{l.SameAs != "", "as " + l.SameAs}, {len(l.Parts) > 0, "part"},
		} {
			if w.is {
				line += ", " + w.text
			}
		}
		if l.Index != nil {
			line += ", index " + l.Index.Name
		}
		if len(l.Sources) > 0 {
			line += " " + strings.Join(l.Sources, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTheMapOfAPlan(t *testing.T) {
	t.Parallel()
	const flag = `"x-gdpr-sensitive": true`
	for _, c := range []struct {
		name  string
		pairs []string
		want  []string
	}{
		{"a definition used twice is there twice", []string{"a.v1.json", "{\"properties\": {\"a\": {\"$ref\": \"#/$defs/p\"}, \"b\": {\"items\": {\"$ref\": \"#/$defs/p\"}}},\n\"$defs\": {\"p\": {\"properties\": {\"n\": {" + flag + "}}}}}"},
			[]string{", reject", "/a/n, sealed default a.v1.json:2:38", "/b/*/n, sealed default a.v1.json:2:38"}},
		{"a recursion is there once", []string{"a.v1.json", `{"properties": {"l": {"items": {"$ref": "#"}}, "n": {` + flag + `}}}`},
			[]string{", reject", "/l/*, as .", "/n, sealed default a.v1.json:1:54"}},
		{"a recursion without a flag is not there", []string{"a.v1.json", `{"properties": {"l": {"$ref": "#/$defs/l"}, "n": {` + flag + `}}, "$defs": {"l": {"properties": {"l": {"$ref": "#/$defs/l"}}}}}`},
			[]string{", reject", "/n, sealed default a.v1.json:1:51"}},
		{"a policy is said where it changes", []string{
			"a.v1.json", `{"x-gdpr-undeclared": "clear", "properties": {"p": {"properties": {"q": {"$ref": "q.json"}}}}}`,
			"q.json", "{\"properties\": {\"r\": {\"properties\": {\"s\": {\"type\": \"string\"}}}},\n\"x-gdpr-undeclared\": \"reject\"}"},
			[]string{", clear a.v1.json:1:2", "/p/q, reject q.json:2:1"}},
		{"the policy seal says which objects it seals whole", []string{"a.v1.json", `{"x-gdpr-undeclared": "seal", "x-gdpr-keyring": "k", "properties": {"any": {}, "s": {"type": "string"}, "o": {"properties": {"p": {"type": "string"}}}}}`},
			[]string{", seal a.v1.json:1:2", "/any, object k a.v1.json:1:2"}},
		{"an index inside a sealed value", []string{"a.v1.json", "{\"properties\": {\"p\": {" + flag + ", \"properties\": {\n\"t\": {\"type\": \"string\", " + flag + ",\n\"x-blind-index\": true}}}}}"},
			[]string{", reject", "/p, sealed default a.v1.json:1:23", "/p/t, nested, index t a.v1.json:2:25 a.v1.json:3:1"}},
		{"keyrings, and an overlay's own lines", []string{
			"a.v1.json", "{\"$ref\": \"b.json\",\n\"x-gdpr-overlay\": {\"b.json#/properties/m\": {" + flag + ", \"x-gdpr-keyring\": \"health\"}}}",
			"b.json", `{"properties": {"m": {"type": "string"}}}`},
			[]string{", reject", "/m, sealed health a.v1.json:2:45"}},
		{"names that are personal", []string{"a.v1.json", `{"properties": {"m": {"propertyNames": {` + flag + `}}}}`},
			[]string{", reject", "/m, sealed default a.v1.json:1:41"}},
		{"parts of a compound index", []string{"a.v1.json", `{"properties": {"a": {"type": "string", ` + flag + `}, "b": {"type": "string", ` + flag + `}}, "x-blind-indexes": {"ab": {"fields": ["/a", "/b"]}}}`},
			[]string{", reject", "/a, sealed default, part a.v1.json:1:41", "/b, sealed default, part a.v1.json:1:92"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := mapLines(plan(t, load(t, c.pairs...), "a")); !slices.Equal(got, c.want) {
				t.Errorf("map\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A schema in which each definition uses the next twice has 2^n locations. Its map has a few for each definition.
func TestTheMapOfAPlanIsBounded(t *testing.T) {
	t.Parallel()
	var defs strings.Builder
	for i := range 30 {
		fmt.Fprintf(&defs, `"d%d": {"properties": {"l": {"$ref": "#/$defs/d%d"}, "r": {"$ref": "#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	p := plan(t, load(t, "a.v1.json", `{"$ref": "#/$defs/d0", "$defs": {`+defs.String()+`"d30": {"properties": {"n": {"x-gdpr-sensitive": true}}}}}`), "a")
	lines := mapLines(p)
	if len(lines) != 32 || lines[1] != strings.Repeat("/l", 30)+"/n, sealed default a.v1.json:1:"+columnOf(t, lines[1]) || lines[31] != "/r, as /l" {
		t.Errorf("%d lines\n%s", len(lines), strings.Join(lines, "\n"))
	}
	if fields := p.Fields(); len(fields) != 61 {
		t.Errorf("%d fields", len(fields))
	}
}

func columnOf(t *testing.T, line string) string {
	t.Helper()
	return line[strings.LastIndexByte(line, ':')+1:]
}

func TestFieldsSayWhetherSomethingBelowIsSealed(t *testing.T) {
	t.Parallel()
	p := plan(t, load(t, "a.v1.json", `{"properties": {"a": {"properties": {"b": {"x-gdpr-sensitive": true}}}, "c": {"$ref": "#/$defs/c"}, "d": {"properties": {"e": {}}}},
		"$defs": {"c": {"properties": {"c": {"$ref": "#/$defs/c"}, "f": {"x-gdpr-sensitive": true}}}}}`), "a")
	var got []string
	for _, f := range p.Fields() {
		got = append(got, fmt.Sprintf("%s %v %v", f.Pointer, f.Sealed, f.SealedBelow))
	}
	want := []string{"/a false true", "/a/b true false", "/c false true", "/d false false", "/d/e false false", "/c/c false true", "/c/f true false"}
	if !slices.Equal(got, want) {
		t.Errorf("fields\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
