package failure

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// Explain turns any error into what a user reads.
func Explain(err error) *Error {
	var done *Error
	if errors.As(err, &done) {
		return done
	}
	switch {
	case errors.Is(err, syscall.EPIPE):
		return Silent(Broken) // whoever read the output has gone: nobody is there to be told
	case errors.Is(err, context.Canceled):
		return New(Broken, "", "interrupted")
	case errors.Is(err, context.DeadlineExceeded):
		return New(Broken, "", "it took too long: %w", err)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return New(Broken, "", "%s: %w", path.Path, path.Err)
	}
	return New(Broken, "", "%w", err)
}
