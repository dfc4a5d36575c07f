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
	var cancel, yes bool
	cmd := &cobra.Command{
		Use:   "move --to URL",
		Short: "Move a keyring to another place, such as from a file to Vault",
		Long: `Copies the keyring to another place, where another key seals it. Processes go on reading the
old place, in which nothing is changed any more: every change there says where the keyring is.
Then configure the new place for every process, one by one and without haste. Rotate only when
the last one is done: a process that reads the old place does not see a new key. After that
the old place can be removed. If the command is interrupted, run it again: it does what is left
to do. Until then the old place is read, and takes no change; --cancel gives the move up, as long
as nothing is stored at the new place.`,
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
			if cancel {
				return cancelMove(ctx, s, from, target, name, to, yes)
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
	cmd.Flags().BoolVar(&cancel, "cancel", false, "give up a move that was interrupted")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().StringVar(&name, "name", settings.DefaultKeyring, "move the keyring of this `NAME`")
	cmd.Flags().StringVar(&to, "to", "", "the new place, a `URL` as --keyring takes it")
	return cmd
}

// cancelMove asks: that nothing is stored at a place does not say that it is the one.
func cancelMove(ctx context.Context, s *cli.Session, from, target *keyring.Manager, name, to string, yes bool) error {
	if err := confirm(ctx, s, yes, "give up the move of keyring %s? %s must be where it was to go", name, to); err != nil {
		return err
	}
	var d *keyring.Description
	begin := audittrail.Entry{Operation: "keys.move", Keyring: name, Detail: audittrail.Fit("cancel, to " + to)}
	err := connect.Audited(ctx, s, begin, func(ctx context.Context, _ *audittrail.Outcome) (err error) {
		d, err = from.CancelMove(ctx, target)
		return err
	})
	if err != nil {
		return err
	}
	return sayKeyring(s, "kept", d)
}
