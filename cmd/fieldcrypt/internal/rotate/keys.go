package rotate

import (
	"context"
	"time"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/duration"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// rotation is the part that makes and promotes keys.
type rotation struct {
	*flags
	session *cli.Session
	manager *keyring.Manager
	others  []*keyring.Description

	// plans hold a staged key for each purpose that is to be promoted.
	plans []*keyring.RotationPlan
}

// step is one line of machine output.
type step struct {
	Step    string `json:"step"`
	Keyring string `json:"keyring"`
	Purpose string `json:"purpose"`
	ID      string `json:"id,omitempty"`
	Until   string `json:"until,omitempty"`
}

func (r *rotation) say(object step, format string, args ...any) error {
	if r.session.JSON() {
		return r.session.Terminal.JSON(object)
	}
	if err := r.session.Terminal.Printf(format, args...); err != nil {
		return err
	}
	return r.session.Terminal.Flush() // what follows may take minutes
}

// stage sees to it that each purpose has a staged key, but for those whose primary is young enough.
func (r *rotation) stage(ctx context.Context, purposes []keyring.Purpose) error {
	if r.now {
		r.session.Terminal.Warn("--now: a process that has not loaded the new key yet cannot open what is written under it until it refreshes")
	}
	described, err := r.manager.Describe(ctx)
	if err != nil {
		return err
	}
	for _, purpose := range purposes {
		plan, err := described.Plan(purpose, keyring.PlanOptions{IfOlderThan: r.ifOlderThan.Duration, Now: r.session.Now()})
		if err != nil {
			return err
		}
		object := step{Keyring: r.name, Purpose: string(purpose)}
		switch {
		case plan.Next == keyring.StepNone:
			object.Step, object.ID = "kept", plan.Primary.ID.String()
			err = r.say(object, "kept %s key %s: it became primary %s ago", purpose, object.ID, duration.Format(plan.PrimaryAge.Truncate(time.Second)))
		case plan.Next != keyring.StepStage:
			object.Step, object.ID = "continued", plan.Staged.ID.String()
			r.plans = append(r.plans, plan)
			err = r.say(object, "continuing with %s key %s, which %s staged", purpose, object.ID, plan.Staged.Author)
		case r.flags.promote: // makes none
		case r.dryRun:
			object.Step = "would-stage"
			r.plans = append(r.plans, plan)
			err = r.say(object, "would stage a new %s key", purpose)
		default:
			// The revision that was looked at: a second run at the same time must not stage another key.
			var changed *keyring.Changed
			begin := audittrail.Entry{Operation: "rotate.stage", Keyring: r.name, Detail: string(purpose)}
			err = connect.Audited(ctx, r.session, begin, func(ctx context.Context, out *audittrail.Outcome) (err error) {
				if changed, err = r.manager.Stage(ctx, purpose, keyring.StageOptions{IfRevision: plan.Revision, Others: r.others}); err == nil {
					out.KeyIDs = []string{connect.KeyID(changed.Key)}
				}
				return err
			})
			if err != nil {
				return err
			}
			described = changed.Keyring
			if plan, err = described.Plan(purpose, keyring.PlanOptions{Now: r.session.Now()}); err != nil {
				return err
			}
			r.plans = append(r.plans, plan)
			object.Step, object.ID = "staged", changed.Key.ID.String()
			err = r.say(object, "staged %s key %s", purpose, object.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wait waits until every process can have loaded the staged keys.
func (r *rotation) wait(ctx context.Context) error {
	if r.now {
		return nil
	}
	var until time.Time
	for _, plan := range r.plans {
		if plan.Possible.After(until) {
			until = plan.Possible
		}
	}
	left := until.Sub(r.session.Now())
	if left <= 0 || r.flags.promote { // --promote says itself when it is too early
		return nil
	}
	object := step{Step: "waiting", Keyring: r.name, Purpose: r.purpose, Until: until.UTC().Format(time.RFC3339)}
	if r.dryRun {
		object.Step = "would-wait"
		return r.say(object, "would wait until %s (%s), so that every process can have loaded it", object.Until, duration.Format(left.Round(time.Second)))
	}
	if err := r.say(object, "waiting until %s (%s), so that every process can have loaded it; run the command again to go on if it is ended", object.Until, duration.Format(left.Round(time.Second))); err != nil {
		return err
	}
	progress := r.session.Terminal.Progress()
	defer progress.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	over := time.NewTimer(left)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			// The clock may have been set back meanwhile, and promoting would be refused.
			if left = until.Sub(r.session.Now()); left <= 0 {
				return nil
			}
			over.Reset(left)
		case <-tick.C:
			progress.Set("waiting: %s left", until.Sub(r.session.Now()).Round(time.Second))
		}
	}
}

func (r *rotation) promote(ctx context.Context) error {
	for _, plan := range r.plans {
		object := step{Keyring: r.name, Purpose: string(plan.Purpose)}
		if r.dryRun {
			object.Step = "would-promote"
			text := "would promote the new %s key"
			if plan.Staged.ID != 0 {
				object.ID = plan.Staged.ID.String()
				text = "would promote %s key " + object.ID
			}
			if err := r.say(object, text, plan.Purpose); err != nil {
				return err
			}
			continue
		}
		var changed *keyring.Changed
		begin := audittrail.Entry{Operation: "rotate.promote", Keyring: r.name, KeyIDs: []string{connect.KeyID(plan.Staged)}}
		err := connect.Audited(ctx, r.session, begin, func(ctx context.Context, _ *audittrail.Outcome) (err error) {
			changed, err = r.manager.Promote(ctx, plan.Purpose, keyring.PromoteOptions{ID: plan.Staged.ID, SkipWait: r.now})
			return err
		})
		if err != nil {
			return err
		}
		object.Step, object.ID = "promoted", changed.Key.ID.String()
		if err := r.say(object, "promoted %s key %s; %s stays active", plan.Purpose, object.ID, changed.Former.ID); err != nil {
			return err
		}
	}
	return nil
}
