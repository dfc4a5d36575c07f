package schema_test

import "testing"

func TestPlainIsWhereNothingIsToBeDoneWithTheValueItself(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"type": "object", "properties": {
		"clear": {"type": "string"}, "flagged": {"type": "string", "x-gdpr-sensitive": true},
		"indexed": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}, "above": {"properties": {"in": {"x-gdpr-sensitive": true}}}}}`)
	es, err := reg.Event("a", 1)
	if err != nil {
		t.Fatal(err)
	}
	root := es.Plan().Root()
	for name, want := range map[string]bool{"clear": true, "flagged": false, "indexed": false, "above": true} {
		child, _ := root.Member([]byte(name))
		if child.Plain() != want {
			t.Errorf("%s: %v", name, child.Plain())
		}
		if child.Plain() && (child.Sealed() || child.SealedIfObject() || child.Index() != nil || child.Conflict() != nil || child.Parts() != nil) {
			t.Errorf("%s: plain, and something is to be done", name)
		}
	}
}

// A flagged member that is the root again is sealed, and the root stays what it is: nothing is to be done with the object itself.
func TestAFlagBesideAReferenceToTheRootLeavesTheRootPlain(t *testing.T) {
	t.Parallel()
	reg := load(t, "a.v1.json", `{"type": "object", "properties": {"clear": {"type": "string"}, "inside": {"$ref": "#", "x-gdpr-sensitive": true}, "next": {"$ref": "#"}}}`)
	root := plan(t, reg, "a").Root()
	if inside := at(plan(t, reg, "a"), "inside"); !root.Plain() || root.Sealed() || inside.Plain() || !inside.Sealed() {
		t.Errorf("the root is plain: %v; its flagged member: %v", root.Plain(), inside.Plain())
	}
	for _, path := range [][]string{{"next"}, {"next", "next"}, {"clear"}} {
		if s := at(plan(t, reg, "a"), path...); !s.Plain() {
			t.Errorf("%v is not plain", path)
		}
	}
	if s := at(plan(t, reg, "a"), "next", "inside"); s.Plain() || !s.Sealed() {
		t.Error("the flagged member of the root that is met again is plain")
	}
}
