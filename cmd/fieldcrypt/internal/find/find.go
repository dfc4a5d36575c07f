// Package find is the command `fieldcrypt find`.
package find

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/complete"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/sealedleft"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

type flags struct {
	indexes   []string
	noCompare bool
	open      bool
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.StringArrayVar(&f.indexes, "index", nil, "search this blind index, by its `NAME`; several take {\"NAME\": VALUE} on standard input, and all must match")
	set.BoolVar(&f.noCompare, "no-compare", false, "do not open the rows to compare: a short index then gives wrong rows too")
	set.BoolVar(&f.open, "open", false, "write the rows as plaintext lines")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "find --index NAME [VALUE]",
		Short: "Find the rows that hold a value, by its blind index",
		Long: `Writes the rows of the outbox that hold VALUE as sealed lines, with --open as plaintext
lines. VALUE comes from standard input ("-") or from a prompt; as an argument it works and
warns, since ps and the shell's history show it. Each row that the index gives is opened in
memory and compared, so that a short index gives no wrong row. A search never misses during
a rotation: it asks for the value under every usable key, and in every version of the index
that the schemas call previous.

A compound index takes a JSON array with a value for each of its fields. Several --index are
all to match; they take {"NAME": VALUE} on standard input, where VALUE is a string, an
integer, or such an array. Exit 0 with or without rows.`,
		Example: `  printf 1234567890 | fieldcrypt find --index tax_id -
  fieldcrypt find --index tax_id --open
  echo '["Ada Lovelace", "1815-12-10"]' | fieldcrypt find --index name_birth -
  echo '{"tax_id": "1234567890", "email": "ada@example.com"}' | fieldcrypt find --index tax_id --index email`,
		Args: cli.MaxArgs(1),
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	complete.Flag(cmd, "index", complete.Indexes(app))
	return cmd
}

func (f *flags) run(ctx context.Context, s *cli.Session, args []string) error {
	reg, err := connect.Schemas(s)
	if err != nil {
		return err
	}
	criteria, err := f.criteria(reg)
	if err != nil {
		return err
	}
	if err := criteria.read(ctx, s, args); err != nil {
		return err
	}
	if f.open {
		if err := connect.NeedTrailFor(ctx, s, reg); err != nil {
			return err
		}
	}
	store, err := connect.Outbox(ctx, s)
	if err != nil {
		return err
	}
	defer store.Close()
	rings, err := connect.Keyrings(ctx, s, criteria.keyrings(reg, f.open)...)
	if err != nil {
		return err
	}
	matches, err := criteria.matches(rings)
	if err != nil {
		return err
	}
	opener, err := envelope.NewOpener(reg, rings, envelope.Options{Now: s.Now})
	if err != nil {
		return err
	}
	if err := outboxstore.CheckIndexes(ctx, store, criteria.indexes()); err != nil {
		return err // the search would miss rows
	}

	if f.noCompare {
		s.Terminal.Warn("the rows are not compared: some may hold another value with the same index")
	}
	out := &rows{flags: f, session: s, criteria: criteria, opener: opener, left: sealedleft.New(s.Terminal)}
	if !f.open { // what comes out is sealed
		return out.all(ctx, store, matches)
	}
	begin := audittrail.Entry{Operation: "find", Detail: audittrail.Fit("indexes: " + strings.Join(f.indexes, " "))}
	return connect.Audited(ctx, s, begin, func(ctx context.Context, told *audittrail.Outcome) error {
		out.told = told
		return out.all(ctx, store, matches)
	})
}

func (r *rows) all(ctx context.Context, store outboxstore.Store, matches []outboxstore.Match) error {
	for row, err := range store.Find(ctx, matches, outboxstore.FindOptions{}) {
		if err != nil {
			return err
		}
		if err := r.row(ctx, row); err != nil {
			return err
		}
	}
	if r.refused > 0 {
		return failure.New(failure.Refused, "", "%s could not be read", terminal.Plural(r.refused, "row", "rows"))
	}
	return nil
}

// rows writes what was found.
type rows struct {
	*flags
	session  *cli.Session
	criteria criteria
	opener   *envelope.Opener
	left     *sealedleft.Notes
	refused  int
	line     []byte
	told     *audittrail.Outcome // with --open
}

func (r *rows) row(ctx context.Context, row *outboxstore.Row) error {
	line, err := r.answer(ctx, row)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.refused++
		var of *outboxstore.RowError
		if !errors.As(err, &of) {
			err = &outboxstore.RowError{ID: row.ID, Err: err}
		}
		e := failure.Explain(err)
		r.session.Terminal.Report(e.Message, e.Hint)
		return nil
	}
	_, err = r.session.Terminal.Write(line)
	return err
}

// answer is the line for a row, or nothing where the row holds another value.
func (r *rows) answer(ctx context.Context, row *outboxstore.Row) ([]byte, error) {
	if row.Err != nil {
		return nil, row.Err
	}
	if !r.noCompare {
		for _, c := range r.criteria {
			holds, err := r.opener.Holds(ctx, row.Received, c.index.Name, c.search.Messages())
			if err != nil || !holds {
				return nil, err
			}
		}
	}
	var err error
	if !r.open {
		r.line, err = eventline.AppendSealed(r.line[:0], row.Received.Wire(), row.KeyIDs, nil)
		return r.line, err
	}
	opened, err := r.opener.Open(ctx, row.Received, envelope.OpenOptions{})
	if err != nil {
		return nil, err
	}
	r.left.Say(opened)
	r.told.Rows.Add(row.ID)
	r.told.Count("type:"+opened.Event.Type, 1)
	r.line, err = eventline.AppendPlaintext(r.line[:0], opened.Event)
	return r.line, err
}
