package keys

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

type add struct {
	name    string
	purpose string
}

func (f *add) bind(set *pflag.FlagSet) {
	set.StringVar(&f.name, "name", settings.DefaultKeyring, "add to the keyring of this `NAME`")
	set.StringVar(&f.purpose, "purpose", "", "what the key is for, `seal|index`")
}

func newAdd(app *cli.App) *cobra.Command {
	var f add
	cmd := &cobra.Command{
		Use:   "add --purpose seal|index",
		Short: "Add a staged key",
		Long: `Adds a key that is staged: it opens and is searched, and nothing is written under it until
it is promoted. fieldcrypt rotate --promote does that once every process can have loaded it.`,
		Example: `  fieldcrypt keys add --purpose seal
  fieldcrypt keys add --purpose index --name health`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *add) run(ctx context.Context, s *cli.Session, _ []string) error {
	purpose := keyring.Purpose(f.purpose)
	switch {
	case f.purpose == "":
		return failure.New(failure.Usage, "it must be seal or index", "--purpose is missing")
	case !purpose.Valid():
		return failure.New(failure.Usage, "it must be seal or index", "--purpose: %q is no purpose", f.purpose)
	}
	if err := connect.NeedTrail(ctx, s, f.name); err != nil {
		return err
	}
	manager, err := connect.Manager(ctx, s, f.name)
	if err != nil {
		return err
	}
	others, err := connect.Others(ctx, s, f.name)
	if err != nil {
		return err
	}
	var changed *keyring.Changed
	err = connect.Audited(ctx, s, audittrail.Entry{Operation: "keys.add", Keyring: f.name, Detail: f.purpose}, func(ctx context.Context, out *audittrail.Outcome) (err error) {
		if changed, err = manager.Stage(ctx, purpose, keyring.StageOptions{Others: others}); err == nil {
			out.KeyIDs = []string{connect.KeyID(changed.Key)}
		}
		return err
	})
	if err != nil {
		return err
	}
	return say(s, []keyring.KeyInfo{changed.Key})
}
