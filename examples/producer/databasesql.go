package main

import (
	"context"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// issueSQL is issue for a service on database/sql, and so for sqlc, GORM or ent: WriteSQL takes their *sql.Tx.
func (s *service) issueSQL(ctx context.Context, inv invoice) error {
	sealed, err := issued.Seal(ctx, s.sealer, envelope.Event{AggregateID: inv.Number}, inv)
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(s.outbox.Pool())
	defer db.Close() // leaves the pool open
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing once the transaction is committed
	if _, err := tx.ExecContext(ctx, `INSERT INTO invoices (number, total) VALUES ($1, $2)`, inv.Number, inv.Total.String()); err != nil {
		return err
	}
	if _, err := s.outbox.WriteSQL(ctx, tx, sealed); err != nil {
		return err
	}
	return tx.Commit()
}
