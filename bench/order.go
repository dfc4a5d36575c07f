package bench

import "strings"

// The event that is measured: 612 bytes, 12 fields, 3 of them flagged (one nested), 2 indexed.
const (
	orderType   = "order.placed"
	orderSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["order_id", "customer"],
  "properties": {
    "order_id": {"type": "string"}, "created": {"type": "string"}, "currency": {"enum": ["TRY", "EUR"]}, "total": {"type": "number"},
    "items": {"type": "integer"}, "channel": {"type": "string"}, "campaign": {"type": ["string", "null"]}, "warehouse": {"type": "string"}, "comment": {"type": "string"},
    "email": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["trim", "casefold"]}},
    "customer": {
      "type": "object",
      "properties": {"name": {"type": "string", "x-gdpr-sensitive": true}, "segment": {"type": "string"}}
    },
    "tax_id": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}
  }
}`
	orderSize = 612
)

func orderPayload() []byte {
	payload := `{"order_id":"0190b8f0-5d1c-7a33-8f2e-1c0d9a3b7e55","created":"2026-11-30T12:00:00Z","currency":"TRY","total":1249.90,"items":3,` +
		`"channel":"web","campaign":null,"warehouse":"IST-2","email":"ada.lovelace@example.org","customer":{"name":"Ada Lovelace","segment":"gold"},` +
		`"tax_id":"12345678901","comment":"`
	return []byte(payload + strings.Repeat("x", orderSize-len(payload)-2) + `"}`)
}
