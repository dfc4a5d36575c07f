// Package outboxstore is the transactional outbox: sealed events go into a table of your database in the same
// transaction as the business rows they tell of, and come out again for relaying, searching, re-encryption and
// verification.
//
// # Writing
//
// A dialect (outboxstore/postgres, outboxstore/sqlite) gives Write, which joins the caller's transaction:
//
//	tx, err := db.BeginTx(ctx, nil)
//	…                                    // business rows
//	sealed, err := sealer.Seal(ctx, event)
//	results, err := writer.Write(ctx, tx, sealed)
//	…
//	err = tx.Commit()
//
// Only an envelope.Sealed can be written, and only a Sealer or a Resealer makes one, so no plaintext gets into the table.
// Each event is [Inserted], or a [Duplicate] of what is stored already: the same type, version and aggregate, and the same
// payload once opened. A known id with other content and a taken aggregate version are a [ConflictError]. After any error
// nothing of that call is written and the transaction stays usable: the caller decides whether to commit it.
//
// # The table
//
// One row for each event, one column for each blind index (bidx_NAME), the ids of every key that a row needs. The tables
// and columns are made by `fieldcrypt migrate`, or by [Store].Migrate, from the indexes that the schemas declare; a write
// to a table or column that is not there is a [MissingError]. Times of the table (created_at, available_at) are on the
// database's clock.
//
// A blind index whose normaliser or length the schemas change is another index, and no stored value shows which it is. So
// migrations write down which versions a column may hold; [CheckIndexes] compares that with the schemas, and a program asks
// it when it starts. While the schemas call a version previous, searches ask for it too, and [Reencrypt] rebuilds its rows.
//
// # The rest of a row's life
//
// [Store] is what operations use: reading by key order, searching by blind index, replacing ciphertexts if, and only if, a
// row still is what was read. [Reencrypt] brings rows under today's primary keys, beside writers and other resealers, and
// can be stopped and run again at any point. [Verify] says what is wrong with the stored rows without ever naming a value.
//
// # What it does not do
//
// It does not authenticate a row as a whole: clear columns, headers and aggregate ids are neither hidden nor signed, and
// who can write the table can change them. It never drops or renames a column. Rows are deleted by nobody here.
package outboxstore
