package connect

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
)

// Outbox opens the one outbox of a command. The database must be there; whether its tables are is seen when they are used.
func Outbox(ctx context.Context, s *cli.Session) (outboxstore.Store, error) {
	u, err := s.Settings.Outbox()
	if err != nil {
		return nil, err
	}
	store, err := openOutbox(ctx, u, sqlite.Options{})
	if err == nil {
		remember(s, store)
	}
	return store, err
}

// OutboxToMigrate opens the one outbox, and makes the database where there is none and it is a file.
func OutboxToMigrate(ctx context.Context, s *cli.Session) (outboxstore.Store, error) {
	u, err := s.Settings.Outbox()
	if err != nil {
		return nil, err
	}
	return openOutbox(ctx, u, sqlite.Options{Create: true})
}

// OutboxToPlan opens the one outbox to ask what a migration would do. Where there is no database file it stands on an empty one in memory, so that asking makes no
// file.
func OutboxToPlan(ctx context.Context, s *cli.Session) (outboxstore.Store, error) {
	u, err := s.Settings.Outbox()
	if err != nil {
		return nil, err
	}
	if schemeOf(u) == "sqlite" {
		path, table, err := sqlite.ParseURL(u)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return emptyOutbox(table)
		}
	}
	return openOutbox(ctx, u, sqlite.Options{})
}

// emptyStore closes its database too, which sqlite.New leaves to its caller.
type emptyStore struct {
	*sqlite.Store
}

func (e emptyStore) Close() error { return errors.Join(e.Store.Close(), e.DB().Close()) }

func emptyOutbox(table string) (outboxstore.Store, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would be a database of its own
	store, err := sqlite.New(db, sqlite.Options{Table: table})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return emptyStore{store}, nil
}

// OpenOutbox is an outbox with the URL that named it, without its password.
type OpenOutbox struct {
	outboxstore.Store
	URL string
}

// Outboxes opens all outboxes of a command that asks several.
func Outboxes(ctx context.Context, s *cli.Session) ([]OpenOutbox, error) {
	if len(s.Settings.Outboxes) == 0 {
		return nil, s.Settings.NoOutbox()
	}
	var all []OpenOutbox
	for _, u := range s.Settings.Outboxes {
		store, err := openOutbox(ctx, u, sqlite.Options{})
		if err != nil {
			return nil, errors.Join(err, CloseOutboxes(all))
		}
		remember(s, store)
		all = append(all, OpenOutbox{store, Redact(u)})
	}
	return all, nil
}

// CloseOutboxes closes them all.
func CloseOutboxes(all []OpenOutbox) error {
	var errs []error
	for _, o := range all {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}

func openOutbox(ctx context.Context, u string, opts sqlite.Options) (outboxstore.Store, error) {
	switch scheme := schemeOf(u); scheme {
	case "sqlite":
		store, err := sqlite.Open(ctx, u, opts)
		if err != nil {
			return nil, err // not store: a nil *sqlite.Store is no nil Store
		}
		return store, nil
	case "postgres", "postgresql":
		store, err := postgres.Open(ctx, u, postgres.Options{})
		if err != nil {
			return nil, err
		}
		return store, nil
	default:
		return nil, noScheme("the outbox", scheme, plannedOutboxes[scheme], outboxForms)
	}
}
