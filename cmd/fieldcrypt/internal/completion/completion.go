// Package completion is the command `fieldcrypt completion`.
package completion

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands, flags, event types, index names and key ids",
		Long: `Prints a script for your shell. With it the shell completes commands and flags, and asks
fieldcrypt for event types, index names and key ids, which come from the configured
schemas and keyrings; a passphrase is not needed for that.`,
		Example: `  source <(fieldcrypt completion bash)
  fieldcrypt completion zsh > "${fpath[1]}/_fieldcrypt"
  fieldcrypt completion fish > ~/.config/fish/completions/fieldcrypt.fish`,
		Args:      cli.ExactArgs(1),
		ValidArgs: shells,
	}
	run := func(_ context.Context, s *cli.Session, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			return root.GenBashCompletionV2(s.Terminal, true)
		case "zsh":
			return root.GenZshCompletion(s.Terminal)
		case "fish":
			return root.GenFishCompletion(s.Terminal, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(s.Terminal)
		}
		return failure.New(failure.Usage, "it is one of bash, zsh, fish, powershell", "%q is no shell that completion knows", args[0])
	}
	cmd.RunE = app.RunE(cli.Command{Run: run, NoFile: true})
	return cmd
}
