package bench

import (
	"bytes"
	"fmt"
	"strings"
)

// batchType holds many orders in one event, so that events of any size have the same share of flagged values.
const batchType = "orders.placed"

func batchSchema() string {
	order := strings.ReplaceAll(orderSchema, `"x-blind-index": {"normalize"`, `"x-blind-index": {"multi": true, "name": "email", "normalize"`)
	order = strings.ReplaceAll(order, `"x-blind-index": true`, `"x-blind-index": {"multi": true, "name": "tax_id"}`)
	return `{"type": "object", "properties": {"orders": {"type": "array", "items": ` + order + `}}}`
}

// batchPayload holds n orders: about 600 n bytes, 3 n flagged values.
func batchPayload(n int) []byte {
	return []byte(`{"orders":[` + strings.TrimSuffix(strings.Repeat(string(orderPayload())+",", n), ",") + `]}`)
}

// formType has as many flagged members as are asked for.
const formType = "form.sent"

func formSchema(n int) string {
	var b bytes.Buffer
	b.WriteString(`{"type": "object", "properties": {`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"answer_%d": {"type": "string", "x-gdpr-sensitive": true}`, i)
	}
	b.WriteString(`}}`)
	return b.String()
}

func formPayload(n int) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"answer_%d":"what they answered"`, i)
	}
	b.WriteByte('}')
	return b.Bytes()
}
