package failure

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// migrateNext ends the errors of package outboxstore that a migration repairs; here it is the hint.
const migrateNext = ": run fieldcrypt migrate"

// Explain turns any error into what a user reads. The libraries' errors say in their text what is wrong and where; those for which there is something to do
// have a method Hint.
func Explain(err error) *Error {
	var done *Error
	if errors.As(err, &done) {
		return done
	}
	uncertain := errors.Is(err, vaultkeyring.ErrUncertain) // of an interrupted write, more must be said than that it was interrupted
	switch {
	case errors.Is(err, syscall.EPIPE) && !fromServer(err):
		return Silent(Broken) // whoever read the output has gone: nobody is there to be told
	case errors.Is(err, context.Canceled) && !uncertain:
		return &Error{Code: Broken, Message: "interrupted", Cause: err}
	}
	e := &Error{Code: Broken, Message: err.Error(), Hint: hint(err), Cause: err}
	if path, ok := err.(*fs.PathError); ok {
		e.Message = path.Path + ": " + path.Err.Error() // the system call's name tells nobody anything
	}
	if message, ok := strings.CutSuffix(e.Message, migrateNext); ok {
		e.Message, e.Hint = message, "run `fieldcrypt migrate`"
	}
	return e
}

// fromServer tells the end of a connection to a server from that of standard output.
func fromServer(err error) bool {
	var vault *vaultkeyring.Error
	var database *outboxstore.DatabaseError
	return errors.As(err, &vault) || errors.As(err, &database)
}

// Again is the hint for a connection that was lost in the middle: what was committed before stays, and every command that writes goes on from there.
const Again = "run the command again: it goes on from what was committed"

func hint(err error) string {
	var database *outboxstore.DatabaseError
	if errors.As(err, &database) && (database.Fault == outboxstore.FaultLost || database.Fault == outboxstore.FaultCommit) {
		return Again // the library's hint is about one transaction, a command runs many
	}
	var hinted interface {
		error
		Hint() string
	}
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}
