package keys

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/complete"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// one is what the commands that change one key have in common.
type one struct{ name string }

func (f *one) bind(set *pflag.FlagSet, does string) {
	set.StringVar(&f.name, "name", settings.DefaultKeyring, does+" a key of the keyring of this `NAME`")
}

// command makes a command of one key.
func (f *one) command(app *cli.App, cmd *cobra.Command, does string, run func(context.Context, *cli.Session, *keyring.Manager, keyring.KeyInfo) (*keyring.Changed, error)) *cobra.Command {
	cmd.Args = cli.ExactArgs(1)
	cmd.RunE = app.RunE(cli.Command{Run: func(ctx context.Context, s *cli.Session, args []string) error {
		if err := connect.NeedTrail(ctx, s, f.name); err != nil {
			return err
		}
		manager, key, err := f.find(ctx, s, args[0])
		if err != nil {
			return err
		}
		var changed *keyring.Changed
		begin := audittrail.Entry{Operation: "keys." + does, Keyring: f.name, KeyIDs: []string{connect.KeyID(key)}}
		err = connect.Audited(ctx, s, begin, func(ctx context.Context, out *audittrail.Outcome) (err error) {
			if changed, err = run(ctx, s, manager, key); err == nil && changed.Unchanged {
				out.Detail = "nothing was to be done"
			}
			return err
		})
		if err != nil {
			return err
		}
		if changed.Unchanged {
			s.Terminal.Note("nothing was to be done")
		}
		return say(s, []keyring.KeyInfo{changed.Key})
	}})
	f.bind(cmd.Flags(), does)
	cmd.ValidArgsFunction = complete.KeyIDs(app, &f.name)
	return cmd
}

// find looks for a key by its id alone: no two keys of a keyring share one, whatever they are for.
func (f *one) find(ctx context.Context, s *cli.Session, text string) (*keyring.Manager, keyring.KeyInfo, error) {
	const see = "see `fieldcrypt keys list`"
	id, err := keyring.ParseKeyID(text)
	if err != nil {
		return nil, keyring.KeyInfo{}, failure.New(failure.Usage, see, "%q is no key id: it has 8 lower-case hex digits", text)
	}
	manager, err := connect.Manager(ctx, s, f.name)
	if err != nil {
		return nil, keyring.KeyInfo{}, err
	}
	described, err := manager.Describe(ctx)
	if err != nil {
		return nil, keyring.KeyInfo{}, err
	}
	for _, key := range described.Keys() {
		if key.ID == id {
			return manager, key, nil
		}
	}
	return nil, keyring.KeyInfo{}, failure.New(failure.Broken, see, "keyring %s has no key %s", f.name, id)
}
