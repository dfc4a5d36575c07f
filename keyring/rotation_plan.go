package keyring

import "time"

// Step is what a rotation has to do next.
type Step string

const (
	// StepNone: nothing; the primary is younger than asked for, and no key is
	// staged.
	StepNone Step = "none"
	// StepStage: stage a new key.
	StepStage Step = "stage"
	// StepWait: a key is staged, and some process may not have loaded it yet.
	StepWait Step = "wait"
	// StepPromote: a key is staged and may become primary.
	StepPromote Step = "promote"
)

// PlanOptions for Description.Plan.
type PlanOptions struct {
	// IfOlderThan makes a new key only if the primary has been primary for at
	// least this long. A key that is staged already is continued all the same.
	// Defaults to always.
	IfOlderThan time.Duration
	// Now is the time to plan for. Defaults to time.Now().
	Now time.Time
}

// RotationPlan says what a rotation of one purpose has to do.
type RotationPlan struct {
	Purpose Purpose
	// Next is the next step.
	Next Step
	// Primary is the key that writes use now, PrimaryAge how long it has been
	// primary.
	Primary    KeyInfo
	PrimaryAge time.Duration
	// Staged is the key to continue with; zero if none is staged.
	Staged KeyInfo
	// Possible is when the staged key may become primary; for StepStage, when
	// a key that is staged now could.
	Possible time.Time
	// Revision is the revision that was looked at, for IfRevision of
	// StageOptions: two rotations that saw the same one cannot both stage.
	Revision uint64
}

// Plan says what a rotation has to do, so that a killed one can be run again at
// any point: a staged key that is present is continued, and none is made. It
// changes nothing.
func (d *Description) Plan(p Purpose, opts PlanOptions) (*RotationPlan, error) {
	primary, ok := d.Primary(p)
	if !ok {
		return nil, &PurposeError{Purpose: p}
	}
	now := opts.Now
	if now.IsZero() {
		now = time.Now()
	}
	plan := &RotationPlan{
		Purpose:    p,
		Primary:    primary,
		PrimaryAge: now.Sub(primary.Since),
		Possible:   now.Add(d.Propagation()),
		Revision:   d.Revision(),
	}
	staged := d.Staged(p)
	switch {
	case len(staged) == 0 && plan.PrimaryAge < opts.IfOlderThan:
		plan.Next, plan.Possible = StepNone, time.Time{}
	case len(staged) == 0:
		plan.Next = StepStage
	default:
		plan.Staged = staged[0]
		plan.Possible = staged[0].Since.Add(d.Propagation())
		plan.Next = StepPromote
		if now.Before(plan.Possible) {
			plan.Next = StepWait
		}
	}
	return plan, nil
}
