// Package audit is the command `fieldcrypt audit`.
package audit

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// New returns the command. Itself, the data map, it is planned, so that it is a name for what stands below it.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "audit",
		Short:   "Evidence for an auditor",
		Long:    `What shows an auditor what was done.`,
		Example: `  fieldcrypt audit trail --check`,
		Args:    cli.NoArgs,
		RunE: app.RunE(cli.Command{NoFile: true, Run: func(context.Context, *cli.Session, []string) error {
			return failure.New(failure.Usage, "see `fieldcrypt audit trail --help` for the chain of operations", "the command `audit` is planned and not in this version")
		}}),
	}
	cmd.AddCommand(newTrail(app))
	return cmd
}
