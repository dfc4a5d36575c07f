package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// Secret asks for a line without showing it. It asks on the terminal that controls the process, whatever the standard streams are; where the system has no such
// thing, on standard input if that is a terminal.
func Secret(ctx context.Context, stdin io.Reader, stderr io.Writer, question string) ([]byte, error) {
	tty, questions, err := openTerminal(stdin, stderr)
	if err != nil {
		return nil, err
	}
	if tty != stdin {
		defer tty.Close()
	}
	state, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return nil, err
	}
	fmt.Fprint(questions, question)
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
		fmt.Fprintln(questions)
		return a.line, a.err
	case <-ctx.Done():
		// The read still waits; without this the terminal would stay silent after the program has ended.
		_ = term.Restore(int(tty.Fd()), state)
		fmt.Fprintln(questions)
		return nil, ctx.Err()
	}
}

func openTerminal(stdin io.Reader, stderr io.Writer) (tty *os.File, questions io.Writer, err error) {
	if tty, err = os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		return tty, tty, nil
	}
	if tty, ok := stdin.(*os.File); ok && IsTerminal(tty) {
		return tty, stderr, nil
	}
	return nil, nil, ErrNoTerminal
}

// Answer asks for a line that may be seen.
func Answer(ctx context.Context, stdin io.Reader, stderr io.Writer, question string) (string, error) {
	tty, questions, err := openTerminal(stdin, stderr)
	if err != nil {
		return "", err
	}
	if tty != stdin {
		defer tty.Close()
	}
	fmt.Fprint(questions, question)
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(tty).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil // an answer that ends without a line break, or none at all
		}
		answered <- answer{line, err}
	}()
	select {
	case a := <-answered:
		return a.line, a.err
	case <-ctx.Done():
		fmt.Fprintln(questions)
		return "", ctx.Err()
	}
}
