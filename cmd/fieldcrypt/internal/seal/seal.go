// Package seal is the command `fieldcrypt seal`.
package seal

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/lines"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
)

type flags struct {
	failFast bool
	indexes  bool
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.failFast, "fail-fast", false, "stop at the first refused line")
	set.BoolVar(&f.indexes, "indexes", false, "add the blind indexes to each line; they belong into a database, not onto a broker")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "seal [FILE…]",
		Short: "Seal events: plaintext lines in, sealed lines out",
		Long: `Reads plaintext event lines, validates each against the schema of its type and version,
seals what the schema flags, and writes sealed lines. Everything else is copied byte for
byte. A refused line is reported and gives no output; the rest goes on (exit 3).`,
		Example: `  fieldcrypt seal events.ndjson > sealed.ndjson
  tail -f events.ndjson | fieldcrypt seal | kcat -P -t invoices
  fieldcrypt seal --indexes events.ndjson`,
		Args: cobra.ArbitraryArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) run(ctx context.Context, s *cli.Session, files []string) error {
	reg, err := connect.Schemas(s)
	if err != nil {
		return err
	}
	sealer, err := connect.Sealer(ctx, s, reg)
	if err != nil {
		return err
	}
	stream := lines.New(s, f.failFast)
	var out []byte
	return stream.End(stream.Each(ctx, files, eventline.Plaintext, func(line *eventline.Line) error {
		sealed, err := sealer.Seal(ctx, line.Event())
		if err != nil {
			return err
		}
		var indexes map[string][][]byte
		if f.indexes {
			if indexes = sealed.BlindIndexes(); indexes == nil {
				indexes = map[string][][]byte{}
			}
		}
		if out, err = eventline.AppendSealed(out[:0], sealed.Wire(), sealed.KeyIDs(), indexes); err != nil {
			return err
		}
		_, err = s.Terminal.Write(out)
		return lines.Fatal(err)
	}))
}
