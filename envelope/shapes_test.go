package envelope_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The shapes of JSON Schema in which a flag can stand, one row each, over every draft that has the shape. A row's payload is sealed, and exactly
// its tokens stand in the wire form, with every byte around them the producer's; then it opens to the same bytes. A row that gives load or
// refused instead says which rule refuses the schema, or the event.
//
// In the schemas FLAG stands for "x-gdpr-sensitive": true, and #/$defs for #/definitions in the drafts that call it so.

// shape is one row.
type shape struct {
	name    string
	drafts  string   // "4 6 7 2019 2020"; empty: all of them
	schema  string   // of the event
	files   []string // more files: name, text, …
	payload string
	tokens  string // JSON pointers of the tokens, separated by spaces; "." is the payload itself
	clear   bool   // nothing is sealed
	load    string // the rule that refuses the schema
	refused string // why the event is refused: "invalid", or the kind of a LocationError
}

const allDrafts = "4 6 7 2019 2020"

func metaschemaOf(draft string) string {
	switch draft {
	case "2019", "2020":
		return "https://json-schema.org/draft/" + map[string]string{"2019": "2019-09", "2020": "2020-12"}[draft] + "/schema"
	}
	return "http://json-schema.org/draft-0" + draft + "/schema#"
}

// inDraft writes a row's schema text for a draft.
func inDraft(text, draft string) string {
	text = strings.ReplaceAll(text, "FLAG", `"x-gdpr-sensitive": true`)
	if draft <= "7" && len(draft) == 1 {
		text = strings.ReplaceAll(text, `$defs`, "definitions")
	}
	if draft == "4" {
		text = strings.ReplaceAll(text, `"$id"`, `"id"`)
	}
	if !strings.HasPrefix(text, "{") || strings.Contains(text, `"$schema"`) {
		return text
	}
	return fmt.Sprintf(`{"$schema": %q, `, metaschemaOf(draft)) + strings.TrimPrefix(text, "{")
}

