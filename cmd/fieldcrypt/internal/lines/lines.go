// Package lines runs a command over event lines: files or standard input in, one answer for each line out.
//
// A refused line is reported and gives no answer, and the rest goes on; what has been answered is written out whenever no further line is there yet, so that
// a program at both ends of a pipe gets a line for a line.
package lines

import (
	"context"
	"errors"
	"io"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
)

// Stdin is how standard input is named on the command line and in reports.
const Stdin = "-"

// readAhead is how many lines are read before they are asked for. Few, since a line may hold megabytes.
const readAhead = 4

// Stream counts what became of lines.
type Stream struct {
	session  *cli.Session
	failFast bool

	// Read is the number of lines that were read, Refused of those that were refused.
	Read, Refused int
}

// New returns a stream. With failFast it ends at the first refused line.
func New(s *cli.Session, failFast bool) *Stream { return &Stream{session: s, failFast: failFast} }

// errStop ends a stream at a refused line.
var errStop = errors.New("stopped at the first refused line")

// Stopped reports whether the stream has ended at a refused line.
func Stopped(err error) bool { return errors.Is(err, errStop) }

type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// Fatal marks an error that is not about a line and ends the run.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return fatal{err}
}

// Each reads the files' lines (none: standard input) and handles them one after the other. An error of handle refuses the line, unless it is Fatal or the
// context's.
func (st *Stream) Each(ctx context.Context, files []string, form eventline.Form, handle func(*eventline.Line) error) error {
	if len(files) == 0 {
		files = []string{Stdin}
	}
	if err := CheckFiles(files); err != nil {
		return err
	}
	for _, name := range files {
		if err := st.file(ctx, name, form, handle); err != nil {
			return err
		}
	}
	return nil
}

func (st *Stream) file(ctx context.Context, name string, form eventline.Form, handle func(*eventline.Line) error) error {
	input, err := Open(st.session, name)
	if err != nil {
		return err
	}
	defer input.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := read(ctx, eventline.NewReader(input, form, eventline.ReaderOptions{Name: name, Now: st.session.Now}))
	for {
		next, err := st.wait(ctx, answers)
		if err != nil {
			return err
		}
		switch refused := (*eventline.Error)(nil); {
		case errors.Is(next.err, io.EOF):
			return nil
		case errors.As(next.err, &refused):
			st.Read++
			err = st.report(refused)
		case next.err != nil:
			return next.err
		default:
			st.Read++
			err = st.answer(ctx, next.line, handle)
		}
		if err != nil {
			return err
		}
	}
}

func (st *Stream) answer(ctx context.Context, line *eventline.Line, handle func(*eventline.Line) error) error {
	err := handle(line)
	var ends fatal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ends):
		return ends.error
	case Stopped(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return st.Refuse(line, err)
}

// Refuse reports a line as refused. It returns an error where that ends the stream.
func (st *Stream) Refuse(line *eventline.Line, err error) error {
	return st.report(line.Refuse(err)...)
}

func (st *Stream) report(errs ...*eventline.Error) error {
	st.Refused++
	for _, e := range errs {
		st.session.Terminal.Report(e.Error(), e.Hint())
	}
	if st.failFast {
		return errStop
	}
	return nil
}

// End is the error of a command whose lines were refused in part, or nil.
func (st *Stream) End(err error) error {
	switch {
	case Stopped(err):
		return failure.New(failure.Refused, "", "%w", errStop)
	case err != nil:
		return err
	case st.Refused == 0:
		return nil
	case st.Read == 1:
		return failure.New(failure.Refused, "", "the line was refused")
	}
	return failure.New(failure.Refused, "", "%d of %d lines were refused", st.Refused, st.Read)
}

type result struct {
	line *eventline.Line
	err  error
}

// read reads in a goroutine of its own, since a read of a pipe or a terminal does not end with the context. It leaves at most one read behind.
func read(ctx context.Context, r *eventline.Reader) <-chan result {
	out := make(chan result, readAhead)
	go func() {
		for {
			line, err := r.Next()
			select {
			case out <- result{line, err}:
			case <-ctx.Done():
				return
			}
			var refused *eventline.Error
			if err != nil && !errors.As(err, &refused) {
				return
			}
		}
	}()
	return out
}

// wait gives the next line; if it is not there yet, the answers so far are written out first.
func (st *Stream) wait(ctx context.Context, results <-chan result) (result, error) {
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	select {
	case r := <-results:
		return r, nil
	default:
	}
	if err := st.session.Terminal.Flush(); err != nil {
		return result{}, err
	}
	select {
	case r := <-results:
		return r, nil
	case <-ctx.Done():
		return result{}, ctx.Err()
	}
}
