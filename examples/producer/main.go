// Command producer issues invoices. For each it writes a row of its own table and an event that tells of it, in one
// transaction: both are there, or neither is. The customer's name and e-mail address leave the program only as ciphertext.
//
//	producer -schemas DIR -keyring FILE -outbox sqlite:FILE < invoices
//
// It reads one JSON object for each invoice. The keyring's passphrase is in the file that FIELDCRYPT_PASSPHRASE_FILE names.
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

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func main() {
	var c config
	flag.StringVar(&c.schemas, "schemas", "schemas", "directory of the event schemas")
	flag.StringVar(&c.keyring, "keyring", "default.keyring", "keyring file")
	flag.StringVar(&c.outbox, "outbox", "sqlite:outbox.db", "database of the outbox and of the invoices")
	flag.Parse()
	c.passphraseFile = os.Getenv("FIELDCRYPT_PASSPHRASE_FILE")
	if err := run(context.Background(), c, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "producer:", err)
		os.Exit(1)
	}
}

type config struct {
	schemas, keyring, passphraseFile, outbox string
}

// readme:begin open
func open(ctx context.Context, c config) (*service, error) {
	registry, err := schema.Load(c.schemas)
	if err != nil {
		return nil, err
	}
	file, err := filekeyring.New(c.keyring, filekeyring.Options{Passphrase: filekeyring.PassphraseFile(c.passphraseFile)})
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
	outbox, err := sqlite.Open(ctx, c.outbox, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return &service{sealer: sealer, outbox: outbox, ring: ring}, nil
}

// readme:end

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

type invoice struct {
	Number   string      `json:"number"`
	Customer customer    `json:"customer"`
	Total    json.Number `json:"total"`
}

type customer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// readme:begin issue
func (s *service) issue(ctx context.Context, inv invoice) error {
	payload, err := json.Marshal(inv)
	if err != nil {
		return err
	}
	sealed, err := s.sealer.Seal(ctx, envelope.Event{
		Type:        "invoice.issued",
		AggregateID: inv.Number,
		Payload:     payload,
	})
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

// readme:end

func run(ctx context.Context, c config, in io.Reader, out io.Writer) (err error) {
	s, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := createInvoices(ctx, s.outbox.DB()); err != nil {
		return err
	}
	lines := json.NewDecoder(in)
	lines.DisallowUnknownFields()
	for {
		var inv invoice
		switch err := lines.Decode(&inv); {
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
