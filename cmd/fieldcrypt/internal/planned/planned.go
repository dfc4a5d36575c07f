// Package planned is the one place that knows which commands of the command line's design this version does not have yet. A call of one gives a clear
// error instead of "unknown command"; help, completion and documentation do not show them.
//
// Whoever builds one deletes its line here.
package planned

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

var commands = []string{
	"breaking", "relay", "prune", "replay", "stats", "subject",
}

// Install makes calls of planned commands below root fail with a clear error.
func Install(root *cobra.Command) {
	for _, path := range commands {
		parent, name := root, path
		if group, below, ok := strings.Cut(path, " "); ok {
			parent, _, _ = root.Find([]string{group})
			name = below
		}
		parent.AddCommand(&cobra.Command{
			Use:                name,
			Hidden:             true,
			DisableFlagParsing: true, // its flags are unknown too, and must not be what the error is about
			RunE: func(*cobra.Command, []string) error {
				return failure.New(failure.Usage, "see `fieldcrypt --help` for the commands of this version", "the command `%s` is planned and not in this version", path)
			},
		})
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return failure.New(failure.Usage, "see `"+cmd.CommandPath()+" --help`", "%w", err)
	})
}
