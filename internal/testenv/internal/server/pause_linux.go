package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pause stops the process and waits until each of its threads has stopped.
func (p *process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		// WNOWAIT: the end of the process is waited for elsewhere.
		err := unix.Waitid(unix.P_PID, p.PID(), &unix.Siginfo{}, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Resume lets the process go on.
func (p *process) Resume() error { return p.Signal(syscall.SIGCONT) }
