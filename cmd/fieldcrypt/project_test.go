package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/root"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// project is a directory with settings and a schema, a keyring and an outbox on one backend.
type project struct {
	t   testing.TB
	dir string
	on  *backend
}

// newProject makes a project with everything in files.
func newProject(t testing.TB, propagation time.Duration) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), on: inFiles(t)}
	if err := p.on.writeProject(p.dir); err != nil {
		t.Fatal(err)
	}
	if err := createFileKeyring(filepath.Join(p.dir, "keyring.json"), "default", propagation); err != nil {
		t.Fatal(err)
	}
	return p
}

// newProjectOn makes a project on a backend of servers.
func newProjectOn(t testing.TB, on *backend, propagation time.Duration) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), on: on}
	if err := on.writeProject(p.dir); err != nil {
		t.Fatal(err)
	}
	if r := p.call("keys", "create", "--propagation", propagation.String()); r.code != failure.Done {
		t.Fatalf("keys create: %+v", r)
	}
	return p
}

// with is the same project with other variables for its processes.
func (p *project) with(env map[string]string) *project {
	changed := *p
	on := *p.on
	on.env = map[string]string{}
	for _, from := range []map[string]string{p.on.env, env} {
		for name, value := range from {
			on.env[name] = value
		}
	}
	on.secrets = slices.Clone(p.on.secrets)
	for _, name := range []string{"VAULT_TOKEN", "VAULT_SECRET_ID"} {
		if secret := on.env[name]; secret != "" {
			on.secrets = append(on.secrets, secret)
		}
	}
	changed.on = &on
	return &changed
}

// result is what a run said.
type result struct {
	code           failure.Code
	stdout, stderr string
}

// call runs a command: in this process where everything is in files, else as a process of its own, with the logins in its environment.
func (p *project) call(args ...string) result { return p.callWith("", args...) }

// callWith is call with a standard input.
func (p *project) callWith(stdin string, args ...string) result {
	p.t.Helper()
	var r result
	if p.on.inFiles() {
		var stdout, stderr bytes.Buffer
		code := p.here(p.t.Context(), strings.NewReader(stdin), &stdout, &stderr, args...)
		r = result{code, stdout.String(), stderr.String()}
	} else {
		r = p.start(stdin, args...).wait()
	}
	p.clean(r)
	return r
}

// clean checks that a run has shown no value and no secret.
func (p *project) clean(r result) {
	p.t.Helper()
	for _, leak := range leaks(r.stderr, p.on.secrets) {
		p.t.Errorf("standard error holds %q", leak)
	}
	for _, secret := range p.on.secrets {
		if strings.Contains(r.stdout, secret) {
			p.t.Error("standard output holds a secret")
		}
	}
}

// here runs a command of a project in files in this process.
func (p *project) here(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args ...string) failure.Code {
	args = append(args,
		"--schemas", filepath.Join(p.dir, "schemas"), "--keyring", "file:"+filepath.Join(p.dir, "keyring.json"), "--outbox", "sqlite:"+filepath.Join(p.dir, "outbox.db"))
	app := &cli.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Dir: p.dir, Now: time.Now, LookupEnv: func(name string) (string, bool) {
		if name == "FIELDCRYPT_PASSPHRASE_FILE" {
			return filepath.Join(p.dir, "passphrase"), true
		}
		return "", false
	}}
	return root.Run(ctx, app, args)
}

// command is a process that runs the program in the project's directory.
func (p *project) command(args ...string) *exec.Cmd { return p.commandOf("fieldcrypt", args...) }

// commandOf is command for any of the programs that this test binary is.
func (p *project) commandOf(name string, args ...string) *exec.Cmd {
	p.t.Helper()
	program, err := exec.LookPath(name) // testscript's: this test binary
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), program, args...)
	cmd.Dir = p.dir
	// Nothing of the machine's own settings: no ~/.vault-token, no PG or VAULT variable.
	cmd.Env = []string{"HOME=" + p.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), raceOption}
	for name, value := range p.on.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// running is a process that was started.
type running struct {
	p              *project
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan error
}

// start starts a process.
func (p *project) start(stdin string, args ...string) *running {
	p.t.Helper()
	cmd := p.command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	return p.started(cmd, nil)
}

// started starts a process whose standard input was set; what it says goes to also, too.
func (p *project) started(cmd *exec.Cmd, also io.Writer) *running {
	p.t.Helper()
	r := &running{p: p, cmd: cmd, done: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = &r.stdout, &r.stderr
	if also != nil {
		cmd.Stdout = io.MultiWriter(&r.stdout, also)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { r.done <- cmd.Wait() }()
	return r
}

// hangs is how long a process may take whose own timeouts are far below.
const hangs = 2 * time.Minute

// wait waits for the process's end.
func (r *running) wait() result {
	r.p.t.Helper()
	over := time.NewTimer(hangs)
	defer over.Stop()
	select {
	case err := <-r.done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			r.p.t.Fatal(err)
		}
	case <-over.C:
		_ = r.cmd.Process.Kill()
		<-r.done
		r.p.t.Fatalf("%v hangs; it said\n%s", r.cmd.Args[1:], r.stderr.String())
	}
	said := result{failure.Code(r.cmd.ProcessState.ExitCode()), r.stdout.String(), r.stderr.String()}
	r.p.clean(said)
	return said
}

// mustCall is call for what must succeed.
func (p *project) mustCall(args ...string) result {
	p.t.Helper()
	r := p.call(args...)
	if r.code != failure.Done {
		p.t.Fatalf("%v: %+v", args, r)
	}
	return r
}

// listedKey is one line of keys list.
type listedKey struct {
	ID      string `json:"id"`
	Purpose string `json:"purpose"`
	State   string `json:"state"`
}

// keys lists the keys.
func (p *project) keys() (all []listedKey) {
	p.t.Helper()
	for line := range strings.Lines(p.mustCall("keys", "list", "--output", "json").stdout) {
		var key listedKey
		if err := json.Unmarshal([]byte(line), &key); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, key)
	}
	return all
}

// states counts the keys of a purpose by state.
func (p *project) states(purpose keyring.Purpose) map[string]int {
	p.t.Helper()
	count := map[string]int{}
	for _, key := range p.keys() {
		if key.Purpose == string(purpose) {
			count[key.State]++
		}
	}
	return count
}

// auditInTable lets the project write its audit trail where it goes without a setting, into the outbox's database.
func (p *project) auditInTable() {
	p.t.Helper()
	path := filepath.Join(p.dir, "fieldcrypt.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	kept := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool { return strings.HasPrefix(line, "audit_log:") })
	if err := os.WriteFile(path, []byte(strings.Join(kept, "")), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// when does something once a text has been written.
type when struct {
	io.Writer
	text string
	then func()
}

func (w *when) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if strings.Contains(string(p), w.text) {
		w.then()
	}
	return n, err
}
