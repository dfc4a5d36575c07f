package schema

import (
	"bytes"
	"fmt"
)

// ValidateWire checks a payload in wire form against the derived wire schema. The payload must be strict JSON with bounded numbers already, as
// for Validate. It returns nil, a *ValidationError (whose places are in the text that WireSchema gives), or a *WireError where there is no wire
// schema.
//
// It says less than a walk along the Plan, which package envelope's Verifier takes: what it adds are the event's own rules, as far as they can
// be told without keys. The first call derives and compiles the wire schema. Safe for concurrent use.
func (e *EventSchema) ValidateWire(payload []byte) error {
	w, err := e.wire.compiled(e)
	if err != nil {
		return err
	}
	return w.judge(payload)
}

// compiled gives the wire schema as the schema of an event of the same plan, so that violations are masked and told as an event's are.
func (w *wireForm) compiled(e *EventSchema) (*EventSchema, error) {
	text, err := w.derived(e)
	if err != nil {
		return nil, err
	}
	w.compiling.Do(func() {
		w.schema, err = compileWire(e, text)
		w.unusable = err
	})
	return w.schema, w.unusable
}

// compileWire compiles what was written. In 2020-12 jsonschema/v5 looks through all schemas of a file for each of them: a large one takes minutes.
// Where the text means the same in 2019-09 it is compiled as that.
func compileWire(e *EventSchema, w *wireWriter) (*EventSchema, error) {
	text := w.b.Bytes()
	if !w.late {
		text = bytes.Replace(text, []byte(wireDialect), []byte(wireDialect2), 1)
	}
	unusable := func(f Finding) error { return &WireError{Type: e.typ, Version: e.version, Finding: f} }
	name := fmt.Sprintf("wire schema of %s@%d", e.typ, e.version)
	d, f := parseDocument(name, "wire:schema", text)
	if f != nil {
		return nil, unusable(*f)
	}
	var out findings
	reg := &Registry{byURL: map[string]*document{d.url: d}, docs: []*document{d}}
	b := builder{d: d, out: &out, seq: &reg.seq, spell: speller{}}
	b.build()
	if n := len(d.nodes); w.late && n > maxSubschemas {
		return nil, unusable(d.finding(0, "", "wire-too-large", fmt.Sprintf("the wire schema has %d subschemas, more than %d, and tuples", n, maxSubschemas), "check sealed events of this type with another validator"))
	}
	s := &EventSchema{typ: e.typ, version: e.version, doc: d, reg: reg, plan: e.plan}
	compiled, err := compileSchema(reg.newCompiler(), d.id)
	if err != nil {
		return nil, unusable(reg.compileFinding(s, err))
	}
	// Its alternatives multiply where the event's do, and more often.
	s.validator = reg.newMetered(s, compiled)
	return s, nil
}
