package lines

import (
	"context"
	"io"
	"os"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
)

// CheckFiles gives an error for a file that is not there: it must be known before the others have been answered or written somewhere.
func CheckFiles(files []string) error {
	for _, name := range files {
		if name == Stdin {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return err
		}
	}
	return nil
}

// Open opens a file, or standard input for "-".
func Open(s *cli.Session, name string) (io.ReadCloser, error) {
	if name == Stdin {
		return io.NopCloser(s.Stdin), nil
	}
	return os.Open(name)
}

// Reader reads for a library that reads lines by itself: before each read what has been said so far is written out, and a read ends with the context, which one
// of a pipe or a terminal alone does not.
func Reader(ctx context.Context, s *cli.Session, r io.Reader) io.Reader {
	return &interruptible{ctx: ctx, session: s, r: r}
}

type interruptible struct {
	ctx     context.Context
	session *cli.Session
	r       io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.session.Terminal.Flush(); err != nil {
		return 0, err
	}
	type answer struct {
		buf []byte
		err error
	}
	read := make(chan answer, 1)
	go func() {
		buf := make([]byte, len(p)) // not p: a read that is left behind must not write into it
		n, err := i.r.Read(buf)
		read <- answer{buf[:n], err}
	}()
	select {
	case a := <-read:
		return copy(p, a.buf), a.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}
