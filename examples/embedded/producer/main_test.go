package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/examples/embedded/internal/shop"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// produce runs the program and gives what it printed.
func produce(t *testing.T, s *shop.Shop, invoices ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run(t.Context(), s.Dir, strings.NewReader(strings.Join(invoices, "\n")), &out)
	return out.String(), err
}

// wantRows counts invoices and events.
func wantRows(t *testing.T, s *shop.Shop, invoices, events int) {
	t.Helper()
	if got := s.Count(t, `SELECT count(*) FROM invoices`); got != invoices {
		t.Errorf("%d invoices, want %d", got, invoices)
	}
	if got := s.Count(t, `SELECT count(*) FROM outbox_events`); got != events {
		t.Errorf("%d events, want %d", got, events)
	}
}

func TestAnInvoiceAndItsEventAreWrittenTogether(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	out, err := produce(t, s, shop.Ada(), shop.Grace())
	if err != nil {
		t.Fatal(err)
	}
	if want := "issued 2026-2001\nissued 2026-2002\n"; out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	wantRows(t, s, 2, 2)
	clear := `payload LIKE '%Lovelace%' OR payload LIKE '%ada@example.com%' OR payload LIKE '%Hopper%' OR payload LIKE '%grace@example.com%'`
	if n := s.Count(t, `SELECT count(*) FROM outbox_events WHERE `+clear); n != 0 {
		t.Errorf("%d events show a name or an e-mail address", n)
	}
	if n := s.Count(t, `SELECT count(*) FROM outbox_events WHERE payload LIKE '{"number":"2026-2001","issued_on":"2026-11-30","customer":{"name":"fc1:%","email":"fc1:%","tax_id":"fc1:%"},"lines":[%],"total":120.50}'`); n != 1 {
		t.Errorf("%d events are Ada's invoice with tokens in it, want 1", n)
	}
	if n := s.Count(t, `SELECT count(*) FROM outbox_events WHERE bidx_tax_id IS NOT NULL AND bidx_email IS NOT NULL`); n != 2 {
		t.Errorf("%d events can be searched, want 2", n)
	}
}

func TestAnInvoiceThatFailsLeavesNeitherRowNorEvent(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	if _, err := produce(t, s, shop.Ada()); err != nil {
		t.Fatal(err)
	}
	out, err := produce(t, s, shop.Ada(), shop.Grace())
	if err == nil {
		t.Error("an invoice number was used twice without an error")
	}
	if out != "" {
		t.Errorf("printed %q although nothing was issued", out)
	}
	wantRows(t, s, 1, 1)
}

func TestAnEventThatFailsLeavesNeitherRowNorEvent(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	if _, err := produce(t, s, shop.Ada()); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, `DROP INDEX ix_outbox_events_bidx_tax_id`)
	s.Exec(t, `ALTER TABLE outbox_events DROP COLUMN bidx_tax_id`)
	_, err := produce(t, s, shop.Grace())
	var missing *outboxstore.MissingError
	if !errors.As(err, &missing) || missing.Column != "bidx_tax_id" {
		t.Errorf("error is %v, want a *MissingError of bidx_tax_id", err)
	}
	wantRows(t, s, 1, 1)
}

func TestAnInvalidInvoiceIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	_, err := produce(t, s, shop.Invoice("2026-2003", "Ada Lovelace", "ada@example.com", "not a tax number"))
	var invalid *schema.ValidationError
	if !errors.As(err, &invalid) {
		t.Errorf("error is %v, want a *schema.ValidationError", err)
	}
	if err != nil && strings.Contains(err.Error(), "not a tax number") {
		t.Errorf("the error shows the value: %v", err)
	}
	wantRows(t, s, 0, 0)
}

func TestATaxNumberAsInvoiceNumberIsRefused(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	_, err := produce(t, s, shop.Invoice("2026-1112223334", "Ada Lovelace", "ada@example.com", "1112223334"))
	var outside *envelope.OutsideError
	if !errors.As(err, &outside) {
		t.Errorf("error is %v, want an *envelope.OutsideError", err)
	}
	wantRows(t, s, 0, 0)
}
