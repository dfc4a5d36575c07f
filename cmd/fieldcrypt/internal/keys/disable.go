package keys

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func newDisable(app *cli.App) *cobra.Command {
	var f one
	var assume bool
	cmd := f.command(app, &cobra.Command{
		Use:   "disable KID",
		Short: "Take a key out of use, if nothing needs it",
		Long: `Takes a key out of use: it opens nothing and is not searched any more. It can be enabled
again. It must not be primary, nor have been until a moment ago, nor be held; and every store
that the keyring lists (fieldcrypt keys stores) is asked for rows that need it. A store that
cannot be asked is named, and nothing is changed.`,
		Example: `  fieldcrypt keys disable 0f3a9c01`,
	}, "disable", func(ctx context.Context, s *cli.Session, m *keyring.Manager, key keyring.KeyInfo) (*keyring.Changed, error) {
		return m.Disable(ctx, key.Purpose, key.ID, keyring.DisableOptions{Ask: connect.Ask(s), AssumeUnused: assume})
	})
	cmd.Flags().BoolVar(&assume, "assume-unused", false, "do it although the keyring lists no store that could be asked")
	return cmd
}

func newEnable(app *cli.App) *cobra.Command {
	var f one
	return f.command(app, &cobra.Command{
		Use:   "enable KID",
		Short: "Bring a disabled key back into use",
		Long: `Brings a disabled key back: it opens and is searched again, and nothing is written under it.
What needs it and is in no listed store does not keep it: hold it (fieldcrypt keys hold), or the
next fieldcrypt rotate --retire disables it again.`,
		Example: `  fieldcrypt keys enable 0f3a9c01`,
	}, "enable", func(ctx context.Context, _ *cli.Session, m *keyring.Manager, key keyring.KeyInfo) (*keyring.Changed, error) {
		return m.Enable(ctx, key.Purpose, key.ID)
	})
}
