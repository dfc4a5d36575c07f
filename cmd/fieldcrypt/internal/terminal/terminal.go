package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Options describe the streams and how much is said.
type Options struct {
	Stdout, Stderr io.Writer
	// Quiet leaves out notes and progress. Defaults to false.
	Quiet bool
	// NoProgress leaves out progress. Defaults to false.
	NoProgress bool
	// Now is the clock that paces progress. Defaults to time.Now.
	Now func() time.Time
}

// Terminal writes what a command says. It is safe for concurrent use.
type Terminal struct {
	mu       sync.Mutex
	out      *bufio.Writer
	err      io.Writer
	quiet    bool
	progress bool
	now      func() time.Time
	line     string // the progress line that stands on the terminal
	hints    map[string]bool
}

// New returns a terminal on the given streams.
func New(o Options) *Terminal {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Terminal{
		out:      bufio.NewWriterSize(o.Stdout, 64<<10),
		err:      o.Stderr,
		quiet:    o.Quiet,
		progress: !o.Quiet && !o.NoProgress && IsTerminal(o.Stderr),
		now:      o.Now,
		hints:    map[string]bool{},
	}
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Write appends to standard output, which is buffered until Flush.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(p)
}

// Flush writes out what is buffered. Commands that answer line by line call it before they wait for input.
func (t *Terminal) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Flush()
}

// Printf writes a line of a result.
func (t *Terminal) Printf(format string, args ...any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := fmt.Fprintf(t.out, format+"\n", args...)
	return err
}

// JSON writes an object as one line of machine output and flushes, since a program may wait for it.
func (t *Terminal) JSON(object any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	encoder := json.NewEncoder(t.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return err
	}
	return t.out.Flush()
}

// Error writes an error and its hint.
func (t *Terminal) Error(message, hint string) {
	t.say("error: " + message)
	if hint != "" {
		t.say("hint: " + hint)
	}
}

// Warn writes a warning: something the user should know, quiet or not.
func (t *Terminal) Warn(format string, args ...any) {
	t.say("warning: " + fmt.Sprintf(format, args...))
}

// Note writes what is good to know and may be left out.
func (t *Terminal) Note(format string, args ...any) {
	if !t.quiet {
		t.say(fmt.Sprintf(format, args...))
	}
}

// Report writes a refusal or a finding. A hint is given with the first one of its kind only, so that ten thousand refused lines stay readable.
func (t *Terminal) Report(message, hint string) {
	t.say(message)
	t.mu.Lock()
	first := hint != "" && !t.hints[hint]
	t.hints[hint] = true
	t.mu.Unlock()
	if first {
		t.say("hint: " + hint)
	}
}

// say writes lines on standard error, after what standard output has been told so far.
func (t *Terminal) say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.out.Flush() // its error comes back with the next write
	t.clear()
	fmt.Fprintln(t.err, oneLine(text))
	if t.line != "" {
		fmt.Fprint(t.err, t.line)
	}
}

// LogWriter is standard error for a log handler.
func (t *Terminal) LogWriter() io.Writer { return logWriter{t} }

type logWriter struct{ t *Terminal }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.say(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// oneLine keeps control characters that came from a name or a path out of the terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}
