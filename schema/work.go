package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxWork is how many applications of a subschema one payload may cost where schemas recur: seconds, at the worst. The validator tries every
// alternative to its end, so that two alternatives which both recur cost 2^depth; a payload of 600 bytes could take hours.
const maxWork = 200_000

var (
	errWork      = errors.New("too many steps")
	errValidator = errors.New("the validator gave up on the payload")
)

// validator runs a compiled schema. Where payloads cannot multiply the work it is one schema for all; else each run takes a metered one.
type validator struct {
	plain   *jsonschema.Schema
	metered chan *metered // nil: no need
	compile func() (*metered, error)
}

// metered is a schema that counts its own work; one payload at a time.
type metered struct {
	schema *jsonschema.Schema
	meter  *meter
}

// meter is an extension of the validator that stands in each schema object and is told of each application of it.
type meter struct{ left int }

// Compile puts the meter into each schema object.
func (m *meter) Compile(jsonschema.CompilerContext, map[string]any) (jsonschema.ExtSchema, error) {
	return m, nil
}

// Validate counts. A panic is the only way out of the validator; run recovers it.
func (m *meter) Validate(jsonschema.ValidationContext, any) error {
	if m.left--; m.left < 0 {
		panic(errWork)
	}
	return nil
}

func (v *validator) validate(value any) error {
	if v.metered == nil {
		return run(v.plain, value)
	}
	var m *metered
	select {
	case m = <-v.metered:
	default:
		var err error
		if m, err = v.compile(); err != nil {
			return errValidator
		}
	}
	m.meter.left = maxWork
	err := run(m.schema, value)
	select {
	case v.metered <- m:
	default:
	}
	return err
}

// run validates; a panic of the validator refuses the payload, and its text, which may hold a value, is dropped.
func run(s *jsonschema.Schema, value any) (err error) {
	defer func() {
		if r := recover(); r == errWork {
			err = errWork
		} else if r != nil {
			err = errValidator
		}
	}()
	return s.Validate(value)
}

// multiplies reports whether a payload can multiply the validator's work: some schema that recurs has more than one way back to itself.
func (p *Plan) multiplies() bool {
	for _, c := range components(p.visited, p.successors) {
		inside := map[*node]bool{}
		for _, n := range c {
			inside[n] = true
		}
		edges := 0
		for _, n := range c {
			for _, t := range p.successors(n) {
				if inside[t] {
					edges++
				}
			}
		}
		if edges > len(c) {
			return true
		}
	}
	return false
}

// successors are the schemas that a schema applies, with each keyword that does so.
func (p *Plan) successors(n *node) []*node {
	to := append([]*node(nil), p.refs[n]...)
	for _, e := range n.edges() {
		to = append(to, e.to)
	}
	return to
}

// components are the strongly connected components of a graph (Tarjan, SIAM J. Comput. 1972), without recursion.
func components(nodes []*node, successors func(*node) []*node) [][]*node {
	type visit struct {
		n    *node
		to   []*node
		next int
	}
	index, low, onStack := map[*node]int{}, map[*node]int{}, map[*node]bool{}
	var stack []*node
	var all [][]*node
	enter := func(n *node) visit {
		index[n], low[n] = len(index)+1, len(index)+1
		stack, onStack[n] = append(stack, n), true
		return visit{n: n, to: successors(n)}
	}
	for _, root := range nodes {
		if index[root] != 0 {
			continue
		}
		visits := []visit{enter(root)}
		for len(visits) > 0 {
			v := &visits[len(visits)-1]
			if v.next < len(v.to) {
				t := v.to[v.next]
				v.next++
				if index[t] == 0 {
					visits = append(visits, enter(t))
				} else if onStack[t] {
					low[v.n] = min(low[v.n], index[t])
				}
				continue
			}
			n := v.n
			visits = visits[:len(visits)-1]
			if len(visits) > 0 {
				parent := visits[len(visits)-1].n
				low[parent] = min(low[parent], low[n])
			}
			if low[n] != index[n] {
				continue
			}
			var c []*node
			for {
				last := stack[len(stack)-1]
				stack, onStack[last] = stack[:len(stack)-1], false
				c = append(c, last)
				if last == n {
					break
				}
			}
			all = append(all, c)
		}
	}
	return all
}
