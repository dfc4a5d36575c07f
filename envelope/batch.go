package envelope

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// BatchError says which events of a batch failed. It holds their errors for errors.Is and errors.As.
type BatchError struct {
	// Errs has an entry for each event of the batch, in its order, nil for one that did not fail.
	Errs []error
}

func (e *BatchError) Error() string {
	failed, first := 0, -1
	for i, err := range e.Errs {
		if err != nil {
			if failed++; first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return "no event failed"
	}
	return fmt.Sprintf("%d of %d events failed, the first is number %d: %v", failed, len(e.Errs), first+1, e.Errs[first])
}

// Unwrap gives the errors of the events that failed, in their order.
func (e *BatchError) Unwrap() []error {
	var failed []error
	for _, err := range e.Errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// SealAll seals many events over all cores, each as Seal does: sealed[i] is events[i], whatever the order in which they are done. An event that fails
// does not stop the others; the error is then a *BatchError, and sealed[i] the zero value, which no store takes. If ctx ends, the events that were
// not begun fail with its error.
func (s *Sealer) SealAll(ctx context.Context, events []Event) (sealed []Sealed, err error) {
	sealed = make([]Sealed, len(events))
	err = inParallel(len(events), func(i int) (err error) {
		sealed[i], err = s.Seal(ctx, events[i])
		return err
	})
	return sealed, err
}

// OpenAll opens many events over all cores, each as Open does: opened[i] is received[i]. An event that fails does not stop the others; the error is
// then a *BatchError, and opened[i] the zero value. If ctx ends, the events that were not begun fail with its error.
func (o *Opener) OpenAll(ctx context.Context, received []Received, opts OpenOptions) (opened []Opened, err error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	opened = make([]Opened, len(received))
	err = inParallel(len(received), func(i int) (err error) {
		opened[i], err = o.Open(ctx, received[i], opts)
		return err
	})
	return opened, err
}

// batchShare is how many events a core takes at a time: enough to be worth the turn, and few enough that one core does not end long after the others.
const batchShare = 16

// inParallel does n things over all cores. A panic of one comes out of the caller's goroutine, once the others have ended.
func inParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var failed atomic.Bool
	var next atomic.Int64
	var fallen atomic.Pointer[panicked]
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				fallen.CompareAndSwap(nil, &panicked{p})
			}
		}()
		for fallen.Load() == nil {
			end := int(next.Add(batchShare))
			begin := end - batchShare
			if begin >= n {
				return
			}
			for i := begin; i < min(end, n); i++ {
				if errs[i] = do(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+batchShare-1)/batchShare) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if p := fallen.Load(); p != nil {
		panic(p.value)
	}
	if failed.Load() {
		return &BatchError{errs}
	}
	return nil
}

// panicked is what a goroutine panicked with.
type panicked struct{ value any }
