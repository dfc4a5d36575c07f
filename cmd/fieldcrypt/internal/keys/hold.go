package keys

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/duration"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/keyring"
)

func newHold(app *cli.App) *cobra.Command {
	var f one
	var until, reason string
	var end bool
	cmd := f.command(app, &cobra.Command{
		Use:   "hold KID",
		Short: "Keep a key from being disabled, for what no store can be asked about",
		Long: `Holds a key until a time: until then it is neither disabled, retired nor destroyed. It is for
what no query sees, such as a broker that keeps messages, or an export. --end ends it.`,
		Example: `  fieldcrypt keys hold 0f3a9c01 --until 7d --reason "the topic keeps 7 days"
  fieldcrypt keys hold 0f3a9c01 --until 2027-03-31T00:00:00Z --reason "export for the auditor"
  fieldcrypt keys hold 0f3a9c01 --end`,
	}, "hold", func(ctx context.Context, s *cli.Session, m *keyring.Manager, key keyring.KeyInfo) (*keyring.Changed, error) {
		var opts keyring.HoldOptions
		switch {
		case end && (until != "" || reason != ""):
			return nil, failure.New(failure.Usage, "see `fieldcrypt keys hold --help`", "--end goes with neither --until nor --reason")
		case end:
		case until == "" || reason == "":
			return nil, failure.New(failure.Usage, "see `fieldcrypt keys hold --help`", "a hold needs --until and --reason, its end --end")
		default:
			at, err := parseUntil(until, s.Now())
			if err != nil {
				return nil, err
			}
			opts = keyring.HoldOptions{Until: at, Reason: reason}
		}
		return m.Hold(ctx, key.Purpose, key.ID, opts)
	})
	cmd.Flags().BoolVar(&end, "end", false, "end the hold")
	cmd.Flags().StringVar(&reason, "reason", "", "what needs the key, a `TEXT` for those who come later")
	cmd.Flags().StringVar(&until, "until", "", "when the hold ends, a `TIME` (RFC 3339) or a duration from now")
	return cmd
}

func parseUntil(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		if !at.After(now) {
			return time.Time{}, failure.New(failure.Usage, "to end a hold give --end", "--until: %s is past", text)
		}
		return at, nil
	}
	d, err := duration.Parse(text)
	if err != nil || d == 0 {
		return time.Time{}, failure.New(failure.Usage, "write it as 2027-03-31T00:00:00Z or 7d", "--until: %q is neither a time nor a duration", text)
	}
	return now.Add(d), nil
}
