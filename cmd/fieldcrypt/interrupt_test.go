package main

import (
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

const oneEvent = `{"type":"invoice.issued","aggregate_id":"1","payload":{"number":1,"customer":{"name":"Wqxzil Vbkjqp","tax_id":"8675309867"}}}` + "\n"

// An interrupt while standard input has nothing to give must end the program all the same, with what was committed said.
func TestAnInterruptEndsAWriteThatWaitsForInput(t *testing.T) {
	t.Parallel()
	interruptWrite(t, newProject(t, 0))
}

func TestAnInterruptEndsAWriteThatWaitsForInputOnPostgresAndVault(t *testing.T) {
	t.Parallel()
	interruptWrite(t, newProjectOn(t, onServers(t), 0))
}

func interruptWrite(t *testing.T, project *project) {
	project.mustCall("migrate")
	writer, stdin := project.startWrite()
	if _, err := io.WriteString(stdin, oneEvent); err != nil {
		t.Fatal(err)
	}
	project.awaitRows(1)
	if err := writer.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r := writer.wait()
	if r.code != failure.Broken || r.stderr != "error: interrupted; 1 event was committed before that\n" || r.stdout != "written 1, duplicates 0, refused 0\n" {
		t.Errorf("%+v", r)
	}
}

// startWrite starts a process that writes each line of its standard input as it comes.
func (p *project) startWrite() (*running, io.WriteCloser) {
	p.t.Helper()
	cmd := p.command("write", "--batch", "1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	return p.started(cmd, nil), stdin
}

// awaitRows asks the database itself until so many rows are committed.
func (p *project) awaitRows(n int) {
	p.t.Helper()
	deadline := time.NewTimer(hangs)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		rows, err := p.rows()
		if err == nil && rows == n {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			p.t.Fatalf("%d rows are committed, want %d: %v", rows, n, err)
		}
	}
}
