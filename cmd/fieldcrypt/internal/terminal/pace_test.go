package terminal_test

import (
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
)

func TestAPaceTellsRateAndTimeLeft(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(after time.Duration) func() time.Time { return func() time.Time { return start.Add(after) } }
	for want, p := range map[string]struct {
		after       time.Duration
		total, done int64
	}{
		"":                                   {0, 10, 5},
		", 50/s, about 1m38s left of 5000":   {2 * time.Second, 5000, 100},
		", 2500/s":                           {2 * time.Second, 0, 5000},
		", 0/s, about 2h46m40s left of 1001": {10 * time.Second, 1001, 1},
	} {
		if got := (terminal.Pace{Start: start, Total: p.total, Now: at(p.after)}).Tell(p.done); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (terminal.Pace{Start: start, Total: 10, Now: at(time.Second)}).Tell(20); got != ", 20/s" {
		t.Errorf("more than estimated: %q", got)
	}
}
