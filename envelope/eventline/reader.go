package eventline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// aroundPayload is how many bytes a line may have beside its payload's limit.
const aroundPayload = 64 << 10

// ReaderOptions of a Reader.
type ReaderOptions struct {
	// Name is the file's name in positions. Defaults to "-".
	Name string
	// Limits of the payload in the reader's form bound the line's length. Defaults to envelope's.
	Limits envelope.Limits
	// Now dates events without occurred_at. Defaults to time.Now.
	Now func() time.Time
}

// Reader reads event lines of one form. Not safe for concurrent use.
type Reader struct {
	in    *bufio.Reader
	form  Form
	name  string
	limit int
	now   func() time.Time
	line  int
	parts []byte // of a line longer than the buffer
	err   error  // the final one
	parse parser
}

// NewReader reads lines from r.
func NewReader(r io.Reader, form Form, opts ReaderOptions) *Reader {
	limits := opts.Limits.WithDefaults()
	reader := &Reader{in: bufio.NewReaderSize(r, aroundPayload), form: form, name: opts.Name, limit: limits.MaxPlaintext + aroundPayload, now: opts.Now}
	if form == Sealed {
		reader.limit = limits.MaxWire + aroundPayload
	}
	if reader.name == "" {
		reader.name = "-"
	}
	if reader.now == nil {
		reader.now = time.Now
	}
	return reader
}

// Next reads the next line; blank ones are skipped. io.EOF is the end; an *Error refuses one line, and the next call goes on with the next;
// any other error is the reader's own, and final.
func (r *Reader) Next() (*Line, error) {
	for {
		text, err := r.text()
		if err != nil {
			return nil, err
		}
		if len(bytes.Trim(text, " \t\r")) == 0 {
			continue
		}
		return r.parse.line(bytes.Clone(text), r.form, Position{r.name, r.line, 1}, r.now)
	}
}

// text gives the next line without its end, valid until the next call.
func (r *Reader) text() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.parts = r.parts[:0]
	long := 0 // how much of a line over the limit was let go
	for {
		part, err := r.in.ReadSlice('\n')
		last := err == nil || errors.Is(err, io.EOF)
		if !last && !errors.Is(err, bufio.ErrBufferFull) {
			r.err = fmt.Errorf("%s:%d: %w", r.name, r.line+1, err)
			return nil, r.err
		}
		if last && len(part)+len(r.parts)+long == 0 {
			return nil, io.EOF
		}
		text := part
		if last {
			text = bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
		}
		switch {
		case long > 0 || len(r.parts)+len(text) > r.limit+len("\r"):
			long += len(r.parts) + len(part)
			r.parts = r.parts[:0]
		case last && len(r.parts) == 0:
		default:
			r.parts = append(r.parts, text...)
			text = bytes.TrimSuffix(r.parts, []byte("\r")) // its LF may have come in a part of its own
		}
		if !last {
			continue
		}
		r.line++
		if long > 0 || len(text) > r.limit {
			return nil, r.tooLong()
		}
		return text, nil
	}
}

func (r *Reader) tooLong() error {
	form := "a plaintext"
	if r.form == Sealed {
		form = "a sealed"
	}
	return &Error{
		Position: Position{r.name, r.line, r.limit + 1}, Location: "payload",
		What: fmt.Sprintf("%s line may have at most %d bytes", form, r.limit),
		Next: "the payload is over its limit; keep large data elsewhere and put a reference into the event",
	}
}
