package server

import "syscall"

// endWithParent makes the kernel end a process when the one that started it is
// gone, in whatever way.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
