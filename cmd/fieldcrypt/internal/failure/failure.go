// Package failure says how a command ends: with which exit code, with which error and hint.
//
// The rules for these texts, which every command keeps:
//
//   - The error says what is wrong and where: a file, a line, a location, a key id, a row. The hint says what to do next.
//   - Lower case, no final period, one line each.
//   - Neither ever holds a value of a payload, a passphrase or a database password.
//   - A refused line, row or schema is a finding: it is reported where it is met, and the command ends with [Refused] when it is done with the rest.
//
// The errors of the libraries are typed; [Explain] is the one place that turns them into texts and codes.
package failure

import (
	"errors"
	"fmt"
)

// Code is an exit code of the program.
type Code int

const (
	// Done: the work is done, and nothing was found.
	Done Code = 0
	// Broken: the run could not go on (files, settings, keyring, network, database, a lost check-and-set).
	Broken Code = 1
	// Usage: the command was called wrongly.
	Usage Code = 2
	// Refused: some line, row or schema was refused or found.
	Refused Code = 3
)

// Error is an error as a user reads it.
type Error struct {
	// Code is the exit code.
	Code Code
	// Message follows `error: `. Empty: what there is to say was said already.
	Message string
	// Hint follows `hint: `; may be empty.
	Hint string
	// Cause is the error behind this one, or nil.
	Cause error
}

func (e *Error) Error() string {
	if e.Message == "" && e.Cause != nil {
		return e.Cause.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// New makes an error with its code and hint.
func New(code Code, hint, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Hint: hint, Cause: errors.Unwrap(err)}
}

// Silent ends a command with a code when everything was said already.
func Silent(code Code) *Error { return &Error{Code: code} }
