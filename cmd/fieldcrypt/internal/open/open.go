// Package open is the command `fieldcrypt open`.
package open

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/lines"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/sealedleft"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
)

type flags struct {
	failFast   bool
	fields     []string
	redact     bool
	requireAll bool
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.failFast, "fail-fast", false, "stop at the first refused line")
	set.StringArrayVar(&f.fields, "field", nil, "open only this location, a JSON `POINTER` into the payload; repeatable")
	set.BoolVar(&f.redact, "redact", false, "show every flagged value as null; needs no keys")
	set.BoolVar(&f.requireAll, "require-all", false, "refuse a line of which something stays sealed because its keyring is not configured")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "open [FILE…]",
		Short: "Open events: sealed lines in, plaintext lines out",
		Long: `Reads sealed event lines and writes them with their flagged values opened, to the bytes
that were sealed. A location whose keyring is not configured stays sealed and is named on
standard error; with --require-all its line is refused. An unknown or disabled key, and a
token that does not open, refuse the line.`,
		Example: `  fieldcrypt open sealed.ndjson
  fieldcrypt open --field /customer/name sealed.ndjson
  fieldcrypt open --redact sealed.ndjson`,
		Args: cobra.ArbitraryArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) run(ctx context.Context, s *cli.Session, files []string) error {
	if f.redact && (len(f.fields) > 0 || f.requireAll) {
		return failure.New(failure.Usage, "--redact opens nothing", "--redact goes with neither --field nor --require-all")
	}
	reg, err := connect.Schemas(s)
	if err != nil {
		return err
	}
	if !f.redact { // which shows nothing
		if err := connect.NeedTrailFor(ctx, s, reg); err != nil {
			return err
		}
	}
	var opener *envelope.Opener
	if f.redact {
		opener, err = connect.Redacter(reg)
	} else {
		opener, err = connect.Opener(ctx, s, reg)
	}
	if err != nil {
		return err
	}
	if f.redact {
		return f.lines(ctx, s, files, opener, &audittrail.Outcome{})
	}
	// One entry before anything is shown and one of what was shown, however many lines there are.
	return connect.Audited(ctx, s, audittrail.Entry{Operation: "open"}, func(ctx context.Context, out *audittrail.Outcome) error {
		return f.lines(ctx, s, files, opener, out)
	})
}

func (f *flags) lines(ctx context.Context, s *cli.Session, files []string, opener *envelope.Opener, told *audittrail.Outcome) error {
	stream := lines.New(s, f.failFast)
	left := sealedleft.New(s.Terminal)
	defer func() {
		if stream.Refused > 0 {
			told.Count("refused", int64(stream.Refused))
		}
	}()
	var out []byte
	return stream.End(stream.Each(ctx, files, eventline.Sealed, func(line *eventline.Line) error {
		received, err := envelope.Parse(line.Wire(), envelope.Limits{})
		if err != nil {
			return err
		}
		opened, err := opener.Open(ctx, received, envelope.OpenOptions{Fields: f.fields, Redact: f.redact})
		if err != nil {
			return err
		}
		if f.requireAll {
			if err := sealedleft.Refuse(opened); err != nil {
				return err
			}
		}
		if out, err = eventline.AppendPlaintext(out[:0], opened.Event); err != nil {
			return err
		}
		left.Say(opened)
		told.Rows.Add(opened.Event.ID)
		told.Count("type:"+opened.Event.Type, 1)
		_, err = s.Terminal.Write(out)
		return lines.Fatal(err)
	}))
}
