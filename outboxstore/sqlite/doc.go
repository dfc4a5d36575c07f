// Package sqlite keeps the outbox in SQLite, through database/sql and modernc.org/sqlite (pure Go): fieldcrypt's embedded
// default.
//
// A producer who owns the *sql.DB needs a [Writer] only:
//
//	writer, err := sqlite.NewWriter(sqlite.Options{})
//	…
//	results, err := writer.Write(ctx, tx, sealed) // tx is the *sql.Tx of the business rows
//
// [Open] opens a database file with the settings that an outbox wants (WAL, a busy timeout, foreign keys, synchronous
// FULL, transactions that BEGIN IMMEDIATE) and gives everything else: migration, search, re-encryption, verification.
// [New] does so on a *sql.DB of the caller's.
//
// # Transactions
//
// Write works in a savepoint of the caller's transaction, so that after an error nothing of it is left and the transaction
// goes on. Its statements are not interrupted when the context ends, because SQLite answers an interrupted write by rolling
// back the whole transaction, and statements after that would each commit on their own; the context is looked at between
// statements instead. Where SQLite itself ends the transaction (disk full, an I/O error), Write rolls back the *sql.Tx, so
// that nothing after it can commit by accident.
//
// SQLite has one writer at a time. A transaction that reads first and writes later can fail with SQLITE_BUSY when another
// was faster: begin it as IMMEDIATE (with modernc.org/sqlite: _txlock=immediate in the DSN; Store.DB has it).
//
// # Types
//
// A uuid, JSON and times are TEXT (times in RFC 3339, UTC, microseconds, so that they compare as text), bytes are BLOB; the
// tables are STRICT. Key ids stand in the side table TABLE_key_ids, the values of a multi index NAME in the side table
// TABLE_bidx_NAME, those of any other index in the column bidx_NAME.
package sqlite
