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

type stores struct {
	name   string
	add    string
	query  string
	remove string
}

func (f *stores) bind(set *pflag.FlagSet) {
	set.StringVar(&f.add, "add", "", "list the outbox of this `URL`, or with --query a database")
	set.StringVar(&f.name, "name", settings.DefaultKeyring, "the stores of the keyring of this `NAME`")
	set.StringVar(&f.query, "query", "", "count the rows of your own tables that need a key with this `SQL`: its one parameter is the key as PURPOSE:KID")
	set.StringVar(&f.remove, "remove", "", "take the store of this `URL` off the list")
}

func newStores(app *cli.App) *cobra.Command {
	var f stores
	cmd := &cobra.Command{
		Use:   "stores",
		Short: "List the stores that use a keyring, add one, remove one",
		Long: `Lists the stores whose data is under the keyring's keys: outboxes, and tables of your own, for
which a query counts the rows that need a key. Each is asked before a key is disabled, retired
or destroyed. Passwords are never listed: they come from the settings, or from libpq's
variables.`,
		Example: `  fieldcrypt keys stores
  fieldcrypt keys stores --add postgres://app@db/shop
  fieldcrypt keys stores --add postgres://app@db/shop --query 'SELECT count(*) FROM customers WHERE $1 = ANY (key_ids)'
  fieldcrypt keys stores --remove postgres://app@db/shop`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *stores) run(ctx context.Context, s *cli.Session, _ []string) error {
	switch {
	case f.add != "" && f.remove != "":
		return failure.New(failure.Usage, "give one of them", "--add and --remove do not go together")
	case f.query != "" && f.add == "" && f.remove == "":
		return failure.New(failure.Usage, "see `fieldcrypt keys stores --help`", "--query goes with --add or --remove")
	}
	changes := f.add != "" || f.remove != ""
	if changes {
		if err := connect.NeedTrail(ctx, s, f.name); err != nil {
			return err
		}
	}
	manager, err := connect.Manager(ctx, s, f.name)
	if err != nil {
		return err
	}
	var d *keyring.Description
	switch {
	case changes:
		d, err = f.change(ctx, s, manager)
	default:
		d, err = manager.Describe(ctx)
	}
	if err != nil {
		return err
	}
	for _, store := range d.Stores() {
		if s.JSON() {
			err = s.Terminal.JSON(struct {
				Keyring string `json:"keyring"`
				URL     string `json:"url"`
				Query   string `json:"query,omitempty"`
			}{d.Name(), store.URL, store.Query})
		} else if store.Query == "" {
			err = s.Terminal.Printf("%s  %s", d.Name(), store.URL)
		} else {
			err = s.Terminal.Printf("%s  %s  %s", d.Name(), store.URL, store.Query)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *stores) change(ctx context.Context, s *cli.Session, manager *keyring.Manager) (d *keyring.Description, err error) {
	u, what, change := f.add, "add", manager.AddStore
	if f.remove != "" {
		u, what, change = f.remove, "remove", manager.RemoveStore
	}
	store, err := connect.DataStore(u, f.query)
	if err != nil {
		return nil, err
	}
	begin := audittrail.Entry{Operation: "keys.stores", Keyring: f.name, Store: audittrail.Fit(store.URL), Detail: what}
	err = connect.Audited(ctx, s, begin, func(ctx context.Context, _ *audittrail.Outcome) (err error) {
		d, err = change(ctx, store)
		return err
	})
	return d, err
}
