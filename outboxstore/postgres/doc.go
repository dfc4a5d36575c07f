// Package postgres keeps the outbox in Postgres, through pgx: fieldcrypt's reference dialect.
//
// A producer needs a [Writer] only, which joins the transaction of the business rows:
//
//	writer, err := postgres.NewWriter(postgres.Options{})
//	…
//	results, err := writer.Write(ctx, tx, sealed)    // tx is a pgx.Tx
//	results, err := writer.WriteSQL(ctx, tx, sealed) // tx is a *sql.Tx (sqlc, GORM, ent), of any driver for Postgres
//
// [Open] connects by URL and gives everything else: migration, search, re-encryption, verification. [New] does so on a
// *pgxpool.Pool of the caller's.
//
// # Transactions
//
// Write works in a savepoint of the caller's transaction, so that after an error nothing of it is left and the transaction
// goes on. A known id is met with ON CONFLICT DO NOTHING, so it does not abort anything. There are two exceptions, and both
// leave nothing behind: a context that ends while a statement runs ends the connection, as pgx does it, and a connection
// that breaks takes its transaction along.
//
// Two writers of one id or one aggregate version: the second waits until the first has committed or rolled back, as with
// any unique index, then says duplicate, conflict or inserted. Under REPEATABLE READ and SERIALIZABLE it cannot see what the
// first has committed: Postgres answers with a serialization failure (an *outboxstore.DatabaseError that is Retryable, with
// the driver's own error inside), and the caller runs the whole transaction again, as for any other.
//
// # Connections
//
// All names in the SQL are qualified: the search_path does not matter. Nothing needs session state, so a pooler in
// transaction mode (PgBouncer) works; where it does not know prepared statements, add default_query_exec_mode=exec or
// simple_protocol to the URL. Give Migrate a direct connection all the same where an index on a large table is to be built:
// the lock timeout of CREATE INDEX CONCURRENTLY is a setting of the session, which a pooler may give to others meanwhile.
// Sessions with default_transaction_read_only are respected, and refused where something is written.
//
// # Types
//
// A uuid is uuid, times are timestamptz, payload and headers are json (not jsonb, which would reorder names and rewrite
// numbers). Key ids are a text[] with a GIN index, a blind index is the column bidx_NAME: bytea, or bytea[] with a GIN index
// for a multi index. A partial index covers the rows that are still to be published.
package postgres
