package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// maxWork is how many applications of a subschema one payload may cost where schemas multiply, and three for each of its bytes: seconds, at
// the worst. The validator tries every alternative to its end, so that two alternatives which both recur cost 2^depth; a payload of 600 bytes
// could take hours.
const maxWork = 200_000

var (
	errWork      = errors.New("too many steps")
	errValidator = errors.New("the validator gave up on the payload")
)

// validator runs a compiled schema. Where payloads cannot multiply the work it is one schema for all; else each run takes a metered one.
type validator struct {
	plain   *jsonschema.Schema
	metered chan *metered // nil: no need
	slots   chan struct{} // one for each metered schema that exists: a large schema takes a second and megabytes to compile
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
func (m *meter) Compile(_ jsonschema.CompilerContext, keywords map[string]any) (jsonschema.ExtSchema, error) {
	if keywords["uniqueItems"] == true {
		return deepMeter{m}, nil
	}
	return m, nil
}

// Validate counts. A panic is the only way out of the validator; run recovers it.
func (m *meter) Validate(_ jsonschema.ValidationContext, value any) error {
	m.spend(1 + size(value))
	return nil
}

func (m *meter) spend(n int) {
	if m.left -= n; m.left < 0 {
		panic(errWork)
	}
}

// size is what one application to a value costs beside the step itself. A container pays for its children too, since the validator does
// not tell the meter of a child whose type is wrong.
func size(value any) int {
	n := 0
	switch value := value.(type) {
	case map[string]any:
		for _, c := range value {
			n += 1 + extent(c)/16
		}
	case []any:
		for _, c := range value {
			n += 1 + extent(c)/16
		}
	default:
		return extent(value) / 4
	}
	return n
}

func extent(value any) int {
	switch value := value.(type) {
	case map[string]any:
		return len(value)
	case []any:
		return len(value)
	case string:
		return len(value) / 16
	}
	return 0
}

// deepMeter counts where uniqueItems has the validator hash a whole value.
type deepMeter struct{ *meter }

func (m deepMeter) Validate(_ jsonschema.ValidationContext, value any) error {
	if items, ok := value.([]any); ok {
		m.deep(items)
	}
	m.spend(1)
	return nil
}

func (m deepMeter) deep(value any) {
	m.spend(1 + size(value))
	switch value := value.(type) {
	case map[string]any:
		for _, c := range value {
			m.deep(c)
		}
	case []any:
		for _, c := range value {
			m.deep(c)
		}
	}
}

// validate validates a value of a payload of that many bytes.
func (v *validator) validate(value any, bytes int) error {
	if v.metered == nil {
		return run(v.plain, value)
	}
	var m *metered
	select {
	case m = <-v.metered:
	default:
		select {
		case m = <-v.metered:
		case v.slots <- struct{}{}:
			var err error
			if m, err = v.compile(); err != nil {
				<-v.slots
				return errValidator
			}
		}
	}
	m.meter.left = maxWork + 3*bytes
	err := run(m.schema, value)
	v.metered <- m
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

// maxWays is from how many applications for one way down a payload on a schema without recursion is metered.
const maxWays = 1000

// multiplies reports whether a payload, or each value of one, can multiply the validator's work: some schema that recurs has more than one
// way back to itself, or leads to another that recurs (each level of a payload may leave the first for the second), or without recursion
// the ways through the schema multiply.
func (p *Plan) multiplies() bool {
	recurs, ways := map[*node]bool{}, map[*node]int{}       // recurs: a recursion here or below
	for _, c := range components(p.visited, p.successors) { // those that a component leads to come before it
		inside := map[*node]bool{}
		for _, n := range c {
			inside[n] = true
		}
		edges, below, sum, most := 0, false, 1, 0
		for _, n := range c {
			for _, t := range p.refs[n] {
				sum += ways[t]
			}
			for _, e := range n.edges() {
				if inPlace(e.keyword) {
					sum += ways[e.to]
				} else {
					most = max(most, ways[e.to])
				}
			}
			for _, t := range p.successors(n) {
				if inside[t] {
					edges++
				} else {
					below = below || recurs[t]
				}
			}
		}
		sum = min(sum+most, maxWays+1)
		if edges > len(c) || edges > 0 && below || sum > maxWays {
			return true
		}
		for _, n := range c {
			recurs[n], ways[n] = edges > 0 || below, sum
		}
	}
	return false
}

// inPlace tells keywords whose subschemas apply to the same value.
func inPlace(keyword string) bool {
	switch keyword {
	case "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "not":
		return true
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
