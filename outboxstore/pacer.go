package outboxstore

import (
	"context"
	"time"
)

// pacer spreads work over time. What was late is not made up for: a database that was slow gets no burst.
type pacer struct {
	rate float64 // a second; no bound if not positive
	due  time.Time
}

// wait returns when n more may be begun.
func (p *pacer) wait(ctx context.Context, n int) error {
	if p.rate <= 0 {
		return nil
	}
	now := time.Now()
	if p.due.Before(now) {
		p.due = now
	}
	wait := p.due.Sub(now)
	p.due = p.due.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
