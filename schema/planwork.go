package schema

import "fmt"

// maxPlanWork bounds what loading spends on the states of one event: the subschemas that states are made of, and patterns that are tried on names. Both
// may grow with the square of a schema's size; this many take a second or two, and some 100 MiB. FHIR R4, whole, takes 260,000.
const maxPlanWork = 2_000_000

// planWork counts the steps of a Plan's making.
type planWork struct {
	steps int
	pairs int  // tries of patterns on names that are made for two of them, which are left out when they become too many
	made  bool // a plan that is loaded takes the steps that payloads ask for
}

// spend counts steps that are about to be taken, and reports that they may be.
func (p *Plan) spend(steps int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.work.steps = min(p.work.steps+steps, maxPlanWork+1)
	return !p.work.exhausted()
}

// spendOnPairs counts tries that may be left out, and reports that they may be made.
func (p *Plan) spendOnPairs(tries int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.work.pairs+tries > maxPlanWork {
		return false
	}
	p.work.pairs += tries
	return true
}

// exhausted reports that loading has spent what it may.
func (w *planWork) exhausted() bool { return !w.made && w.steps > maxPlanWork }

// refuseWork ends the making of a plan, and refuses one that takes too much of it.
func (p *Plan) refuseWork(out *findings) (refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	refused = p.work.exhausted()
	if refused {
		out.add(p.event.doc.finding(p.event.doc.root.start, "", "plan-too-large",
			fmt.Sprintf("the subschemas and patterns that may meet at the locations of this event take more than %d steps to look through", maxPlanWork),
			"refer to fewer alternatives at once, and write fewer or shorter patterns"))
	}
	p.work.made = true
	return refused
}
