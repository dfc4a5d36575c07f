package postgres_test

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
)

// A business row and its event in one transaction: both are committed, or neither.
func ExampleWriter_Write() {
	issue := func(ctx context.Context, db *pgxpool.Pool, sealer *envelope.Sealer, writer *postgres.Writer, invoice int64, payload []byte) error {
		sealed, err := sealer.Seal(ctx, envelope.Event{Type: "invoice.issued", AggregateID: "42", AggregateVersion: &invoice, Payload: payload})
		if err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO invoices (number) VALUES ($1)", invoice); err != nil {
				return err
			}
			_, err := writer.Write(ctx, tx, sealed)
			return err
		})
	}
	_ = issue
}
