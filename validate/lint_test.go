package validate_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fieldcrypt/fieldcrypt/schema"
	"github.com/fieldcrypt/fieldcrypt/validate"
)

// archive is one txtar file: schemas in schemas/, and the other files by name.
type archive struct {
	schemas fstest.MapFS
	files   map[string]string
}

func archives(t *testing.T, dir string, run func(t *testing.T, a archive)) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no archive in testdata/%s (%v)", dir, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			parsed, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			a := archive{schemas: fstest.MapFS{}, files: map[string]string{}}
			for _, f := range parsed.Files {
				if file, ok := strings.CutPrefix(f.Name, "schemas/"); ok {
					a.schemas[file] = &fstest.MapFile{Data: f.Data}
				} else {
					a.files[f.Name] = string(f.Data)
				}
			}
			run(t, a)
		})
	}
}

// text writes findings as a user sees them.
func text(t *testing.T, findings []validate.Finding) string {
	t.Helper()
	var b strings.Builder
	reporter, err := validate.NewReporter(&b, validate.Text)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if err := reporter.Report(f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// Each archive holds schemas, perhaps an ignore.json, and in want what lint prints; a line "ignored: RULE LOCATION: REASON" for each finding
// that is let stand.
func TestLintFinds(t *testing.T) {
	t.Parallel()
	archives(t, "lint", func(t *testing.T, a archive) {
		reg, err := schema.LoadFS(a.schemas)
		if err != nil {
			t.Fatal(err)
		}
		var opts validate.LintOptions
		if ignore, ok := a.files["ignore.json"]; ok {
			if err := json.Unmarshal([]byte(ignore), &opts.Ignore); err != nil {
				t.Fatal(err)
			}
		}
		result, err := validate.Lint(reg, opts)
		if err != nil {
			t.Fatal(err)
		}
		got := text(t, result.Findings)
		for _, ignored := range result.Ignored {
			got += "ignored: " + ignored.Finding.Rule + " " + ignored.Finding.Location + ": " + ignored.Reason + "\n"
		}
		want, ok := a.files["want"]
		if !ok {
			t.Fatal("the archive has no file want")
		}
		if got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	})
}

// Every rule that is documented is found by some archive: a rule that never fires is none.
func TestEveryLintRuleIsFoundInSomeArchive(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/lint/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var wants string
	for _, name := range names {
		parsed, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range parsed.Files {
			if f.Name == "want" {
				wants += string(f.Data)
			}
		}
	}
	rules := validate.Rules()
	for _, rule := range rules {
		if !strings.Contains(wants, "["+rule.ID+"]") {
			t.Errorf("no archive in testdata/lint wants a finding of %s", rule.ID)
		}
	}
	if !slices.IsSortedFunc(rules, func(a, b validate.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the rules are not sorted by id")
	}
}

func TestAnIgnoreWithoutItsPartsIsRefused(t *testing.T) {
	t.Parallel()
	reg, err := schema.LoadFS(fstest.MapFS{"a.v1.json": {Data: []byte(`{"properties": {"n": {}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	whole := validate.Ignore{Rule: validate.RulePersonalUnflagged, File: "a.v1.json", Location: "/properties/n", Reason: "why"}
	tests := map[string]struct {
		change func(*validate.Ignore)
		what   string
	}{
		"no rule":                     {func(ig *validate.Ignore) { ig.Rule = "" }, "rule is missing"},
		"a rule that there is not":    {func(ig *validate.Ignore) { ig.Rule = "personal" }, `no lint rule is called "personal"`},
		"no reason":                   {func(ig *validate.Ignore) { ig.Reason = " \n" }, "reason is missing"},
		"a location that is no point": {func(ig *validate.Ignore) { ig.Location = "properties.n" }, "location is no JSON pointer"},
		"a broken pattern":            {func(ig *validate.Ignore) { ig.File = "[a" }, "file is no valid pattern"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := whole
			test.change(&broken)
			_, err := validate.Lint(reg, validate.LintOptions{Ignore: []validate.Ignore{whole, broken}})
			var refused *validate.IgnoreError
			if !errors.As(err, &refused) || refused.Index != 1 || refused.What != test.what || refused.Hint() == "" {
				t.Errorf("got %#v, want entry 1 refused: %s", err, test.what)
			}
		})
	}
	if _, err := validate.Lint(reg, validate.LintOptions{Ignore: []validate.Ignore{whole}}); err != nil {
		t.Errorf("the whole entry is refused: %v", err)
	}
}

func TestSchemasThatDoNotLoadAreFindings(t *testing.T) {
	t.Parallel()
	_, err := schema.LoadFS(fstest.MapFS{"a.v1.json": {Data: []byte("{\"properties\": {\n  \"n\": {\"x-gdpr-sensitive\": \"true\"}}}")}})
	var refused *schema.LoadError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a *schema.LoadError", err)
	}
	findings := validate.FromLoadError(refused)
	if len(findings) != 1 || findings[0].Severity != validate.Error || findings[0].File != "a.v1.json" || findings[0].Line != 2 || findings[0].Rule == "" {
		t.Errorf("got %+v, want one error in line 2 of a.v1.json", findings)
	}
	if !validate.Failed(findings, false) {
		t.Error("a schema that does not load must fail the run")
	}
}

func TestWarningsFailOnlyAStrictRun(t *testing.T) {
	t.Parallel()
	warning, fault := validate.Finding{Severity: validate.Warning}, validate.Finding{Severity: validate.Error}
	tests := []struct {
		findings []validate.Finding
		strict   bool
		want     bool
	}{
		{nil, true, false},
		{[]validate.Finding{warning}, false, false},
		{[]validate.Finding{warning}, true, true},
		{[]validate.Finding{warning, fault}, false, true},
	}
	for _, test := range tests {
		if got := validate.Failed(test.findings, test.strict); got != test.want {
			t.Errorf("%d findings, strict %v: got %v, want %v", len(test.findings), test.strict, got, test.want)
		}
	}
}
