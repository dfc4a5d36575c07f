// Package terminal is what a command says and asks: results on standard output; errors, hints, warnings, notes and progress on standard error; a question
// for a passphrase on the terminal itself.
//
// There is no colour. Progress is shown only where standard error is a terminal.
package terminal
