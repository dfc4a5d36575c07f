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
