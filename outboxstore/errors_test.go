package outboxstore

import (
	"errors"
	"strings"
	"testing"
)

// Error texts are lower case, without a final period, and mask an id that is no UUID.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	const secret = "Secret@example.org"
	version := int64(7)
	all := []error{
		ErrZeroSealed, ErrNoRow, ErrRowBusy,
		&EventError{Position: 2, Err: ErrZeroSealed},
		&EventError{EventID: "0190aaaa-0000-7000-8000-000000000001", Err: ErrNoRow},
		&ConflictError{Conflict: ConflictContent},
		&ConflictError{Conflict: ConflictAggregateVersion, StoredID: secret, AggregateType: "invoice", AggregateVersion: &version},
		&MissingError{Table: "outbox_events"},
		&MissingError{Table: "outbox_events", Column: "bidx_x"},
		&ShapeError{Table: "outbox_events", Column: "bidx_x", Have: "TEXT", Want: "BLOB"},
		&NewerError{Table: "outbox_events", Version: 2, KnownVersion: 1},
		&RowError{ID: secret, Err: &ColumnError{Column: "headers", Reason: "none"}},
		&ReplacementError{RowID: secret, EventID: secret},
		&TableNameError{Name: "a b"},
	}
	for _, err := range all {
		text := err.Error()
		if text == "" || text[0] >= 'A' && text[0] <= 'Z' || strings.HasSuffix(text, ".") || strings.Contains(text, secret) {
			t.Errorf("%T: %s", err, text)
		}
		if hinted, ok := err.(interface{ Hint() string }); ok && (hinted.Hint() == "" || strings.HasSuffix(hinted.Hint(), ".")) {
			t.Errorf("%T: hint %q", err, hinted.Hint())
		}
	}
	if !errors.Is(&EventError{Err: &RowError{Err: ErrNoRow}}, ErrNoRow) {
		t.Error("the reason is not found through EventError and RowError")
	}
}

func TestDisplayID(t *testing.T) {
	t.Parallel()
	const id = "0190aaaa-0000-7000-8000-00000000000f"
	if got := DisplayID(id); got != id {
		t.Errorf("%q", got)
	}
	for _, other := range []string{"", "x", strings.ToUpper(id), "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), id + " "} {
		if got := DisplayID(other); got != "*" {
			t.Errorf("%q is shown as %q", other, got)
		}
	}
}
