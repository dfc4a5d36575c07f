package failure

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
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
	switch {
	case errors.Is(err, syscall.EPIPE):
		return Silent(Broken) // whoever read the output has gone: nobody is there to be told
	case errors.Is(err, context.Canceled):
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

func hint(err error) string {
	var hinted interface {
		error
		Hint() string
	}
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}
