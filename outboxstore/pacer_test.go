package outboxstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPacerKeepsTheRateAndMakesUpForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pacer{rate: 100}
		start := time.Now()
		for range 11 { // the first at once
			if err := p.wait(t.Context(), 50); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("500 rows after the first took %v at 100 a second", took)
		}
		time.Sleep(time.Minute) // a database that was slow
		start = time.Now()
		for range 3 {
			if err := p.wait(t.Context(), 50); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("after a pause 100 rows after the first took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.wait(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		free := pacer{}
		start = time.Now()
		if err := free.wait(t.Context(), 1e9); err != nil || time.Since(start) != 0 {
			t.Errorf("without a rate it waits: %v", err)
		}
	})
}