// shapes are the rows.
func shapes() []shape {
	// Of the payload {"v": …} with one flagged member and a clear one beside it.
	value := func(name, schemaOfV, v string) shape {
		return shape{name: name, schema: `{"properties": {"v": {` + schemaOfV + `}, "w": {}}}`, payload: ` { "w":"clear" , "v": ` + v + "\n}", tokens: "/v"}
	}
	// Of a schema that is refused because of what stands in one member's schema.
	refusedAt := func(name, schemaOfV, rule string) shape {
		return shape{name: name, schema: `{"properties": {"v": {` + schemaOfV + `}}}`, load: rule}
	}
	in := func(drafts string, s shape) shape {
		s.drafts = drafts
		return s
	}
	const since2019, since6, since7, until7 = "2019 2020", "6 7 2019 2020", "7 2019 2020", "4 6 7"
	list := []shape{
		// The types of a flagged value.
		value("a string", `"type": "string", FLAG`, `"Ada"`),
		value("an integer", `"type": "integer", FLAG`, `1984`),
		value("a number as it is spelled", `"type": "number", FLAG`, `1.50e+01`),
		value("a boolean", `"type": "boolean", FLAG`, `false`),
		value("null", `"type": "null", FLAG`, `null`),
		value("an object", `"type": "object", FLAG`, `{"name": "Ada", "x": [ 1 ]}`),
		value("an object whose members are declared", `"type": "object", "properties": {"a": {"type": "string"}}, FLAG`, `{"a":"b"}`),
		value("an array", `"type": "array", "items": {"type": "string"}, FLAG`, `["a", "b"]`),
		value("no type", `FLAG`, `"Ada"`),
		value("no type and an object", `FLAG`, `{}`),
		value("string or null, a string", `"type": ["string", "null"], FLAG`, `"Ada"`),
		value("string or null, null", `"type": ["string", "null"], FLAG`, `null`),
		value("an enum", `"enum": ["a", "bb", null], FLAG`, `"bb"`),
		in(since6, value("a const", `"const": "a", FLAG`, `"a"`)),
		value("an empty string", `"type": "string", FLAG`, `""`),
		value("escapes and other alphabets", `"type": "string", FLAG`, `"\u0041\/\\ İğüş \ud83d\ude00"`),
		value("a value that looks like a token", `FLAG`, `"fc1:00000000:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"`),
		value("a flag inside a flagged object", `FLAG, "properties": {"a": {FLAG}}`, `{"a": "b"}`),
		value("format and pattern hold for the plaintext", `"type": "string", "format": "email", "pattern": "@example", FLAG`, `"ada@example.org"`),
		{name: "an invalid plaintext", schema: `{"properties": {"v": {"type": "string", "pattern": "@", FLAG}}}`, payload: `{"v": "ada"}`, refused: "invalid"},
		{name: "an enum that a plaintext breaks", schema: `{"properties": {"v": {"enum": ["a"], FLAG}}}`, payload: `{"v": "b"}`, refused: "invalid"},
		value("a keyring of its own", `FLAG, "x-gdpr-keyring": "health"`, `"A+"`),
		{name: "the whole payload", schema: `{FLAG}`, payload: ` {"a": 1}`, tokens: "."},
		{name: "the whole payload, no object", schema: `{FLAG}`, payload: `[1, null]`, tokens: "."},
		{name: "a flag that is false", schema: `{"properties": {"v": {"x-gdpr-sensitive": false}}}`, payload: `{"v": "a"}`, clear: true},
		{name: "a flag that is false beside one that is true", schema: `{"properties": {"v": {"x-gdpr-sensitive": false, "allOf": [{FLAG}]}}}`, payload: `{"v": "a"}`, tokens: "/v"},
		{name: "nothing is flagged", schema: `{"properties": {"v": {"type": "string"}}}`, payload: `{ "v" : "a" }`, clear: true},

		// Names of members.
		{name: "names that a pointer escapes", schema: `{"properties": {"a/b~c": {FLAG}, "": {FLAG}, "ş": {FLAG}, "%25": {FLAG}}}`, payload: `{"a/b~c": 1, "": 2, "ş": 3, "%25": 4}`, tokens: "/a~1b~0c / /ş /%25"},
		{name: "a name spelled with escapes in the payload", schema: `{"properties": {"name": {FLAG}, "w": {}}}`, payload: `{"n\u0061me": "Ada", "\u0077": 1}`, tokens: "/name"},
		{name: "a member named as a keyword", schema: `{"properties": {"properties": {"properties": {"$ref": {FLAG}, "w": {}}}}}`, payload: `{"properties": {"$ref": "a", "w": "b"}}`, tokens: "/properties/$ref"},

		// References.
		{name: "inside the target of $ref", schema: `{"properties": {"p": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"properties": {"name": {FLAG}, "n": {}}}}}`, payload: `{"p": {"name": "Ada", "n": 1}}`, tokens: "/p/name"},
		{name: "the target of $ref itself", schema: `{"properties": {"p": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"type": "string", FLAG}}}`, payload: `{"p": "Ada"}`, tokens: "/p"},
		{name: "beside $ref", schema: `{"properties": {"p": {"$ref": "#/$defs/p", FLAG}, "q": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"type": "string"}}}`, payload: `{"p": "Ada", "q": "Bob"}`, tokens: "/p"},
		{name: "beside $ref in a branch", schema: `{"properties": {"p": {"anyOf": [{"$ref": "#/$defs/s"}, {"$ref": "#/$defs/n", FLAG}]}}, "$defs": {"s": {"type": "string"}, "n": {"type": "number"}}}`, payload: `{"p": "Ada"}`, tokens: "/p"},
		{name: "beside $ref in items", schema: `{"properties": {"p": {"items": {"$ref": "#/$defs/s", FLAG}}}, "$defs": {"s": {"type": "string"}}}`, payload: `{"p": ["Ada", "Bob"]}`, tokens: "/p/0 /p/1"},
		{name: "beside $ref at the root", schema: `{"$ref": "#/$defs/s", FLAG, "$defs": {"s": {"type": "object"}}}`, payload: `{"a": 1}`, tokens: "."},
		{name: "a chain of references", schema: `{"properties": {"p": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c"}, "c": {FLAG}}}`, payload: `{"p": 1}`, tokens: "/p"},
		{name: "a flag on the way of a chain", schema: `{"properties": {"p": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b", FLAG}, "b": {"$ref": "#/$defs/c"}, "c": {}}}`, payload: `{"p": 1}`, tokens: "/p"},
		{name: "a reference into properties", schema: `{"properties": {"a": {FLAG}, "b": {"$ref": "#/properties/a"}}}`, payload: `{"b": 1, "a": 2}`, tokens: "/b /a"},
		{name: "a pointer with escapes", schema: `{"properties": {"a": {"$ref": "#/$defs/x~1y~0z%25"}}, "$defs": {"x/y~z%": {FLAG}}}`, payload: `{"a": 1}`, tokens: "/a"},
		{name: "recursion along one member", schema: `{"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"v": {FLAG}, "next": {"$ref": "#/$defs/n"}}}}}`, payload: `{"v": 1, "next": {"next": {"v": null}}}`, tokens: "/v /next/next/v"},
		{name: "recursion through items", schema: `{"properties": {"t": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"properties": {"name": {FLAG}, "n": {}, "c": {"items": {"$ref": "#/$defs/t"}}}}}}`, payload: `{"t": {"n": 1, "c": [{"name": "a"}, {"c": [{"n": 2, "name": "b"}]}]}}`, tokens: "/t/c/0/name /t/c/1/c/0/name"},
		{name: "recursion of two", schema: `{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/b"}, "w": {}}}, "b": {"properties": {"a": {"$ref": "#/$defs/a"}, "v": {FLAG}}}}}`, payload: `{"b": {"v": 1, "a": {"w": 2, "b": {"v": 3}}}}`, tokens: "/b/v /b/a/b/v"},
		{name: "recursion to the root", schema: `{"properties": {"v": {FLAG}, "child": {"$ref": "#"}}}`, payload: `{"child": {"child": {"v": "a"}}, "v": 0}`, tokens: "/child/child/v /v"},
		{name: "recursion through an open map", schema: `{"properties": {"v": {FLAG}}, "additionalProperties": {"$ref": "#"}}`, payload: `{"x": {"y": {"v": 1}}}`, tokens: "/x/y/v"},
		{name: "recursion in place, through allOf", schema: `{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"v": {FLAG}, "c": {"allOf": [{"$ref": "#/$defs/a"}]}}}}}`, payload: `{"c": {"c": {"v": 1}}}`, tokens: "/c/c/v"},
		{name: "an $id as the base of references", schema: `{"$id": "http://example.com/root/a.json", "properties": {"p": {"$ref": "b.json"}, "q": {"$ref": "sub/c.json"}}, "$defs": {"b": {"$id": "b.json", FLAG}, "c": {"$id": "sub/c.json", "properties": {"d": {"$ref": "d.json"}}}, "d": {"$id": "sub/d.json", FLAG}}}`, payload: `{"p": 1, "q": {"d": 2}}`, tokens: "/p /q/d"},
		{name: "a pointer inside an embedded $id", schema: `{"properties": {"p": {"$ref": "#/$defs/b/properties/z"}}, "$defs": {"b": {"$id": "http://example.com/b.json", "properties": {"z": {"$ref": "#/$defs/f"}}, "$defs": {"f": {FLAG}}}}}`, payload: `{"p": 1}`, tokens: "/p"},
		{name: "another file", schema: `{"properties": {"p": {"$ref": "other.json"}}}`, files: []string{"other.json", `{"properties": {"v": {FLAG}, "w": {}}}`}, payload: `{"p": {"w": 1, "v": 2}}`, tokens: "/p/v"},
		{name: "another file's definition, and back", schema: `{"properties": {"p": {"$ref": "dir/other.json#/$defs/x"}, "s": {FLAG}}}`, files: []string{"dir/other.json", `{"$defs": {"x": {"properties": {"up": {"$ref": "../shape.v1.json"}, "v": {FLAG}}}}}`}, payload: `{"p": {"up": {"s": 1, "p": {"v": 2}}}}`, tokens: "/p/up/s /p/up/p/v"},
		{name: "another file by its $id", schema: `{"properties": {"p": {"$ref": "http://example.com/o.json#/$defs/x"}}}`, files: []string{"other.json", `{"$id": "http://example.com/o.json", "$defs": {"x": {FLAG}}}`}, payload: `{"p": 2}`, tokens: "/p"},
		in("2020", shape{name: "another file of an older draft", schema: `{"properties": {"p": {"$ref": "other.json"}}}`, files: []string{"other.json", `{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}, {"$ref": "#/definitions/s", FLAG}], "definitions": {"s": {"type": "string"}}}`}, payload: `{"p": [1, "a"]}`, tokens: "/p/1"}),
		in("7", shape{name: "another file of a later draft", schema: `{"properties": {"p": {"$ref": "other.json"}}}`, files: []string{"other.json", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{}, {"type": "string", FLAG}]}`}, payload: `{"p": [1, "a"]}`, tokens: "/p/1"}),
		in(since2019, shape{name: "$anchor", schema: `{"properties": {"p": {"$ref": "#here"}}, "$defs": {"x": {"$anchor": "here", FLAG}}}`, payload: `{"p": 1}`, tokens: "/p"}),
		in(until7, shape{name: "an $id that is an anchor", schema: `{"properties": {"p": {"$ref": "#here"}}, "$defs": {"x": {"$id": "#here", FLAG}}}`, payload: `{"p": 1}`, tokens: "/p"}),
		in("2020", shape{name: "$dynamicAnchor as an anchor", schema: `{"properties": {"p": {"$ref": "#here"}}, "$defs": {"x": {"$dynamicAnchor": "here", FLAG}}}`, payload: `{"p": 1}`, tokens: "/p"}),
		in("2020", shape{name: "$dynamicRef to its static target", schema: `{"properties": {"p": {"$dynamicRef": "#here"}}, "$defs": {"x": {"$dynamicAnchor": "here", FLAG}}}`, payload: `{"p": 1}`, tokens: "/p"}),
		in("2020", shape{name: "$dynamicRef by a pointer", schema: `{"properties": {"p": {"$dynamicRef": "#/$defs/x"}}, "$defs": {"x": {FLAG}}}`, payload: `{"p": 1}`, tokens: "/p"}),
		in("2020", shape{name: "$dynamicRef that a root extends", schema: `{"$dynamicAnchor": "node", "$ref": "tree.json", "properties": {"secret": {FLAG}}}`,
			files:   []string{"tree.json", `{"$dynamicAnchor": "node", "properties": {"data": {}, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}}}`},
			payload: `{"data": 1, "children": [{"secret": 1, "children": [{"secret": 2, "data": 3}]}]}`, tokens: "/children/0/secret /children/0/children/0/secret"}),
		in("2019", shape{name: "$recursiveRef that a root extends", schema: `{"$recursiveAnchor": true, "$ref": "tree.json", "properties": {"secret": {FLAG}}}`,
			files:   []string{"tree.json", `{"$recursiveAnchor": true, "properties": {"data": {}, "children": {"type": "array", "items": {"$recursiveRef": "#"}}}}`},
			payload: `{"data": 1, "children": [{"secret": 1, "children": [{"secret": 2, "data": 3}]}]}`, tokens: "/children/0/secret /children/0/children/0/secret"}),
		in("2019", shape{name: "$recursiveRef to its own root", schema: `{"properties": {"v": {FLAG}, "c": {"$recursiveRef": "#"}}}`, payload: `{"c": {"c": {"v": 1}}}`, tokens: "/c/c/v"}),

		// Branches.
		value("allOf", `"allOf": [{}, {FLAG}]`, `1`),
		value("anyOf, the branch that is taken", `"anyOf": [{"type": "string", FLAG}, {"type": "number"}]`, `"a"`),
		value("anyOf, a branch that is not taken", `"anyOf": [{"type": "string", FLAG}, {"type": "number"}]`, `1`),
		value("oneOf, the branch that is taken", `"oneOf": [{"type": "number"}, {"type": "string", FLAG}]`, `"a"`),
		value("oneOf, a branch that is not taken", `"oneOf": [{"type": "number"}, {"type": "string", FLAG}]`, `1`),
		{name: "a member of one branch", schema: `{"oneOf": [{"required": ["p"], "properties": {"p": {"type": "string", FLAG}}}, {"required": ["c"], "properties": {"c": {}, "p": {"type": "number"}}}]}`, payload: `{"p": "a"}`, tokens: "/p"},
		{name: "branches of branches", schema: `{"allOf": [{"anyOf": [{"oneOf": [{"properties": {"v": {FLAG}}}]}]}]}`, payload: `{"v": 1}`, tokens: "/v"},
		in(since7, value("if alone", `"if": {"type": "string", FLAG}`, `1`)),
		in(since7, value("then", `"if": {"type": "string"}, "then": {FLAG}`, `"a"`)),
		in(since7, value("then, where if fails", `"if": {"type": "string"}, "then": {FLAG}`, `1`)),
		in(since7, value("else", `"if": {"type": "string"}, "else": {FLAG}`, `1`)),
		in(since7, shape{name: "a member of then", schema: `{"properties": {"kind": {"type": "string"}}, "if": {"properties": {"kind": {"enum": ["person"]}}}, "then": {"properties": {"name": {FLAG}}}, "else": {"properties": {"name": {"type": "string"}}}}`, payload: `{"kind": "firm", "name": "ACME"}`, tokens: "/name"}),
		in(since2019, shape{name: "dependentSchemas", schema: `{"properties": {"card": {}}, "dependentSchemas": {"card": {"properties": {"holder": {FLAG}}}}}`, payload: `{"card": 1, "holder": "Ada"}`, tokens: "/holder"}),
		in(since2019, shape{name: "dependentSchemas that do not apply", schema: `{"properties": {"card": {}}, "dependentSchemas": {"card": {"properties": {"holder": {FLAG}}}}}`, payload: `{"holder": "Ada"}`, tokens: "/holder"}),
		in(until7, shape{name: "dependencies", schema: `{"properties": {"card": {}}, "dependencies": {"card": {"properties": {"holder": {FLAG}}}, "x": ["card"]}}`, payload: `{"card": 1, "holder": "Ada"}`, tokens: "/holder"}),

		// Members.
		{name: "patternProperties", schema: `{"patternProperties": {"^s_": {FLAG}, "^n_": {"type": "number"}}}`, payload: `{"s_a": "a", "n_a": 1, "s_b": 2}`, tokens: "/s_a /s_b"},
		{name: "two patterns at one name", schema: `{"patternProperties": {"a": {"type": "string"}, "b": {FLAG}}}`, payload: `{"ab": "x", "a": "y"}`, tokens: "/ab"},
		{name: "a pattern beside the name itself", schema: `{"properties": {"ab": {"type": "string"}}, "patternProperties": {"b": {FLAG}}}`, payload: `{"ab": "x"}`, tokens: "/ab"},
		{name: "additionalProperties", schema: `{"properties": {"id": {}}, "additionalProperties": {FLAG}}`, payload: `{"id": 1, "x": 2, "y": {}}`, tokens: "/x /y"},
		{name: "additionalProperties beside patterns", schema: `{"patternProperties": {"^x": {"type": "number"}}, "additionalProperties": {FLAG}}`, payload: `{"x1": 1, "y1": 2}`, tokens: "/y1"},
		{name: "additionalProperties that see their own object alone", schema: `{"allOf": [{"properties": {"v": {}}}], "additionalProperties": {FLAG}}`, payload: `{"v": 1}`, tokens: "/v"},
		in(since2019, shape{name: "unevaluatedProperties", schema: `{"properties": {"id": {}}, "unevaluatedProperties": {FLAG}}`, payload: `{"id": 1, "x": 2}`, tokens: "/x"}),
		in(since2019, shape{name: "unevaluatedProperties over a branch", schema: `{"allOf": [{"properties": {"id": {}}}], "unevaluatedProperties": {FLAG}}`, payload: `{"id": 1, "x": 2}`, tokens: "/id /x"}),
		in(since6, shape{name: "propertyNames: the names are personal", schema: `{"properties": {"m": {"propertyNames": {"format": "email", FLAG}, "additionalProperties": {"type": "number"}}}}`, payload: `{"m": {"ada@example.org": 1}}`, tokens: "/m"}),
		in(since6, shape{name: "propertyNames at the root", schema: `{"propertyNames": {FLAG}}`, payload: `{"ada@example.org": 1}`, tokens: "."}),

		// Items.
		{name: "items", schema: `{"properties": {"l": {"items": {FLAG}}}}`, payload: `{"l": [1 , "a",null]}`, tokens: "/l/0 /l/1 /l/2"},
		{name: "items, none there", schema: `{"properties": {"l": {"items": {FLAG}}}}`, payload: `{"l": [ ]}`, clear: true},
		{name: "members of items", schema: `{"properties": {"l": {"items": {"properties": {"v": {FLAG}, "w": {}}}}}}`, payload: `{"l": [{"v": 1}, {"w": 2}, {"w": 3, "v": 4}]}`, tokens: "/l/0/v /l/2/v"},
		{name: "items of items", schema: `{"items": {"items": {FLAG}}}`, payload: `[[1], [], [2, 3]]`, tokens: "/0/0 /2/0 /2/1"},
		in("4 6 7 2019", shape{name: "items as a tuple", schema: `{"properties": {"l": {"items": [{}, {FLAG}]}}}`, payload: `{"l": [1, 2, 3]}`, tokens: "/l/1"}),
		in("4 6 7 2019", shape{name: "additionalItems", schema: `{"properties": {"l": {"items": [{}], "additionalItems": {FLAG}}}}`, payload: `{"l": [1, 2, 3]}`, tokens: "/l/1 /l/2"}),
		in("2020", shape{name: "prefixItems", schema: `{"properties": {"l": {"prefixItems": [{}, {FLAG}]}}}`, payload: `{"l": [1, 2, 3]}`, tokens: "/l/1"}),
		in("2020", shape{name: "items after prefixItems", schema: `{"properties": {"l": {"prefixItems": [{}], "items": {FLAG}}}}`, payload: `{"l": [1, 2, 3]}`, tokens: "/l/1 /l/2"}),
		in(since2019, shape{name: "unevaluatedItems", schema: `{"properties": {"l": {"unevaluatedItems": {FLAG}}}}`, payload: `{"l": [1, 2]}`, tokens: "/l/0 /l/1"}),
		in("2020", shape{name: "unevaluatedItems after prefixItems", schema: `{"properties": {"l": {"prefixItems": [{}], "unevaluatedItems": {FLAG}}}}`, payload: `{"l": [1, 2]}`, tokens: "/l/1"}),
		in(since6, shape{name: "contains, every item", schema: `{"properties": {"l": {"contains": {"type": "string", FLAG}}}}`, payload: `{"l": [1, "a", 2]}`, tokens: "/l/0 /l/1 /l/2"}),
		in(since6, shape{name: "a member below contains", schema: `{"properties": {"l": {"contains": {"properties": {"v": {FLAG}}}, "items": {"properties": {"v": {}, "w": {}}}}}}`, payload: `{"l": [{"v": 1}, {"w": 2}]}`, tokens: "/l/0/v"}),

		// Content.
		in(since2019, value("contentSchema flags the string", `"contentMediaType": "application/json", "contentSchema": {"properties": {"v": {FLAG}}}`, `"{\"v\": 1}"`)),

		// Schemas that somebody else owns.
		{name: "an overlay", schema: `{"$ref": "theirs.json#/$defs/user", "x-gdpr-overlay": {"theirs.json#/$defs/user/properties/email": {FLAG}}}`, files: []string{"theirs.json", `{"$defs": {"user": {"properties": {"email": {"type": "string"}, "id": {}, "boss": {"$ref": "#/$defs/user"}}}}}`}, payload: `{"id": 1, "boss": {"email": "a"}, "email": "b"}`, tokens: "/boss/email /email"},
		{name: "an overlay on a reference", schema: `{"$ref": "theirs.json", "x-gdpr-overlay": {"theirs.json#/properties/a": {FLAG}}}`, files: []string{"theirs.json", `{"properties": {"a": {"$ref": "#/$defs/s"}, "b": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"type": "string"}}}`}, payload: `{"a": "x", "b": "y"}`, tokens: "/a"},
		{name: "an overlay on the whole file", schema: `{"properties": {"p": {"$ref": "theirs.json"}}, "x-gdpr-overlay": {"theirs.json": {FLAG}}}`, files: []string{"theirs.json", `{"type": "object"}`}, payload: `{"p": {"x": 1}}`, tokens: "/p"},
		{name: "an overlay with a keyring", schema: `{"$ref": "theirs.json", "x-gdpr-overlay": {"theirs.json#/properties/a": {FLAG, "x-gdpr-keyring": "health"}}}`, files: []string{"theirs.json", `{"properties": {"a": {}, "b": {}}}`}, payload: `{"b": 1, "a": 2}`, tokens: "/a"},
		in(since6, shape{name: "an overlay on true", schema: `{"$ref": "theirs.json", "x-gdpr-overlay": {"theirs.json#/properties/a": {FLAG}}}`, files: []string{"theirs.json", `{"properties": {"a": true}}`}, payload: `{"a": [1]}`, tokens: "/a"}),
		{name: "an overlay on nothing", schema: `{"properties": {"b": {}}, "x-gdpr-overlay": {"#/properties/a": {FLAG}}}`, load: "overlay-target"},

		// What no schema declares.
		{name: "an undeclared member", schema: `{"properties": {"a": {FLAG}}}`, payload: `{"a": 1, "b": 2}`, refused: "undeclared"},
		{name: "an undeclared member far below", schema: `{"properties": {"a": {"items": {"properties": {"v": {FLAG}}}}}}`, payload: `{"a": [{"v": 1}, {"w": 1}]}`, refused: "undeclared"},
		{name: "an undeclared member of an object of which nothing is said", schema: `{"properties": {"a": {"type": "object"}}}`, payload: `{"a": {"b": 1}}`, refused: "undeclared"},
		{name: "additionalProperties that say nothing declare nothing", schema: `{"properties": {"a": {}}, "additionalProperties": {"description": "any"}}`, payload: `{"b": 1}`, refused: "undeclared"},
		in(since7, shape{name: "if declares nothing", schema: `{"if": {"properties": {"a": {"type": "string"}}}}`, payload: `{"a": 1}`, refused: "undeclared"}),
		{name: "not declares nothing", schema: `{"not": {"properties": {"a": {"type": "string"}}}}`, payload: `{"a": 1}`, refused: "undeclared"},
		in(since6, shape{name: "contains declares nothing", schema: `{"contains": {"properties": {"a": {"type": "string"}}}}`, payload: `[{"a": "b"}]`, refused: "undeclared"}),
		{name: "declared through allOf", schema: `{"allOf": [{"properties": {"a": {"allOf": [{"properties": {"b": {}}}]}}}, {"properties": {"c": {FLAG}}}]}`, payload: `{"a": {"b": 1}, "c": 2}`, tokens: "/c"},
		{name: "seal: an undeclared member", schema: `{"x-gdpr-undeclared": "seal", "properties": {"a": {}}}`, payload: `{"a": 1, "b": 2}`, tokens: "/b"},
		{name: "seal: an object of which nothing is said, whole", schema: `{"x-gdpr-undeclared": "seal", "properties": {"a": {}, "l": {"items": {"properties": {"w": {}}}}}}`, payload: `{"a": {"ada": 1}, "l": [{"w": 1, "x": 2}]}`, tokens: "/a /l/0/x"},
		{name: "seal: through a wrapper and an open schema", schema: `{"x-gdpr-undeclared": "seal", "allOf": [{"properties": {"a": {"anyOf": [{"properties": {"w": {}}}, {"additionalProperties": {}}]}}}]}`, payload: `{"a": {"w": 1, "x": 2}, "y": [1]}`, tokens: "/a/x /y"},
		{name: "seal: under the root's keyring", schema: `{"x-gdpr-undeclared": "seal", "x-gdpr-keyring": "health", "properties": {"a": {"x-gdpr-sensitive": true}}}`, payload: `{"a": 1, "b": 2}`, tokens: "/a /b"},
		{name: "clear: an undeclared member", schema: `{"x-gdpr-undeclared": "clear", "properties": {"a": {FLAG}}}`, payload: `{"b": {"c": [1, {"d": 2}]}, "a": 1}`, tokens: "/a"},
		{name: "a stricter policy of a file that is referred to", schema: `{"x-gdpr-undeclared": "clear", "properties": {"p": {"$ref": "other.json"}}}`, files: []string{"other.json", `{"x-gdpr-undeclared": "seal", "properties": {"w": {}}}`}, payload: `{"p": {"w": 1, "x": 2}, "y": 3}`, tokens: "/p/x"},
		{name: "a milder policy of a file that is referred to", schema: `{"properties": {"p": {"$ref": "other.json"}}}`, files: []string{"other.json", `{"x-gdpr-undeclared": "clear", "properties": {"w": {}}}`}, payload: `{"p": {"w": 1, "x": 2}}`, refused: "undeclared"},
		{name: "an unflagged string that looks like a token", schema: `{"properties": {"v": {}}}`, payload: `{"v": "fc1:00000000:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`, refused: "looks-like-token"},
		{name: "patterns that bring two keyrings together", schema: `{"patternProperties": {"^a": {FLAG}, "z$": {FLAG, "x-gdpr-keyring": "health"}}}`, load: "keyring-conflict"},
		in(since6, shape{name: "a schema that is false", schema: `{"properties": {"a": {FLAG}, "b": false}}`, payload: `{"b": 1}`, refused: "invalid"}),

		// What is refused when it is loaded.
		refusedAt("a misspelt flag", `"x-gdpr-sensitve": true`, "word-unknown"),
		refusedAt("gpdr", `"x-gpdr-sensitive": true`, "word-unknown"),
		refusedAt("an underscore", `"x_gdpr_sensitive": true`, "word-unknown"),
		refusedAt("capitals", `"X-GDPR-Sensitive": true`, "word-unknown"),
		refusedAt("a word of somebody else's", `"gdpr": true`, "word-unknown"),
		refusedAt("a string as flag", `"x-gdpr-sensitive": "true"`, "word-type"),
		refusedAt("a number as flag", `"x-gdpr-sensitive": 1`, "word-type"),
		refusedAt("null as flag", `"x-gdpr-sensitive": null`, "word-type"),
		refusedAt("a flag twice", `FLAG, "x-gdpr-sensitive": false`, "duplicate-name"),
		refusedAt("not", `"not": {FLAG}`, "flag-below-not"),
		refusedAt("far below not", `"not": {"properties": {"a": {"items": {FLAG}}}}`, "flag-below-not"),
		{name: "not, by a reference", schema: `{"properties": {"a": {"not": {"$ref": "#/$defs/x"}}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {FLAG}}}`, load: "flag-below-not"},
		refusedAt("then without if", `"then": {FLAG}`, "flag-misplaced"),
		refusedAt("else without if", `"else": {FLAG}`, "flag-misplaced"),
		in("4 6", refusedAt("if before draft 7", `"if": {FLAG}`, "flag-misplaced")),
		in("4", refusedAt("contains before draft 6", `"contains": {FLAG}`, "flag-misplaced")),
		in("4", refusedAt("propertyNames before draft 6", `"propertyNames": {FLAG}`, "flag-misplaced")),
		in(until7, refusedAt("unevaluatedProperties before 2019-09", `"unevaluatedProperties": {FLAG}`, "flag-misplaced")),
		in(until7, refusedAt("unevaluatedItems before 2019-09", `"unevaluatedItems": {FLAG}`, "flag-misplaced")),
		in(until7, refusedAt("dependentSchemas before 2019-09", `"dependentSchemas": {"a": {FLAG}}`, "flag-misplaced")),
		in(until7, refusedAt("contentSchema before 2019-09", `"contentMediaType": "application/json", "contentSchema": {FLAG}`, "flag-misplaced")),
		in("4 6 7 2019", refusedAt("prefixItems before 2020-12", `"prefixItems": [{FLAG}]`, "flag-misplaced")),
		in("2020", refusedAt("additionalItems in 2020-12", `"prefixItems": [{}], "additionalItems": {FLAG}`, "flag-misplaced")),
		in("4 6 7 2019", refusedAt("additionalItems beside one schema of items", `"items": {}, "additionalItems": {FLAG}`, "flag-misplaced")),
		in(until7, shape{name: "an applicator that $ref hides", schema: `{"properties": {"v": {"$ref": "#/$defs/s", "properties": {"a": {FLAG}}}}, "$defs": {"s": {}}}`, load: "flag-misplaced"}),
		in(since2019, shape{name: "an applicator beside $ref", schema: `{"properties": {"v": {"$ref": "#/$defs/s", "properties": {"a": {FLAG}}}}, "$defs": {"s": {"properties": {"w": {}}}}}`, payload: `{"v": {"w": 1, "a": 2}}`, tokens: "/v/a"}),
		refusedAt("const", `"const": {FLAG}`, "flag-misplaced"),
		refusedAt("enum", `"enum": [{FLAG}]`, "flag-misplaced"),
		refusedAt("default", `"default": {FLAG}`, "flag-misplaced"),
		refusedAt("examples", `"examples": [{FLAG}]`, "flag-misplaced"),
		refusedAt("an unknown keyword", `"fields": {"a": {FLAG}}`, "flag-misplaced"),
		refusedAt("a flag where names stand", `"properties": {"x-gdpr-sensitive": true}`, "word-misplaced"),
		refusedAt("two keyrings at one location", `FLAG, "allOf": [{FLAG, "x-gdpr-keyring": "health"}]`, "keyring-conflict"),
		refusedAt("another keyring below a flag", `FLAG, "properties": {"a": {FLAG, "x-gdpr-keyring": "health"}}`, "keyring-conflict"),
		refusedAt("a keyring without a flag", `"x-gdpr-keyring": "health"`, "keyring-unflagged"),
		refusedAt("an index without a flag", `"type": "string", "x-blind-index": true`, "index-unflagged"),
		in("2020", shape{name: "another metaschema", schema: `{"$schema": "https://example.com/meta", "properties": {"a": {FLAG}}}`, load: "metaschema-unknown"}),
		{name: "a remote reference", schema: `{"properties": {"a": {"$ref": "http://example.com/a.json", FLAG}}}`, load: "ref-not-found"},
	}
	return list
}

