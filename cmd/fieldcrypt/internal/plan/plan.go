// Package plan is the command `fieldcrypt plan`.
package plan

import (
	"context"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/choose"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/complete"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/findings"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "plan TYPE[@VERSION]",
		Short: "Print the map of an event's schema: what is sealed, indexed, open",
		Long: `Prints what happens at each location of an event's payload: whether it is sealed and under
which keyring, whether it is indexed and how, what becomes of members that the schema does
not declare, and which line of which file says so. Without @VERSION: the newest version.

What is not listed stays in clear. What becomes of undeclared members holds for everything
below, until a line says otherwise. A * stands for an item, or for a name that the schema
does not spell. A recursion, and a definition that is used in several places, is shown once,
at its shortest pointer, with where else the same lines hold; --output json lists all of
these.`,
		Example: `  fieldcrypt plan invoice.issued
  fieldcrypt plan invoice.issued@1 --output json`,
		Args:              cli.ExactArgs(1),
		ValidArgsFunction: complete.Types(app),
		RunE:              app.RunE(cli.Command{Run: run}),
	}
}

func run(_ context.Context, s *cli.Session, args []string) error {
	report, err := findings.New(s)
	if err != nil {
		return err
	}
	reg, err := report.LoadSchemas()
	if err != nil {
		return err
	}
	event, err := choose.Event(reg, args[0])
	if err != nil {
		return err
	}
	return show(s, event)
}

// widest is how far pointers push what is said of them to the right; a longer one pushes its own line alone.
const widest = 60

func show(s *cli.Session, event *schema.EventSchema) error {
	entries := entriesOf(event.Plan().Locations())
	if s.JSON() {
		for _, e := range entries {
			if err := s.Terminal.JSON(e.machine(event)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.Terminal.Printf("%s version %d, from %s", event.Type(), event.Version(), event.File()); err != nil {
		return err
	}
	width := 0
	for _, e := range entries {
		if n := utf8.RuneCountInString(shown(e.Pointer)); n <= widest {
			width = max(width, n)
		}
	}
	sealed := false
	for _, e := range entries {
		sealed = sealed || e.Sealed || e.SealedIfObject || e.Undeclared == "seal"
		if err := s.Terminal.Printf("  %-*s  %s", width, shown(e.Pointer), e.describe()); err != nil {
			return err
		}
	}
	if !sealed {
		s.Terminal.Note("nothing is sealed")
	}
	return nil
}
