package outboxstore

import (
	"iter"
	"math"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
)

// AuditTable is the audit trail of a database's outboxes: (seq, entry, hash), entry being the line of package audittrail. It stands beside the outbox, in Postgres in
// its schema. Roles need SELECT and INSERT on it, and no more.
const AuditTable = "fieldcrypt_audit"

// AuditPageSize is the number of entries read at once.
const AuditPageSize = 200

// AuditLines reads a trail by pages, each of which begins after a number, for audittrail.Log's Lines.
func AuditLines(page func(after int64) ([]audittrail.Line, error)) iter.Seq2[audittrail.Line, error] {
	return func(yield func(audittrail.Line, error) bool) {
		after := int64(math.MinInt64)
		for {
			lines, err := page(after)
			if err != nil {
				yield(audittrail.Line{}, err)
				return
			}
			for _, l := range lines {
				if !yield(l, nil) {
					return
				}
				after = l.Seq
			}
			if len(lines) < AuditPageSize {
				return
			}
		}
	}
}
