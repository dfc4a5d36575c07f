// Package keys is the command `fieldcrypt keys`.
package keys

import (
	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "keys",
		Short: "Create a keyring, list its keys, add one",
		Long: `The life cycle of keys by hand. For a new key in daily use see fieldcrypt rotate, which
stages, waits and promotes.`,
		Example: `  fieldcrypt keys create
  fieldcrypt keys list`,
	}, newAdd(app), newCreate(app), newList(app))
}
