package envelope

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this thread has computed so far: on a machine that does other things beside, it says more than the clock.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
