package outboxstore

import "fmt"

// DatabaseFault is what kept a database server from doing what it was asked.
type DatabaseFault string

const (
	// FaultUnreachable: no connection could be made.
	FaultUnreachable DatabaseFault = "the database cannot be reached"
	// FaultLogin: user, password or the server's access rules.
	FaultLogin DatabaseFault = "the database refuses the login"
	// FaultNoDatabase: the server has no database of that name.
	FaultNoDatabase DatabaseFault = "the server has no such database"
	// FaultSettings: the server does not take a parameter of the connection.
	FaultSettings DatabaseFault = "the database refuses the connection's parameters"
	// FaultConnections: the server, the role or the pool is out of connections.
	FaultConnections DatabaseFault = "the database has no connection left"
	// FaultStopping: the server is starting, stopping or recovering, or an administrator ended the connection.
	FaultStopping DatabaseFault = "the database is starting up or shutting down"
	// FaultLost: the connection broke. What had not been committed is rolled back.
	FaultLost DatabaseFault = "the connection to the database was lost"
	// FaultCommit: the connection broke while a commit was under way: it took place or did not.
	FaultCommit DatabaseFault = "the connection to the database was lost while it committed"
	// FaultReadOnly: a standby, or a read-only transaction.
	FaultReadOnly DatabaseFault = "the database is read-only"
	// FaultPermission: the role lacks a right.
	FaultPermission DatabaseFault = "the database role lacks a right"
	// FaultTimeout: no answer within the time that the caller, the options or the server allow.
	FaultTimeout DatabaseFault = "the database did not answer in time"
	// FaultLocked: another transaction held a lock for longer than the lock timeout.
	FaultLocked DatabaseFault = "another transaction holds a lock for too long"
	// FaultSerialization: the transaction collided with another one.
	FaultSerialization DatabaseFault = "the transaction collided with another one"
	// FaultSpace: disk or memory.
	FaultSpace DatabaseFault = "the database is out of space"
	// FaultTransaction: the caller's transaction is over, has failed already, or has an open result.
	FaultTransaction DatabaseFault = "the transaction cannot be used"
	// FaultRefused: a constraint, a trigger or a limit of the database refuses the row.
	FaultRefused DatabaseFault = "the database refuses the row"
	// FaultOther: anything else.
	FaultOther DatabaseFault = "the database reports an error"
)

// hints say what to do next.
var hints = map[DatabaseFault]string{
	FaultUnreachable:   "check host and port of the outbox's URL, and that the database is running",
	FaultLogin:         "check the user of the outbox's URL, and its password there, in PGPASSWORD or in the password file",
	FaultNoDatabase:    "check the database's name in the outbox's URL, or create it",
	FaultSettings:      "check the parameters of the outbox's URL",
	FaultConnections:   "try again; use fewer connections in each process, or a connection pooler, or raise the server's limit",
	FaultStopping:      "try again when it is up",
	FaultLost:          "nothing was committed: try again",
	FaultCommit:        "run it again: what was committed is recognised and not done twice",
	FaultReadOnly:      "connect to the primary (with Postgres: target_session_attrs=read-write), or end the read-only transaction",
	FaultPermission:    "grant it to the role, or use a role that has it; docs/operations.md lists the rights",
	FaultTimeout:       "try again, or allow more time",
	FaultLocked:        "try again; if it happens again, look for long transactions that use the outbox table",
	FaultSerialization: "run the whole transaction again",
	FaultSpace:         "give it space, then try again",
	FaultTransaction:   "roll the transaction back and begin a new one; close the rows of a query before the next statement",
	FaultRefused:       "look at what was added to the outbox table beside fieldcrypt's columns; the server's log has the details",
	FaultOther:         "the server's log has the details",
}

// DatabaseError is a fault of the database or of the way to it. It names no value and no password: what a server says of
// values is left out.
type DatabaseError struct {
	Fault DatabaseFault
	Doing string // what was to be done
	Code  string // SQLSTATE or the dialect's code; empty if the server did not answer
	Err   error  // the driver's error where it holds no value, else what of it may be shown; nil if there is nothing to say
}

func (e *DatabaseError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Doing, e.Fault)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *DatabaseError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *DatabaseError) Hint() string { return hints[e.Fault] }

// Retryable says that the same, from the beginning of the transaction, may well succeed.
func (e *DatabaseError) Retryable() bool {
	switch e.Fault {
	case FaultSerialization, FaultLocked, FaultConnections, FaultStopping, FaultLost, FaultCommit, FaultTimeout, FaultUnreachable:
		return true
	default:
		return false
	}
}
