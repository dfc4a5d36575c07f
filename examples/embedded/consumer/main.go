// Command consumer reads the outbox, opens each event that tells of an invoice, and writes the letter that goes with it.
// Each event counts once, however often the program runs.
//
//	consumer -project DIR
//
// DIR is a project as `fieldcrypt init` makes it, migrated.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func main() {
	project := flag.String("project", ".", "`directory` of the project")
	flag.Parse()
	if err := run(context.Background(), *project, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "consumer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, project string, out io.Writer) (err error) {
	registry, err := schema.Load(filepath.Join(project, "schemas"))
	if err != nil {
		return err
	}
	file, err := filekeyring.New(filepath.Join(project, "keyring.json"), filekeyring.Options{
		Passphrase: filekeyring.PassphraseFile(filepath.Join(project, "passphrase")),
	})
	if err != nil {
		return err
	}
	ring, err := keyring.Open(ctx, "default", file, file, keyring.Options{})
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
	outbox, err := sqlite.Open(ctx, filepath.Join(project, "outbox.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, outbox.Close()) }()
	return (&consumer{db: outbox.DB(), opener: opener, out: out}).consume(ctx)
}

type consumer struct {
	db     *sql.DB
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
	if _, err := c.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS letters (event_id TEXT NOT NULL PRIMARY KEY, number TEXT NOT NULL)`); err != nil {
		return err
	}
	events, err := c.pending(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, event := range events {
		if err := c.apply(ctx, event); err != nil {
			failed = append(failed, fmt.Errorf("event %s: %w", event.ID, err))
		}
	}
	return errors.Join(failed...)
}

// pending reads what an event needs to be opened. Nothing in it is trusted yet.
func (c *consumer) pending(ctx context.Context) (events []envelope.Wire, err error) {
	rows, err := c.db.QueryContext(ctx, `
		SELECT id, event_type, event_version, aggregate_id, payload FROM outbox_events
		WHERE event_type = 'invoice.issued' AND id NOT IN (SELECT event_id FROM letters)
		ORDER BY created_at, id`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e envelope.Wire
		if err := rows.Scan(&e.ID, &e.Type, &e.Version, &e.AggregateID, &e.Payload); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, rows.Err()
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
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing once the transaction is committed
	if _, err := tx.ExecContext(ctx, `INSERT INTO letters (event_id, number) VALUES (?, ?)`, event.ID, inv.Number); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.out, "To %s <%s>: invoice %s over %s\n", inv.Customer.Name, inv.Customer.Email, inv.Number, inv.Total); err != nil {
		return err
	}
	return tx.Commit()
}

//readme:end
