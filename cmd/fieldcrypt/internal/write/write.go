// Package write is the command `fieldcrypt write`.
package write

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/lines"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/eventline"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

const (
	defaultBatch = 500
	maxBatch     = 100_000
)

// again is true of lines with an id alone: any other is a new event each time.
const again = "run the command again: an event whose line has an id is not written twice"

type flags struct {
	batch    int
	failFast bool
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.IntVar(&f.batch, "batch", defaultBatch, "write `N` rows a transaction")
	set.BoolVar(&f.failFast, "fail-fast", false, "stop at the first refused line, and roll the open batch back")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "write [FILE…]",
		Short: "Seal events and write them to the outbox",
		Long: `Reads plaintext event lines, seals them, and writes them to the outbox, --batch rows a
transaction. The same event again is a duplicate, is said to be one, and changes nothing; a
known id with other content is refused. A refused line is no part of a batch, and the rest
goes on (exit 3). A database error stops with exit 1 and says how many were committed. Where
the lines have ids, running the command again writes the rest and nothing twice; a line
without one is a new event each time.`,
		Example: `  fieldcrypt write events.ndjson
  tail -n +1 -f events.ndjson | fieldcrypt write --batch 1
  fieldcrypt write --fail-fast --output json events.ndjson`,
		Args: cobra.ArbitraryArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) run(ctx context.Context, s *cli.Session, files []string) error {
	if f.batch < 1 || f.batch > maxBatch {
		return failure.New(failure.Usage, "", "--batch must be from 1 to %d", maxBatch)
	}
	reg, err := connect.Schemas(s)
	if err != nil {
		return err
	}
	store, err := connect.Outbox(ctx, s)
	if err != nil {
		return err
	}
	defer store.Close()
	w := &writer{flags: f, session: s, store: store, stream: lines.New(s, f.failFast), progress: s.Terminal.Progress()}
	sealer, err := connect.SealerFor(ctx, s, reg)
	if err == nil {
		err = outboxstore.CheckIndexes(ctx, store, reg.Indexes())
	}
	if err != nil {
		w.progress.Done()
		var database *outboxstore.DatabaseError
		if errors.As(err, &database) {
			return w.end(err)
		}
		return err // no keys, or schemas that are not the table's
	}
	err = w.stream.Each(ctx, files, eventline.Plaintext, func(line *eventline.Line) error {
		sealed, err := sealer.Seal(ctx, line.Event())
		if err != nil {
			return err
		}
		return w.add(ctx, line, sealed)
	})
	if err == nil {
		err = w.commit(ctx)
	}
	w.progress.Done()
	return w.end(err)
}

// writer collects sealed events into batches.
type writer struct {
	*flags
	session  *cli.Session
	store    outboxstore.Store
	stream   *lines.Stream
	progress *terminal.Progress

	lines  []*eventline.Line
	sealed []envelope.Sealed

	written, duplicates int
}

func (w *writer) add(ctx context.Context, line *eventline.Line, sealed envelope.Sealed) error {
	line.Payload = nil // it has served: the batch needs only the line's place
	w.lines, w.sealed = append(w.lines, line), append(w.sealed, sealed)
	if len(w.sealed) < w.batch {
		return nil
	}
	return lines.Fatal(w.commit(ctx))
}

// commit writes the open batch in one transaction.
func (w *writer) commit(ctx context.Context) error {
	if len(w.sealed) == 0 {
		return nil
	}
	batch, sealed := w.lines, w.sealed
	w.lines, w.sealed = nil, nil
	outcomes, err := w.write(ctx, sealed)
	if err != nil {
		return w.stopped(err, batch)
	}
	for i, outcome := range outcomes {
		switch {
		case outcome.Err != nil:
			if err := w.stream.Refuse(batch[i], reason(outcome.Err)); err != nil {
				return err
			}
		case outcome.Result == outboxstore.Duplicate:
			w.duplicates++
			w.session.Terminal.Note("%s:%d: duplicate: event %s is stored already with the same content", batch[i].File, batch[i].Line, sealed[i].Wire().ID)
		default:
			w.written++
		}
	}
	w.progress.Set("written %d, duplicates %d, refused %d", w.written, w.duplicates, w.stream.Refused)
	return nil
}

// write leaves refused events out of the transaction, or with --fail-fast writes all or none.
func (w *writer) write(ctx context.Context, sealed []envelope.Sealed) ([]outboxstore.Outcome, error) {
	if !w.failFast {
		return w.store.WriteEach(ctx, sealed...)
	}
	results, err := w.store.WriteBatch(ctx, sealed...)
	outcomes := make([]outboxstore.Outcome, len(results))
	for i, r := range results {
		outcomes[i].Result = r
	}
	return outcomes, err
}

// stopped tells a refused event, which only a batch of --fail-fast gives, from a database that failed.
func (w *writer) stopped(err error, batch []*eventline.Line) error {
	var refused *outboxstore.EventError
	if w.failFast && errors.As(err, &refused) && refused.Position < len(batch) {
		return w.stream.Refuse(batch[refused.Position], reason(err))
	}
	return err
}

// reason leaves out which event of a call was refused: its line says so.
func reason(err error) error {
	var of *outboxstore.EventError
	if errors.As(err, &of) {
		err = of.Err
	}
	var conflict *outboxstore.ConflictError
	if errors.As(err, &conflict) {
		return conflictError{conflict}
	}
	return err
}

// conflictError adds what to do about a conflict.
type conflictError struct{ *outboxstore.ConflictError }

func (e conflictError) Unwrap() error { return e.ConflictError }

// Hint says what to do next.
func (e conflictError) Hint() string {
	if e.Conflict == outboxstore.ConflictAggregateVersion {
		return "an aggregate's version names one event; give this one the next version, or correct the producer"
	}
	return "an id names one event for ever; give this one a new id, or correct the producer"
}

// end says what was committed, whatever ended the run.
func (w *writer) end(err error) error {
	summary := struct {
		Written    int `json:"written"`
		Duplicates int `json:"duplicates"`
		Refused    int `json:"refused"`
	}{w.written, w.duplicates, w.stream.Refused}
	var said error
	if w.session.JSON() {
		said = w.session.Terminal.JSON(summary)
	} else {
		said = w.session.Terminal.Printf("written %d, duplicates %d, refused %d", w.written, w.duplicates, w.stream.Refused)
	}
	if err == nil || lines.Stopped(err) {
		return w.stream.End(errors.Join(err, said))
	}
	e := *failure.Explain(err)
	if e.Message == "" {
		return &e
	}
	e.Message += fmt.Sprintf("; %s committed before that", terminal.Plural(w.written, "event was", "events were"))
	var database *outboxstore.DatabaseError
	if !errors.As(err, &database) {
		return &e
	}
	switch database.Fault {
	case outboxstore.FaultCommit:
		e.Message += ", and perhaps the batch after them"
		e.Hint = again
	case outboxstore.FaultLost:
		e.Hint = again
	}
	return &e
}
