package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

const invoiceSchema = `{
  "type": "object",
  "required": ["number", "buyer"],
  "additionalProperties": false,
  "properties": {
    "number": {"type": "string", "pattern": "^[A-Z]+$", "maxLength": 5},
    "total": {"type": "number", "minimum": 0, "multipleOf": 0.01},
    "buyer": {
      "type": "object",
      "required": ["name"],
      "properties": {"name": {"type": "string", "minLength": 1, "x-gdpr-sensitive": true}, "mail": {"type": "string", "format": "email", "x-gdpr-sensitive": true}},
      "additionalProperties": {"type": "integer"}
    },
    "kind": {"enum": ["a", "b"]},
    "alt": {"oneOf": [{"type": "string"}, {"type": "object", "required": ["x", "y", "z"]}]},
    "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
    "link": {"type": "string", "format": "uri-template"}
  }
}`

func violations(t *testing.T, reg *schema.Registry, payload string) []schema.Violation {
	t.Helper()
	e, err := reg.Event("invoice", 1)
	if err != nil {
		t.Fatal(err)
	}
	err = e.Validate([]byte(payload))
	if err == nil {
		return nil
	}
	var ve *schema.ValidationError
	if !errors.As(err, &ve) {
		t.Fatalf("not a *ValidationError: %v", err)
	}
	return ve.Violations
}

func TestViolationsAreStableAndHoldNoValue(t *testing.T) {
	t.Parallel()
	reg := load(t, "invoice.v1.json", invoiceSchema)
	const payload = `{"number": "canary-1", "total": -12345.678, "buyer": {"name": "", "mail": "canary-2", "canary-3@example.com": "canary-4"},
		"kind": "canary-5", "alt": 77777, "tags": ["canary-6", "canary-6", 88888], "canary-7": 1, "link": "{canary 8}"}`
	want := []string{
		"the root: has a member that the schema does not allow",
		"/alt: matches none of the alternatives",
		"/alt: expected string, found number",
		"/buyer/*: expected integer, found string",
		`/buyer/mail: not a valid "email"`,
		"/buyer/name: violates minLength 1",
		"/kind: not one of the allowed values",
		`/link: not a valid "uri-template"`,
		"/number: violates maxLength 5",
		`/number: does not match the pattern "^[A-Z]+$"`,
		"/tags: has equal items",
		"/tags/2: expected string, found number",
		"/total: violates minimum 0",
		"/total: violates multipleOf 0.01",
	}
	for range 20 {
		vs := violations(t, reg, payload)
		var got []string
		for _, v := range vs {
			got = append(got, v.String())
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("violations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		text, err := json.Marshal(vs)
		if err != nil {
			t.Fatal(err)
		}
		all := string(text) + fmt.Sprintf("%v %+v %#v %s %q", vs, vs, vs, vs, vs)
		for _, secret := range []string{"canary", "12345", "77777", "88888"} {
			if strings.Contains(all, secret) {
				t.Fatalf("a violation holds %q: %s", secret, all)
			}
		}
	}
}

func TestViolationPositions(t *testing.T) {
	t.Parallel()
	reg := load(t, "invoice.v1.json", invoiceSchema)
	const payload = "{\"number\":\"A\",\n \"buyer\": {\"name\":\"x\", \"ada\": \"y\"}, \"tags\": [\"a\", \"b\", 3] }"
	vs := violations(t, reg, payload)
	if len(vs) != 2 {
		t.Fatalf("violations %v", vs)
	}
	for i, want := range []string{`"y"`, "3"} {
		off := vs[i].Offset([]byte(payload))
		if off < 0 || !strings.HasPrefix(payload[off:], want) {
			t.Errorf("%v: offset %d, want that of %s", vs[i], off, want)
		}
		if vs[i].Schema == "" || !strings.HasPrefix(vs[i].Schema, "invoice.v1.json:") {
			t.Errorf("%v: schema position %q", vs[i], vs[i].Schema)
		}
	}
	if off := vs[0].Offset([]byte(`{"other": 1}`)); off != -1 {
		t.Errorf("offset in another payload: %d", off)
	}
}

func TestValidPayloads(t *testing.T) {
	t.Parallel()
	reg := load(t, "invoice.v1.json", invoiceSchema)
	for _, p := range []string{`{"number":"A","buyer":{"name":"x"}}`, `{"number":"A","buyer":{"name":"x","n":3},"link":"https://example.com{/owner,repo:3}{?q*,r}{&s}"}`} {
		if vs := violations(t, reg, p); vs != nil {
			t.Errorf("%s: %v", p, vs)
		}
	}
	if vs := violations(t, reg, `{"number"`); len(vs) != 1 || vs[0].Keyword != "syntax" {
		t.Errorf("violations %v", vs)
	}
	for _, bad := range []string{"{", "}", "{}", "{/}", "{a:0}", "{a:12345}", "{a b}", "{a..b}", "{%4}", "a b", "{a}}"} {
		if vs := violations(t, reg, fmt.Sprintf(`{"number":"A","buyer":{"name":"x"},"link":%q}`, bad)); len(vs) != 1 {
			t.Errorf("uri-template %q: %v", bad, vs)
		}
	}
}

func TestContentInsideStringsIsNeverParsed(t *testing.T) {
	t.Parallel()
	reg := load(t, "invoice.v1.json", `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"c": {"contentMediaType": "application/json", "contentSchema": {"type": "integer", "minimum": 3}}}}`)
	if vs := violations(t, reg, `{"c": "2"}`); vs != nil {
		t.Errorf("violations %v", vs)
	}
}

func TestUnknownEvent(t *testing.T) {
	t.Parallel()
	reg := load(t, "invoice.v1.json", `{}`, "invoice.v3.json", `{}`)
	_, err := reg.Event("invoice", 2)
	var unknown *schema.UnknownEventError
	if !errors.As(err, &unknown) || fmt.Sprint(unknown.Versions) != "[1 3]" {
		t.Errorf("error %v", err)
	}
	if _, err := reg.Event("ada@example.com x", 1); err == nil || strings.Contains(err.Error(), "ada") {
		t.Errorf("error %v", err)
	}
}
