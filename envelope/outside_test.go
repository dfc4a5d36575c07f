package envelope

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFlaggedValuesMayNotLeaveAroundThePayload(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct {
		payload     string
		aggregateID string
		headers     map[string]string
		where       string // "" is taken
		location    string
	}{
		"an e-mail as aggregate id":     {`{"email":"ada@b.example"}`, "ada@b.example", nil, "aggregate id", "/email"},
		"within the aggregate id":       {`{"email":"ada@b.example"}`, "customer-ada@b.example-1", nil, "aggregate id", "/email"},
		"spelt with escapes":            {`{"email":"\u0061da@b.e\u0078ample"}`, "ada@b.example", nil, "aggregate id", "/email"},
		"as a header's value":           {`{"email":"ada@b.example"}`, "1", map[string]string{"a": "x", "b": "for ada@b.example"}, "value of header 2", "/email"},
		"as a header's name":            {`{"email":"ada@b.example"}`, "1", map[string]string{"a": "x", "x-ada@b.example": "1"}, "name of header 2", "/email"},
		"a number":                      {`{"age":10203040}`, "tr-10203040", nil, "aggregate id", "/age"},
		"deep in a flagged object":      {`{"secret":{"x":[{"y":"ada@b.example"}]}}`, "ada@b.example", nil, "aggregate id", "/secret/*/0/*"},
		"a nested flag":                 {`{"person":{"tax_id":"12345678901"}}`, "12345678901", nil, "aggregate id", "/person/tax_id"},
		"a number in a flagged object":  {`{"secret":[1,12345678.5]}`, "12345678.50", nil, "aggregate id", "/secret/1"},
		"eight bytes":                   {`{"secret":"12345678"}`, "x12345678", nil, "aggregate id", "/secret"},
		"eight bytes, four letters":     {`{"secret":"şğıü"}`, "aşğıü", nil, "aggregate id", "/secret"},
		"seven bytes":                   {`{"secret":"1234567"}`, "1234567", nil, "", ""},
		"a flagged name":                {`{"secret":{"ada@b.example":1}}`, "ada@b.example", nil, "", ""},
		"an unflagged value":            {`{"id":"ada@b.example"}`, "ada@b.example", nil, "", ""},
		"a part of the flagged value":   {`{"email":"ada@b.example"}`, "ada@b.exampl", nil, "", ""},
		"over the seam of two places":   {`{"email":"ada@b.example"}`, "xxxxxx ada@b", map[string]string{".example": "xxxxxxxx"}, "", ""},
		"a literal":                     {`{"vip":true}`, "true true true", nil, "", ""},
		"in another case":               {`{"email":"ada@b.example"}`, "ADA@B.EXAMPLE", nil, "", ""},
		"under the policy seal, header": {``, "1", map[string]string{"a": "undeclared-value"}, "value of header 1", "/*/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := event(customer, c.payload)
			if c.payload == "" {
				e = event(sealPolicy, `{"x":["undeclared-value"]}`)
			}
			e.AggregateID, e.Headers = c.aggregateID, c.headers
			_, err := b.sealer.Seal(context.Background(), e)
			if c.where == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var outside *OutsideError
			if !errors.As(err, &outside) || outside.Where != c.where || outside.Location != c.location {
				t.Fatalf("%v", err)
			}
			checkError(t, err, "ada@", "10203040", "1234567", "undeclared-")
		})
	}
}

func TestTheSearchAroundThePayloadIsTheSameForLargeHeaders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	headers := map[string]string{}
	for i := range 100 {
		headers[fmt.Sprintf("h%03d", i)] = strings.Repeat(fmt.Sprintf("filler %d ", i), 20)
	}
	headers["h042"] += "ada@b.example"
	e := event(customer, `{"email":"ada@b.example"}`)
	e.Headers = headers
	var outside *OutsideError
	if _, err := b.sealer.Seal(context.Background(), e); !errors.As(err, &outside) || outside.Where != "value of header 43" {
		t.Fatalf("%v", err)
	}
	e.Payload = []byte(`{"email":"eve@b.example"}`)
	if _, err := b.sealer.Seal(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

func TestManyLeavesAndLargeHeadersDoNotCostTheirProduct(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var payload strings.Builder
	payload.WriteString(`{"secret":["`)
	for i := range 80_000 {
		fmt.Fprintf(&payload, `%08d","`, i)
	}
	payload.WriteString(`"]}`)
	e := event(customer, payload.String())
	e.Headers = map[string]string{"large": strings.Repeat("0000000x", 1<<17)} // 1 MiB: the product is 80 GB
	start := time.Now()
	if _, err := b.sealer.Seal(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
