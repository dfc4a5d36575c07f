// Package plan is the command `fieldcrypt plan`.
package plan

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/complete"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/findings"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "plan TYPE[@VERSION]",
		Short: "Print the map of an event's schema: what is sealed, indexed, open",
		Long: `Prints what happens at each location of an event's payload: whether it is sealed and under
which keyring, whether it is indexed, what becomes of members that the schema does not
declare, and which line of which file says so. Without @VERSION: the newest version. What is
not listed stays in clear.`,
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
	event, err := choose(reg, args[0])
	if err != nil {
		return err
	}
	if !s.JSON() {
		if err := s.Terminal.Printf("%s version %d, from %s", event.Type(), event.Version(), event.File()); err != nil {
			return err
		}
	}
	locations := event.Plan().Locations()
	width := 0
	for _, l := range locations {
		width = max(width, len(pointer(l)))
	}
	for _, l := range locations {
		if s.JSON() {
			err = s.Terminal.JSON(machine(event, l))
		} else {
			err = s.Terminal.Printf("  %-*s  %s", width, pointer(l), describe(l))
		}
		if err != nil {
			return err
		}
	}
	if len(locations) == 0 {
		s.Terminal.Note("nothing is sealed, indexed or refused")
	}
	return nil
}

// choose finds TYPE or TYPE@VERSION.
func choose(reg *schema.Registry, text string) (*schema.EventSchema, error) {
	typ, versionText, versioned := strings.Cut(text, "@")
	if versioned {
		version, err := strconv.Atoi(versionText)
		if err != nil || version < 1 {
			return nil, failure.New(failure.Usage, "write TYPE or TYPE@VERSION", "%q is no version", versionText)
		}
		event, err := reg.Event(typ, version)
		if err != nil {
			return nil, failure.New(failure.Usage, known(reg), "%w", err)
		}
		return event, nil
	}
	var newest *schema.EventSchema
	for _, event := range reg.Events() {
		if event.Type() == typ {
			newest = event // events are sorted by version
		}
	}
	if newest == nil {
		return nil, failure.New(failure.Usage, known(reg), "no schema for event type %q", typ)
	}
	return newest, nil
}

func known(reg *schema.Registry) string {
	var names []string
	for _, event := range reg.Events() {
		names = append(names, event.Type()+"@"+strconv.Itoa(event.Version()))
	}
	if len(names) == 0 {
		return "the configured schemas hold no event's"
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "the schemas are of " + strings.Join(names, ", ")
}

// pointer shows the payload itself as a dot: "" would not be seen.
func pointer(l schema.Location) string {
	if l.Pointer == "" {
		return "."
	}
	return l.Pointer
}

func describe(l schema.Location) string {
	var parts []string
	if l.Sealed {
		parts = append(parts, "sealed under "+l.Keyring)
	}
	if l.Nested {
		parts = append(parts, "inside a sealed value")
	}
	if l.Index != nil {
		parts = append(parts, "index "+l.Index.Name+" ("+indexText(l.Index)+")")
	}
	switch l.Undeclared {
	case "reject":
		parts = append(parts, "undeclared members are refused")
	case "seal":
		parts = append(parts, "undeclared members are sealed")
	case "clear":
		parts = append(parts, "undeclared members stay in clear")
	}
	if l.SameAs != "" {
		parts = append(parts, "below it as below "+l.SameAs)
	}
	text := strings.Join(parts, "; ")
	if len(l.Sources) > 0 {
		text += "  [" + strings.Join(l.Sources, ", ") + "]"
	}
	return text
}

func indexText(index *schema.Index) string {
	text := strconv.Itoa(index.Bits) + " bits"
	if normalizer, err := blindindex.ParseNormalizer(index.Normalize); err == nil {
		text = normalizer.ID() + ", " + text
	}
	if index.Multi {
		text += ", several values"
	}
	return text
}

type location struct {
	Type       string   `json:"type"`
	Version    int      `json:"version"`
	Pointer    string   `json:"pointer"`
	Sealed     bool     `json:"sealed"`
	Nested     bool     `json:"nested,omitempty"`
	Keyring    string   `json:"keyring,omitempty"`
	Index      *index   `json:"index,omitempty"`
	Undeclared string   `json:"undeclared,omitempty"`
	SameAs     string   `json:"same_as,omitempty"`
	Sources    []string `json:"sources"`
}

type index struct {
	Name      string   `json:"name"`
	Normalize []string `json:"normalize"`
	Bits      int      `json:"bits"`
	Multi     bool     `json:"multi"`
	Keyring   string   `json:"keyring"`
}

func machine(event *schema.EventSchema, l schema.Location) location {
	object := location{
		Type: event.Type(), Version: event.Version(), Pointer: l.Pointer, Sealed: l.Sealed, Nested: l.Nested, Keyring: l.Keyring,
		Undeclared: l.Undeclared, SameAs: l.SameAs, Sources: append([]string{}, l.Sources...),
	}
	if l.Index != nil {
		object.Index = &index{l.Index.Name, append([]string{}, l.Index.Normalize...), l.Index.Bits, l.Index.Multi, l.Index.Keyring}
	}
	return object
}
