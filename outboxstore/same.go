package outboxstore

import (
	"context"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// CheckSealed refuses what cannot be written, before a dialect begins. It is for dialects.
func CheckSealed(sealed []envelope.Sealed) error {
	for i, s := range sealed {
		if s.IsZero() {
			return &EventError{Position: i, Err: ErrZeroSealed}
		}
	}
	return nil
}

// CompareStored decides about an event whose id is stored already: Duplicate, a *ConflictError, or the error of a row that
// does not open. It is for dialects, who read the row in the caller's transaction.
func CompareStored(ctx context.Context, s envelope.Sealed, row *Row) (Result, error) {
	if row.Err != nil {
		return 0, row.Err
	}
	same, err := s.SameContent(ctx, row.Received)
	if err != nil {
		return 0, asRowError(row.ID, err)
	}
	if !same {
		w := s.Wire()
		return 0, &ConflictError{
			Conflict:         ConflictContent,
			EventID:          w.ID,
			StoredID:         row.ID,
			AggregateType:    w.AggregateType,
			AggregateVersion: w.AggregateVersion,
		}
	}
	return Duplicate, nil
}

// CheckReplacements refuses a Sealed that is not its row's event, so that no caller of Replace can change what an event
// says. It is for dialects. It opens both, at the price of a re-encryption's second decryption: a mistake in what makes a
// Sealed must not reach a stored row.
func CheckReplacements(ctx context.Context, replacements []Replacement) error {
	for i, r := range replacements {
		if r.Sealed.IsZero() {
			return &EventError{Position: i, Err: ErrZeroSealed}
		}
		if r.Row == nil {
			return &EventError{Position: i, EventID: r.Sealed.Wire().ID, Err: ErrNoRow}
		}
		if r.Row.Err != nil {
			return r.Row.Err
		}
		if id := r.Sealed.Wire().ID; id != r.Row.ID {
			return &ReplacementError{RowID: r.Row.ID, EventID: id}
		}
		same, err := r.Sealed.SameContent(ctx, r.Row.Received)
		if err != nil {
			return asRowError(r.Row.ID, err)
		}
		if !same {
			return &ReplacementError{RowID: r.Row.ID, EventID: r.Sealed.Wire().ID}
		}
	}
	return nil
}
