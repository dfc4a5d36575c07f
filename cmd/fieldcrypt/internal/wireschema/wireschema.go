// Package wireschema is the command `fieldcrypt wire-schema`.
package wireschema

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/choose"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/complete"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/findings"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "wire-schema TYPE[@VERSION]",
		Short: "Print the schema of an event's sealed form, for those without keys",
		Long: `Derives from an event's schema the JSON Schema of its sealed form and prints it: draft 2020-12,
in one piece, the same bytes each time. Every event that seal makes validates against it, and
no payload does that has anything but text of a token's form where the schema flags a value. A
broker, a registry or a consumer can check events with it, by any validator, without keys; what
it cannot tell is in docs/architecture.md. Without @VERSION: the newest version.

Rules that sealing makes undecidable, and those that validators read differently (most
formats), are left out. Where no schema can be derived, that is exit 3.`,
		Example: `  fieldcrypt wire-schema invoice.issued > invoice.issued.v1.wire.json
  fieldcrypt wire-schema invoice.issued@1 --output json`,
		Args:              cli.ExactArgs(1),
		ValidArgsFunction: complete.Types(app),
		RunE:              app.RunE(cli.Command{Run: run}),
	}
}

// derived is the machine's line.
type derived struct {
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Schema  json.RawMessage `json:"schema"`
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
	text, err := event.WireSchema()
	var refused *schema.WireError
	if errors.As(err, &refused) {
		return failure.New(failure.Refused, refused.Hint(), "%w", err)
	}
	if err != nil {
		return err
	}
	if s.JSON() {
		return s.Terminal.JSON(derived{event.Type(), event.Version(), text})
	}
	return s.Terminal.Printf("%s", strings.TrimSuffix(string(text), "\n"))
}
