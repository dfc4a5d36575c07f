// Package root puts the commands together and runs the one that is called.
package root

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/audit"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/completion"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/find"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/index"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/initialize"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/keys"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/lint"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/migrate"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/open"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/plan"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/planned"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/rotate"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/seal"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/topics"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/validate"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/verify"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/version"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/wireschema"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/write"
)

// New returns the whole command tree.
func New(app *cli.App) *cobra.Command {
	root := cli.Group(&cobra.Command{
		Use:   "fieldcrypt",
		Short: "Seal the personal data in JSON events, search it, rotate its keys",
		Long: `fieldcrypt seals the values of JSON events that their JSON Schemas flag as personal data,
computes blind indexes so that sealed values can be found, and writes the events into an
outbox table.`,
		Example: `  fieldcrypt init demo
  cd demo && fieldcrypt migrate
  fieldcrypt write events.ndjson`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	},
		audit.New(app),
		completion.New(app),
		find.New(app),
		index.New(app),
		initialize.New(app),
		keys.New(app),
		lint.New(app),
		migrate.New(app),
		open.New(app),
		plan.New(app),
		rotate.New(app),
		seal.New(app),
		validate.New(app),
		verify.New(app),
		version.New(app),
		wireschema.New(app),
		write.New(app),
	)
	root.AddCommand(topics.All()...)
	root.SetHelpCommand(help())
	app.Flags.Bind(root.PersistentFlags())
	planned.Install(root)
	root.SetIn(app.Stdin)
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
	return root
}

func help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Explain a command or a topic",
		Long:  "Explains a command or one of the topics settings, events, output, exit-codes.",
		Example: `  fieldcrypt help keys create
  fieldcrypt help settings`,
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return failure.New(failure.Usage, "see `fieldcrypt --help`", "there is no help on %q", strings.Join(args, " "))
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// Main runs the program with the process's own streams and returns its exit code.
func Main(args []string) int {
	// The first interrupt ends the work in good order; from then on a second one kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	dir, err := os.Getwd()
	app := &cli.App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Dir: dir, Now: time.Now}
	if err != nil {
		return int(app.End(err))
	}
	return int(Run(ctx, app, args))
}

// Run runs the command that args call.
func Run(ctx context.Context, app *cli.App, args []string) failure.Code {
	root := New(app)
	root.SetArgs(args)
	return app.End(root.ExecuteContext(ctx))
}
