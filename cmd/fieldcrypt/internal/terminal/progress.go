package terminal

import (
	"fmt"
	"strings"
	"time"
)

// Progress is a line on the terminal that says how far something is. On anything but a terminal it says nothing.
type Progress struct {
	t    *Terminal
	last time.Time
}

// redraw is how often a progress line is written at most.
const redraw = 100 * time.Millisecond

// Progress begins a line.
func (t *Terminal) Progress() *Progress { return &Progress{t: t} }

// Shown reports whether anybody sees progress.
func (t *Terminal) Shown() bool { return t.progress }

// Set changes the line.
func (p *Progress) Set(format string, args ...any) {
	t := p.t
	if !t.progress {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if now.Sub(p.last) < redraw {
		return
	}
	p.last = now
	t.clear()
	t.line = oneLine(fmt.Sprintf(format, args...))
	fmt.Fprint(t.err, t.line)
}

// Done takes the line away.
func (p *Progress) Done() {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	p.t.clear()
	p.t.line = ""
}

// clear takes the progress line off the terminal; the caller holds the lock.
func (t *Terminal) clear() {
	if t.line != "" {
		fmt.Fprint(t.err, "\r"+strings.Repeat(" ", len(t.line))+"\r")
	}
}
