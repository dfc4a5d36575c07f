package validate

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Ignore lets a lint finding stand, and says why. It is kept beside the schemas, not in them: a schema refuses every word that looks like
// the vocabulary's and is none, and one that belongs to somebody else cannot be edited. In fieldcrypt.yaml:
//
//	lint:
//	  ignore:
//	    - rule: personal-unflagged
//	      file: invoice.issued.v1.json
//	      location: /properties/seller/properties/address
//	      reason: the address of our own branch, which stands on our web page
type Ignore struct {
	// Rule is the id of the one rule whose findings are ignored. Required.
	Rule string
	// File is the schema file, or the end of its path, with / between the parts; in each part * stands for any text and ? for any character.
	// Defaults to every file.
	File string
	// Location is a JSON pointer in the file: what is found there or below it is ignored. Defaults to the whole file.
	Location string
	// Reason says why. Required, since the next reader cannot know.
	Reason string
}

// Ignored is a finding that an Ignore lets stand.
type Ignored struct {
	Finding Finding
	Reason  string
}

// IgnoreError refuses an Ignore.
type IgnoreError struct {
	// Index counts the entries from 0.
	Index int
	What  string
	Next  string
}

func (e *IgnoreError) Error() string { return fmt.Sprintf("lint.ignore[%d]: %s", e.Index, e.What) }

// Hint says what to do next.
func (e *IgnoreError) Hint() string { return e.Next }

// check refuses what would ignore nothing, or something that nobody has given a reason for.
func (ig Ignore) check(index int) error {
	refuse := func(what, next string) error { return &IgnoreError{Index: index, What: what, Next: next} }
	switch {
	case ig.Rule == "":
		return refuse("rule is missing", "name the rule that the finding shows")
	case !knownRule(ig.Rule):
		return refuse(fmt.Sprintf("no lint rule is called %q", ig.Rule), "the rules are "+strings.Join(ruleIDs(), ", "))
	case strings.TrimSpace(ig.Reason) == "":
		return refuse("reason is missing", "say why the finding may stand, for whoever reads this next")
	case ig.Location != "" && !strings.HasPrefix(ig.Location, "/"):
		return refuse("location is no JSON pointer", "copy the location that the finding shows; it begins with /")
	}
	if _, err := path.Match(ig.File, ""); err != nil {
		return refuse("file is no valid pattern", `write \ before [ , * and ? that stand for themselves`)
	}
	return nil
}

func (ig Ignore) matches(f Finding) bool {
	if ig.Rule != f.Rule {
		return false
	}
	if ig.Location != "" && f.Location != ig.Location && !strings.HasPrefix(f.Location, ig.Location+"/") {
		return false
	}
	return ig.File == "" || matchesEnd(ig.File, f.File)
}

// matchesEnd matches a pattern with as many last parts of a file's path as it has parts itself: how the file was named depends on the
// directory that the command ran in.
func matchesEnd(pattern, file string) bool {
	pattern = path.Clean(filepath.ToSlash(pattern))
	parts := strings.Split(path.Clean(filepath.ToSlash(file)), "/")
	n := strings.Count(pattern, "/") + 1
	if n > len(parts) {
		return false
	}
	ok, err := path.Match(pattern, strings.Join(parts[len(parts)-n:], "/"))
	return err == nil && ok
}

// applyIgnores parts findings into those that stay and those that are let stand, and reports the entries that no finding needs any more.
func applyIgnores(findings []Finding, ignores []Ignore) (kept []Finding, ignored []Ignored, err error) {
	for i, ig := range ignores {
		if err := ig.check(i); err != nil {
			return nil, nil, err
		}
	}
	used := make([]bool, len(ignores))
	for _, f := range findings {
		by := -1
		for i, ig := range ignores {
			if ig.matches(f) {
				used[i] = true
				if by < 0 {
					by = i
				}
			}
		}
		if by < 0 {
			kept = append(kept, f)
		} else {
			ignored = append(ignored, Ignored{Finding: f, Reason: ignores[by].Reason})
		}
	}
	for i, ig := range ignores {
		if !used[i] {
			kept = append(kept, Finding{
				Rule: RuleIgnoreUnused, Severity: severityOf(RuleIgnoreUnused),
				Message: fmt.Sprintf("lint.ignore[%d] (%s) lets no finding stand", i, strings.Join(ig.names(), ", ")),
				Hint:    "remove the entry, or correct its file and location",
			})
		}
	}
	return kept, ignored, nil
}

// names are what an entry names, without what it leaves out.
func (ig Ignore) names() []string {
	return slices.DeleteFunc([]string{ig.Rule, ig.File, ig.Location}, func(s string) bool { return s == "" })
}
