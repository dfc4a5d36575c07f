// Package rotate is the command `fieldcrypt rotate`.
package rotate

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/duration"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

type flags struct {
	dryRun        bool
	ifOlderThan   duration.Value
	maxRate       float64
	name          string
	now           bool
	promote       bool
	purpose       string
	reEncrypt     bool
	reEncryptOnly bool
	resume        bool
	retireKeys    bool
	retireOnly    bool
	retireAfter   duration.Value
	stage         bool
	workers       int
}

func (f *flags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.dryRun, "dry-run", false, "say what would be done, change nothing")
	set.Var(&f.ifOlderThan, "if-older-than", "make no new key while the primary is younger than `DURATION`, such as 90d: for cron")
	set.Float64Var(&f.maxRate, "max-rate", 0, "re-encrypt at most `ROWS` a second, to spare the database (default: no bound)")
	set.StringVar(&f.name, "name", settings.DefaultKeyring, "rotate the keyring of this `NAME`")
	set.BoolVar(&f.now, "now", false, "do not wait: for a single process, or an emergency")
	set.BoolVar(&f.promote, "promote", false, "only promote the key that is staged, if its time has come")
	set.StringVar(&f.purpose, "purpose", string(keyring.Seal), "rotate `seal|index|all` keys")
	set.BoolVar(&f.reEncrypt, "re-encrypt", false, "then bring stored rows, ciphertexts and indexes, under the primaries")
	set.BoolVar(&f.reEncryptOnly, "re-encrypt-only", false, "only bring stored rows under the primaries; no key is made")
	set.BoolVar(&f.resume, "resume", false, "leave out rows whose key_ids name today's primaries alone, after a run that was broken off")
	set.BoolVar(&f.retireKeys, "retire", false, "then disable the keys that nothing needs any more")
	set.Var(&f.retireAfter, "retire-after", "disable no key before it has ceased to be primary for this `DURATION` (default 30d)")
	set.BoolVar(&f.retireOnly, "retire-only", false, "only disable the keys that nothing needs any more; no key is made")
	set.BoolVar(&f.stage, "stage", false, "only stage a key")
	set.IntVar(&f.workers, "workers", 0, "re-encrypt with `N` workers at once (default: one for each processor)")
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Make a new key primary, and bring stored rows under it",
		Long: `Stages a key, waits until every process can have loaded it (the keyring's propagation
time), and promotes it; the former primary stays active, so that what it sealed still opens.
A staged key that is present is continued and none is made: a killed run can be run again at
any point. Of two runs at once the loser says which revision and actor won, and exits 1.

With --re-encrypt stored rows are then sealed anew under the primaries, in small
transactions, beside writers and other resealers; a row is changed only if it still is what
was read, and one that does not open is left as it is and named (exit 3). Any number of runs
may share a table. One that was broken off goes on when it is run again: fresh rows are read,
opened and left alone. --resume spares that, and believes the key_ids of the rows, which
nothing authenticates: before a key is retired, run once without it.

With --retire, keys that ceased to be primary --retire-after ago and that nothing needs are
then disabled: every store that the keyring lists (fieldcrypt keys stores) is asked, and one
that cannot be asked is named and ends it (exit 1). What holds a key back is said.`,
		Example: `  fieldcrypt rotate --re-encrypt
  fieldcrypt rotate --if-older-than 90d
  fieldcrypt rotate --stage && sleep 600 && fieldcrypt rotate --promote
  fieldcrypt rotate --now --purpose all --re-encrypt
  fieldcrypt rotate --re-encrypt-only --max-rate 500
  fieldcrypt rotate --purpose all --if-older-than 90d --re-encrypt --retire`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *flags) check() error {
	conflicts := []struct {
		given bool
		names string
	}{
		{f.stage && f.promote, "--stage and --promote"},
		{f.stage && f.now, "--stage and --now"},
		{f.stage && f.reEncrypt, "--stage and --re-encrypt"},
		{f.promote && f.ifOlderThan.IsSet, "--promote and --if-older-than"},
		{f.stage && f.retireKeys, "--stage and --retire"},
		{f.retireOnly && (f.stage || f.promote || f.now || f.ifOlderThan.IsSet || f.reEncrypt || f.reEncryptOnly), "--retire-only and what makes, promotes or re-encrypts"},
		{f.retireAfter.IsSet && !f.retireKeys && !f.retireOnly, "--retire-after and no --retire or --retire-only"},
		{!f.reEncrypt && !f.reEncryptOnly && (f.maxRate != 0 || f.resume || f.workers != 0), "--max-rate, --resume or --workers and no --re-encrypt or --re-encrypt-only"},
		{f.reEncryptOnly && (f.stage || f.promote || f.now || f.ifOlderThan.IsSet), "--re-encrypt-only and what makes or promotes a key"},
	}
	for _, c := range conflicts {
		if c.given {
			return failure.New(failure.Usage, "see `fieldcrypt rotate --help`", "%s do not go together", c.names)
		}
	}
	if f.maxRate < 0 || f.workers < 0 {
		return failure.New(failure.Usage, "", "--max-rate and --workers must not be negative")
	}
	_, err := f.purposes()
	return err
}

func (f *flags) purposes() ([]keyring.Purpose, error) {
	switch f.purpose {
	case string(keyring.Seal), string(keyring.Index):
		return []keyring.Purpose{keyring.Purpose(f.purpose)}, nil
	case "all":
		return keyring.Purposes(), nil
	}
	return nil, failure.New(failure.Usage, "it must be seal, index or all", "--purpose: %q is no purpose", f.purpose)
}

func (f *flags) run(ctx context.Context, s *cli.Session, _ []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if !f.dryRun { // which changes nothing
		if err := connect.NeedTrail(ctx, s, f.name); err != nil {
			return err
		}
	}
	// What re-encryption needs is looked for before a key is made.
	var re *reencryption
	if f.reEncrypt || f.reEncryptOnly {
		var err error
		if re, err = f.prepare(ctx, s); err != nil {
			return err
		}
		defer re.close()
	}
	if !f.reEncryptOnly && !f.retireOnly {
		if err := f.rotateKeys(ctx, s); err != nil {
			return err
		}
	}
	if re != nil {
		err := re.run(ctx, f.dryRun)
		if err != nil && !f.reEncryptOnly && !f.dryRun {
			return afterRotation(err)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case f.retireOnly:
		return f.retire(ctx, s)
	case f.retireKeys:
		if err := f.retire(ctx, s); err != nil {
			return afterSteps(err)
		}
	}
	return nil
}

// afterRotation says of a re-encryption that was broken off what is done and what is left: the same command again would make a further key.
func afterRotation(err error) error {
	e := *failure.Explain(err)
	if e.Code != failure.Broken || e.Message == "" {
		return &e
	}
	e.Message += "; the keys are rotated, and rows are left under the old ones"
	const next = "`fieldcrypt rotate --re-encrypt-only` goes on from there"
	if e.Hint == "" || e.Hint == failure.Again {
		e.Hint = next
	} else {
		e.Hint += "; then " + next
	}
	return &e
}

func (f *flags) rotateKeys(ctx context.Context, s *cli.Session) error {
	purposes, err := f.purposes()
	if err != nil {
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
	r := &rotation{flags: f, session: s, manager: manager, others: others}
	if err := r.stage(ctx, purposes); err != nil || f.stage {
		return err
	}
	if len(r.plans) == 0 {
		if f.promote {
			return &keyring.NothingStagedError{Keyring: f.name, Purpose: purposes[0]}
		}
		return nil
	}
	if err := r.wait(ctx); err != nil {
		return err
	}
	return r.promote(ctx)
}
