// Command customers keeps a table of customers of its own, in Postgres or SQLite: name and tax id are sealed in each row, and
// a customer is found by tax id through a blind index.
//
//	customers create
//	customers add CITY < person     {"name": "Ada", "tax_id": "TR 123"}, prints the row's id
//	customers find < tax id
//	customers forget ID             erases the tax id, and its index
//	customers reseal                brings all rows under today's keys
//
// Personal data comes in by standard input, which neither ps nor the shell's history shows. Three variables say where things
// are:
//
//	CUSTOMERS_DATABASE           postgres://… or sqlite:PATH
//	FIELDCRYPT_KEYRING           file:PATH, made by fieldcrypt keys create
//	FIELDCRYPT_PASSPHRASE_FILE   the file of its passphrase
package main

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

//go:embed schemas
var schemas embed.FS

func main() {
	if err := run(context.Background(), os.Getenv, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "customers:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: customers create | add CITY | find | forget ID | reseal")

func run(ctx context.Context, getenv func(string) string, args []string, in io.Reader, out io.Writer) (err error) {
	if len(args) == 0 {
		return errUsage
	}
	registry, err := schema.LoadFS(schemas)
	if err != nil {
		return err
	}
	file, err := filekeyring.New(strings.TrimPrefix(getenv("FIELDCRYPT_KEYRING"), "file:"), filekeyring.Options{
		Passphrase: filekeyring.PassphraseFile(getenv("FIELDCRYPT_PASSPHRASE_FILE")),
	})
	if err != nil {
		return err
	}
	ring, err := keyring.Open(ctx, "default", file, file, keyring.Options{})
	if err != nil {
		return err
	}
	defer ring.Close()
	db, dialect, err := open(getenv("CUSTOMERS_DATABASE"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := newCustomers(db, dialect, registry, ring)
	if err != nil {
		return err
	}
	return c.do(ctx, args, in, out)
}

// open knows the two databases.
func open(url string) (*sql.DB, blindindex.Dialect, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		// IMMEDIATE: a transaction that reads first and then writes excludes others from its beginning.
		db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
		return db, blindindex.SQLite, err
	}
	db, err := sql.Open("pgx", url)
	return db, blindindex.Postgres, err
}

func (c *customers) do(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	switch command := args[0]; {
	case command == "create" && len(args) == 1:
		return c.create(ctx)
	case command == "add" && len(args) == 2:
		var p person
		if err := json.NewDecoder(in).Decode(&p); err != nil {
			return errors.New("standard input is not a JSON object with a name and a tax_id")
		}
		id, err := c.insert(ctx, customer{City: args[1], Name: p.Name, TaxID: p.TaxID})
		if err != nil {
			return err
		}
		fmt.Fprintln(out, id)
		return nil
	case command == "find" && len(args) == 1:
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		found, err := c.find(ctx, strings.TrimSuffix(string(text), "\n"))
		for _, r := range found {
			fmt.Fprintln(out, r.ID, r.City)
		}
		return err
	case command == "forget" && len(args) == 2:
		return c.forgetTaxID(ctx, args[1])
	case command == "reseal" && len(args) == 1:
		changed, err := c.reseal(ctx)
		fmt.Fprintf(out, "%d rows resealed\n", changed)
		return err
	}
	return errUsage
}
