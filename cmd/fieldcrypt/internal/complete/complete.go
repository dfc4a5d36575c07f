// Package complete offers words to the shell: event types and index names from the schemas, key ids from the clear parts of the keyrings. It asks for no
// passphrase and says nothing when something does not load: a shell's line is no place for errors.
package complete

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/connect"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
)

// Func is what cobra calls for words.
type Func = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// Flag completes the value of a flag that the command has.
func Flag(cmd *cobra.Command, flag string, f Func) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // only a flag that is not there, or that has words already: a mistake in the program
	}
}

// words makes a Func from what the settings name.
func words(app *cli.App, find func(*cobra.Command, *settings.Settings) ([]string, error)) Func {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		s, err := app.Resolve(cmd, false)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, err := find(cmd, s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// Types offers event types, and with each version after @.
func Types(app *cli.App) Func {
	return words(app, func(_ *cobra.Command, s *settings.Settings) ([]string, error) {
		reg, err := connect.LoadSchemas(s)
		if err != nil {
			return nil, err
		}
		var found []string
		for i, event := range reg.Events() {
			if i == 0 || reg.Events()[i-1].Type() != event.Type() {
				found = append(found, event.Type())
			}
			found = append(found, event.Type()+"@"+strconv.Itoa(event.Version()))
		}
		return found, nil
	})
}

// Indexes offers the names of blind indexes.
func Indexes(app *cli.App) Func {
	return words(app, func(_ *cobra.Command, s *settings.Settings) ([]string, error) {
		reg, err := connect.LoadSchemas(s)
		if err != nil {
			return nil, err
		}
		var found []string
		for _, index := range reg.Indexes() {
			found = append(found, index.Name)
		}
		return found, nil
	})
}

// KeyIDs offers the ids of a keyring's keys, each with its purpose and state.
func KeyIDs(app *cli.App, name *string) Func {
	return words(app, func(cmd *cobra.Command, s *settings.Settings) ([]string, error) {
		url, _ := s.KeyringURL(*name)
		keys, err := connect.KeyIDs(cmd.Context(), settings.Keyring{Name: *name, URL: url})
		if err != nil {
			return nil, err
		}
		var found []string
		for _, k := range keys {
			found = append(found, cobra.CompletionWithDesc(k.ID.String(), string(k.Purpose)+", "+string(k.State)))
		}
		return found, nil
	})
}
