package envelope

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestABatchKeepsItsOrderAndFailsByEvent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, n := range []int{0, 1, batchShare - 1, batchShare, batchShare + 1, 10*batchShare + 3} {
		events := make([]Event, n)
		bad := func(i int) bool { return i%7 == 3 }
		for i := range events {
			events[i] = event(customer, fmt.Sprintf(`{"id":"%d","secret":%d}`, i, i))
			events[i].ID = "" // its own
			if bad(i) {
				events[i].Payload = []byte(`{"unknown":"Zyx#Wvu7"}`)
			}
		}
		sealed, err := b.sealer.SealAll(context.Background(), events)
		var batch *BatchError
		if errors.As(err, &batch) != (n > 3) || len(sealed) != n {
			t.Fatalf("%d events: %d sealed, %v", n, len(sealed), err)
		}
		var received []Received
		for i, s := range sealed {
			if s.IsZero() != bad(i) || batch != nil && (batch.Errs[i] != nil) != bad(i) {
				t.Fatalf("event %d of %d: zero %v, %v", i, n, s.IsZero(), err)
			}
			r := Received{}
			if !bad(i) {
				r = mustParse(t, s.Wire())
			}
			received = append(received, r)
		}
		if err != nil {
			checkError(t, err)
			var location *LocationError
			if !errors.As(err, &location) || location.Kind != KindUndeclared {
				t.Errorf("%v", err)
			}
		}
		opened, err := b.opener.OpenAll(context.Background(), received, OpenOptions{})
		if (n > 3) != errors.Is(err, ErrZero) || len(opened) != n {
			t.Fatalf("%d events: %d opened, %v", n, len(opened), err)
		}
		for i := range opened {
			if !bad(i) && !bytes.Equal(opened[i].Event.Payload, events[i].Payload) || bad(i) && opened[i].Event.Payload != nil {
				t.Errorf("event %d of %d opens to %s", i, n, opened[i].Event.Payload)
			}
		}
	}
}

func TestABatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sealed, err := b.sealer.SealAll(ctx, make([]Event, 40))
	if !errors.Is(err, context.Canceled) || len(sealed) != 40 {
		t.Errorf("%d, %v", len(sealed), err)
	}
	for i, s := range sealed {
		if !s.IsZero() {
			t.Errorf("event %d is sealed", i)
		}
	}
	if _, err := b.opener.OpenAll(ctx, make([]Received, 3), OpenOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	var option *OptionError
	if _, err := b.opener.OpenAll(ctx, nil, OpenOptions{Redact: true, Fields: []string{}}); !errors.As(err, &option) {
		t.Errorf("%v", err)
	}
}

func TestAPanicInABatchComesOutOfTheCaller(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := recover(); p != "here" {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = inParallel(1000, func(i int) error {
		if i == 700 {
			panic("here")
		}
		return nil
	})
	t.Error("no panic")
}
