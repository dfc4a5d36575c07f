package validate

import "slices"

// The lint rules. An id is stable: scripts and lint.ignore name it.
const (
	RuleIgnoreUnused      = "ignore-unused"
	RulePersonalUnflagged = "personal-unflagged"

	// What loading the schemas notices.
	RuleFileUnreferenced  = "file-unreferenced"
	RuleFlagElsewhere     = "flag-elsewhere"
	RuleFlagUnused        = "flag-unused"
	RuleFlagWithoutEffect = "flag-without-effect"
	RuleFormatUnknown     = "format-unknown"
	RuleNamesStayClear    = "names-stay-clear"
)

// Rule describes one lint rule.
type Rule struct {
	ID       string
	Severity Severity
	// Text says what the rule finds.
	Text string
}

// Rules returns the lint rules, sorted by id.
func Rules() []Rule {
	return []Rule{
		{RuleFileUnreferenced, Warning, "a schema file that is no event's, and that no event's schema refers to"},
		{RuleFlagElsewhere, Warning, "a property of one definition that is sealed at one location and stays in clear at another"},
		{RuleFlagUnused, Error, "a flag in a definition that nothing refers to: what its author wanted sealed is not"},
		{RuleFlagWithoutEffect, Warning, "a flag that changes nothing where it stands"},
		{RuleFormatUnknown, Warning, "a format that the validator does not know, so that every value passes"},
		{RuleIgnoreUnused, Warning, "an entry of lint.ignore that no finding needs"},
		{RuleNamesStayClear, Error, "flagged values of an open map, whose member names stay in clear"},
		{RulePersonalUnflagged, Error, "a field whose name or format looks personal, and that is not flagged"},
	}
}

func knownRule(id string) bool { return slices.Contains(ruleIDs(), id) }

func ruleIDs() []string {
	rules := Rules()
	ids := make([]string, len(rules))
	for i, r := range rules {
		ids[i] = r.ID
	}
	return ids
}

// severityOf gives a rule's severity. Loading may come to notice more than is listed here; that is an error until someone has judged it.
func severityOf(id string) Severity {
	for _, r := range Rules() {
		if r.ID == id {
			return r.Severity
		}
	}
	return Error
}
