package keys

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func newMove(app *cli.App) *cobra.Command {
	var name, to string
	cmd := &cobra.Command{
		Use:   "move --to URL",
		Short: "Move a keyring to another place, such as from a file to Vault",
		Long: `Copies the keyring to another place, where another key seals it. Processes go on reading the
old place, in which nothing is changed any more: every change there says where the keyring is.
Then configure the new place for every process, one by one and without haste. Rotate only when
the last one is done: a process that reads the old place does not see a new key. After that
the old place can be removed. If the command is interrupted, run it again.`,
		Example: `  fieldcrypt keys move --to 'vault://secret/fieldcrypt/default?transit=transit/fieldcrypt-default'`,
		Args:    cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: func(ctx context.Context, s *cli.Session, _ []string) error {
			if to == "" {
				return failure.New(failure.Usage, "see `fieldcrypt keys move --help`", "--to is missing")
			}
			if err := connect.NeedTrail(ctx, s, name); err != nil {
				return err
			}
			from, err := connect.Manager(ctx, s, name)
			if err != nil {
				return err
			}
			target, err := connect.ManagerAt(ctx, s, name, to)
			if err != nil {
				return err
			}
			var d *keyring.Description
			begin := audittrail.Entry{Operation: "keys.move", Keyring: name, Detail: audittrail.Fit("to " + to)}
			err = connect.Audited(ctx, s, begin, func(ctx context.Context, out *audittrail.Outcome) (err error) {
				if d, err = from.Move(ctx, target); err == nil {
					out.KeyIDs = connect.KeyIDsOf(d.Keys())
				}
				return err
			})
			if err != nil {
				return err
			}
			if err := sayKeyring(s, "moved", d); err != nil {
				return err
			}
			s.Terminal.Note("next: configure the new place for every process; do not rotate before")
			return nil
		}}),
	}
	cmd.Flags().StringVar(&name, "name", settings.DefaultKeyring, "move the keyring of this `NAME`")
	cmd.Flags().StringVar(&to, "to", "", "the new place, a `URL` as --keyring takes it")
	return cmd
}
