package keys

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func newDestroy(app *cli.App) *cobra.Command {
	var f one
	var assume, yes, everywhere, now bool
	cmd := f.command(app, &cobra.Command{
		Use:   "destroy KID",
		Short: "Destroy a disabled key for good",
		Long: `Removes the bytes of a disabled key: what was sealed under it never opens again. Every listed
store is asked once more whether it needs the key. Not before it has ceased to be primary for
24 hours: a process that cannot refresh goes on writing under it for that long; --now does it
all the same. In Vault, the versions of the keyring that
KV keeps are destroyed, the Transit key is rotated, the keyring is sealed anew, and the older
versions of the Transit key are retired, so that no copy of the keyring opens. If this is
interrupted, run it again.

Backups still hold the key. Once the last one is gone, --everywhere notes the date: only from
then on the key is destroyed for good, and audits report that date.`,
		Example: `  fieldcrypt keys destroy 0f3a9c01
  fieldcrypt keys destroy 0f3a9c01 --everywhere`,
	}, "destroy", func(ctx context.Context, s *cli.Session, m *keyring.Manager, key keyring.KeyInfo) (*keyring.Changed, error) {
		if everywhere {
			if err := confirm(ctx, s, yes, "no backup of key %s is left anywhere?", key.ID); err != nil {
				return nil, err
			}
			return m.DestroyedEverywhere(ctx, key.Purpose, key.ID)
		}
		if key.State != keyring.Disabled && key.State != keyring.Destroyed {
			return nil, failure.New(failure.Broken, "disable it first: `fieldcrypt keys disable "+key.ID.String()+"`", "keyring %s: %s key %s is %s, and only a disabled key is destroyed", f.name, key.Purpose, key.ID, key.State)
		}
		if err := confirm(ctx, s, yes, "destroy %s key %s of keyring %s? what is under it never opens again", key.Purpose, key.ID, f.name); err != nil {
			return nil, err
		}
		opts := keyring.DestroyOptions{Ask: connect.Ask(s), AssumeUnused: assume}
		if now {
			opts.NotPrimaryFor = -1
			s.Terminal.Warn("--now: what a process still writes under key %s, because it could not refresh, never opens", key.ID)
		}
		return m.Destroy(ctx, key.Purpose, key.ID, opts)
	})
	cmd.Flags().BoolVar(&assume, "assume-unused", false, "do it although the keyring lists no store that could be asked")
	cmd.Flags().BoolVar(&now, "now", false, "do not wait until the key has ceased to be primary for 24 hours")
	cmd.Flags().BoolVar(&everywhere, "everywhere", false, "note that no backup of a destroyed key is left")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}
