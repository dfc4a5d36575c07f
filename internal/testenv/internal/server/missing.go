package server

import "fmt"

// MissingError: a program that tests need is not there. It is a failure, never
// a reason to skip.
type MissingError struct {
	Program string
	// Where says where it was looked for.
	Where string
	// Install is the command that installs it.
	Install string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not there (looked in %s); install it with: %s", e.Program, e.Where, e.Install)
}
