package outboxstore

import (
	"context"
	"iter"
	"time"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Writer joins a caller's transaction, whose type is the dialect's: *sql.Tx, pgx.Tx.
type Writer[Tx any] interface {
	// Write writes all events or none. It returns a Result for each, or an error (an *EventError where one event is the
	// reason), after which nothing of this call is written and the transaction stays usable.
	Write(ctx context.Context, tx Tx, sealed ...envelope.Sealed) ([]Result, error)
}

// Store is an outbox as operations see it. It is safe for concurrent use, by several processes too.
type Store interface {
	// WriteBatch is Write in a transaction of its own.
	WriteBatch(ctx context.Context, sealed ...envelope.Sealed) ([]Result, error)

	// WriteEach writes in one transaction of its own and leaves out the events that are refused: their Outcome says why.
	// An error means that nothing was written at all.
	WriteEach(ctx context.Context, sealed ...envelope.Sealed) ([]Outcome, error)

	// Get reads one row, or gives ErrNoRow.
	Get(ctx context.Context, id string) (*Row, error)

	// Scan reads rows by key order, a page at a time: between pages no transaction is open (but see ScanOptions.Snapshot).
	// After an error it ends.
	Scan(ctx context.Context, opts ScanOptions) iter.Seq2[*Row, error]

	// Find reads, by key order, the rows that match every one of the given indexes. No match is an error, since it would
	// find everything.
	Find(ctx context.Context, matches []Match, opts FindOptions) iter.Seq2[*Row, error]

	// Replace writes payloads, indexes and key ids anew in one transaction, each only if its row still is exactly what was
	// read; changed says which were. A Sealed that is not the row's event is a *ReplacementError, and nothing is changed.
	Replace(ctx context.Context, replacements ...Replacement) (changed []bool, err error)

	// TryReplace is Replace for who has other rows to do: it does not wait for rows that somebody else holds locked, and says that they
	// are not changed.
	TryReplace(ctx context.Context, replacements ...Replacement) (changed []bool, err error)

	// RowEstimate says about how many rows there are, cheaply, for telling how far something is.
	RowEstimate(ctx context.Context) (int64, error)

	// KeyCounts says how many rows need each key, by "seal:KID" and "index:KID".
	KeyCounts(ctx context.Context) (map[string]int64, error)

	// KeyUse says how many rows need one key, "seal:KID" or "index:KID", and since when.
	KeyUse(ctx context.Context, keyID string) (KeyUse, error)

	// IndexBuckets says how the stored values of one blind index fall into buckets, by key id: what the column shows without a key.
	IndexBuckets(ctx context.Context, index string) ([]KeyBuckets, error)

	// RowBuckets says how rows fall into buckets by all of the given indexes together, rows without any of them left out. A row's values
	// under two keys are two buckets.
	RowBuckets(ctx context.Context, indexes []string) ([]blindindex.BucketCount, error)

	// KeyringMemory remembers in the database, for all processes that use it, the newest document of each keyring.
	KeyringMemory() keyring.Memory

	// AuditTrail is the database's trail of operations, AuditTable. Where the database was not migrated, using it is a *MissingError.
	AuditTrail() audittrail.Log

	// IndexVersions says what is written down of the table's blind indexes; see CheckIndexes. Nothing, where the table was
	// not migrated yet, or by a fieldcrypt that wrote nothing down.
	IndexVersions(ctx context.Context) (RecordedIndexes, error)

	// SettleIndexes takes versions out of what is written down: no row holds a value of them any more. Reencrypt knows.
	SettleIndexes(ctx context.Context, rebuilt []IndexVersion) error

	// Pending lists the statements that Migrate would carry out.
	Pending(ctx context.Context, indexes []*schema.Index) ([]Statement, error)

	// Migrate creates and alters the tables. It can run twice, and at once in several processes. It returns the statements
	// and, also with an error, which of them are done.
	Migrate(ctx context.Context, indexes []*schema.Index) ([]Statement, error)

	// Close releases what the store has opened.
	Close() error
}

// ScanOptions choose rows.
type ScanOptions struct {
	// After is the key after which to begin. Defaults to the first row.
	After string
	// Limit is the greatest number of rows. Defaults to all.
	Limit int
	// NotOnly leaves out rows whose key_ids name no key but these, "seal:KID" and "index:KID", and so rows that name none. It
	// believes key_ids, which nothing authenticates. Defaults to none: no row is left out.
	NotOnly []string
	// PageSize is the number of rows read at once; a page of large payloads ends earlier. Defaults to 1000.
	PageSize int
	// Sample is a number of rows to choose at random. Defaults to all rows.
	Sample int
	// Since leaves out rows created earlier. Defaults to all times.
	Since time.Time
	// Snapshot reads everything in one transaction, which sees the table as it was at the beginning, and which holds back
	// the database's clean-up (vacuum, checkpoint) meanwhile. Defaults to a transaction for each page.
	Snapshot bool
}

// Match asks for rows one of whose stored values of an index is among the candidates.
type Match struct {
	Index      string
	Candidates [][]byte // stored forms; none finds no row
}

// FindOptions choose among the rows found.
type FindOptions struct {
	// After is the key after which to begin. Defaults to the first row.
	After string
	// Limit is the greatest number of rows. Defaults to all.
	Limit int
	// PageSize is as in ScanOptions. Defaults to 1000.
	PageSize int
}

// Replacement is a row and the same event sealed anew.
type Replacement struct {
	Row    *Row
	Sealed envelope.Sealed
}

// DefaultPageSize is the number of rows read at once.
const DefaultPageSize = 1000

// MaxPageBytes ends a page before its number of rows is reached, so that memory stays bounded with payloads of any size.
const MaxPageBytes = 16 << 20
