// Package validate is the command `fieldcrypt validate`.
package validate

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/findings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/lines"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/validate"
)

type flags struct{ failFast, wire bool }

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.failFast, "fail-fast", false, "stop at the first refused line")
	set.BoolVar(&f.wire, "wire", false, "check sealed lines")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "validate [FILE…]",
		Short: "Check events against their schemas, as sealing would",
		Long: `Reads plaintext event lines and reports whatever seal would refuse, with file, line, column,
location and rule. With --wire it reads sealed lines: each flagged location must hold a token,
nothing else may, and the rest must match the derived wire schema (see wire-schema). It needs
no keyring. Any finding that is no warning is exit 3.`,
		Example: `  fieldcrypt validate events.ndjson
  fieldcrypt seal events.ndjson | fieldcrypt validate --wire
  fieldcrypt validate --output github samples/*.ndjson
  fieldcrypt validate --output json < events.ndjson`,
		Args: cobra.ArbitraryArgs,
		RunE: app.RunE(cli.Command{Run: f.run, Outputs: []string{settings.GitHub, settings.JUnit, settings.SARIF}}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) run(ctx context.Context, s *cli.Session, files []string) error {
	report, err := findings.New(s)
	if err != nil {
		return err
	}
	reg, err := report.LoadSchemas()
	if err != nil {
		return err
	}
	prepare := validate.NewEvents
	if f.wire {
		prepare = validate.NewWireEvents
	}
	events, err := prepare(ctx, reg, validate.EventOptions{FailFast: f.failFast})
	if err != nil {
		return err
	}
	defer events.Close()
	if len(files) == 0 {
		files = []string{lines.Stdin}
	}
	if err := lines.CheckFiles(files); err != nil {
		return err
	}
	err = f.checkAll(ctx, s, events, files, report)
	return errors.Join(err, report.Close())
}

func (f *flags) checkAll(ctx context.Context, s *cli.Session, events *validate.Events, files []string, report *findings.Report) error {
	var total validate.Count
	for _, name := range files {
		count, err := check(ctx, s, events, name, report)
		total.Lines += count.Lines
		total.Refused += count.Refused
		if err != nil {
			return err
		}
		if f.failFast && count.Refused > 0 {
			return failure.New(failure.Refused, "", "stopped at the first refused line")
		}
	}
	if total.Refused > 0 {
		return failure.New(failure.Refused, "", "%d of %d lines are refused", total.Refused, total.Lines)
	}
	s.Terminal.Note("%s valid", terminal.Plural(total.Lines, "line is", "lines are"))
	return nil
}

func check(ctx context.Context, s *cli.Session, events *validate.Events, name string, report *findings.Report) (validate.Count, error) {
	input, err := lines.Open(s, name)
	if err != nil {
		return validate.Count{}, err
	}
	defer input.Close()
	return events.Check(ctx, name, lines.Reader(ctx, s, input), func(f validate.Finding) error { return report.Add(f) })
}
