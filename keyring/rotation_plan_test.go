package keyring_test

import (
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

func TestPlanSaysTheNextStepOfARotation(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	c := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
	primary, err := ring.Keyring.Primary(keyring.Seal)
	if err != nil {
		t.Fatal(err)
	}
	plan := func(ifOlderThan time.Duration) *keyring.RotationPlan {
		t.Helper()
		d, err := ring.Manager.Describe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Plan(keyring.Seal, keyring.PlanOptions{IfOlderThan: ifOlderThan, Now: c.Now()})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	c.Advance(90*day - time.Second)
	if p := plan(90 * day); p.Next != keyring.StepNone || p.PrimaryAge != 90*day-time.Second || p.Primary.ID != primary.ID() || p.Revision != 1 {
		t.Fatalf("young primary: got %+v", p)
	}
	if p := plan(0); p.Next != keyring.StepStage || !p.Possible.Equal(c.Now().Add(10*time.Minute)) || p.Staged.ID != 0 {
		t.Fatalf("no age asked for: got %+v", p)
	}
	c.Advance(time.Second)
	if p := plan(90 * day); p.Next != keyring.StepStage {
		t.Fatalf("old primary: got %+v", p)
	}
	id := ring.Stage(keyring.Seal)
	ring.Stage(keyring.Seal)
	possible := c.Now().Add(10 * time.Minute)
	for _, older := range []time.Duration{0, 900 * day} {
		if p := plan(older); p.Next != keyring.StepWait || p.Staged.ID != id || !p.Possible.Equal(possible) || p.Revision != 3 {
			t.Fatalf("a staged key is continued whatever the age (%s): got %+v", older, p)
		}
	}
	c.Advance(10 * time.Minute)
	if p := plan(0); p.Next != keyring.StepPromote || p.Staged.ID != id {
		t.Fatalf("after the wait: got %+v", p)
	}
	if got := ring.Keyring.Revision(); got != 1 {
		t.Fatalf("planning loaded revision %d into the keyring", got)
	}
}

func TestPlanTakesTheKeyThatWasStagedFirst(t *testing.T) {
	t.Parallel()
	c := clockAt(noon)
	ring := keyringtest.NewRing(t, keyringtest.Options{Now: c.Now})
	later := ring.Stage(keyring.Index)
	c.Advance(-time.Hour)
	earlier := ring.Stage(keyring.Index)
	ring.Refresh()
	staged := ring.Keyring.Describe().Staged(keyring.Index)
	if len(staged) != 2 || staged[0].ID != earlier || staged[1].ID != later {
		t.Fatalf("got %+v", staged)
	}
}
