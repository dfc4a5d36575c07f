package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// endWait is how long a process may take to end before it is killed.
const endWait = 15 * time.Second

// process is a started program whose end is waited for once.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

func start(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the process has ended, in whatever way.
func (p *process) Done() <-chan struct{} { return p.done }

// PID is the process's id.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process.
func (p *process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// end asks with a signal, and kills if that is not followed.
func (p *process) end(ask syscall.Signal) error {
	if err := p.Signal(ask); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(endWait):
		p.kill()
		return fmt.Errorf("%s did not end within %s and was killed", p.cmd.Path, endWait)
	}
}

func (p *process) kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.done
}
