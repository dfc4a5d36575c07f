package validate_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/validate"
)

func write(t require, format validate.Format, f validate.Finding) string {
	t.Helper()
	var b bytes.Buffer
	reporter, err := validate.NewReporter(&b, format)
	if err != nil {
		t.Fatal(err)
	}
	if err := reporter.Report(f); err != nil {
		t.Fatal(err)
	}
	if err := reporter.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// require is what *testing.T and *rapid.T share here.
type require interface {
	Helper()
	Fatal(args ...any)
}

func TestFindingsAreWrittenInEachFormat(t *testing.T) {
	t.Parallel()
	whole := validate.Finding{
		File: "schemas/a.v1.json", Line: 3, Column: 14, Location: "/properties/mail", Rule: "personal-unflagged", Severity: validate.Error,
		Message: `"mail" looks like it`, Hint: "flag it",
	}
	file := validate.Finding{File: "b.json", Rule: "file-too-large", Severity: validate.Error, Message: "too large"}
	input := validate.Finding{File: "-", Line: 2, Column: 1, Location: "payload", Rule: "syntax", Severity: validate.Error, Message: "no JSON"}
	bare := validate.Finding{Rule: "ignore-unused", Severity: validate.Warning, Message: "lets no finding stand"}
	tests := []struct {
		format  validate.Format
		finding validate.Finding
		want    string
	}{
		{validate.Text, whole, "schemas/a.v1.json:3:14: /properties/mail: \"mail\" looks like it [personal-unflagged]\n  hint: flag it\n"},
		{validate.Text, file, "b.json: too large [file-too-large]\n"},
		{validate.Text, input, "-:2:1: payload: no JSON [syntax]\n"},
		{validate.Text, bare, "warning: lets no finding stand [ignore-unused]\n"},
		{validate.JSON, whole, `{"file":"schemas/a.v1.json","line":3,"column":14,"location":"/properties/mail","rule":"personal-unflagged","severity":"error",` +
			`"message":"\"mail\" looks like it","hint":"flag it"}` + "\n"},
		{validate.JSON, bare, `{"file":"","line":0,"column":0,"location":"","rule":"ignore-unused","severity":"warning","message":"lets no finding stand"}` + "\n"},
		{validate.GitHub, whole, "::error title=personal-unflagged,file=schemas/a.v1.json,line=3,col=14::/properties/mail: \"mail\" looks like it%0Ahint: flag it\n"},
		{validate.GitHub, file, "::error title=file-too-large,file=b.json::too large\n"},
		{validate.GitHub, input, "::error title=syntax::payload: no JSON\n"},
		{validate.JUnit, whole, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="fieldcrypt" tests="1" failures="1">
    <testcase classname="schemas/a.v1.json" name="personal-unflagged schemas/a.v1.json:3:14 /properties/mail">
      <failure type="error" message="&#34;mail&#34; looks like it">schemas/a.v1.json:3:14: &#34;mail&#34; looks like it&#xA;hint: flag it</failure>
    </testcase>
  </testsuite>
</testsuites>
`},
		{validate.SARIF, whole, sarif(`"rules":[{"id":"personal-unflagged","shortDescription":{"text":"a field whose name or format looks personal, and that is not flagged"}}]`,
			`{"ruleId":"personal-unflagged","ruleIndex":0,"level":"error","message":{"text":"\"mail\" looks like it\nhint: flag it"},"locations":[{`+
				`"physicalLocation":{"artifactLocation":{"uri":"schemas/a.v1.json"},"region":{"startLine":3}},`+
				`"logicalLocations":[{"fullyQualifiedName":"/properties/mail"}]}]}`)},
		{validate.SARIF, file, sarif(`"rules":[{"id":"file-too-large"}]`,
			`{"ruleId":"file-too-large","ruleIndex":0,"level":"error","message":{"text":"too large"},"locations":[{`+
				`"physicalLocation":{"artifactLocation":{"uri":"b.json"}}}]}`)},
		{validate.SARIF, bare, sarif(`"rules":[{"id":"ignore-unused","shortDescription":{"text":"an entry of lint.ignore that no finding needs"}}]`,
			`{"ruleId":"ignore-unused","ruleIndex":0,"level":"warning","message":{"text":"lets no finding stand"}}`)},
		{validate.GitHub, bare, "::warning title=ignore-unused::lets no finding stand\n"},
	}
	for _, test := range tests {
		got := write(t, test.format, test.finding)
		if test.format == validate.SARIF {
			got = compact(t, got)
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.format, got, test.want)
		}
	}
}

// sarif is a compact SARIF log with these rules and results.
func sarif(rules, results string) string {
	return `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":{"driver":{"name":"fieldcrypt",` +
		`"informationUri":"https://github.com/fieldcrypt/fieldcrypt",` + rules + `}},"results":[` + results + `]}]}`
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestADocumentIsWrittenWhenNothingWasFound(t *testing.T) {
	t.Parallel()
	for format, want := range map[validate.Format]string{
		validate.Text: "", validate.JSON: "", validate.GitHub: "",
		validate.JUnit: `<testsuite name="fieldcrypt" tests="1" failures="0">`,
		validate.SARIF: `"results": []`,
	} {
		var b bytes.Buffer
		reporter, err := validate.NewReporter(&b, format)
		if err != nil {
			t.Fatal(err)
		}
		if err := reporter.Close(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", format, got, want)
		}
	}
}

// Rules that several findings share are described once.
func TestSARIFResultsPointToTheirRules(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	reporter, err := validate.NewReporter(&b, validate.SARIF)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []string{"one", "two", "one"} {
		if err := reporter.Report(validate.Finding{Rule: rule, Severity: validate.Error}); err != nil {
			t.Fatal(err)
		}
	}
	if err := reporter.Close(); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Tool.Driver.Rules) != 2 || len(run.Results) != 3 {
		t.Fatalf("got %+v, want 2 rules and 3 results", run)
	}
	for _, result := range run.Results {
		if got := run.Tool.Driver.Rules[result.RuleIndex].ID; got != result.RuleID {
			t.Errorf("a result of %s points to %s", result.RuleID, got)
		}
	}
}

// A file's or a member's name may hold anything. What it holds must not end the line, end the command, or reach a terminal as a command.
func TestAFindingIsOneLineWhateverANameHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("\n\r\x1b\x7f\u0085\u2028:,%[]\"")), rapid.Rune()))
		f := validate.Finding{
			File: any.Draw(t, "file"), Line: 1, Column: 1, Location: any.Draw(t, "location"), Rule: "r", Severity: validate.Warning, Message: any.Draw(t, "message"),
		}
		text := write(t, validate.Text, f)
		if strings.ContainsAny(strings.TrimSuffix(text, "\n"), "\n\r\x1b\x7f\u0085\u2028") {
			t.Fatalf("text: %q", text)
		}
		github := write(t, validate.GitHub, f)
		if strings.ContainsAny(strings.TrimSuffix(github, "\n"), "\n\r") || strings.Count(github, "::") > strings.Count(f.Message+f.Location, "::")+4 {
			t.Fatalf("github: %q", github)
		}
		var back struct{ File, Location, Message string }
		if err := json.Unmarshal([]byte(write(t, validate.JSON, f)), &back); err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal([]byte(write(t, validate.JUnit, f)), new(struct{ XMLName xml.Name })); err != nil {
			t.Fatalf("junit: %v", err)
		}
		if log := write(t, validate.SARIF, f); !json.Valid([]byte(log)) {
			t.Fatalf("sarif: %q", log)
		}
		if valid := strings.ToValidUTF8; back.File != valid(f.File, "\ufffd") || back.Location != valid(f.Location, "\ufffd") || back.Message != valid(f.Message, "\ufffd") {
			t.Fatalf("json: got %+v, want %+v", back, f)
		}
	})
}

func TestAnUnknownFormatIsRefused(t *testing.T) {
	t.Parallel()
	_, err := validate.NewReporter(&bytes.Buffer{}, "xml")
	var refused *validate.FormatError
	if !errors.As(err, &refused) || refused.Format != "xml" || refused.Hint() == "" {
		t.Errorf("got %v, want a *FormatError for xml", err)
	}
}

type broken struct{}

var errBroken = errors.New("the pipe is closed")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestAReporterPassesTheWritersErrorOn(t *testing.T) {
	t.Parallel()
	for _, format := range []validate.Format{validate.Text, validate.JSON, validate.GitHub, validate.JUnit, validate.SARIF} {
		reporter, err := validate.NewReporter(broken{}, format)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(reporter.Report(validate.Finding{}), reporter.Close()); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v, want the writer's error", format, err)
		}
	}
}
