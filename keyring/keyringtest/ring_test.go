package keyringtest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func TestNewGivesOnePrimaryKeyOfEachPurpose(t *testing.T) {
	t.Parallel()
	ring := keyringtest.New(t)
	if ring.Name() != "default" || ring.Revision() != 1 {
		t.Fatalf("got %v, want keyring default (revision 1)", ring)
	}
	for _, p := range keyring.Purposes() {
		key, err := ring.Primary(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := key.Derive([]byte("info")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARotationIsSeenAfterRefreshAndTheFormerKeyStaysUsable(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{Name: "health"})
	before, _ := ring.Keyring.Primary(keyring.Seal)
	id := ring.Stage(keyring.Seal)
	if promoted := ring.Promote(keyring.Seal); promoted != id {
		t.Fatalf("promoted %s, staged %s", promoted, id)
	}
	if now, _ := ring.Keyring.Primary(keyring.Seal); now.ID() != before.ID() {
		t.Fatalf("primary is %s without a refresh, want %s", now.ID(), before.ID())
	}
	ring.Refresh()
	if now, _ := ring.Keyring.Primary(keyring.Seal); now.ID() != id {
		t.Fatalf("primary is %s, want %s", now.ID(), id)
	}
	if _, err := ring.Keyring.Key(context.Background(), keyring.Seal, before.ID()); err != nil {
		t.Fatal(err)
	}
}

func TestSetStateReachesDisabledAndDestroyed(t *testing.T) {
	t.Parallel()
	ring := keyringtest.NewRing(t, keyringtest.Options{})
	old, _ := ring.Keyring.Primary(keyring.Index)
	ring.Rotate(keyring.Index)
	for _, state := range []keyring.State{keyring.Disabled, keyring.Destroyed} {
		ring.SetState(keyring.Index, old.ID(), state)
		ring.Refresh()
		_, err := ring.Keyring.Key(context.Background(), keyring.Index, old.ID())
		var wrong *keyring.KeyStateError
		if !errors.As(err, &wrong) || wrong.State != state {
			t.Fatalf("got %v, want a *KeyStateError with state %s", err, state)
		}
		if _, err := old.Derive([]byte("info")); !errors.As(err, &wrong) {
			t.Fatalf("a key taken before still derives: %v", err)
		}
	}
}

func TestNewSetNamesItsKeyrings(t *testing.T) {
	t.Parallel()
	set := keyringtest.NewSet(t, "default", "health")
	if got := set.Names(); len(got) != 2 || got[0] != "default" || got[1] != "health" {
		t.Fatalf("got %v", got)
	}
}
