package outboxstore

// Statement is one step of a migration.
type Statement struct {
	SQL  string
	Done bool // it was carried out and committed
}
