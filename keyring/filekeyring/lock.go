package filekeyring

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockSuffix = ".lock"
	lockRetry  = 10 * time.Millisecond
)

// lock keeps other writers out, processes and goroutines alike, and ends with
// the process at the latest. Readers need none, since files are renamed.
func (f *File) lock(ctx context.Context) (unlock func(), err error) {
	l := flock.New(f.path+lockSuffix, flock.SetPermissions(fileMode))
	wait, cancel := context.WithTimeout(ctx, f.lockWait)
	defer cancel()
	held, err := l.TryLockContext(wait, lockRetry)
	switch {
	case held:
		return func() { l.Close() }, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case wait.Err() != nil:
		return nil, f.fail(ErrLocked, &waitError{waited: f.lockWait})
	}
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return nil, &FileError{Path: f.path, Problem: ErrUnwritable, Err: err, hint: "the directory must exist and the lock file " + pathErr.Path + " be writable"}
	}
	return nil, f.fail(ErrUnwritable, err)
}
