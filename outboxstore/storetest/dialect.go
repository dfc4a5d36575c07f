package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// Store is what a dialect's store is; Tx is the type of its callers' transactions.
type Store[Tx any] interface {
	outboxstore.Store
	outboxstore.Writer[Tx]
}

// Dialect is what a dialect brings to the suite.
type Dialect[Tx any] struct {
	// Create makes an empty database for one test and returns its address.
	Create func(t *testing.T) (address string)
	// Connect opens a database by its address, in another process too.
	Connect func(ctx context.Context, address string) (Database[Tx], error)
}

// ErrTyped says that a column's type cannot hold a value: a uuid column no e-mail address, a json column no broken JSON.
var ErrTyped = errors.New("the column's type cannot hold this value")

// Database is one database: its stores, the transactions of their callers, and what goes on behind their back.
//
// The suite's own SQL is what all dialects share: it names tables and columns without quoting and holds no parameters.
type Database[Tx any] interface {
	// Store opens a store on this database, by the name of its table; "" is the default.
	Store(ctx context.Context, table string) (Store[Tx], error)

	// Begin begins a transaction as a producer would.
	Begin(ctx context.Context) (Tx, error)
	Commit(ctx context.Context, tx Tx) error
	Rollback(ctx context.Context, tx Tx) error
	// ExecTx runs one statement in a transaction.
	ExecTx(ctx context.Context, tx Tx, sql string) error

	// Exec runs one statement in a transaction of its own.
	Exec(ctx context.Context, sql string) error
	// Query gives the first column of all rows as text, NULL as "NULL".
	Query(ctx context.Context, sql string) ([]string, error)

	// SetColumn writes a text or integer column of a row of the default table. It gives ErrTyped where the column's type
	// makes that damage impossible.
	SetColumn(ctx context.Context, id, column string, value any) error
	// SetIndex writes the stored values of a blind index of a row of the default table; none for NULL.
	SetIndex(ctx context.Context, id, index string, multi bool, values [][]byte) error
	// SetKeyIDs writes the key ids of a row of the default table.
	SetKeyIDs(ctx context.Context, id string, keyIDs []string) error

	Close() error
}
