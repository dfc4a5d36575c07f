package validate

import "testing"

func TestAnIgnoreMatchesTheEndOfAPathAndWholeParts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, file string
		want          bool
	}{
		{"a.v1.json", "a.v1.json", true},
		{"a.v1.json", "schemas/a.v1.json", true},
		{"a.v1.json", "/srv/app/schemas/a.v1.json", true},
		{"schemas/a.v1.json", "../schemas/a.v1.json", true},
		{"./schemas/a.v1.json", "schemas/a.v1.json", true},
		{"schemas/a.v1.json", "a.v1.json", false},
		{"schemas/a.v1.json", "old_schemas/a.v1.json", false},
		{"a.v1.json", "b/aa.v1.json", false},
		{"a.*.json", "schemas/a.v1.json", true},
		{"*.json", "schemas/sub/a.v1.json", true},
		{"sub/*.json", "schemas/sub/a.v1.json", true},
		{"s*/a.v?.json", "schemas/a.v1.json", true},
		{"*", "schemas/a.v1.json", true},
		{"s*.json", "schemas/a.v1.json", false},
	}
	for _, test := range tests {
		if got := matchesEnd(test.pattern, test.file); got != test.want {
			t.Errorf("%q against %q: got %v, want %v", test.pattern, test.file, got, test.want)
		}
	}
}

func TestAnIgnoreCoversItsLocationAndWhatIsBelow(t *testing.T) {
	t.Parallel()
	finding := Finding{File: "a.v1.json", Location: "/properties/shop/properties/address", Rule: RulePersonalUnflagged}
	tests := []struct {
		ignore Ignore
		want   bool
	}{
		{Ignore{Rule: RulePersonalUnflagged}, true},
		{Ignore{Rule: RuleFlagUnused}, false},
		{Ignore{Rule: RulePersonalUnflagged, Location: "/properties/shop/properties/address"}, true},
		{Ignore{Rule: RulePersonalUnflagged, Location: "/properties/shop"}, true},
		{Ignore{Rule: RulePersonalUnflagged, Location: "/properties/sho"}, false},
		{Ignore{Rule: RulePersonalUnflagged, Location: "/properties/shop/properties/address/properties/street"}, false},
		{Ignore{Rule: RulePersonalUnflagged, File: "b.v1.json", Location: "/properties/shop"}, false},
	}
	for _, test := range tests {
		if got := test.ignore.matches(finding); got != test.want {
			t.Errorf("%+v: got %v, want %v", test.ignore, got, test.want)
		}
	}
}
