// Package migrate is the command `fieldcrypt migrate`.
package migrate

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

type flags struct {
	check bool
	print bool
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.check, "check", false, "change nothing, exit 3 when something is pending")
	set.BoolVar(&f.print, "print", false, "change nothing, print the SQL")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create or alter the outbox tables for the schemas' blind indexes",
		Long: `Creates the outbox tables, and a column with its index for each blind index that the
schemas declare. It is safe to run twice, and at once in several processes. Runtime roles
need no DDL: a write to a missing column names it and says to run this command.

On Postgres a new column takes an instant, and a new index is built CONCURRENTLY, beside
readers and writers; no lock is waited for longer than 5s. What was interrupted goes on
when the command is run again. It needs a direct connection, no pooler in transaction mode.`,
		Example: `  fieldcrypt migrate
  fieldcrypt migrate --print
  fieldcrypt migrate --outbox postgres://owner@db/app
  fieldcrypt migrate --check || echo "migrate before you deploy"`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) run(ctx context.Context, s *cli.Session, _ []string) error {
	if f.check && f.print {
		return failure.New(failure.Usage, "--check prints what is pending too", "--check and --print do not go together")
	}
	reg, err := connect.Schemas(s)
	if err != nil {
		return err
	}
	open := connect.OutboxToMigrate
	if f.check || f.print {
		open = connect.OutboxToPlan
	}
	store, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer store.Close()

	if f.check || f.print {
		pending, err := store.Pending(ctx, reg.Indexes())
		if err != nil {
			return err
		}
		if err := say(s, f.print, pending); err != nil {
			return err
		}
		if f.check && len(pending) > 0 {
			return failure.New(failure.Refused, "run `fieldcrypt migrate`", "%s pending", terminal.Plural(len(pending), "statement is", "statements are"))
		}
		return nil
	}
	done, err := store.Migrate(ctx, reg.Indexes())
	if err != nil && !s.JSON() {
		// People are told what is done; nobody is told that there is nothing to migrate.
		done = slices.DeleteFunc(done, func(statement outboxstore.Statement) bool { return !statement.Done })
		if len(done) == 0 {
			return err
		}
	}
	if said := say(s, false, done); err == nil {
		err = said
	}
	return err
}

// say writes the statements, for people the whole SQL only where they ask for it.
func say(s *cli.Session, whole bool, statements []outboxstore.Statement) error {
	if s.JSON() {
		for _, statement := range statements {
			object := struct {
				Statement string `json:"statement"`
				Done      bool   `json:"done"`
			}{statement.SQL, statement.Done}
			if err := s.Terminal.JSON(object); err != nil {
				return err
			}
		}
		return nil
	}
	for _, statement := range statements {
		text := sql(statement)
		if !whole {
			text = short(text)
		}
		if err := s.Terminal.Printf("%s", text); err != nil {
			return err
		}
	}
	if len(statements) == 0 {
		s.Terminal.Note("nothing to migrate")
	}
	return nil
}

func sql(statement outboxstore.Statement) string {
	return strings.TrimRight(statement.SQL, "; \n") + ";"
}

// short shows what a statement is about on one line.
func short(sql string) string {
	const most = 120
	line := strings.Join(strings.Fields(sql), " ")
	if len(line) > most {
		line = strings.TrimRight(line[:most], " (") + " …"
	}
	return line
}
