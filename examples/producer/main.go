// Command producer issues invoices, as a service in production does: its keyring is in Vault, its rows are in Postgres. For
// each invoice it writes a row of its own table and an event that tells of it, in one transaction: both are there, or
// neither is. Names, addresses and tax numbers leave the program only as ciphertext.
//
//	producer < invoices
//
// The invoices are JSON objects as the schema invoice.issued wants them. Where things are is said by the variables that the
// command line takes too:
//
//	FIELDCRYPT_SCHEMAS   the directory of the schemas
//	FIELDCRYPT_KEYRING   vault://MOUNT/PATH?transit=MOUNT/KEY; address and login come from VAULT_ADDR, VAULT_ROLE_ID …
//	FIELDCRYPT_OUTBOX    postgres://HOST/DATABASE; user and password may come from PGUSER, PGPASSFILE …
//
// docs/operations.md sets up what the program needs. examples/embedded/producer does the same without any server.
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
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func main() {
	refresh := flag.Duration("refresh", time.Minute, "how `often` to load the keyring anew")
	databaseSQL := flag.Bool("database-sql", false, "write through database/sql instead of pgx")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *refresh, *databaseSQL, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "producer:", err)
		os.Exit(1)
	}
}

//readme:begin open
func open(ctx context.Context, refresh time.Duration) (*service, error) {
	registry, err := schema.Load(os.Getenv("FIELDCRYPT_SCHEMAS"))
	if err != nil {
		return nil, err
	}
	location, err := vaultkeyring.ParseURL(os.Getenv("FIELDCRYPT_KEYRING"))
	if err != nil {
		return nil, err
	}
	vault, err := vaultkeyring.New(location, vaultkeyring.Options{}) // VAULT_ADDR, VAULT_ROLE_ID …
	if err != nil {
		return nil, err
	}
	outbox, err := postgres.Open(ctx, os.Getenv("FIELDCRYPT_OUTBOX"), postgres.Options{})
	if err != nil {
		return nil, err
	}
	// The keyring refreshes itself. The database remembers its newest revision, so that an older one is refused.
	ring, err := keyring.Open(ctx, "default", vault, vault, keyring.Options{
		Logger: slog.Default(), RefreshInterval: refresh, Memory: outbox.KeyringMemory(),
	})
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
	for _, name := range rings.Unlisted(os.Getenv("FIELDCRYPT_OUTBOX")) {
		slog.Warn("the keyring does not list this outbox: a key that it needs could be disabled", "keyring", name)
	}
	return &service{sealer: sealer, outbox: outbox, ring: ring}, nil
}

//readme:end

// service is what a process opens once and shares.
type service struct {
	sealer *envelope.Sealer
	outbox *postgres.Store
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
	tx, err := s.outbox.Pool().Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // does nothing once the transaction is committed
	if _, err := tx.Exec(ctx, `INSERT INTO invoices (number, total) VALUES ($1, $2)`, inv.Number, inv.Total.String()); err != nil {
		return err
	}
	if _, err := s.outbox.Write(ctx, tx, sealed); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

//readme:end

// issueTimeout is how long one invoice may take, waiting for a connection and for locks included.
const issueTimeout = 30 * time.Second

func run(ctx context.Context, refresh time.Duration, databaseSQL bool, in io.Reader, out io.Writer) (err error) {
	s, err := open(ctx, refresh)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	issue := s.issue
	if databaseSQL {
		issue = s.issueSQL
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
		if err := inTime(ctx, inv, issue); err != nil {
			return fmt.Errorf("invoice %s: %w", inv.Number, err)
		}
		fmt.Fprintf(out, "issued %s\n", inv.Number)
	}
}

func inTime(ctx context.Context, inv invoice, issue func(context.Context, invoice) error) error {
	ctx, cancel := context.WithTimeout(ctx, issueTimeout)
	defer cancel()
	return issue(ctx, inv)
}
