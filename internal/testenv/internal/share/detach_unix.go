//go:build unix

package share

import (
	"os/exec"
	"syscall"
)

// detach puts a process into a session of its own: an interrupt at the terminal
// ends the tests, and the supervisor then notices that nobody is left.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
