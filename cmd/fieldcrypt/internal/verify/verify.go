// Package verify is the command `fieldcrypt verify`.
package verify

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/duration"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

type flags struct {
	keyless  bool
	sample   int
	since    string
	snapshot bool
	strict   bool
	workers  int
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.keyless, "keyless", false, "do without keys, even where a keyring is configured")
	set.IntVar(&f.sample, "sample", 0, "look at `N` random rows")
	set.StringVar(&f.since, "since", "", "look at rows created since `TIME`, RFC 3339 or a duration such as 2d")
	set.BoolVar(&f.snapshot, "snapshot", false, "read one consistent view, which holds back the database's clean-up")
	set.BoolVar(&f.strict, "strict", false, "exit 3 for warnings too")
	set.IntVar(&f.workers, "workers", 0, "verify with `N` workers at once (default: one for each processor)")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "verify [FILE…]",
		Short: "Look for faults in the rows of the outbox, or in sealed lines",
		Long: `Reads the rows of every configured outbox by key order in short transactions, or with FILE
(- is standard input) sealed lines, and reports what is wrong by kind, with a count and the
first row ids. Nothing that it prints holds a value.

Without keys, findings are plaintext, misplaced, malformed, undeclared, schema-unknown,
schema-mismatch, index-orphan, index-mismatch where no value can have such an index, and by
the keyring's clear part key-unknown and key-disabled; warnings are key-stale, index-key-stale,
index-stale and index-missing. With keys, which is the default where a keyring is configured,
also unopenable, invalid, every index-mismatch, and index-missing is a finding. Findings are
exit 3, warnings only with --strict. What could not be checked is listed as not checked. A
summary tells rows by event type and by key. With --output junit or sarif each kind has at
most ten examples; a row's is named outbox/ID. --keyless asks for no passphrase, and in Vault
only reads the keyring's document: a policy with read on it is enough.`,
		Example: `  fieldcrypt verify
  fieldcrypt verify --keyless --since 2d --strict
  fieldcrypt verify --output sarif > verify.sarif
  kcat -C -e -t invoices | fieldcrypt verify -`,
		Args: cobra.ArbitraryArgs,
		RunE: app.RunE(cli.Command{Run: f.run, Outputs: []string{settings.JUnit, settings.SARIF}}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) run(ctx context.Context, s *cli.Session, files []string) error {
	since, err := f.check(s, files)
	if err != nil {
		return err
	}
	reg, err := connect.Schemas(s)
	if err != nil {
		return err
	}
	var stores []connect.OpenOutbox
	if len(files) == 0 {
		// Before the keyrings: the outboxes remember which of their documents is the newest.
		if stores, err = connect.Outboxes(ctx, s); err != nil {
			return err
		}
		defer connect.CloseOutboxes(stores)
	}
	verifier, err := f.verifier(ctx, s, reg)
	if err != nil {
		return err
	}
	report, err := newReport(s)
	if err != nil {
		return err
	}
	var total outcome
	if len(files) > 0 {
		total, err = verifyLines(ctx, s, verifier, files, f.workerCount(), report)
	} else {
		total, err = f.stores(ctx, s, reg, stores, verifier, since, report)
	}
	if err == nil {
		err = report.close()
	}
	switch {
	case err != nil:
		return err
	case total.findings > 0:
		return failure.New(failure.Refused, "", "%s, %s", terminal.Plural(total.findings, "finding", "findings"), terminal.Plural(total.warnings, "warning", "warnings"))
	case total.warnings > 0 && f.strict:
		return failure.New(failure.Refused, "`fieldcrypt rotate --re-encrypt-only` brings rows under the primary keys", "%s", terminal.Plural(total.warnings, "warning", "warnings"))
	}
	return nil
}

// outcome sums up all stores or lines.
type outcome struct{ findings, warnings int64 }

func (f *flags) check(s *cli.Session, files []string) (since time.Time, err error) {
	if len(files) > 0 && (f.sample != 0 || f.since != "" || f.snapshot) {
		return since, failure.New(failure.Usage, "they are for the rows of an outbox", "--sample, --since and --snapshot do not go with FILE")
	}
	if f.sample < 0 || f.workers < 0 {
		return since, failure.New(failure.Usage, "", "--sample and --workers must not be negative")
	}
	if f.since == "" {
		return since, nil
	}
	if since, err = time.Parse(time.RFC3339, f.since); err == nil {
		return since, nil
	}
	ago, err := duration.Parse(f.since)
	if err != nil {
		return since, failure.New(failure.Usage, "write 2026-11-30T12:00:00Z or 2d", "--since: %q is neither an RFC 3339 time nor a duration", f.since)
	}
	return s.Now().Add(-ago), nil
}

func (f *flags) workerCount() int {
	if f.workers > 0 {
		return f.workers
	}
	return runtime.GOMAXPROCS(0)
}

// verifier has keys where a keyring is configured.
func (f *flags) verifier(ctx context.Context, s *cli.Session, reg *schema.Registry) (*envelope.Verifier, error) {
	if f.keyless || len(s.Settings.Keyrings) == 0 {
		states, err := connect.KeyStates(ctx, s)
		if err != nil {
			return nil, err
		}
		return envelope.NewVerifier(reg, envelope.VerifierOptions{KeyStates: states})
	}
	rings, err := connect.AllKeyrings(ctx, s, reg)
	if err != nil {
		return nil, err
	}
	return envelope.NewVerifier(reg, envelope.VerifierOptions{Keyrings: rings})
}

func (f *flags) stores(ctx context.Context, s *cli.Session, reg *schema.Registry, stores []connect.OpenOutbox, verifier *envelope.Verifier, since time.Time, report *report) (total outcome, err error) {
	for _, store := range stores {
		if err := checkIndexes(ctx, s, store, reg); err != nil {
			return total, err
		}
		progress := s.Terminal.Progress()
		pace, err := connect.PaceOf(ctx, s, store)
		if err != nil {
			return total, err
		}
		result, err := outboxstore.Verify(ctx, store, verifier, outboxstore.VerifyOptions{
			Logger:    s.Log,
			OnFinding: func(id string, found envelope.Finding) { report.found("", 0, 0, id, found) },
			Progress:  func(rows int64) { progress.Set("verified %d rows%s", rows, pace.Tell(rows)) },
			Sample:    f.sample,
			Since:     since,
			Snapshot:  f.snapshot,
			Workers:   f.workerCount(),
		})
		progress.Done()
		if err != nil {
			return total, err
		}
		name := ""
		if len(stores) > 1 {
			name = store.URL
		}
		if err := report.say(name, result); err != nil {
			return total, err
		}
		total.findings += result.Findings
		total.warnings += result.Warnings
	}
	return total, nil
}

// checkIndexes says that the table holds other versions of an index than the schemas declare. The rows are looked at all the same: what they hold is then
// index-mismatch.
func checkIndexes(ctx context.Context, s *cli.Session, store outboxstore.Store, reg *schema.Registry) error {
	err := outboxstore.CheckIndexes(ctx, store, reg.Indexes())
	var changed *outboxstore.IndexChangedError
	var pending *outboxstore.IndexPendingError
	if errors.As(err, &changed) || errors.As(err, &pending) {
		e := failure.Explain(err)
		s.Terminal.Warn("%s; %s", e.Message, e.Hint)
		return nil
	}
	return err
}
