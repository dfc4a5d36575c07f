package main

import (
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/examples/embedded/internal/shop"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// search runs the program and gives what it printed.
func search(t *testing.T, s *shop.Shop, index, value string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run(t.Context(), s.Dir, index, strings.NewReader(value), &out)
	return out.String(), err
}

func TestASearchFindsTheRowsOfOnePersonBeforeAndAfterARotation(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	s.Write(t, shop.Ada(), shop.Grace())
	if _, err := s.Manager.Stage(t.Context(), keyring.Index, keyring.StageOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Manager.Promote(t.Context(), keyring.Index, keyring.PromoteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Write(t, shop.Invoice("2026-2003", "Ada Lovelace", " ADA@example.com", "1112223334"))
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
		out, err := search(t, s, "email", c.value)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out, "invoice.issued an invoice\n"); got != c.rows || len(out) != got*len("invoice.issued an invoice\n") {
			t.Errorf("searching %q printed %q, want %d rows", c.value, out, c.rows)
		}
	}
}

func TestAnIndexThatNoSchemaDeclaresIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := search(t, shop.New(t), "phone", "1"); err == nil || !strings.Contains(err.Error(), "phone") {
		t.Errorf("error is %v, want one that names the index", err)
	}
}
