package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// Secret asks for a line without showing it. It asks on the terminal even where standard input is something else, as long as standard error is a terminal:
// else nobody would see the question.
func Secret(ctx context.Context, stdin io.Reader, stderr io.Writer, question string) ([]byte, error) {
	if !IsTerminal(stderr) {
		return nil, ErrNoTerminal
	}
	tty, ok := stdin.(*os.File)
	if !ok || !IsTerminal(tty) {
		var err error
		if tty, err = os.OpenFile("/dev/tty", os.O_RDWR, 0); err != nil {
			return nil, ErrNoTerminal
		}
		defer tty.Close()
	}
	state, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return nil, err
	}
	fmt.Fprint(stderr, question)
	type answer struct {
		line []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(int(tty.Fd()))
		answered <- answer{line, err}
	}()
	select {
	case a := <-answered:
		fmt.Fprintln(stderr)
		return a.line, a.err
	case <-ctx.Done():
		// The read still waits; without this the terminal would stay silent after the program has ended.
		_ = term.Restore(int(tty.Fd()), state)
		fmt.Fprintln(stderr)
		return nil, ctx.Err()
	}
}
