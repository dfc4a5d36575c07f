package share

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the supervisor and the test processes that the tests
// start.
const (
	envRole  = "FIELDCRYPT_TEST_SHARE_ROLE"
	envPlace = "FIELDCRYPT_TEST_SHARE_PLACE"
	envIdle  = "FIELDCRYPT_TEST_SHARE_IDLE"
)

// eventually bounds what another process has to do.
const eventually = time.Minute

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(envRole) {
	case "":
		os.Exit(m.Run())
	case "supervisor":
		err = supervise()
	case "user":
		err = use()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fakeServer is a directory; a file crash in it ends the server by itself.
type fakeServer struct {
	dir  string
	done chan struct{}
}

func (s *fakeServer) Done() <-chan struct{} { return s.done }
func (s *fakeServer) Remove() error         { return os.RemoveAll(s.dir) }

func supervise() error {
	place, err := NewPlace(os.Getenv(envPlace))
	if err != nil {
		return err
	}
	idle, err := time.ParseDuration(os.Getenv(envIdle))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*eventually)
	defer cancel()
	return place.Supervise(ctx, Vault, idle, func(context.Context) (Server, Access, error) {
		if _, err := os.Stat(filepath.Join(place.dir, "refuse")); err == nil {
			return nil, Access{}, errors.New("this server does not start")
		}
		dir, err := os.MkdirTemp(place.dir, "server-")
		if err != nil {
			return nil, Access{}, err
		}
		s := &fakeServer{dir: dir, done: make(chan struct{})}
		go func() {
			for {
				if _, err := os.Stat(filepath.Join(dir, "crash")); err == nil {
					close(s.done)
					return
				}
				time.Sleep(pollEvery)
			}
		}()
		return s, Access{Dirs: []string{dir}, Address: dir}, nil
	})
}

// use joins, says where the server is, and keeps it until standard input ends.
func use() error {
	place, err := NewPlace(os.Getenv(envPlace))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventually)
	defer cancel()
	lease, err := place.Join(ctx, Vault, supervisor(place, os.Getenv(envIdle)))
	if err != nil {
		return err
	}
	fmt.Println(lease.Address)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func supervisor(p Place, idle string) Supervise {
	return func(Kind) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envRole+"=supervisor", envPlace+"="+p.dir, envIdle+"="+idle)
		return cmd
	}
}

func newPlace(t *testing.T) Place {
	t.Helper()
	p, err := NewPlace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // nothing may be left that writes into the directory
		ctx, cancel := context.WithTimeout(context.Background(), eventually)
		defer cancel()
		if _, err := p.Stop(ctx, Vault); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return p
}

func join(t *testing.T, p Place, idle string) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	lease, err := p.Join(ctx, Vault, supervisor(p, idle))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lease.Release() })
	if _, err := os.Stat(lease.Address); err != nil {
		t.Fatalf("the server that was joined is not there: %v", err)
	}
	return lease
}

// until waits for what another process does.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(eventually)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("it did not come to it that %s", what)
		case <-tick.C:
		}
	}
}

func gone(t *testing.T, path string) {
	t.Helper()
	until(t, path+" is gone", func() bool {
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist)
	})
}

type userProcess struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	address string
}

func startUser(p Place, idle string) (*userProcess, error) {
	u := &userProcess{cmd: exec.Command(os.Args[0])}
	u.cmd.Env = append(os.Environ(), envRole+"=user", envPlace+"="+p.dir, envIdle+"="+idle)
	stderr := &strings.Builder{}
	u.cmd.Stderr = stderr
	stdin, err := u.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	u.stdin = stdin
	stdout, err := u.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, u.cmd.Wait(), errors.New(stderr.String()))
	}
	u.address = strings.TrimSpace(line)
	return u, nil
}

func (u *userProcess) kill() {
	_ = u.cmd.Process.Kill()
	_ = u.cmd.Wait()
}

func TestManyProcessesAtOnceShareOneServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const processes = 8
	users := make([]*userProcess, processes)
	errs := make([]error, processes)
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() { users[i], errs[i] = startUser(p, "1m") })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, u := range users {
		if u.address != users[0].address {
			t.Errorf("one process has the server %s, another %s", u.address, users[0].address)
		}
		u.kill()
	}
	if servers, _ := filepath.Glob(filepath.Join(p.dir, "server-*")); len(servers) != 1 {
		t.Errorf("%d servers were started, want 1", len(servers))
	}
}

func TestAServerEndsWhenNobodyHasUsedItForAWhileAndStartsAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := join(t, p, "100ms")
	first.Release()
	gone(t, first.Address)
	second := join(t, p, "100ms")
	if second.Address == first.Address || second.PID == first.PID {
		t.Errorf("the same server %s (%d) again", second.Address, second.PID)
	}
}

func TestAServerInUseOutlivesItsIdleTime(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	user, err := startUser(p, "50ms")
	if err != nil {
		t.Fatal(err)
	}
	defer user.kill()
	lease := join(t, p, "50ms")
	began := time.Now()
	until(t, "ten times the idle time passes", func() bool {
		if _, err := os.Stat(lease.Address); err != nil {
			t.Fatalf("the server ended while it was used: %v", err)
		}
		return time.Since(began) > 500*time.Millisecond
	})
	lease.Release()
	// The other process still uses it; killed, it does not.
	if _, err := os.Stat(user.address); err != nil {
		t.Fatalf("the server ended while another process used it: %v", err)
	}
	user.kill()
	gone(t, user.address)
}

func TestStopLeavesWhatIsInUseAndEndsTheRest(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	if stopped, err := p.Stop(ctx, Vault); stopped || err != nil {
		t.Errorf("stopping nothing: %t, %v", stopped, err)
	}
	user, err := startUser(p, "1m")
	if err != nil {
		t.Fatal(err)
	}
	defer user.kill()
	var used *InUseError
	if stopped, err := p.Stop(ctx, Vault); stopped || !errors.As(err, &used) {
		t.Errorf("stopping what is in use: %t, %v, want an *InUseError", stopped, err)
	}
	if _, err := os.Stat(user.address); err != nil {
		t.Errorf("the server in use: %v", err)
	}
	user.kill()
	if stopped, err := p.Stop(ctx, Vault); !stopped || err != nil {
		t.Errorf("stopping what nobody uses: %t, %v", stopped, err)
	}
	if _, err := os.Stat(user.address); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stopped server's files: %v, want none", err)
	}
}

func TestAKilledSupervisorIsReplacedAndItsFilesAreRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := join(t, p, "1m")
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "its lock is free", func() bool { alive, err := p.alive(Vault); return !alive && err == nil })
	second := join(t, p, "1m")
	if second.PID == first.PID {
		t.Errorf("the supervisor %d lives", second.PID)
	}
	if _, err := os.Stat(first.Address); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the files of the killed one: %v, want none", err)
	}
}

func TestAServerThatEndedByItselfIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := join(t, p, "1m")
	if err := os.WriteFile(filepath.Join(first.Address, "crash"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone(t, first.Address)
	if second := join(t, p, "1m"); second.Address == first.Address {
		t.Errorf("the crashed server %s was joined", second.Address)
	}
}

func TestAServerThatDoesNotStartSaysWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.dir, "refuse"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	defer cancel()
	_, err := p.Join(ctx, Vault, supervisor(p, "1m"))
	if err == nil || !strings.Contains(err.Error(), "this server does not start") {
		t.Errorf("%v, want the server's own reason", err)
	}
	if err := os.Remove(filepath.Join(p.dir, "refuse")); err != nil {
		t.Fatal(err)
	}
	join(t, p, "1m")
}

func TestParseKindKnowsItsKinds(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds() {
		if got, err := ParseKind(string(k)); got != k || err != nil {
			t.Errorf("%s: %s, %v", k, got, err)
		}
	}
	if _, err := ParseKind("mysql"); err == nil {
		t.Error("a kind that is not there")
	}
}
