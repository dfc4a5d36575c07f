package schema

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// ablate rebuilds a plan as one would be that does not know a keyword in one draft: everything that it contributes to states is taken out.
// The schemas of the registry are changed, so it must be the test's own.
func ablate(p *Plan, keyword string, draft int) {
	for _, n := range p.visited {
		if n.d.draft.number != draft {
			continue
		}
		keep := func(list []*node, at string) []*node {
			if keyword != at {
				return list
			}
			return slices.DeleteFunc(slices.Clone(list), func(to *node) bool { return strings.HasPrefix(to.pointer, n.pointer+"/"+at+"/") })
		}
		n.allOf, n.anyOf, n.oneOf = keep(n.allOf, "allOf"), keep(n.anyOf, "anyOf"), keep(n.oneOf, "oneOf")
		n.dependent = keep(keep(n.dependent, "dependencies"), "dependentSchemas")
		tuple := "prefixItems"
		if n.d.draft.number < 2020 {
			tuple = "items[]"
		}
		switch keyword {
		case "properties":
			n.properties, n.names = nil, nil
		case "patternProperties":
			n.patterns = nil
		case "additionalProperties":
			n.additional = nil
		case "unevaluatedProperties":
			n.unevaluated = nil
		case "unevaluatedItems":
			n.unevaluatedItems = nil
		case "contains":
			n.contains = nil
		case "if":
			n.ifs = nil
		case "then":
			n.then = nil
		case "else":
			n.els = nil
		case tuple:
			n.prefix = nil
		case "items", "additionalItems":
			if n.tuple == (keyword == "additionalItems") {
				n.items = nil
			}
		case "propertyNames":
			delete(p.carried, n)
		case "$ref":
			if n.ref != nil {
				p.refs[n] = p.refs[n][1:]
			}
		case "$dynamicRef", "$recursiveRef":
			if n.dynamicRef != nil && n.recursive == (keyword == "$recursiveRef") {
				p.refs[n] = p.refs[n][:min(len(p.refs[n]), count(n.ref != nil))]
			}
		case "other targets of $dynamicRef", "other targets of $recursiveRef":
			if n.dynamicRef != nil && n.recursive == strings.HasSuffix(keyword, "$recursiveRef") {
				p.refs[n] = p.refs[n][:1+count(n.ref != nil)]
			}
		case "beside $ref":
			if n.ref != nil && n.d.draft.refHidesSiblings() {
				n.words.sensitive = false
				delete(p.overlay, n)
			}
		case "overlay":
			delete(p.overlay, n)
		case "boolean schema":
			if n.raw.kind != '{' {
				delete(p.overlay, n)
			}
		}
	}
	p.intern, p.shared = map[string]*State{}, nil
	p.mu.Lock()
	defer p.mu.Unlock()
	p.root = p.state([]elem{{p.event.doc.rootNode, true}}, way{policy: p.policy})
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The law is worth what it can notice: with any applicator taken out of the Plan, in any draft that has it, it must find a miss, and soon. Under the
// race detector one in ten is tried.
func TestLawOfThePlanFailsWithoutEachApplicator(t *testing.T) {
	t.Parallel()
	const patience = 3000 // schemas
	rows := lawRows()
	meeting := row{"other targets of $recursiveRef", 2019}
	rows = append(rows, row{"other targets of $dynamicRef", 2020}, meeting)
	for i, r := range rows {
		if r.keyword == "root" || i%lawScale != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%s in %d", r.keyword, r.draft), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(r.draft), 8))
			cases := 0
			for range patience {
				var g *generator
				if r == meeting {
					g = generateMeeting(random)
				} else {
					g = generate(random, r.draft)
				}
				s, err := newSubject(g)
				if errors.Is(err, errLoops) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				ablate(s.reg.events[0].plan, r.keyword, r.draft)
				for range instancesASchema {
					cases++
					if s.miss(instance(random, 4), nil) != "" {
						t.Logf("without it, a flag is left clear in case %d", cases)
						return
					}
				}
			}
			t.Errorf("no miss in %d cases", cases)
		})
	}
}
