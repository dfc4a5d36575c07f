package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	postgresUser = "postgres"
	// postgresStarts is how often a start is tried: the free port that was
	// found may be taken by then.
	postgresStarts = 5
	// pollEvery is how often a file that a server writes is looked at.
	pollEvery = 10 * time.Millisecond
	// restartEvery is how often a start is tried while what was killed ends.
	restartEvery = 100 * time.Millisecond
)

// Postgres is a private cluster. fsync is off: it survives a kill of its
// processes, not of the machine.
type Postgres struct {
	dir      string
	bin      string
	port     int
	password string
	user     *user
	log      *os.File
	*process
}

// NewPostgres makes a cluster in a new directory below the system's directory
// for temporary files: Postgres refuses to run as root, and another user may
// not be able to reach any other place. Remove removes it.
func NewPostgres(ctx context.Context) (p *Postgres, err error) {
	bin, err := findPostgres(debianPostgres)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fieldcrypt-postgres-")
	if err != nil {
		return nil, err
	}
	p = &Postgres{dir: dir, bin: bin, password: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Remove())
		}
	}()
	if p.user, err = unprivileged(); err != nil {
		return nil, err
	}
	if p.log, err = os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(p.password), 0o600); err != nil {
		return nil, err
	}
	if err := p.user.own(dir, secret); err != nil {
		return nil, err
	}
	initdb := p.command(ctx, "initdb", "--pgdata="+p.data(), "--username="+postgresUser, "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if err := initdb.Run(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, p.logTail())
	}
	return p, os.Remove(secret)
}

// Start starts the cluster, on the port that it had before if it had one, and
// waits until it takes connections.
func (p *Postgres) Start(ctx context.Context) error {
	if p.port != 0 {
		return p.startAgain(ctx)
	}
	var err error
	for range postgresStarts {
		var port int
		if port, err = freePort(); err != nil {
			return err
		}
		if err = p.startOn(ctx, port); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// startAgain tries for as long as there is time: the processes of a killed
// postmaster need a moment to notice, and hold its memory until then.
func (p *Postgres) startAgain(ctx context.Context) error {
	tick := time.NewTicker(restartEvery)
	defer tick.Stop()
	for {
		err := p.startOn(ctx, p.port)
		if err == nil || ctx.Err() != nil || !strings.Contains(p.logTail(), "still in use") {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

func (p *Postgres) startOn(ctx context.Context, port int) error {
	// Not CommandContext: the server outlives the start.
	cmd := p.command(context.WithoutCancel(ctx), "postgres", "-D", p.data(), "-p", strconv.Itoa(port), "-k", p.dir,
		"-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=200",
		"-c", "fsync=off",
		"-c", "full_page_writes=off",
		"-c", "max_wal_size=1GB",
		"-c", "log_min_messages=warning")
	proc, err := start(cmd)
	if err != nil {
		return err
	}
	p.process = proc
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-proc.done:
			return fmt.Errorf("postgres ended (%v): %s", proc.err, p.logTail())
		case <-ctx.Done():
			proc.kill()
			return fmt.Errorf("postgres was not ready in time: %w: %s", context.Cause(ctx), p.logTail())
		case <-tick.C:
		}
		if p.ready() {
			p.port = port
			return nil
		}
	}
}

// ready says whether the postmaster has written that it takes connections.
func (p *Postgres) ready() bool {
	const statusLine = 7 // of postmaster.pid, from 0
	text, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	return err == nil && len(lines) > statusLine && strings.TrimSpace(lines[statusLine]) == "ready" && lines[0] == strconv.Itoa(p.PID())
}

// URL is that of the superuser in the database postgres.
func (p *Postgres) URL() string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresUser, p.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Stop ends it as `pg_ctl stop -m fast` does.
func (p *Postgres) Stop() error {
	if p.process == nil {
		return nil
	}
	return p.end(syscall.SIGINT)
}

// Kill ends the postmaster as the kernel would, out of memory; its other
// processes notice and end.
func (p *Postgres) Kill() {
	if p.process != nil {
		p.kill()
	}
}

// Remove stops it and removes its files.
func (p *Postgres) Remove() error {
	err := p.Stop()
	if p.log != nil {
		p.log.Close()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// Dir is where its files are.
func (p *Postgres) Dir() string { return p.dir }

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	cmd.Dir = p.dir // the caller's may be out of the user's reach
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME=" + p.dir}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.SysProcAttr = p.user.attributes()
	return cmd
}

func (p *Postgres) logTail() string {
	const most = 2000
	text, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(string(text))
}

// debianPostgres is where Debian puts each version.
const debianPostgres = "/usr/lib/postgresql"

// findPostgres returns the directory of initdb and postgres: that of PATH, else
// the newest of Debian's, which are not in PATH.
func findPostgres(debian string) (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && isProgram(filepath.Join(filepath.Dir(path), "postgres")) {
			return filepath.Dir(path), nil
		}
	}
	dirs, err := filepath.Glob(debian + "/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(debianVersion(b), debianVersion(a)) })
	for _, dir := range dirs {
		if isProgram(filepath.Join(dir, "initdb")) && isProgram(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", &MissingError{Program: "postgres", Where: "PATH and " + debian + "/*/bin", Install: "apt-get install postgresql"}
}

func debianVersion(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// PostgresThere says whether Postgres is installed.
func PostgresThere() error {
	_, err := findPostgres(debianPostgres)
	return err
}
