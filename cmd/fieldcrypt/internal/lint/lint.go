// Package lint is the command `fieldcrypt lint`.
package lint

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/findings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/validate"
)

type flags struct {
	rules  bool
	strict bool
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.rules, "rules", false, "list the rules")
	set.BoolVar(&f.strict, "strict", false, "exit 3 for warnings too")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Judge the schemas: what looks personal and is not flagged, flags without effect, …",
		Long: `Loads the schemas and reports what its rules find. A field that looks personal is judged by
its name, in English and Turkish, and by its format. Errors and schemas that do not load are
exit 3, warnings with --strict too. A finding that may stand is ignored in fieldcrypt.yaml,
with the reason why:

    lint:
      ignore:
        - rule: personal-unflagged
          file: invoice.issued.v1.json
          location: /properties/seller/properties/address
          reason: the address of our own branch, which stands on our web page`,
		Example: `  fieldcrypt lint
  fieldcrypt lint --rules
  fieldcrypt lint --output github --schemas schemas`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run, Outputs: []string{settings.GitHub, settings.JUnit, settings.SARIF}}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) run(_ context.Context, s *cli.Session, _ []string) error {
	if f.rules {
		return rules(s)
	}
	report, err := findings.New(s)
	if err != nil {
		return err
	}
	reg, err := report.LoadSchemas()
	if err != nil {
		return err
	}
	result, err := validate.Lint(reg, validate.LintOptions{Ignore: ignores(s.Settings)})
	if err != nil {
		return err
	}
	if err := report.Add(result.Findings...); err != nil {
		return err
	}
	for _, ignored := range result.Ignored {
		s.Log.Info("ignored", "rule", ignored.Finding.Rule, "file", ignored.Finding.File, "location", ignored.Finding.Location, "reason", ignored.Reason)
	}
	return report.End(f.strict)
}

func ignores(s *settings.Settings) []validate.Ignore {
	var all []validate.Ignore
	for _, ig := range s.LintIgnores {
		all = append(all, validate.Ignore(ig))
	}
	return all
}

func rules(s *cli.Session) error {
	for _, r := range validate.Rules() {
		var err error
		if s.JSON() {
			err = s.Terminal.JSON(struct {
				Rule     string            `json:"rule"`
				Severity validate.Severity `json:"severity"`
				Text     string            `json:"text"`
			}{r.ID, r.Severity, r.Text})
		} else {
			err = s.Terminal.Printf("%-20s  %-7s  %s", r.ID, r.Severity, r.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
