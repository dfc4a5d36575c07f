package keys

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/duration"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

type create struct {
	name        string
	propagation duration.Value
}

func (f *create) bind(set *pflag.FlagSet) {
	set.StringVar(&f.name, "name", settings.DefaultKeyring, "create the keyring of this `NAME`")
	set.Var(&f.propagation, "propagation", "how long a staged key waits until every process can have loaded it, a `DURATION` (default 10m)")
}

func newCreate(app *cli.App) *cobra.Command {
	var f create
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a keyring with a primary seal and a primary index key",
		Long: `Creates the keyring that is configured under --name, with a primary seal key and a primary
index key. A keyring that exists is never touched: exit 1. A file keyring is sealed under a
passphrase: keep both, and apart; without them everything sealed is lost. A keyring in Vault
is sealed under its Transit key, which must be there (aes256-gcm96, not derived, not
exportable) and serve no other keyring; that Vault honours associated data is proved first.`,
		Example: `  fieldcrypt keys create
  fieldcrypt keys create --name health --keyring health=file:health.json
  fieldcrypt keys create --keyring 'vault://secret/app?transit=transit/app'`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *create) run(ctx context.Context, s *cli.Session, _ []string) error {
	if err := connect.NeedTrail(ctx, s, f.name); err != nil {
		return err
	}
	manager, err := connect.NewManager(ctx, s, f.name)
	if err != nil {
		return err
	}
	others, err := connect.Others(ctx, s, f.name)
	if err != nil {
		return err
	}
	opts := keyring.CreateOptions{Others: others, Propagation: f.propagation.Duration}
	if f.propagation.IsSet && opts.Propagation == 0 {
		opts.Propagation = -1
	}
	var created *keyring.Description
	err = connect.Audited(ctx, s, audittrail.Entry{Operation: "keys.create", Keyring: f.name}, func(ctx context.Context, out *audittrail.Outcome) (err error) {
		if created, err = manager.Create(ctx, opts); err == nil {
			out.KeyIDs = connect.KeyIDsOf(created.Keys())
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := f.warn(ctx, s, created); err != nil {
		return err
	}
	return say(s, created.Keys())
}

// warn names a keyring of this name that an outbox knows: a new one opens nothing of what is under its keys. It may be that of another service, so this is no refusal.
func (f *create) warn(ctx context.Context, s *cli.Session, created *keyring.Description) error {
	if s.Memory == nil {
		return nil
	}
	known, err := s.Memory.Recall(ctx, f.name)
	for _, k := range known {
		if k.KEK == created.KEKURI() {
			continue
		}
		s.Terminal.Warn("the outbox knows a keyring %s already, sealed by %s, up to revision %d: a new one opens nothing that is under its keys; if it was lost, restore it with `fieldcrypt keys restore`", f.name, k.KEK, k.Revision)
	}
	return err
}
