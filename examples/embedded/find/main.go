// Command find looks for the events of one person, by the blind index of a sealed field. The value is read from standard
// input, where neither the shell's history nor the list of processes shows it.
//
//	find -project DIR -index tax_id < value
//
// DIR is a project as `fieldcrypt init` makes it, migrated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

func main() {
	project := flag.String("project", ".", "`directory` of the project")
	index := flag.String("index", "", "`name` of the blind index to search")
	flag.Parse()
	if err := run(context.Background(), *project, *index, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "find:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, project, name string, in io.Reader, out io.Writer) (err error) {
	registry, err := schema.Load(filepath.Join(project, "schemas"))
	if err != nil {
		return err
	}
	index, err := indexOf(registry, name)
	if err != nil {
		return err
	}
	file, err := filekeyring.New(filepath.Join(project, "keyring.json"), filekeyring.Options{
		Passphrase: filekeyring.PassphraseFile(filepath.Join(project, "passphrase")),
	})
	if err != nil {
		return err
	}
	ring, err := keyring.Open(ctx, index.Keyring, file, file, keyring.Options{})
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
	// With other schemas than the table was migrated for, a search would miss rows.
	if err := outboxstore.CheckIndexes(ctx, outbox, []*schema.Index{index}); err != nil {
		return err
	}
	value, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return find(ctx, index, ring, opener, outbox, strings.TrimSuffix(string(value), "\n"), out)
}

func indexOf(registry *schema.Registry, name string) (*schema.Index, error) {
	for _, index := range registry.Indexes() {
		if index.Name == name {
			return index, nil
		}
	}
	return nil, fmt.Errorf("the schemas declare no blind index %q", name)
}

// find asks for every form in which the value may be stored: one for each usable index key and each version of the index that
// the schemas name, so that it finds rows at any point of a rotation or of a change. A short index also finds rows of other
// values, so each row is opened and compared.
func find(ctx context.Context, index *schema.Index, ring *keyring.Keyring, opener *envelope.Opener, outbox outboxstore.Store, value string, out io.Writer) error {
	hash, err := envelope.BlindIndex(index)
	if err != nil {
		return err
	}
	search, err := hash.Search(blindindex.Asked{Text: value, String: index.String, Integer: index.Integer})
	if err != nil {
		return err
	}
	candidates, err := search.Candidates(ring.Usable(keyring.Index))
	if err != nil {
		return err
	}
	for row, err := range outbox.Find(ctx, []outboxstore.Match{{Index: index.Name, Candidates: candidates}}, outboxstore.FindOptions{}) {
		if err != nil {
			return err
		}
		if row.Err != nil {
			return row.Err
		}
		holds, err := opener.Holds(ctx, row.Received, index.Name, search.Messages())
		if err != nil {
			return err
		}
		if holds {
			wire := row.Received.Wire()
			fmt.Fprintf(out, "%s %s\n", wire.Type, wire.AggregateID)
		}
	}
	return nil
}
