package schema_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// files makes a file system of name, text pairs.
func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func load(t *testing.T, pairs ...string) *schema.Registry {
	t.Helper()
	reg, err := schema.LoadFS(files(pairs...))
	if err != nil {
		var le *schema.LoadError
		if errors.As(err, &le) {
			for _, f := range le.Findings {
				t.Log(f)
			}
		}
		t.Fatal(err)
	}
	return reg
}

func plan(t *testing.T, reg *schema.Registry, typ string) *schema.Plan {
	t.Helper()
	e, err := reg.Event(typ, 1)
	if err != nil {
		t.Fatal(err)
	}
	return e.Plan()
}

// at steps along a path: "name", or "#3" for an item. It gives nil where a member is refused.
func at(p *schema.Plan, path ...string) *schema.State {
	s := p.Root()
	for _, step := range path {
		if s == nil {
			return nil
		}
		if i, ok := strings.CutPrefix(step, "#"); ok {
			s = s.Item(int(i[0] - '0'))
			continue
		}
		s, _ = s.Member([]byte(step))
	}
	return s
}

// fate says in a word what happens at a path: "sealed", "object" (sealed if an object), "refused", or "open".
func fate(p *schema.Plan, path ...string) string {
	s := at(p, path...)
	switch {
	case s == nil:
		return "refused"
	case s.Conflict() != nil:
		return "conflict"
	case s.Sealed():
		return "sealed"
	case s.SealedIfObject():
		return "object"
	}
	return "open"
}

func TestPlanSealsWhatIsFlagged(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{
		"type": "object",
		"properties": {
			"name": {"type": "string", "x-gdpr-sensitive": true},
			"number": {"type": "string"},
			"address": {"type": "object", "x-gdpr-sensitive": true, "properties": {"city": {"type": "string"}}},
			"lines": {"type": "array", "items": {"type": "object", "properties": {"note": {"x-gdpr-sensitive": true}, "sku": {"type": "string"}}}},
			"pair": {"prefixItems": [{"type": "string"}, {"x-gdpr-sensitive": true}]},
			"ref": {"$ref": "#/$defs/person"},
			"tree": {"$ref": "#/$defs/tree"},
			"alt": {"anyOf": [{"type": "string", "x-gdpr-sensitive": true}, {"type": "integer"}]},
			"cond": {"if": {"properties": {"kind": {"const": "p"}}}, "then": {"properties": {"secret": {"x-gdpr-sensitive": true}}}, "properties": {"kind": {"type": "string"}}},
			"map": {"patternProperties": {"^x": {"x-gdpr-sensitive": true}}, "additionalProperties": {"type": "integer"}}
		},
		"$defs": {
			"person": {"type": "object", "properties": {"mail": {"type": "string", "x-gdpr-sensitive": true}, "age": {"type": "integer"}}},
			"tree": {"type": "object", "properties": {"value": {"type": "string", "x-gdpr-sensitive": true}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
		}
	}`)
	p := plan(t, reg, "a")
	for _, c := range []struct{ path, want string }{
		{"name", "sealed"}, {"number", "open"}, {"address", "sealed"}, {"lines", "open"}, {"lines #0 note", "sealed"}, {"lines #7 note", "sealed"},
		{"lines #0 sku", "open"}, {"pair #0", "open"}, {"pair #1", "sealed"}, {"pair #2", "open"}, {"ref mail", "sealed"}, {"ref age", "open"},
		{"tree value", "sealed"}, {"tree children #0 children #5 value", "sealed"}, {"alt", "sealed"}, {"cond secret", "sealed"}, {"cond kind", "open"},
		{"map x1", "sealed"}, {"map y", "open"}, {"other", "refused"}, {"ref other", "refused"}, {"lines #0 other", "refused"},
	} {
		if got := fate(p, strings.Fields(c.path)...); got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
}
