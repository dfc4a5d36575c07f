// Package findings reports what lint and validate find, in the form that is asked for, and counts it.
package findings

import (
	"errors"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/schema"
	"github.com/fieldcrypt/fieldcrypt/validate"
)

// Report writes findings to standard output: they are the command's result.
type Report struct {
	session  *cli.Session
	reporter *validate.Reporter

	errors, warnings int
}

// New returns a report in the session's form of output.
func New(s *cli.Session) (*Report, error) {
	reporter, err := validate.NewReporter(s.Terminal, validate.Format(s.Settings.Output))
	if err != nil {
		return nil, err
	}
	return &Report{session: s, reporter: reporter}, nil
}

// LoadSchemas loads the schemas; the reasons why they do not are findings like others.
func (r *Report) LoadSchemas() (*schema.Registry, error) {
	reg, err := connect.LoadSchemas(r.session.Settings)
	var refused *schema.LoadError
	if !errors.As(err, &refused) {
		return reg, err
	}
	if err := r.Add(validate.FromLoadError(refused)...); err != nil {
		return nil, err
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	return nil, failure.New(failure.Refused, "", "the schemas do not load")
}

// Add reports findings.
func (r *Report) Add(findings ...validate.Finding) error {
	for _, f := range findings {
		if f.Severity == validate.Warning {
			r.warnings++
		} else {
			r.errors++
		}
		if err := r.reporter.Report(f); err != nil {
			return err
		}
	}
	return nil
}

// Close completes the report: some forms of output are one document.
func (r *Report) Close() error { return r.reporter.Close() }

// End completes the report. Its error is that of a command that has found something, or nil.
func (r *Report) End(strict bool) error {
	if err := r.Close(); err != nil {
		return err
	}
	switch {
	case r.errors > 0:
		return failure.New(failure.Refused, "", "%s, %s", terminal.Plural(r.errors, "error", "errors"), r.warningsText())
	case r.warnings > 0 && strict:
		return failure.New(failure.Refused, "", "%s", r.warningsText())
	case r.warnings > 0:
		r.session.Terminal.Note("%s", r.warningsText())
	default:
		r.session.Terminal.Note("nothing found")
	}
	return nil
}

func (r *Report) warningsText() string { return terminal.Plural(r.warnings, "warning", "warnings") }
