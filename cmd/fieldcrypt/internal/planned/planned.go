// Package planned is the one place that knows which commands and flags of the command line's design this version does not have yet. A call of one gives a clear
// error instead of "unknown command"; help, completion and documentation do not show them.
//
// Whoever builds one deletes its line here.
package planned

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

var commands = []string{
	"wire-schema", "breaking", "audit", "relay", "prune", "replay", "stats", "subject",
}

// Flags, and what to do without them.
var flags = map[string]string{
	"validate --wire": "`fieldcrypt verify --keyless FILE` checks sealed lines",
}

// Install makes calls of planned commands and flags below root fail with a clear error.
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
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			flag := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ") + " --" + unknown.GetSpecifiedName()
			if hint, ok := flags[flag]; ok {
				return failure.New(failure.Usage, hint, "the flag `%s` is planned and not in this version", flag)
			}
		}
		return failure.New(failure.Usage, "see `"+cmd.CommandPath()+" --help`", "%w", err)
	})
}
