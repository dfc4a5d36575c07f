package envelope

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// One Sealer, Opener and Resealer under 32 goroutines, and a keyring that rotates as soon as its newest keys are used: what is sealed opens, whichever key was the primary.
func TestEverythingOpensWhileTheKeyringRotates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	const goroutines, rotations = 32, 20
	turns, done := make(chan struct{}), make(chan struct{})
	var users sync.WaitGroup
	var mu sync.Mutex
	used := map[string]bool{}
	for g := range goroutines {
		users.Go(func() {
			var buf Buffer
			var dst []byte
			ids := map[string]bool{}
			for i := 0; ; i++ {
				payload := fmt.Sprintf(`{"id":"%d-%d","email":"g%d@b.example","secret":[%d],"phones":["%d","%d"]}`, g, i, g, i, g, i)
				buf.Reset()
				sealed, err := b.sealer.AppendSeal(ctx, &buf, event(customer, payload))
				if err != nil {
					t.Error(err)
					return
				}
				r, err := Parse(sealed.Wire(), Limits{})
				if err != nil {
					t.Error(err)
					return
				}
				out, opened, err := b.opener.AppendOpen(ctx, dst[:0], r, OpenOptions{Validate: i%2 == 0})
				if err != nil || string(opened.Event.Payload) != payload {
					t.Errorf("%s opens to %s: %v", payload, opened.Event.Payload, err)
					return
				}
				dst = out
				again, _, err := b.resealer.Reseal(ctx, r, sealed.BlindIndexes())
				if err != nil {
					t.Error(err)
					return
				}
				if same, err := again.SameContent(ctx, r); err != nil || !same {
					t.Errorf("resealed, it is the same: %v, %v", same, err)
					return
				}
				for _, id := range again.KeyIDs() {
					ids[id] = true
				}
				select {
				case turns <- struct{}{}:
				case <-done:
					mu.Lock()
					defer mu.Unlock()
					for id := range ids {
						used[id] = true
					}
					return
				}
			}
		})
	}
	failed := make(chan struct{})
	go func() {
		users.Wait() // before done only if all of them failed
		close(failed)
	}()
	for range rotations {
		b.ring.Rotate(keyring.Seal)
		b.ring.Rotate(keyring.Index)
		// Of so many turns, one goroutine has two: its second event began under the new keys.
		for range goroutines + 1 {
			select {
			case <-turns:
			case <-failed:
			}
		}
	}
	close(done)
	users.Wait()
	if len(used) < 2*rotations {
		t.Errorf("only %d keys were used: nothing rotated beneath", len(used))
	}
}

// A key that is disabled stops at once, whatever states were kept of it; enabled again, it goes on.
func TestADisabledKeyStopsSealingAndOpening(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := context.Background()
	sealed := b.seal(t, customer, full)
	r := mustParse(t, sealed.Wire())
	if got := b.open(t, sealed.Wire()); got != full {
		t.Fatal(got)
	}
	old := primaryID(t, b.ring.Keyring, keyring.Seal)
	id, err := keyring.ParseKeyID(old)
	if err != nil {
		t.Fatal(err)
	}
	b.ring.Rotate(keyring.Seal)
	b.ring.SetState(keyring.Seal, id, keyring.Disabled)
	b.ring.Refresh()
	if _, err := b.opener.Open(ctx, r, OpenOptions{}); err == nil {
		t.Error("it opens under a disabled key")
	} else {
		checkError(t, err)
	}
	b.ring.SetState(keyring.Seal, id, keyring.Active)
	b.ring.Refresh()
	if got := b.open(t, sealed.Wire()); got != full {
		t.Error(got)
	}
	b.ring.Keyring.Close()
	if _, err := b.sealer.Seal(ctx, event(customer, full)); err == nil {
		t.Error("it seals with a closed keyring")
	}
	if _, err := b.opener.Open(ctx, r, OpenOptions{}); err == nil {
		t.Error("it opens with a closed keyring")
	}
}
