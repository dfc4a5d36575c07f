package connect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
)

// DataStore names a store for a keyring's list: without a password and the table that is meant anyway, a file by its whole path, and a server by the port that
// PGPORT gives it, since the list is read anywhere.
func DataStore(u, query string) (keyring.DataStore, error) {
	switch schemeOf(u) {
	case "postgres", "postgresql":
		// What is no URL shows its password, or names no place once that is taken out.
		_, table, err := postgres.ParseURL(u)
		if err != nil {
			return keyring.DataStore{}, err
		}
		u = spelledOut(u, table)
	case "sqlite":
		path, table, err := sqlite.ParseURL(u)
		if err != nil {
			return keyring.DataStore{}, err
		}
		if path, err = filepath.Abs(path); err != nil {
			return keyring.DataStore{}, err
		}
		u = "sqlite:" + path
		if table != outboxstore.DefaultTable {
			u += "?table=" + table
		}
	}
	return keyring.DataStore{URL: Redact(u), Query: query}, nil
}

// spelledOut leaves out the usual table, and names the port that the environment gives.
func spelledOut(text, table string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text // shown as no more than its scheme
	}
	query := u.Query()
	if table == outboxstore.DefaultTable || table == "public."+outboxstore.DefaultTable {
		query.Del("table")
	}
	// Of several servers each has a port of its own.
	if port := os.Getenv("PGPORT"); port != "" && u.Hostname() != "" && u.Port() == "" && !query.Has("port") && !query.Has("service") && !strings.Contains(u.Host, ",") {
		u.Host += ":" + port
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// Ask counts the rows of a listed store that need a key. A store that is configured is opened as it is configured, so that its password is at hand.
func Ask(s *cli.Session) keyring.Ask {
	return func(ctx context.Context, store keyring.DataStore, key keyring.KeyInfo) (keyring.Uses, error) {
		id := string(key.Purpose) + ":" + key.ID.String()
		u := store.URL
		for _, configured := range s.Settings.Outboxes {
			if named, err := DataStore(configured, ""); err == nil && store.Is(named.URL) {
				u = configured
			}
		}
		if store.Query != "" {
			rows, err := countBy(ctx, u, store.Query, id)
			return keyring.Uses{Rows: rows}, err
		}
		outbox, err := openOutbox(ctx, u, sqlite.Options{})
		if err != nil {
			return keyring.Uses{}, err
		}
		defer outbox.Close()
		use, err := outbox.KeyUse(ctx, id)
		return keyring.Uses{Rows: use.Rows, Oldest: use.Oldest}, err
	}
}

// countBy runs the query of somebody's own tables. It may change nothing.
func countBy(ctx context.Context, u, query, id string) (rows int64, err error) {
	switch scheme := schemeOf(u); scheme {
	case "sqlite":
		path, _, err := sqlite.ParseURL(u)
		if err != nil {
			return 0, err
		}
		db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?mode=ro")
		if err != nil {
			return 0, err
		}
		defer db.Close()
		err = db.QueryRowContext(ctx, query, id).Scan(&rows)
		return rows, asked(err)
	case "postgres", "postgresql":
		dsn, _, err := postgres.ParseURL(u)
		if err != nil {
			return 0, err
		}
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return 0, err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
		if err != nil {
			return 0, err
		}
		err = tx.QueryRow(ctx, query, id).Scan(&rows)
		return rows, errors.Join(asked(err), tx.Rollback(ctx))
	default:
		return 0, noScheme("the store", scheme, plannedOutboxes[scheme], outboxForms)
	}
}

func asked(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the store's query must give one integer: %w", err)
}
