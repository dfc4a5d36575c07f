package keys

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func newPromote(app *cli.App) *cobra.Command {
	var f one
	var now bool
	cmd := f.command(app, &cobra.Command{
		Use:   "promote KID",
		Short: "Make a staged key the primary one",
		Long: `Makes a staged key primary: from now on it is written under. The former primary stays active,
so that what it sealed still opens. Not before the keyring's propagation time is over, since a
process that has not loaded the key could not open what is written under it; --now does it
all the same.`,
		Example: `  fieldcrypt keys promote 0f3a9c01
  fieldcrypt keys promote 0f3a9c01 --now`,
	}, "promote", func(ctx context.Context, s *cli.Session, m *keyring.Manager, key keyring.KeyInfo) (*keyring.Changed, error) {
		if now {
			s.Terminal.Warn("a process that has not loaded key %s cannot open what is written under it until it refreshes", key.ID)
		}
		return m.Promote(ctx, key.Purpose, keyring.PromoteOptions{ID: key.ID, SkipWait: now})
	})
	cmd.Flags().BoolVar(&now, "now", false, "do not wait: for a single process, or an emergency")
	return cmd
}