func TestShapes(t *testing.T) {
	t.Parallel()
	rings := keyringtest.NewSet(t, "default", "health")
	rows := shapes()
	if len(rows) < 60 {
		t.Fatalf("%d rows", len(rows))
	}
	names := map[string]bool{}
	sealed, refused := 0, 0
	for _, row := range rows {
		if names[row.name] {
			t.Errorf("two rows are named %q", row.name)
		}
		names[row.name] = true
		if row.drafts == "" {
			row.drafts = allDrafts
		}
		for _, draft := range strings.Fields(row.drafts) {
			if row.load != "" || row.refused != "" {
				refused++
			} else {
				sealed++
			}
			t.Run(row.name+"/"+draft, func(t *testing.T) {
				t.Parallel()
				row.check(t, draft, rings)
			})
		}
	}
	t.Logf("%d shapes; over the drafts %d that are sealed and opened, %d that are refused", len(rows), sealed, refused)
}

func (s shape) check(t *testing.T, draft string, rings *keyring.Set) {
	fsys := fstest.MapFS{"shape.v1.json": {Data: []byte(inDraft(s.schema, draft))}}
	for i := 0; i < len(s.files); i += 2 {
		fsys[s.files[i]] = &fstest.MapFile{Data: []byte(inDraft(s.files[i+1], draft))}
	}
	reg, err := schema.LoadFS(fsys)
	if s.load != "" {
		var le *schema.LoadError
		if !errors.As(err, &le) {
			t.Fatalf("loads, with %v", err)
		}
		if !slices.ContainsFunc(le.Findings, func(f schema.Finding) bool { return f.Rule == s.load && f.Line == 1 && f.Column > 1 }) {
			t.Fatalf("refused with %v, want %s", le.Findings, s.load)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := envelope.NewSealer(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	event, err := sealer.Seal(context.Background(), envelope.Event{Type: "shape", AggregateID: "1", Payload: []byte(s.payload)})
	if s.refused != "" {
		if got := refusalOf(err); got != s.refused {
			t.Fatalf("refused as %q, want %q: %v", got, s.refused, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	wire := event.Wire().Payload
	tokens, restored := restore(t, wire, []byte(s.payload))
	if want := strings.Fields(s.tokens); !slices.Equal(tokens, want) || (len(want) == 0) != s.clear {
		t.Errorf("tokens at %q, want %q", tokens, want)
	}
	if !bytes.Equal(restored, []byte(s.payload)) {
		t.Errorf("around the tokens stand other bytes than the payload's:\n%s\n%s", wire, s.payload)
	}
	newWireCheck(t, reg, "shape").alone(t).add(t, wire, []byte(s.payload), -1)
	opener, err := envelope.NewOpener(reg, rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	received, err := envelope.Parse(event.Wire(), envelope.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := opener.Open(context.Background(), received, envelope.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(opened.StillSealed) > 0 || string(opened.Event.Payload) != s.payload {
		t.Errorf("opened to %s, want %s", opened.Event.Payload, s.payload)
	}
}

// refusalOf says why an event is refused.
func refusalOf(err error) string {
	var invalid *schema.ValidationError
	var at *envelope.LocationError
	switch {
	case errors.As(err, &invalid):
		return "invalid"
	case errors.As(err, &at):
		return string(at.Kind)
	}
	return fmt.Sprint(err)
}

// restore puts the plaintext back where tokens stand, by the payload alone and without a key, and lists the tokens' pointers: the result has the
// payload's bytes if, and only if, nothing else was changed.
func restore(t *testing.T, wire, plain []byte) (pointers []string, restored []byte) {
	t.Helper()
	r := newRestorer(wire, plain)
	if err := r.value(""); err != nil {
		t.Fatal(err)
	}
	copied := 0
	for _, s := range r.spans {
		restored = append(append(restored, wire[copied:s.start]...), s.plain...)
		copied = s.end
	}
	return r.pointers, append(restored, wire[copied:]...)
}

// restorer walks a wire form and its payload side by side.
type restorer struct {
	wire, plain *jsontext.Decoder
	pointers    []string
	spans       []span
}

func newRestorer(wire, plain []byte) *restorer {
	return &restorer{wire: jsontext.NewDecoder(bytes.NewReader(wire)), plain: jsontext.NewDecoder(bytes.NewReader(plain))}
}

func (r *restorer) value(pointer string) error {
	token, err := r.wire.ReadToken()
	if err != nil {
		return err
	}
	end := int(r.wire.InputOffset())
	kind := token.Kind()
	if kind == '"' && tokenPattern.MatchString(token.String()) {
		text, err := r.plain.ReadValue()
		if err != nil {
			return err
		}
		start := end - len(token.String()) - 2 // a token needs no escapes
		r.spans = append(r.spans, span{start, end, bytes.Clone(text)})
		if pointer == "" {
			pointer = "."
		}
		r.pointers = append(r.pointers, pointer)
		return nil
	}
	if _, err := r.plain.ReadToken(); err != nil {
		return err
	}
	switch kind {
	case '{':
		for r.wire.PeekKind() != '}' {
			name, err := r.wire.ReadToken()
			if err != nil {
				return err
			}
			at := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name.String())
			if _, err := r.plain.ReadToken(); err != nil {
				return err
			}
			if err := r.value(at); err != nil {
				return err
			}
		}
	case '[':
		for i := 0; r.wire.PeekKind() != ']'; i++ {
			if err := r.value(pointer + "/" + strconv.Itoa(i)); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	if _, err := r.wire.ReadToken(); err != nil {
		return err
	}
	_, err = r.plain.ReadToken()
	return err
}

// The closest peer leaves ["string", "null"] in clear now and then when many goroutines seal at once.
func TestNullableStringsAreSealedUnderConcurrency(t *testing.T) {
	t.Parallel()
	reg, err := schema.LoadFS(fstest.MapFS{"shape.v1.json": {Data: []byte(`{"properties": {"v": {"type": ["string", "null"], "x-gdpr-sensitive": true}, "w": {"anyOf": [{"type": "null"}, {"type": "string", "x-gdpr-sensitive": true}]}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := envelope.NewSealer(reg, keyringtest.NewSet(t, "default"), envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const workers, each = 8, 2_500
	var wg sync.WaitGroup
	var sealed atomic.Int64
	for worker := range workers {
		wg.Go(func() {
			for i := range each {
				payload := []byte(`{"v": "Ada Lovelace", "w": null}`)
				if (worker+i)%2 == 0 {
					payload = []byte(`{"v": null, "w": "Ada Lovelace"}`)
				}
				s, err := sealer.Seal(context.Background(), envelope.Event{Type: "shape", AggregateID: "1", Payload: payload})
				if err != nil {
					t.Error(err)
					return
				}
				wire := s.Wire().Payload
				if bytes.Count(wire, []byte(`"fc1:`)) != 2 || bytes.Contains(wire, []byte(": null")) || bytes.Contains(wire, []byte("Ada Lovelace")) {
					t.Errorf("in clear: %s", wire)
					return
				}
				sealed.Add(1)
			}
		})
	}
	wg.Wait()
	if sealed.Load() != workers*each {
		t.Errorf("%d of %d sealed", sealed.Load(), workers*each)
	}
}
