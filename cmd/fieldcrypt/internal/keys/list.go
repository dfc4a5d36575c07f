package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/complete"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

type list struct {
	name    string
	keyless bool
}

func newList(app *cli.App) *cobra.Command {
	var f list
	cmd := &cobra.Command{
		Use:   "list [KID…]",
		Short: "List the keys of a keyring, their purposes and states",
		Long: `Lists the keys of the keyring of this name, or those with the given ids: staged, primary,
active, disabled and destroyed ones. The keyring is opened, so that the list is known to be
what its writer wrote. --keyless reads the part of it that is in clear: an auditor needs neither
the passphrase nor a right to decrypt, and it is not checked that nobody changed it.`,
		Example: `  fieldcrypt keys list
  fieldcrypt keys list --keyless
  fieldcrypt keys list --name health --output json`,
		Args: cobra.ArbitraryArgs,
		RunE: app.RunE(cli.Command{Run: f.run}),
	}
	cmd.Flags().BoolVar(&f.keyless, "keyless", false, "list what stands in clear, without opening the keyring")
	cmd.Flags().StringVar(&f.name, "name", settings.DefaultKeyring, "list the keyring of this `NAME`")
	cmd.ValidArgsFunction = complete.KeyIDs(app, &f.name)
	return cmd
}

func (f *list) run(ctx context.Context, s *cli.Session, ids []string) error {
	described, err := f.describe(ctx, s)
	if err != nil {
		return err
	}
	if to := described.MovedTo(); to != "" {
		s.Terminal.Note("keyring %s was moved, is sealed by %s now, and takes no change here: configure its new place; if `fieldcrypt keys move` was interrupted, run it again", f.name, to)
	}
	all := described.Keys()
	if len(ids) == 0 {
		return say(s, all)
	}
	var chosen []keyring.KeyInfo
	for _, text := range ids {
		id, err := keyring.ParseKeyID(text)
		if err != nil {
			return failure.New(failure.Usage, "see `fieldcrypt keys list`", "%q is no key id: it has 8 lower-case hex digits", text)
		}
		at := slices.IndexFunc(all, func(k keyring.KeyInfo) bool { return k.ID == id })
		if at < 0 {
			return failure.New(failure.Broken, "see `fieldcrypt keys list`", "keyring %s has no key %s", f.name, id)
		}
		chosen = append(chosen, all[at])
	}
	return say(s, chosen)
}

func (f *list) describe(ctx context.Context, s *cli.Session) (*keyring.Description, error) {
	if f.keyless {
		d, err := connect.ClearPart(ctx, s, f.name)
		if err == nil {
			s.Terminal.Note("not checked: that keyring %s is what its writer wrote, and the newest; that takes its keys", f.name)
		}
		return d, err
	}
	manager, err := connect.Manager(ctx, s, f.name)
	if err != nil {
		return nil, err
	}
	d, err := manager.Describe(ctx)
	if _, sealed := errors.AsType[*keyring.UnsealError](err); sealed && errors.Is(err, vaultkeyring.ErrDenied) {
		e := *failure.Explain(err)
		e.Hint = "give --keyless to list it without opening it; else " + e.Hint // and not: let the auditor decrypt
		return nil, &e
	}
	return d, err
}

// listed is one line of machine output.
type listed struct {
	Keyring string `json:"keyring"`
	ID      string `json:"id"`
	Purpose string `json:"purpose"`
	State   string `json:"state"`
	Since   string `json:"since"`
	// HeldUntil and HoldReason are those of a held key, Everywhere the second date of a destroyed one.
	HeldUntil  string `json:"held_until,omitempty"`
	HoldReason string `json:"hold_reason,omitempty"`
	Everywhere string `json:"destroyed_everywhere,omitempty"`
}

// say writes keys as lines of a table, or as machine output.
func say(s *cli.Session, keys []keyring.KeyInfo) error {
	for _, k := range keys {
		since := k.Since.UTC().Format(time.RFC3339)
		line := listed{Keyring: k.Keyring, ID: k.ID.String(), Purpose: string(k.Purpose), State: string(k.State), Since: since}
		more := ""
		if k.Hold != nil {
			line.HeldUntil, line.HoldReason = k.Hold.Until.UTC().Format(time.RFC3339), k.Hold.Reason
			more = fmt.Sprintf(", held until %s by %s: %s", line.HeldUntil, k.Hold.Author, line.HoldReason)
		}
		if !k.Everywhere.IsZero() {
			line.Everywhere = k.Everywhere.UTC().Format(time.RFC3339)
			more += ", destroyed everywhere since " + line.Everywhere
		}
		var err error
		if s.JSON() {
			err = s.Terminal.JSON(line)
		} else {
			err = s.Terminal.Printf("%s  %s  %-5s  %-9s  since %s by %s%s", k.Keyring, k.ID, k.Purpose, k.State, since, k.Author, more)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
