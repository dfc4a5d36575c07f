// Package audittrail keeps the chain of operations: who opened personal data, changed a key or re-encrypted rows, when, and what came of it.
//
// A trail is a sequence of entries, each of which holds the SHA-256 hash of the one before it. [Check] finds an entry that was changed, removed, swapped or put in
// between. It cannot find that the newest entries were cut off, nor that somebody wrote the whole chain anew, unless the hash of a former newest entry (the head)
// was noted elsewhere: give it as [CheckOptions.Head].
//
// A trail has one of two homes, both a [Log]: a table of the outbox's database (AuditTrail of outboxstore.Store), or a file ([OpenFile]). Any number of processes
// may append to either: there is one chain.
//
// # Around an operation
//
// [Recorder.Do] writes an entry before the operation and one after it:
//
//	recorder := &audittrail.Recorder{Actor: "billing", Log: log}
//	err := recorder.Do(ctx, audittrail.Entry{Operation: "open", Keyring: "default"}, func(ctx context.Context, out *audittrail.Outcome) error {
//		for _, event := range events {
//			// … open it
//			out.Rows.Add(event.ID)
//		}
//		return nil
//	})
//
// If the first entry cannot be written, the operation is not begun. A process that is killed in between leaves an entry that says begun and has no outcome
// ([Report.Unfinished]): what it did is not known, that it may have done it is.
//
// # What an entry holds
//
// Names, ids and counts; never a value of a payload. An entry that holds anything else than printable text of bounded length is refused. Of many rows the first
// [MaxRowIDs] ids are listed, with the number of all, the last one, and a digest of all.
package audittrail
