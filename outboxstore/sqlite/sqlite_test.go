package sqlite_test

import (
	"context"
	"database/sql"
	dbdriver "database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	driver "modernc.org/sqlite"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// What only SQLite has. Everything else is in storetest.

func registry(t testing.TB) *schema.Registry {
	t.Helper()
	r, err := schema.LoadFS(fstest.MapFS{"note.v1.json": {Data: []byte(`{"type":"object","properties":{
		"text":{"type":"string","x-gdpr-sensitive":true},
		"who":{"type":"string","x-gdpr-sensitive":true,"x-blind-index":{"name":"who"}},
		"tags":{"type":"array","items":{"type":"string","x-gdpr-sensitive":true,"x-blind-index":{"name":"tag","multi":true}}}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sealer(t testing.TB) *envelope.Sealer {
	t.Helper()
	s, err := envelope.NewSealer(registry(t), keyringtest.NewSet(t), envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seal(t testing.TB, s *envelope.Sealer, text string) envelope.Sealed {
	t.Helper()
	sealed, err := s.Seal(t.Context(), envelope.Event{Type: "note", AggregateID: "1", Payload: fmt.Appendf(nil, `{"text":%q,"who":"somebody","tags":["a","b"]}`, text)})
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// producersDB is a database as a producer may have it: a pool with the driver's defaults, migrated by somebody else.
func producersDB(t *testing.T) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.db")
	store, err := sqlite.Open(t.Context(), "sqlite:"+path, sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Migrate(t.Context(), registry(t).Indexes()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	exec(t, db, "CREATE TABLE business (n INTEGER)")
	return db
}

func exec(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func text(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var value string
	if err := db.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func TestWriterNeedsNoStore(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	writer, err := sqlite.NewWriter(sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "INSERT INTO business VALUES (1)")
	results, err := writer.Write(t.Context(), tx, seal(t, s, "hello"))
	if err != nil || len(results) != 1 || results[0] != outboxstore.Inserted {
		t.Fatalf("%v, %v", results, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := text(t, db, "SELECT count(*) FROM outbox_events"); got != "1" {
		t.Errorf("%s rows", got)
	}
}

func TestWriteWithoutATransactionIsRefused(t *testing.T) {
	t.Parallel()
	writer, err := sqlite.NewWriter(sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(t.Context(), nil, seal(t, sealer(t), "x")); err == nil {
		t.Error("a nil transaction passes")
	}
	if _, err := sqlite.New(nil, sqlite.Options{}); err == nil {
		t.Error("a nil database passes")
	}
	var refused *outboxstore.TableNameError
	if _, err := sqlite.NewWriter(sqlite.Options{Table: "a b"}); !errors.As(err, &refused) {
		t.Errorf("error is %v", err)
	}
}

func TestTemporaryTableOfTheSameNameIsAnotherOne(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	db.SetMaxOpenConns(1)
	exec(t, db, "CREATE TEMP TABLE outbox_events (id)")
	store, err := sqlite.New(db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.WriteBatch(t.Context(), seal(t, s, "x")); err != nil {
		t.Fatal(err)
	}
	if main, temp := text(t, db, "SELECT count(*) FROM main.outbox_events"), text(t, db, "SELECT count(*) FROM temp.outbox_events"); main != "1" || temp != "0" {
		t.Errorf("%s rows in main, %s in temp", main, temp)
	}
}

func TestDeletingARowTakesItsSideRowsWithoutForeignKeys(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	store, err := sqlite.New(db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, db, "PRAGMA foreign_keys"); got != "0" {
		t.Fatalf("foreign keys are %s in a plain pool", got)
	}
	if _, err := store.WriteBatch(t.Context(), seal(t, s, "x")); err != nil {
		t.Fatal(err)
	}
	sides := "SELECT (SELECT count(*) FROM outbox_events_key_ids) || ' ' || (SELECT count(*) FROM outbox_events_bidx_tag)"
	if got := text(t, db, sides); got != "2 2" {
		t.Errorf("side rows: %s", got)
	}
	exec(t, db, "DELETE FROM outbox_events")
	if got := text(t, db, sides); got != "0 0" {
		t.Errorf("side rows after deleting: %s", got)
	}
}

func TestOpenSettings(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), sqlite.Options{Create: true, BusyTimeout: 1234 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for pragma, want := range map[string]string{"journal_mode": "wal", "foreign_keys": "1", "synchronous": "2", "busy_timeout": "1234"} {
		if got := text(t, store.DB(), "PRAGMA "+pragma); got != want {
			t.Errorf("%s is %s, not %s", pragma, got, want)
		}
	}
	// A transaction of DB is IMMEDIATE: a second one has to wait at its beginning.
	tx, err := store.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := store.DB().BeginTx(ctx, nil); err == nil {
		t.Error("two write transactions at once")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.db")
	if _, err := sqlite.Open(t.Context(), missing, sqlite.Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "run fieldcrypt migrate") {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Error("asking made the file")
	}
	noDatabase := filepath.Join(dir, "text.db")
	if err := os.WriteFile(noDatabase, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), noDatabase, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), noDatabase) {
		t.Errorf("error is %v", err)
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(dir, "no", "dir.db"), sqlite.Options{Create: true}); err == nil {
		t.Error("a directory that is not there passes")
	}
}

func TestManyOpenANewFileAtOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := filepath.Join(t.TempDir(), "new.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				store, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := store.Migrate(t.Context(), registry(t).Indexes()); err != nil {
					t.Error(err)
				}
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// Switching a file to WAL does not wait for other connections by itself.
func TestOpenWaitsForAWriterOfAFileThatIsNotWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec(t, db, "CREATE TABLE business (n INTEGER)")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "INSERT INTO business VALUES (1)")
	opened := make(chan error, 1)
	go func() {
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: time.Millisecond})
		if err == nil {
			err = store.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("opened beside a writer: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// SQLite answers an interrupted write by ending the whole transaction; a context that ends in the middle of a statement
// must not do that to the caller.
func TestContextThatEndsDuringAStatement(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	name := "cancel_" + strings.ReplaceAll(seal(t, s, "x").Wire().ID, "-", "")
	err := driver.RegisterScalarFunction(name, 0, func(*driver.FunctionContext, []dbdriver.Value) (dbdriver.Value, error) {
		cancel()
		return int64(0), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db, `CREATE TRIGGER slow BEFORE INSERT ON outbox_events BEGIN SELECT `+name+`();
		SELECT count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000) SELECT x FROM c); END`)
	db.SetMaxIdleConns(0) // functions are known to connections made later
	writer, err := sqlite.NewWriter(sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "INSERT INTO business VALUES (1)")
	if _, err := writer.Write(ctx, tx, seal(t, s, "a"), seal(t, s, "b")); !errors.Is(err, context.Canceled) || errors.Is(err, sqlite.ErrTransactionEnded) {
		t.Errorf("error is %v", err)
	}
	exec(t, tx, "INSERT INTO business VALUES (2)")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if business, events := text(t, db, "SELECT count(*) FROM business"), text(t, db, "SELECT count(*) FROM outbox_events"); business != "2" || events != "0" {
		t.Errorf("%s business rows, %s events", business, events)
	}
}

func TestBusyIsTyped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true, BusyTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tx, err := store.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_, err = store.WriteBatch(t.Context(), seal(t, sealer(t), "x"))
	var busy *sqlite.BusyError
	if !errors.As(err, &busy) || busy.Hint() == "" {
		t.Errorf("error is %v", err)
	}
}

// A deferred transaction that has read, and is overtaken, cannot write any more; it still can be rolled back cleanly.
func TestOvertakenDeferredTransaction(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	writer, err := sqlite.NewWriter(sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM business").Scan(&n); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "INSERT INTO business VALUES (1)")
	_, err = writer.Write(t.Context(), tx, seal(t, s, "x"))
	var busy *sqlite.BusyError
	if !errors.As(err, &busy) {
		t.Errorf("error is %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if got := text(t, db, "SELECT count(*) FROM outbox_events"); got != "0" {
		t.Errorf("%s rows", got)
	}
}

// A full disk must not leave half a transaction, nor let later statements commit on their own.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	db.SetMaxOpenConns(1)
	writer, err := sqlite.NewWriter(sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db, "PRAGMA max_page_count = 40")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "INSERT INTO business VALUES (1)")
	_, err = writer.Write(t.Context(), tx, seal(t, s, "small"), seal(t, s, strings.Repeat("x", 400_000)))
	if err == nil {
		t.Fatal("a full disk is no error")
	}
	_, afterErr := tx.ExecContext(t.Context(), "INSERT INTO business VALUES (2)")
	commitErr := tx.Commit()
	rows, events := text(t, db, "SELECT count(*) FROM business"), text(t, db, "SELECT count(*) FROM outbox_events")
	t.Logf("write: %v; statement: %v; commit: %v; %s business rows", err, afterErr, commitErr, rows)
	switch {
	case events != "0":
		t.Errorf("%s events of a failed write", events)
	case afterErr == nil && commitErr == nil && rows == "2": // the transaction stayed usable
	case (afterErr != nil || commitErr != nil) && rows == "0": // it was ended whole
	default:
		t.Errorf("%s business rows; write: %v; statement: %v; commit: %v", rows, err, afterErr, commitErr)
	}
}

func TestTransactionThatSQLiteEndedIsEndedForTheCaller(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	// RAISE(ROLLBACK) in a trigger ends the whole transaction as an I/O error would.
	exec(t, db, "CREATE TRIGGER bomb BEFORE INSERT ON outbox_events BEGIN SELECT RAISE(ROLLBACK, 'bomb'); END")
	writer, err := sqlite.NewWriter(sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "INSERT INTO business VALUES (1)")
	if _, err := writer.Write(t.Context(), tx, seal(t, s, "x")); !errors.Is(err, sqlite.ErrTransactionEnded) {
		t.Errorf("error is %v", err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO business VALUES (2)"); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("a statement after the end: %v", err)
	}
	if got := text(t, db, "SELECT count(*) FROM business"); got != "0" {
		t.Errorf("%s business rows", got)
	}
}

func TestForeignTriggerThatIgnoresAnInsertIsAnError(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	exec(t, db, "CREATE TRIGGER mute BEFORE INSERT ON outbox_events BEGIN SELECT RAISE(IGNORE); END")
	store, err := sqlite.New(db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *outboxstore.EventError
	if results, err := store.WriteBatch(t.Context(), seal(t, s, "x")); !errors.As(err, &refused) {
		t.Errorf("results %v, error %v", results, err)
	}
}

// Pages end by bytes as well, and a payload that no reader would take is not even loaded.
func TestLargePayloads(t *testing.T) {
	t.Parallel()
	db, rings := producersDB(t), keyringtest.NewSet(t)
	s, err := envelope.NewSealer(registry(t), rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.New(db, sqlite.Options{Limits: envelope.Limits{MaxWire: 2 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	const rows = 16 // of 1.2 MB in wire form: two pages
	for range rows {
		if _, err := store.WriteBatch(t.Context(), seal(t, s, strings.Repeat("x", 900_000))); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for row, err := range store.Scan(t.Context(), outboxstore.ScanOptions{}) {
		if err != nil || row.Err != nil {
			t.Fatal(err, row.Err)
		}
		n++
	}
	if n != rows {
		t.Errorf("%d rows", n)
	}
	resealer, err := envelope.NewResealer(registry(t), rings, envelope.Options{})
	if err != nil {
		t.Fatal(err)
	}
	transactions := 0
	r, err := outboxstore.Reencrypt(t.Context(), store, resealer, outboxstore.ReencryptOptions{Progress: func(outboxstore.ReencryptResult) { transactions++ }})
	if err != nil || r.Skipped != rows || transactions != 2 {
		t.Errorf("%+v in %d transactions, error %v", r, transactions, err)
	}
	exec(t, db, "UPDATE outbox_events SET payload = '\"' || hex(zeroblob(1200000)) || '\"'")
	for row, err := range store.Scan(t.Context(), outboxstore.ScanOptions{Limit: 3}) {
		var damaged *outboxstore.ColumnError
		if err != nil || !errors.As(row.Err, &damaged) || damaged.Column != "payload" || len(row.Wire().Payload) != 0 {
			t.Errorf("error %v, row %v, %d bytes", err, row.Err, len(row.Wire().Payload))
		}
	}
}

func TestTimesThatAreNoneAreDamage(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	store, err := sqlite.New(db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"occurred_at", "created_at", "published_at"} {
		sealed := seal(t, s, column)
		if _, err := store.WriteBatch(t.Context(), sealed); err != nil {
			t.Fatal(err)
		}
		exec(t, db, "UPDATE outbox_events SET "+column+" = '30.11.2026 secret' WHERE id = ?", sealed.Wire().ID)
		row, err := store.Get(t.Context(), sealed.Wire().ID)
		if err != nil {
			t.Fatal(err)
		}
		var damaged *outboxstore.ColumnError
		if !errors.As(row.Err, &damaged) || damaged.Column != column || strings.Contains(row.Err.Error(), "secret") {
			t.Errorf("%s: %v", column, row.Err)
		}
	}
}

func TestStrictTablesRefuseOtherTypes(t *testing.T) {
	t.Parallel()
	db, s := producersDB(t), sealer(t)
	store, err := sqlite.New(db, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.WriteBatch(t.Context(), seal(t, s, "x")); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"UPDATE outbox_events SET bidx_who = 'text'", "UPDATE outbox_events SET payload = x'00'", "UPDATE outbox_events SET id = NULL"} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s passes", statement)
		}
	}
}
