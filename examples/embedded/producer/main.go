// Command producer issues invoices. For each it writes a row of its own table and an event that tells of it, in one
// transaction: both are there, or neither is. Names, addresses and tax numbers leave the program only as ciphertext.
//
//	producer -project DIR < invoices
//
// DIR is a project as `fieldcrypt init` makes it, migrated. The invoices are JSON objects as the schema invoice.issued
// wants them.
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
	if err := run(context.Background(), *project, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "producer:", err)
		os.Exit(1)
	}
}

//readme:begin open
func open(ctx context.Context, project string) (*service, error) {
	registry, err := schema.Load(filepath.Join(project, "schemas"))
	if err != nil {
		return nil, err
	}
	file, err := filekeyring.New(filepath.Join(project, "keyring.json"), filekeyring.Options{
		Passphrase: filekeyring.PassphraseFile(filepath.Join(project, "passphrase")),
	})
	if err != nil {
		return nil, err
	}
	ring, err := keyring.Open(ctx, "default", file, file, keyring.Options{})
	if err != nil {
		return nil, err
	}
	rings, err := keyring.NewSet(ring)
	if err != nil {
		return nil, err
	}
	sealer, err := envelope.NewSealer(registry, rings, envelope.Options{})
	if err != nil {
		return nil, err
	}
	outbox, err := sqlite.Open(ctx, filepath.Join(project, "outbox.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return &service{sealer: sealer, outbox: outbox, ring: ring}, nil
}

//readme:end

// service is what a process opens once and shares.
type service struct {
	sealer *envelope.Sealer
	outbox *sqlite.Store
	ring   *keyring.Keyring
}

func (s *service) close() error {
	s.ring.Close()
	return s.outbox.Close()
}

// invoice is what the service knows of an invoice. Its JSON form is the event's payload.
type invoice struct {
	Number   string      `json:"number"`
	IssuedOn string      `json:"issued_on"`
	Customer customer    `json:"customer"`
	Lines    []line      `json:"lines"`
	Total    json.Number `json:"total"`
}

type customer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	TaxID string `json:"tax_id"`
}

type line struct {
	Text     string      `json:"text"`
	Quantity int         `json:"quantity"`
	Price    json.Number `json:"price"`
}

//readme:begin issue
var issued = envelope.Typed[invoice]{Type: "invoice.issued"}

func (s *service) issue(ctx context.Context, inv invoice) error {
	sealed, err := issued.Seal(ctx, s.sealer, envelope.Event{AggregateID: inv.Number}, inv)
	if err != nil {
		return err
	}
	tx, err := s.outbox.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing once the transaction is committed
	if _, err := tx.ExecContext(ctx, `INSERT INTO invoices (number, total) VALUES (?, ?)`, inv.Number, inv.Total.String()); err != nil {
		return err
	}
	if _, err := s.outbox.Write(ctx, tx, sealed); err != nil {
		return err
	}
	return tx.Commit()
}

//readme:end

func run(ctx context.Context, project string, in io.Reader, out io.Writer) (err error) {
	s, err := open(ctx, project)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := createInvoices(ctx, s.outbox.DB()); err != nil {
		return err
	}
	invoices := json.NewDecoder(in)
	invoices.DisallowUnknownFields()
	for {
		var inv invoice
		switch err := invoices.Decode(&inv); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading an invoice: %w", err)
		}
		if err := s.issue(ctx, inv); err != nil {
			return fmt.Errorf("invoice %s: %w", inv.Number, err)
		}
		fmt.Fprintf(out, "issued %s\n", inv.Number)
	}
}

func createInvoices(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS invoices (number TEXT NOT NULL PRIMARY KEY, total TEXT NOT NULL)`)
	return err
}
