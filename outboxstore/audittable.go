package outboxstore

// AuditTable is the audit trail of a database's outboxes: (seq, entry, hash), entry being the line of package audittrail. It stands beside the outbox, in Postgres in
// its schema. Roles need SELECT and INSERT on it, and no more.
const AuditTable = "fieldcrypt_audit"

// AuditPageSize is the number of entries read at once.
const AuditPageSize = 200
