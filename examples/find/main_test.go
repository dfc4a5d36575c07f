package main

import (
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/examples/internal/shop"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// search runs the program and gives what it printed.
func search(t *testing.T, s *shop.Shop, index, value string) (string, error) {
	t.Helper()
	var out strings.Builder
	c := config{index: index, schemas: s.Schemas, keyring: s.Keyring, passphraseFile: s.PassphraseFile, outbox: s.Outbox}
	err := run(t.Context(), c, strings.NewReader(value), &out)
	return out.String(), err
}

func TestASearchFindsTheRowsOfOnePersonBeforeAndAfterARotation(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	s.Write(t,
		`{"number": "1", "customer": {"name": "Ada Lovelace", "email": "ada@example.com"}, "total": 1}`,
		`{"number": "2", "customer": {"name": "Grace Hopper", "email": "grace@example.com"}, "total": 2}`,
	)
	if _, err := s.Manager.Stage(t.Context(), keyring.Index, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Manager.Promote(t.Context(), keyring.Index, keyring.PromoteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Write(t, `{"number": "3", "customer": {"name": "Ada Lovelace", "email": " ADA@example.com"}, "total": 3}`)
	for _, c := range []struct {
		value string
		rows  int
	}{
		{"ada@example.com\n", 2},
		{"Ada@Example.COM", 2},
		{"grace@example.com", 1},
		{"nobody@example.com", 0},
		{"", 0},
	} {
		out, err := search(t, s, "customer_email", c.value)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out, "invoice.issued invoice\n"); got != c.rows || len(out) != got*len("invoice.issued invoice\n") {
			t.Errorf("searching %q printed %q, want %d rows", c.value, out, c.rows)
		}
	}
}

func TestAnIndexThatNoSchemaDeclaresIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := search(t, shop.New(t), "tax_id", "1"); err == nil || !strings.Contains(err.Error(), "tax_id") {
		t.Errorf("error is %v, want one that names the index", err)
	}
}
