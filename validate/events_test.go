package validate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/fieldcrypt/fieldcrypt/schema"
	"github.com/fieldcrypt/fieldcrypt/validate"
)

func newEvents(t *testing.T, schemas fstest.MapFS, opts validate.EventOptions) *validate.Events {
	t.Helper()
	reg, err := schema.LoadFS(schemas)
	if err != nil {
		t.Fatal(err)
	}
	events, err := validate.NewEvents(t.Context(), reg, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Close)
	return events
}

func check(t *testing.T, events *validate.Events, lines string) ([]validate.Finding, validate.Count) {
	t.Helper()
	var found []validate.Finding
	count, err := events.Check(t.Context(), "events.ndjson", strings.NewReader(lines), func(f validate.Finding) error {
		found = append(found, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, count
}

// Each archive holds schemas, events.ndjson, and in want the place, the location and the rule of what is reported, and at its end how many
// lines were read and refused. A text with SECRET in it is a value, or a name that the schema does not spell, and must not come back.
func TestEventsAreRefusedWhereTheyAreWrong(t *testing.T) {
	t.Parallel()
	archives(t, "events", func(t *testing.T, a archive) {
		found, count := check(t, newEvents(t, a.schemas, validate.EventOptions{}), a.files["events.ndjson"])
		var b strings.Builder
		for _, f := range found {
			fmt.Fprintf(&b, "%s:%d:%d: ", f.File, f.Line, f.Column)
			if f.Location != "" {
				b.WriteString(f.Location + " ")
			}
			fmt.Fprintf(&b, "[%s]\n", f.Rule)
			if f.Message == "" || f.Hint == "" || f.Severity != validate.Error {
				t.Errorf("got %+v, want an error with a message and a hint", f)
			}
		}
		fmt.Fprintf(&b, "%d lines, %d refused\n", count.Lines, count.Refused)
		got := b.String()
		if want := a.files["want"]; got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
		if !strings.Contains(a.files["events.ndjson"], "SECRET") || strings.Contains(text(t, found), "SECRET") {
			t.Errorf("the events must hold a secret, and the findings none:\n%s", text(t, found))
		}
	})
}

var oneSchema = fstest.MapFS{"a.made.v1.json": {Data: []byte(`{"properties": {"n": {"type": "integer"}, "who": {"type": "string", "x-gdpr-sensitive": true}}}`)}}

const (
	goodLine = `{"type":"a.made","aggregate_id":"1","payload":{"n":1,"who":"x"}}` + "\n"
	badLine  = `{"type":"a.made","aggregate_id":"1","payload":{"n":"one"}}` + "\n"
)

func TestFailFastStopsAtTheFirstRefusedLine(t *testing.T) {
	t.Parallel()
	lines := goodLine + badLine + goodLine + badLine
	_, count := check(t, newEvents(t, oneSchema, validate.EventOptions{FailFast: true}), lines)
	if want := (validate.Count{Lines: 2, Refused: 1}); count != want {
		t.Errorf("fail fast: got %+v, want %+v", count, want)
	}
	_, count = check(t, newEvents(t, oneSchema, validate.EventOptions{}), lines)
	if want := (validate.Count{Lines: 4, Refused: 2}); count != want {
		t.Errorf("else: got %+v, want %+v", count, want)
	}
}

func TestAPayloadOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	var opts validate.EventOptions
	opts.Limits.MaxPlaintext = 30
	found, count := check(t, newEvents(t, oneSchema, opts), goodLine+`{"type":"a.made","aggregate_id":"1","payload":{"who":"`+strings.Repeat("x", 30)+`"}}`)
	if len(found) != 1 || found[0].Rule != validate.RuleLimit || found[0].Line != 2 || count.Refused != 1 {
		t.Errorf("got %+v, %+v, want a finding of %s in line 2", found, count, validate.RuleLimit)
	}
}

// Schemas that name several keyrings are checked without any of them.
func TestEventsAreCheckedWithoutKeyrings(t *testing.T) {
	t.Parallel()
	events := newEvents(t, fstest.MapFS{"a.made.v1.json": {Data: []byte(`{"properties": {
		"who": {"type": "string", "x-gdpr-sensitive": true, "x-gdpr-keyring": "contact"},
		"ill": {"type": "string", "x-gdpr-sensitive": true, "x-gdpr-keyring": "health", "x-blind-index": true}}}`)}}, validate.EventOptions{})
	found, count := check(t, events, `{"type":"a.made","aggregate_id":"1","payload":{"who":"x","ill":"y"}}`)
	if len(found) != 0 || count.Lines != 1 {
		t.Errorf("got %+v, %+v, want one line and nothing found", found, count)
	}
}

func TestErrorsThatAreNotAboutALineEndTheCheck(t *testing.T) {
	t.Parallel()
	events := newEvents(t, oneSchema, validate.EventOptions{})
	stop := errors.New("stop")
	count, err := events.Check(t.Context(), "-", strings.NewReader(badLine+badLine), func(validate.Finding) error { return stop })
	if !errors.Is(err, stop) || count.Refused != 1 {
		t.Errorf("a report that fails: got %+v, %v, want 1 refused and its error", count, err)
	}
	broken := errors.New("the disk is gone")
	_, err = events.Check(t.Context(), "-", io.MultiReader(strings.NewReader(goodLine), failing{broken}), func(validate.Finding) error { return nil })
	if !errors.Is(err, broken) {
		t.Errorf("a reader that fails: got %v, want its error", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	count, err = events.Check(ended, "-", strings.NewReader(goodLine), func(validate.Finding) error { return nil })
	if !errors.Is(err, context.Canceled) || count.Lines != 0 {
		t.Errorf("a context that has ended: got %+v, %v, want its error and no line", count, err)
	}
}

// Whatever a line holds where: no window of 6 bytes of it comes back. The schema spells none of the secrets.
func TestNoFindingHoldsWhatAnEventHolds(t *testing.T) {
	t.Parallel()
	events := newEvents(t, fstest.MapFS{"a.made.v1.json": {Data: []byte(`{
		"type": "object", "required": ["n"], "maxProperties": 5,
		"properties": {
			"n": {"type": "integer", "maximum": 9}, "e": {"enum": ["x"]}, "p": {"type": "string", "pattern": "^[a-z]$", "format": "date"},
			"who": {"type": "string", "maxLength": 40, "x-gdpr-sensitive": true, "x-blind-index": true},
			"map": {"type": "object", "propertyNames": {"maxLength": 30}, "additionalProperties": {"type": ["string", "object"]}},
			"list": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}}`)}}, validate.EventOptions{})
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[QZ]{10,40}`).Draw(t, "secret")
		quoted := `"` + secret + `"`
		digits := strings.NewReplacer("Q", "7", "Z", "8").Replace(secret)
		value := rapid.SampledFrom([]string{
			quoted, digits, "-" + digits + "e-3", `{` + quoted + `:` + quoted + `}`, `[` + quoted + `,` + quoted + `]`, `"x"`, "5", "null",
			`{` + quoted + `:1,` + quoted + `:2}`, `"` + secret + `\ud800"`, quoted + quoted, secret,
		})
		name := rapid.SampledFrom([]string{`"n"`, `"e"`, `"p"`, `"who"`, `"map"`, `"list"`, quoted})
		var members []string
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			members = append(members, name.Draw(t, "name")+":"+value.Draw(t, "value"))
		}
		line := fmt.Sprintf(`{"type":"a.made","aggregate_id":%s,"payload":{%s}}`,
			rapid.SampledFrom([]string{`"1"`, quoted, value.Draw(t, "id")}).Draw(t, "aggregate"), strings.Join(members, ","))
		var found []validate.Finding
		if _, err := events.Check(context.Background(), "-", strings.NewReader(line), func(f validate.Finding) error {
			found = append(found, f)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		refused += len(found)
		for _, f := range found {
			all := strings.Join([]string{f.Location, f.Rule, f.Message, f.Hint}, "\n")
			for _, text := range []string{secret, digits} {
				for i := 0; i+6 <= len(text); i++ {
					if strings.Contains(all, text[i:i+6]) {
						t.Fatalf("%s comes back of %s: %+v", text[i:i+6], line, f)
					}
				}
			}
		}
	})
	if refused == 0 {
		t.Error("no line was refused: nothing was tested")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
