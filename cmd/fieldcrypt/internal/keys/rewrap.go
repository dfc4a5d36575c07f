package keys

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func newRewrap(app *cli.App) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "rewrap",
		Short: "Seal the keyring anew, after its Transit key was rotated",
		Long: `Seals the keyring anew with the newest version of the key that seals it. No key of the keyring
changes, and nothing that was sealed under them. Use it after the Transit key was rotated,
before older versions of that key are retired.`,
		Example: `  vault write -f transit/keys/fieldcrypt-default/rotate
  fieldcrypt keys rewrap`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: func(ctx context.Context, s *cli.Session, _ []string) error {
			if err := connect.NeedTrail(ctx, s, name); err != nil {
				return err
			}
			manager, err := connect.Manager(ctx, s, name)
			if err != nil {
				return err
			}
			var d *keyring.Description
			err = connect.Audited(ctx, s, audittrail.Entry{Operation: "keys.rewrap", Keyring: name}, func(ctx context.Context, _ *audittrail.Outcome) (err error) {
				d, err = manager.Rewrap(ctx)
				return err
			})
			if err != nil {
				return err
			}
			return sayKeyring(s, "rewrapped", d)
		}}),
	}
	cmd.Flags().StringVar(&name, "name", settings.DefaultKeyring, "seal the keyring of this `NAME` anew")
	return cmd
}

// sayKeyring says what a keyring is now.
func sayKeyring(s *cli.Session, step string, d *keyring.Description) error {
	if s.JSON() {
		return s.Terminal.JSON(struct {
			Step     string `json:"step"`
			Keyring  string `json:"keyring"`
			Revision uint64 `json:"revision"`
			KEK      string `json:"kek"`
			Digest   string `json:"digest"`
		}{step, d.Name(), d.Revision(), d.KEKURI(), d.Digest()})
	}
	return s.Terminal.Printf("%s keyring %s: revision %d, sealed by %s", step, d.Name(), d.Revision(), d.KEKURI())
}
