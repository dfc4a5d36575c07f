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
		Short: "The life cycle of keys by hand",
		Long: `The life cycle of keys by hand. For a new key in daily use see fieldcrypt rotate, which
stages, waits and promotes.`,
		Example: `  fieldcrypt keys create
  fieldcrypt keys list`,
	}, newAdd(app), newBackup(app), newCreate(app), newDestroy(app), newDisable(app), newEnable(app), newHold(app), newList(app), newMove(app), newPromote(app),
		newRestore(app), newRewrap(app), newStores(app))
}
