package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An interrupt while standard input has nothing to give must end the program all the same, with what was committed said.
func TestAnInterruptEndsAWriteThatWaitsForInput(t *testing.T) {
	t.Parallel()
	project := newProject(t, 0)
	if r := call(t.Context(), project, "migrate"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	program, err := exec.LookPath("fieldcrypt") // testscript's: this test binary
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	cmd := exec.CommandContext(ctx, program, "write", "--batch", "1", "--no-progress", "--log-level", "debug")
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "FIELDCRYPT_PASSPHRASE=correct horse battery staple")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, `{"type":"invoice.issued","aggregate_id":"1","payload":{"number":1,"customer":{"name":"Wqxzil Vbkjqp"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	waitForRow(t, project)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("an interrupt does not end a write that waits for input")
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "error: interrupted; 1 event was committed before that\n") || stdout.String() != "written 1, duplicates 0, refused 0\n" {
		t.Errorf("code %d\n%s%s", code, stdout.String(), stderr.String())
	}
}

// waitForRow asks the database itself whether the first row is committed.
func waitForRow(t *testing.T, project string) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		r := call(t.Context(), project, "verify", "--keyless", "--output", "json")
		if strings.Contains(r.stdout, `"rows":1,`) {
			return
		}
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("no row in %s: %+v", filepath.Join(project, "outbox.db"), r)
		}
	}
}
