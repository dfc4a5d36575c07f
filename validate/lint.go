package validate

import "github.com/fieldcrypt/fieldcrypt/schema"

// LintOptions of Lint.
type LintOptions struct {
	// Ignore lists the findings that may stand, each with its reason. Defaults to none.
	Ignore []Ignore
}

// LintResult is what Lint found, sorted by file and place.
type LintResult struct {
	Findings []Finding
	Ignored  []Ignored
}

// Lint judges schemas that load: what loading noticed, and fields that look personal and are not flagged. An *IgnoreError refuses an entry of
// opts.Ignore. Schemas that do not load are for [FromLoadError], and no Ignore lets those stand.
func Lint(reg *schema.Registry, opts LintOptions) (LintResult, error) {
	var all []Finding
	for _, f := range reg.Findings() {
		all = append(all, fromSchema(f, severityOf(f.Rule)))
	}
	all = append(all, personalFindings(reg)...)
	sortFindings(all)
	kept, ignored, err := applyIgnores(all, opts.Ignore)
	if err != nil {
		return LintResult{}, err
	}
	sortFindings(kept)
	return LintResult{Findings: kept, Ignored: ignored}, nil
}
