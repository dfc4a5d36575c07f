package validate_test

import (
	"bytes"
	"encoding/json"
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
		{validate.GitHub, bare, "::warning title=ignore-unused::lets no finding stand\n"},
	}
	for _, test := range tests {
		if got := write(t, test.format, test.finding); got != test.want {
			t.Errorf("%s: got %q, want %q", test.format, got, test.want)
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
	for _, format := range []validate.Format{validate.Text, validate.JSON, validate.GitHub} {
		reporter, err := validate.NewReporter(broken{}, format)
		if err != nil {
			t.Fatal(err)
		}
		if err := reporter.Report(validate.Finding{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v, want the writer's error", format, err)
		}
	}
}
