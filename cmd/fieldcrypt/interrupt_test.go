package main

import (
	"fmt"
	"io"
	"net"
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

func TestAnInterruptEndsAWriteThatWaitsForALock(t *testing.T) {
	t.Parallel()
	project := newProjectOn(t, onServers(t), 0)
	project.mustCall("migrate")
	release := lockTable(t, project.on.names["OUTBOX"])
	defer release()
	writer := project.start(oneEvent, "write")
	project.await("a statement that waits for a lock", func() (bool, error) {
		waiting, err := execPostgres(t.Context(), project.on.names["OUTBOX"], "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		return waiting > 0, err
	})
	writer.interrupted("error: interrupted; 0 events were committed before that\n")
}

func TestAnInterruptEndsACommandThatWaitsForVault(t *testing.T) {
	t.Parallel()
	project := newProjectOn(t, onServers(t), 0)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	waits := project.with(map[string]string{"VAULT_ADDR": "http://" + silent.Addr().String()}).start("", "keys", "list")
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	waits.interrupted("error: interrupted\n")
}

// interrupted interrupts a process and asks for exit 1, well before any timeout of its own.
func (r *running) interrupted(stderr string) {
	r.p.t.Helper()
	start := time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		r.p.t.Fatal(err)
	}
	const soon = 8 * time.Second // Vault's timeout is 10 s, a statement's 5 min
	if said := r.wait(); said.code != failure.Broken || said.stderr != stderr || time.Since(start) > soon {
		r.p.t.Errorf("after %v: %+v", time.Since(start), said)
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
	p.await(fmt.Sprintf("%d committed rows", n), func() (bool, error) {
		rows, err := p.rows()
		return rows == n, err
	})
}

// await asks again until something is so.
func (p *project) await(what string, isSo func() (bool, error)) {
	p.t.Helper()
	deadline := time.NewTimer(hangs)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		so, err := isSo()
		if err == nil && so {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			p.t.Fatalf("%s: never; the last error: %v", what, err)
		}
	}
}
