// Command consumer is a process of its own that reads the outbox in Postgres, opens each event that tells of an invoice with
// the keyring in Vault, and writes the letter that goes with it. Each event counts once, however often and however many
// times at once the program runs.
//
//	consumer
//
// Where things are is said by the variables FIELDCRYPT_SCHEMAS, FIELDCRYPT_KEYRING and FIELDCRYPT_OUTBOX, as for
// examples/producer. docs/operations.md sets up what the program needs: it may read the outbox, but not its blind indexes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "consumer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	registry, err := schema.Load(os.Getenv("FIELDCRYPT_SCHEMAS"))
	if err != nil {
		return err
	}
	location, err := vaultkeyring.ParseURL(os.Getenv("FIELDCRYPT_KEYRING"))
	if err != nil {
		return err
	}
	vault, err := vaultkeyring.New(location, vaultkeyring.Options{}) // VAULT_ADDR, VAULT_ROLE_ID …
	if err != nil {
		return err
	}
	ring, err := keyring.Open(ctx, "default", vault, vault, keyring.Options{Logger: slog.Default()})
	if err != nil {
		return err
	}
	defer ring.Close()
	rings, err := keyring.NewSet(ring)
	if err != nil {
		return err
	}
	opener, err := envelope.NewOpener(registry, rings, envelope.Options{})
	if err != nil {
		return err
	}
	db, err := pgxpool.New(ctx, os.Getenv("FIELDCRYPT_OUTBOX"))
	if err != nil {
		return err
	}
	defer db.Close()
	return (&consumer{db: db, opener: opener, out: out}).consume(ctx)
}

type consumer struct {
	db     *pgxpool.Pool
	opener *envelope.Opener
	out    io.Writer
}

// invoice is what this consumer wants to know of an invoice.
type invoice struct {
	Number   string `json:"number"`
	Customer struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	} `json:"customer"`
	Total json.Number `json:"total"`
}

// consume applies the events that were not applied before. One that does not open stops no other.
func (c *consumer) consume(ctx context.Context) error {
	var failed []error
	for after := "00000000-0000-0000-0000-000000000000"; ; {
		events, err := c.pending(ctx, after)
		if err != nil || len(events) == 0 {
			return errors.Join(append(failed, err)...)
		}
		for _, event := range events {
			if err := c.apply(ctx, event); err != nil {
				failed = append(failed, fmt.Errorf("event %s: %w", event.ID, err))
			}
			after = event.ID
		}
	}
}

// pending reads what some events need to be opened. Nothing in it is trusted yet. Which events were applied is asked, not how
// far the last run came: a transaction that commits late brings an event with an earlier id.
func (c *consumer) pending(ctx context.Context, after string) ([]envelope.Wire, error) {
	rows, err := c.db.Query(ctx, `
		SELECT id::text, event_type, event_version, aggregate_id, payload::text FROM outbox_events e
		WHERE event_type = 'invoice.issued' AND id > $1 AND NOT EXISTS (SELECT FROM letters WHERE event_id = e.id)
		ORDER BY id LIMIT 100`, after)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e envelope.Wire, err error) {
		err = row.Scan(&e.ID, &e.Type, &e.Version, &e.AggregateID, &e.Payload)
		return e, err
	})
}

//readme:begin apply
var issued = envelope.Typed[invoice]{Type: "invoice.issued"}

func (c *consumer) apply(ctx context.Context, event envelope.Wire) error {
	received, err := envelope.Parse(event, envelope.Limits{})
	if err != nil {
		return err
	}
	inv, _, err := issued.Open(ctx, c.opener, received, envelope.OpenOptions{})
	if err != nil {
		return err
	}
	tx, err := c.db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // does nothing once the transaction is committed
	applied, err := tx.Exec(ctx, `INSERT INTO letters (event_id, number) VALUES ($1, $2) ON CONFLICT DO NOTHING`, event.ID, inv.Number)
	if err != nil || applied.RowsAffected() == 0 { // another consumer was faster
		return err
	}
	if _, err := fmt.Fprintf(c.out, "To %s <%s>: invoice %s over %s\n", inv.Customer.Name, inv.Customer.Email, inv.Number, inv.Total); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

//readme:end
