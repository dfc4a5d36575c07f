package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/duration"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
)

type trail struct {
	check bool
	head  string
	limit int
	name  string
	since string
}

func (f *trail) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.check, "check", false, "verify the whole chain and print its head")
	set.StringVar(&f.head, "head", "", "with --check: the `HASH` that was the head once, and must still be in the chain")
	set.IntVar(&f.limit, "limit", 0, "only the last `N` entries")
	set.StringVar(&f.name, "name", settings.DefaultKeyring, "the trail beside the file keyring of this `NAME`, where no other is configured")
	set.StringVar(&f.since, "since", "", "only entries since this `TIME` (RFC 3339), or a duration ago, such as 7d")
}

func newTrail(app *cli.App) *cobra.Command {
	var f trail
	cmd := &cobra.Command{
		Use:   "trail",
		Short: "Print the trail of operations, or check that it is whole",
		Long: `Prints who opened personal data, changed a key or re-encrypted rows, when, and what came of
it. Each operation is two entries: one that it begins, written before it does anything, and
one of its outcome. One without an outcome goes on, or its process was killed. Entries hold
names, ids and counts, never a value.

Written down are: keys create, add, promote, disable, enable, destroy, hold, stores (when it
changes the list), rewrap, move, backup and restore; what rotate stages, promotes, re-encrypts
and retires; open, but for --redact; and find --open. The trail is the file of --audit-log,
else the table fieldcrypt_audit of the first outbox's database, else KEYRINGFILE.audit.

Each entry holds the hash of the one before it. --check finds an entry that was changed, taken
away, put in or swapped (exit 3), and prints the head, the hash of the last entry. Note it
elsewhere: with --head it also finds that the end was cut off, or that the chain was written
anew by somebody who may write the table or the file.`,
		Example: `  fieldcrypt audit trail --since 7d
  fieldcrypt audit trail --output json | jq 'select(.operation == "open")'
  fieldcrypt audit trail --check
  fieldcrypt audit trail --check --head 6f1c0a83…`,
		Args: cli.NoArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *trail) run(ctx context.Context, s *cli.Session, _ []string) error {
	const see = "see `fieldcrypt audit trail --help`"
	switch {
	case f.limit < 0:
		return failure.New(failure.Usage, see, "--limit: it must not be negative")
	case f.head != "" && !f.check:
		return failure.New(failure.Usage, see, "--head goes with --check")
	case f.check && (f.limit != 0 || f.since != ""):
		return failure.New(failure.Usage, see, "--check looks at the whole chain: --limit and --since do not go with it")
	}
	var head audittrail.Hash
	if f.head != "" {
		var err error
		if head, err = audittrail.ParseHash(f.head); err != nil {
			return failure.New(failure.Usage, "it is what --check printed", "--head: %w", err)
		}
	}
	since, err := parseSince(f.since, s.Now())
	if err != nil {
		return err
	}
	log, err := connect.Trail(ctx, s, f.name)
	if err != nil {
		return err
	}
	if f.check {
		return check(ctx, s, log, head)
	}
	return f.print(ctx, s, log, since)
}

func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	d, err := duration.Parse(text)
	if err != nil {
		return time.Time{}, failure.New(failure.Usage, "write it as 2026-11-30T00:00:00Z or 7d", "--since: %q is neither a time nor a duration", text)
	}
	return now.Add(-d), nil
}

// print keeps no more than the last entries that are asked for.
func (f *trail) print(ctx context.Context, s *cli.Session, log audittrail.Log, since time.Time) error {
	var last []audittrail.Entry
	for e, err := range audittrail.Entries(ctx, log) {
		if err != nil {
			return err
		}
		if e.Time.Before(since) {
			continue
		}
		if f.limit == 0 {
			if err := say(s, e); err != nil {
				return err
			}
			continue
		}
		if len(last) == f.limit {
			last = slices.Delete(last, 0, 1)
		}
		last = append(last, e)
	}
	for _, e := range last {
		if err := say(s, e); err != nil {
			return err
		}
	}
	return nil
}

func say(s *cli.Session, e audittrail.Entry) error {
	if s.JSON() {
		_, err := s.Terminal.Write(append(e.Text(), '\n'))
		return err
	}
	words := []string{fmt.Sprintf("%d  %s  %s  %s", e.Seq, e.Time.Format(time.RFC3339), e.Actor, e.Operation)}
	result := string(e.Result)
	if e.Error != "" {
		result += " (" + e.Error + ")"
	}
	if e.Of > 0 {
		result += fmt.Sprintf(", of %d", e.Of)
	}
	words = append(words, result)
	if e.Keyring != "" {
		words = append(words, "keyring "+e.Keyring)
	}
	if len(e.KeyIDs) > 0 {
		words = append(words, strings.Join(e.KeyIDs, " "))
	}
	if e.Store != "" {
		words = append(words, e.Store)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Counts)) {
		words = append(words, fmt.Sprintf("%s %d", name, e.Counts[name]))
	}
	if e.Rows.Count > 0 {
		const shown = 3
		text := terminal.Plural(e.Rows.Count, "row", "rows")
		if ids := e.Rows.IDs; len(ids) > 0 {
			text += ": " + strings.Join(ids[:min(len(ids), shown)], " ")
			if len(ids) > shown {
				text += " …"
			}
		}
		words = append(words, text)
	}
	if e.Detail != "" {
		words = append(words, e.Detail)
	}
	return s.Terminal.Printf("%s", strings.Join(words, "  "))
}

type checked struct {
	Entries    uint64   `json:"entries"`
	Head       string   `json:"head"`
	Whole      bool     `json:"whole"`
	Finding    string   `json:"finding,omitempty"`
	Seq        uint64   `json:"seq,omitempty"`
	Message    string   `json:"message,omitempty"`
	Torn       bool     `json:"torn,omitempty"`
	Unfinished []uint64 `json:"unfinished"`
}

func check(ctx context.Context, s *cli.Session, log audittrail.Log, head audittrail.Hash) error {
	report, err := audittrail.Check(ctx, log, audittrail.CheckOptions{Head: head})
	if err != nil {
		return err
	}
	found := report.Finding
	if s.JSON() {
		object := checked{Entries: report.Entries, Head: report.Head.String(), Whole: found == nil, Torn: report.Torn, Unfinished: append([]uint64{}, report.Unfinished...)}
		if found != nil {
			object.Finding, object.Seq, object.Message = string(found.Kind), found.Seq, found.Detail
		}
		err = s.Terminal.JSON(object)
	} else if found == nil {
		err = s.Terminal.Printf("whole: %s\nhead %s", terminal.Plural(int64(report.Entries), "entry", "entries"), report.Head)
	} else {
		err = s.Terminal.Printf("%s\nwhole up to entry %d: %s", found, report.Entries, report.Head)
	}
	if err != nil {
		return err
	}
	if report.Torn {
		s.Terminal.Note("the last line has no end: a process was killed while it wrote it; the next entry will say so")
	}
	if n := report.UnfinishedCount; n > 0 {
		const shown = 10
		var seqs []string
		for _, seq := range report.Unfinished[:min(len(report.Unfinished), shown)] {
			seqs = append(seqs, fmt.Sprint(seq))
		}
		if n > shown {
			seqs = append(seqs, "…")
		}
		s.Terminal.Note("%s without an outcome (going on, or killed): %s", terminal.Plural(int64(n), "operation", "operations"), strings.Join(seqs, " "))
	}
	if found != nil {
		return failure.New(failure.Refused, "keep the trail as evidence; go on in another one with --audit-log FILE", "the audit trail in %s is not whole", log)
	}
	return nil
}
