package schema

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func BenchmarkAccept(b *testing.B) {
	reg, err := LoadFS(fstest.MapFS{"invoice.issued.v1.json": {Data: []byte(benchSchema)}})
	if err != nil {
		b.Fatal(err)
	}
	e := reg.events[0]
	var lines []string
	for i := range 7 {
		lines = append(lines, fmt.Sprintf(`{"sku":"SKU-%06d","text":"a part of some machine","quantity":%d,"price":%d.95}`, i, i+1, i))
	}
	tok := "fc1:00000001:" + strings.Repeat("A", 70)
	payload := []byte(fmt.Sprintf(`{"number":"2026-%d","currency":"TRY","customer":{"name":"%s","tax_id":"%s","email":"%s"},"lines":[%s]}`, 1, tok, tok, tok, strings.Join(lines, ",")))
	b.Run("rules", func(b *testing.B) {
		for b.Loop() {
			if err := e.ValidateWireRules(payload); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("validate", func(b *testing.B) {
		for b.Loop() {
			if err := e.Validate(payload); err != nil {
				b.Fatal(err)
			}
		}
	})
}

const benchSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "additionalProperties": false, "required": ["number", "customer", "lines"],
  "properties": {
    "number": {"type": "string", "pattern": "^[0-9]{4}-[0-9]+$"},
    "currency": {"enum": ["EUR", "TRY", "USD"]},
    "customer": {
      "type": "object", "additionalProperties": false, "required": ["name", "tax_id"],
      "properties": {
        "name": {"type": "string", "minLength": 1, "x-gdpr-sensitive": true},
        "tax_id": {"type": "string", "minLength": 1, "x-gdpr-sensitive": true, "x-blind-index": {"name": "tax_id"}},
        "email": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"name": "email", "normalize": ["email"]}}
      }
    },
    "lines": {"type": "array", "items": {
      "type": "object", "additionalProperties": false, "required": ["sku", "quantity"],
      "properties": {"sku": {"type": "string"}, "text": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}, "price": {"type": "number"}}
    }}
  }
}`
