package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestReportGivesAHintWithTheFirstOfItsKindOnly(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	term := New(Options{Stdout: &out, Stderr: &err})
	term.Report("a: x", "do this")
	term.Report("b: x", "do this")
	term.Report("c: y", "do that")
	term.Report("d: z", "")
	if want := "a: x\nhint: do this\nb: x\nc: y\nhint: do that\nd: z\n"; err.String() != want {
		t.Errorf("got %q, want %q", err.String(), want)
	}
}

func TestQuietLeavesOutNotesAlone(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	term := New(Options{Stdout: &out, Stderr: &err, Quiet: true})
	term.Note("note")
	term.Warn("risk")
	term.Report("refused", "")
	term.Error("wrong", "hint")
	if want := "warning: risk\nrefused\nerror: wrong\nhint: hint\n"; err.String() != want {
		t.Errorf("got %q, want %q", err.String(), want)
	}
}

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	New(Options{Stdout: &out, Stderr: &err}).Error("a\x1b[2Jb\r\nc\u009bd", "")
	if want := "error: a?[2Jb  c?d\n"; err.String() != want {
		t.Errorf("got %q, want %q", err.String(), want)
	}
}

func TestWhatStandsOnStandardErrorFollowsWhatWasWrittenBefore(t *testing.T) {
	t.Parallel()
	var both bytes.Buffer
	term := New(Options{Stdout: &both, Stderr: &both})
	if e := term.Printf("first"); e != nil {
		t.Fatal(e)
	}
	term.Report("second", "")
	if both.String() != "first\nsecond\n" {
		t.Errorf("got %q", both.String())
	}
}

func TestNoProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	p := New(Options{Stdout: &out, Stderr: &err}).Progress()
	p.Set("%d rows", 1)
	p.Done()
	if err.Len() > 0 {
		t.Errorf("got %q", err.String())
	}
}

func TestProgressIsPacedAndMakesWayForLines(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	now := time.Unix(0, 0)
	term := New(Options{Stdout: &out, Stderr: &err, Now: func() time.Time { return now }})
	term.progress = true // as on a terminal
	p := term.Progress()
	p.Set("one")
	p.Set("too soon")
	now = now.Add(redraw)
	p.Set("two")
	term.Report("line", "")
	p.Done()
	blank := "\r" + strings.Repeat(" ", 3) + "\r"
	if want := "one" + blank + "two" + blank + "line\ntwo" + blank; err.String() != want {
		t.Errorf("got %q, want %q", err.String(), want)
	}
}
