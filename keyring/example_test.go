package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

// A service opens its keyrings once.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	file, err := filekeyring.New(filepath.Join(dir, "default.keyring"), filekeyring.Options{
		Passphrase: filekeyring.Passphrase([]byte("correct horse battery staple")),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	manager, err := keyring.NewManager("default", file, file, keyring.ManagerOptions{Actor: "ops@example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := manager.Create(ctx, keyring.CreateOptions{}); err != nil {
		fmt.Println(err)
		return
	}

	ring, err := keyring.Open(ctx, "default", file, file, keyring.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ring.Close()
	key, err := ring.Primary(keyring.Seal)
	if err != nil {
		fmt.Println(err)
		return
	}
	derived, err := key.Derive([]byte("what the derived key is for"))
	fmt.Println(ring, key.State(), len(derived), err)
	// Output: keyring default (revision 1) primary 32 <nil>
}

// A rotation is three steps that can be taken by any process, at any time.
func ExampleDescription_Plan() {
	manager, clock := exampleManager()
	ctx := context.Background()
	for range 4 {
		keys, err := manager.Describe(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		plan, err := keys.Plan(keyring.Seal, keyring.PlanOptions{IfOlderThan: quarter, Now: clock.Now()})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(plan.Next)
		switch plan.Next {
		case keyring.StepStage:
			_, err = manager.Stage(ctx, plan.Purpose, keyring.StageOptions{IfRevision: plan.Revision})
		case keyring.StepWait:
			clock.Advance(plan.Possible.Sub(clock.Now()))
		case keyring.StepPromote:
			_, err = manager.Promote(ctx, plan.Purpose, keyring.PromoteOptions{ID: plan.Staged.ID})
		}
		if changed := (*keyring.ChangedError)(nil); errors.As(err, &changed) {
			fmt.Println("another rotation was first:", changed.Author)
		}
	}
	// Output:
	// stage
	// wait
	// promote
	// none
}
