package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/examples/embedded/internal/shop"
)

const (
	adasLetter   = "To Ada Lovelace <ada@example.com>: invoice 2026-2001 over 120.50\n"
	gracesLetter = "To Grace Hopper <grace@example.com>: invoice 2026-2002 over 120.50\n"
)

// consume runs the program and gives what it printed.
func consume(t *testing.T, s *shop.Shop) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run(t.Context(), s.Dir, &out)
	return out.String(), err
}

func TestEachEventIsAppliedOnce(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	s.Write(t, shop.Ada())
	for i, want := range []string{adasLetter, "", gracesLetter} {
		if i == 2 {
			s.Write(t, shop.Grace())
		}
		out, err := consume(t, s)
		if err != nil {
			t.Fatal(err)
		}
		if out != want {
			t.Errorf("run %d printed %q, want %q", i+1, out, want)
		}
	}
	if n := s.Count(t, `SELECT count(*) FROM letters`); n != 2 {
		t.Errorf("%d letters, want 2", n)
	}
}

func TestAnEventThatWasTamperedWithIsRefusedAndStopsNoOther(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	s.Write(t, shop.Ada(), shop.Grace())
	// Ada's name in the place of her address: both are good tokens, in the wrong places.
	s.Exec(t, `UPDATE outbox_events SET payload = json_set(payload, '$.customer.email', json_extract(payload, '$.customer.name'))
		WHERE payload LIKE '%2026-2001%'`)
	out, err := consume(t, s)
	var refused *envelope.OpenError
	if !errors.As(err, &refused) || refused.Location != "/customer/email" {
		t.Errorf("error is %v, want an *envelope.OpenError at /customer/email", err)
	}
	if out != gracesLetter {
		t.Errorf("printed %q, want %q", out, gracesLetter)
	}
	if n := s.Count(t, `SELECT count(*) FROM letters`); n != 1 {
		t.Errorf("%d letters, want 1", n)
	}
}

func TestAPlaintextInThePlaceOfATokenIsRefused(t *testing.T) {
	t.Parallel()
	s := shop.New(t)
	s.Write(t, shop.Ada())
	s.Exec(t, `UPDATE outbox_events SET payload = json_set(payload, '$.customer.email', 'mallory@example.com')`)
	out, err := consume(t, s)
	var refused *envelope.LocationError
	if !errors.As(err, &refused) || refused.Kind != envelope.KindPlaintext {
		t.Errorf("error is %v, want an *envelope.LocationError of kind %s", err, envelope.KindPlaintext)
	}
	if out != "" {
		t.Errorf("printed %q", out)
	}
}
