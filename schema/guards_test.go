package schema

import (
	"testing"
	"testing/fstest"
)

// No schema is known to bring the two rules that guard against errors of ours, so these tests make the error: a Plan that has lost a schema.

func lossyPlan(t *testing.T, text string) (*Registry, *Plan) {
	t.Helper()
	reg, err := LoadFS(fstest.MapFS{"a.v1.json": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	p := reg.events[0].plan
	kept := p.visited[:0:0]
	for _, n := range p.visited {
		if n.pointer != "/properties/a" {
			kept = append(kept, n)
		}
	}
	if len(kept) == len(p.visited) {
		t.Fatal("nothing was lost")
	}
	p.visited = kept
	return reg, p
}

func wantGuard(t *testing.T, fs []Finding, rule, location string) {
	t.Helper()
	for _, f := range fs {
		if f.Rule == rule && f.Location == location && f.Line > 0 && f.Hint != "" {
			return
		}
	}
	t.Errorf("findings %v, want %s at %q", fs, rule, location)
}

func TestTheTwoCountsOfFlagsMustAgree(t *testing.T) {
	t.Parallel()
	reg, _ := lossyPlan(t, `{"properties": {"a": {"x-gdpr-sensitive": true}}}`)
	var out findings
	reg.checkFlags(&out)
	wantGuard(t, out.list, "flag-unreachable", "/properties/a")
}

func TestTheValidatorMayApplyNoSchemaThatThePlanDoesNot(t *testing.T) {
	t.Parallel()
	reg, p := lossyPlan(t, `{"properties": {"a": {"type": "string"}}}`)
	compiled, err := compileSchema(reg.newCompiler(), p.event.doc.id)
	if err != nil {
		t.Fatal(err)
	}
	var out findings
	p.crossCheck(compiled, &out)
	wantGuard(t, out.list, "plan-incomplete", "")
}
