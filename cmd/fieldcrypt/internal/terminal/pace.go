package terminal

import (
	"fmt"
	"time"
)

// Pace tells how fast something goes, and how long it will take.
type Pace struct {
	// Start is when it began.
	Start time.Time
	// Total is about how many things there are; 0 where that is not known.
	Total int64
	// Now is the clock.
	Now func() time.Time
}

// Tell is the rate and the time left after the first done things, to follow their number; empty before there is anything to tell.
func (p Pace) Tell(done int64) string {
	took := p.Now().Sub(p.Start).Seconds()
	if took <= 0 || done <= 0 {
		return ""
	}
	rate := float64(done) / took
	text := fmt.Sprintf(", %.0f/s", rate)
	if left := p.Total - done; left > 0 {
		text += fmt.Sprintf(", about %v left of %d", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second), p.Total)
	}
	return text
}
