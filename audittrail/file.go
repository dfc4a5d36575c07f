package audittrail

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// FileOptions of OpenFile.
type FileOptions struct {
	// LockWait is how long Append waits for other writers. Defaults to 10 seconds.
	LockWait time.Duration
	// Now is the clock of the entry that tells of a torn line. Defaults to time.Now.
	Now func() time.Time
}

const (
	defaultLockWait = 10 * time.Second
	lockRetry       = 2 * time.Millisecond
	lockSuffix      = ".lock"
	fileMode        = 0o600
)

// TornOperation is the operation of the entry that a File writes in place of a line that a killed process has left torn. Its Detail is the digest of the bytes that
// were cut off, and Counts their number.
const TornOperation = "trail.torn-line"

// File is a trail in a file: JSON lines, appended and synced one by one, under the lock of a second file, FILE.lock. Put it on a local file system.
type File struct {
	path string
	opts FileOptions
}

var _ Log = (*File)(nil)

// OpenFile names the trail in a file. It touches nothing: the first Append makes the file, readable by its owner alone.
func OpenFile(path string, opts FileOptions) *File {
	if opts.LockWait <= 0 {
		opts.LockWait = defaultLockWait
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &File{path: path, opts: opts}
}

// String names the file.
func (f *File) String() string { return f.path }

// LockedError says that another process held the lock for too long.
type LockedError struct {
	Path   string
	Waited time.Duration
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s: another process has held the lock %s for %v", e.Path, e.Path+lockSuffix, e.Waited)
}

func (f *File) lock(ctx context.Context) (unlock func(), err error) {
	l := flock.New(f.path+lockSuffix, flock.SetPermissions(fileMode))
	wait, cancel := context.WithTimeout(ctx, f.opts.LockWait)
	defer cancel()
	held, err := l.TryLockContext(wait, lockRetry)
	switch {
	case held:
		return func() { _ = l.Close() }, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case wait.Err() != nil:
		return nil, &LockedError{Path: f.path, Waited: f.opts.LockWait}
	}
	return nil, err
}

// Append implements Log. A line that a killed process has left without its end was never confirmed to anybody: it is cut off, and an entry of TornOperation says so.
func (f *File) Append(ctx context.Context, e Entry) (Entry, error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	_, statErr := os.Lstat(f.path)
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return Entry{}, err
	}
	written, err := f.append(file, e)
	err = errors.Join(err, file.Close())
	if err == nil && errors.Is(statErr, fs.ErrNotExist) {
		err = syncDirectory(filepath.Dir(f.path))
	}
	if err != nil {
		return Entry{}, err
	}
	return written, nil
}

func (f *File) append(file *os.File, e Entry) (Entry, error) {
	info, err := file.Stat()
	if err != nil {
		return Entry{}, err
	}
	if !info.Mode().IsRegular() {
		return Entry{}, &NotRegularError{Path: f.path}
	}
	last, err := f.last(file, info.Size())
	if err != nil {
		return Entry{}, err
	}
	if e, err = Chain(last, e); err != nil {
		return Entry{}, err
	}
	return e, f.write(file, e)
}

// NotRegularError refuses a pipe, a terminal or a directory.
type NotRegularError struct{ Path string }

func (e *NotRegularError) Error() string { return e.Path + ": an audit trail needs a regular file" }

func (f *File) write(file *os.File, e Entry) error {
	if _, err := file.Write(append(e.Text(), '\n')); err != nil {
		return err
	}
	return file.Sync()
}

// last is the entry at the end of the file, the zero Entry where there is none; a torn line is repaired first.
func (f *File) last(file *os.File, size int64) (Entry, error) {
	tail, before, err := lastLine(file, size)
	if err != nil || len(tail) == 0 {
		return Entry{}, err
	}
	text, whole := bytes.CutSuffix(tail, []byte("\n"))
	if whole {
		return Last(f.path, text)
	}
	if e, err := Parse(text); err == nil { // all but its end was written
		if _, err := file.Write([]byte("\n")); err != nil {
			return Entry{}, err
		}
		return e, nil
	}
	previous, err := f.last(file, before) // of whole lines: they end in one
	if err != nil {
		return Entry{}, err
	}
	if err := file.Truncate(before); err != nil {
		return Entry{}, err
	}
	torn, err := Chain(previous, Entry{
		Actor: "fieldcrypt", Operation: TornOperation, Result: OK, Time: f.opts.Now(),
		Detail: "sha256:" + Hash(sha256.Sum256(tail)).String(), Counts: map[string]int64{"bytes": int64(len(tail))},
	})
	if err != nil {
		return Entry{}, err
	}
	return torn, f.write(file, torn)
}

// lastLine reads the last line of the first size bytes, with its end if it has one, and where it begins.
func lastLine(file io.ReaderAt, size int64) (tail []byte, begins int64, err error) {
	const chunk = 64 << 10
	for at := size; at > 0; {
		n := min(at, chunk)
		at -= n
		part := make([]byte, n)
		if _, err := file.ReadAt(part, at); err != nil {
			return nil, 0, err
		}
		tail = append(part, tail...)
		if i := bytes.LastIndexByte(tail[:len(tail)-1], '\n'); i >= 0 {
			return tail[i+1:], at + int64(i) + 1, nil
		}
		if len(tail) > maxLineBytes+chunk {
			return nil, 0, errLine
		}
	}
	return tail, 0, nil
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil // a directory that may not be read
	}
	_ = d.Sync() // not every system can
	return d.Close()
}

// Lines implements Log. It reads what was there when it began.
func (f *File) Lines(ctx context.Context) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		file, size, err := f.open(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer file.Close()
		r := bufio.NewReaderSize(io.LimitReader(file, size), 64<<10)
		for {
			text, err := readLine(r)
			if err == io.EOF && len(text) == 0 {
				return
			}
			if err != nil && err != io.EOF {
				yield(Line{}, err)
				return
			}
			if ctx.Err() != nil {
				yield(Line{}, context.Cause(ctx))
				return
			}
			if !yield(Line{Text: text, Torn: err == io.EOF}, nil) {
				return
			}
		}
	}
}

// open also says how long the file is while nobody writes. Somebody who may only read it, and not its lock, is let read all the same.
func (f *File) open(ctx context.Context) (*os.File, int64, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, 0, err
	}
	if unlock, err := f.lock(ctx); err == nil {
		defer unlock()
	} else if !errors.Is(err, fs.ErrPermission) && !isReadOnly(err) {
		return nil, 0, errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotRegularError{Path: f.path}
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// isReadOnly is about a file system that takes no lock file.
func isReadOnly(err error) bool {
	var of *os.PathError
	return errors.As(err, &of) && of.Op == "open"
}

// readLine reads one line without its end, of which no more is kept than the longest entry has: the rest is read over, and what is kept is no entry then.
func readLine(r *bufio.Reader) (text []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(text) <= maxLineBytes {
			text = append(text, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil:
			return text, err
		}
		return bytes.TrimSuffix(text, []byte("\n")), nil
	}
}
