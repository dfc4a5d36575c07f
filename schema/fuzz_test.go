package schema_test

import (
	"errors"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/schema"
)

// FuzzLoad holds that any bytes either load or are refused with a *LoadError, and that a loaded plan can be walked.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		`{}`, `true`, `[]`, `{"properties":{"a":{"x-gdpr-sensitive":true}}}`, `{"$ref":"#"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		`{"x-gdpr-overlay":{"#":{"x-gdpr-sensitive":true}}}`, `{"$id":"urn:x","$ref":"urn:x#/a"}`, `{"patternProperties":{"(":{}}}`,
		`{"properties":{"a":{"type":"string","x-gdpr-sensitive":true,"x-blind-index":{"normalize":["trim"],"bits":12}}}}`, invoiceSchema,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		reg, err := schema.LoadFS(files("a.v1.json", string(text)))
		if err != nil {
			var le *schema.LoadError
			if !errors.As(err, &le) {
				t.Fatalf("not a *LoadError: %v", err)
			}
			return
		}
		for _, e := range reg.Events() {
			s := e.Plan().Root()
			for _, name := range []string{"a", "x", "", "a"} {
				if s != nil {
					s, _ = s.Member([]byte(name))
				}
			}
			_ = e.Validate([]byte(`{"a":[1,{"x":null}]}`))
		}
	})
}
