package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// Options of a Writer or a Store.
type Options struct {
	// BusyTimeout is how long a connection of Open waits for another writer. Defaults to 10 seconds.
	BusyTimeout time.Duration
	// Create lets Open make a file that is not there. Defaults to false: a mistyped path is an error.
	Create bool
	// Limits bound the events read back. Defaults to those of package envelope.
	Limits envelope.Limits
	// Table is the outbox table's name. Defaults to the URL's, else outboxstore.DefaultTable.
	Table string
}

// defaultBusyTimeout is longer than any transaction of ours.
const defaultBusyTimeout = 10 * time.Second

// Store is an outbox in a SQLite database.
type Store struct {
	*Writer
	db     *sql.DB
	ownsDB bool
}

var (
	_ outboxstore.Store           = (*Store)(nil)
	_ outboxstore.Writer[*sql.Tx] = (*Store)(nil)
)

// Open opens the database file that a URL (sqlite:PATH?table=NAME) or a path names. It does not migrate.
func Open(ctx context.Context, urlOrPath string, opts Options) (*Store, error) {
	path, table, err := ParseURL(urlOrPath)
	if err != nil {
		return nil, err
	}
	if opts.Table == "" {
		opts.Table = table
	}
	if opts.BusyTimeout <= 0 {
		opts.BusyTimeout = defaultBusyTimeout
	}
	mode := "rw"
	if opts.Create {
		mode = "rwc"
	} else if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open outbox: %w: run fieldcrypt migrate", err)
	}
	db, err := sql.Open("sqlite", dataSource(path, mode, opts.BusyTimeout.Milliseconds()))
	if err != nil {
		return nil, fmt.Errorf("open outbox %s: %w", path, err)
	}
	if err := useWAL(ctx, db, opts.BusyTimeout); err != nil {
		return nil, errors.Join(fmt.Errorf("open outbox %s: %w", path, err), db.Close())
	}
	store, err := New(db, opts)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	store.ownsDB = true
	return store, nil
}

// New makes a Store on a database of the caller's, who keeps it and its settings; Close leaves it open. Use a pool of at
// least two connections if rows are written while a Scan with Snapshot goes on.
func New(db *sql.DB, opts Options) (*Store, error) {
	if db == nil {
		return nil, errors.New("sqlite.New needs a *sql.DB")
	}
	writer, err := NewWriter(opts)
	if err != nil {
		return nil, err
	}
	return &Store{Writer: writer, db: db}, nil
}

// DB is the database, for business rows in the transaction of Write. With Open, its transactions BEGIN IMMEDIATE.
func (s *Store) DB() *sql.DB { return s.db }

// Close closes the database if Open opened it.
func (s *Store) Close() error {
	if !s.ownsDB {
		return nil
	}
	return s.db.Close()
}

// useWAL sets the file's journal mode. SQLite does not wait for other connections there (the busy handler is not asked,
// since two that upgrade would wait for each other), so two processes that open a new file at once have to try again.
func useWAL(ctx context.Context, db *sql.DB, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, max(timeout, defaultBusyTimeout))
	defer cancel()
	retry := time.NewTicker(walRetryInterval)
	defer retry.Stop()
	for {
		var mode string
		err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode != "wal" {
			return fmt.Errorf("journal mode is %s, and WAL is not possible here: put the file on a local file system", mode)
		}
		if !isBusy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-retry.C:
		}
	}
}

const walRetryInterval = 5 * time.Millisecond

// isBusy says whether another connection's lock was in the way.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
