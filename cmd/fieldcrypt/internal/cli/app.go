// Package cli is what all commands stand on: the [App] holds the world outside the program, a [Session] what one running command works with.
//
// A command is a package with a function New(*cli.App) *cobra.Command: a flags struct, its bind, its run, thin over the libraries.
package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/terminal"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// App is the world outside the program, and the flags that every command has.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	// Dir is the working directory.
	Dir string
	Now func() time.Time

	Flags settings.Flags

	session *Session
}

// Session is what one running command works with.
type Session struct {
	*App
	Settings *settings.Settings
	Terminal *terminal.Terminal
	Log      *slog.Logger
	// Vaults are the keyrings in Vault that the command has named so far, by URL: each logs in once in a run.
	Vaults map[string]*vaultkeyring.Vault
	// Memory is what the outboxes that the command has opened remember of keyrings; nil where it has opened none.
	Memory keyring.Memory
	// Recorder writes into the audit trail; nil until the command has looked for it, and with --no-audit.
	Recorder *audittrail.Recorder
	// Unaudited says that the command was told of --no-audit.
	Unaudited bool

	atEnd []func() error
}

// AtEnd closes something when the command has run.
func (s *Session) AtEnd(close func() error) { s.atEnd = append(s.atEnd, close) }

func (s *Session) end() {
	for _, close := range s.atEnd {
		_ = close() // everything that counts has been written by then
	}
}

// Command describes a command beyond what cobra knows of it.
type Command struct {
	// Run does the work.
	Run func(ctx context.Context, s *Session, args []string) error
	// Outputs are the forms of output that it has beside text and json.
	Outputs []string
	// NoFile says that it does not read the settings file, and so works beside a broken one.
	NoFile bool
}

// RunE makes a cobra command's RunE: it resolves the settings, then runs.
func (a *App) RunE(c Command) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		resolved, err := a.Resolve(cmd, c.NoFile)
		if err != nil {
			return ran{err}
		}
		s := a.begin(resolved)
		if resolved.File != "" {
			s.Log.Debug("read settings", "file", resolved.File)
		}
		outputs := append([]string{settings.Text, settings.JSON}, c.Outputs...)
		if err := resolved.CheckOutput(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), outputs...); err != nil {
			return ran{err}
		}
		defer s.end()
		err = c.Run(cmd.Context(), s, args)
		if flushed := s.Terminal.Flush(); err == nil {
			err = flushed
		}
		if err != nil {
			return ran{err}
		}
		return nil
	}
}

// Resolve reads the settings of a command whose flags are parsed; with noFile without the settings file.
func (a *App) Resolve(cmd *cobra.Command, noFile bool) (*settings.Settings, error) {
	return settings.Source{Flags: &a.Flags, Set: cmd.Flags(), LookupEnv: a.LookupEnv, Dir: a.Dir, NoFile: noFile}.Resolve()
}

func (a *App) begin(resolved *settings.Settings) *Session {
	t := terminal.New(terminal.Options{Stdout: a.Stdout, Stderr: a.Stderr, Quiet: resolved.Quiet, NoProgress: resolved.NoProgress, Now: a.Now})
	a.session = &Session{
		App:      a,
		Settings: resolved,
		Terminal: t,
		Log:      slog.New(slog.NewTextHandler(t.LogWriter(), &slog.HandlerOptions{Level: resolved.LogLevel})),
		Vaults:   map[string]*vaultkeyring.Vault{},
	}
	return a.session
}

// JSON reports whether machine output is asked for.
func (s *Session) JSON() bool { return s.Settings.Output == settings.JSON }

// ran marks the errors of commands that ran; every other error that cobra returns is wrong usage.
type ran struct{ error }

// End says how the program ended and gives its exit code.
func (a *App) End(err error) failure.Code {
	if err == nil {
		return failure.Done
	}
	if of, ok := err.(ran); ok {
		err = of.error
	} else {
		var explained *failure.Error
		if !errors.As(err, &explained) {
			err = failure.New(failure.Usage, "see `fieldcrypt --help`", "%s", firstLower(err.Error()))
		}
	}
	e := failure.Explain(err)
	if e.Message != "" {
		t := terminal.New(terminal.Options{Stdout: io.Discard, Stderr: a.Stderr})
		if a.session != nil {
			t = a.session.Terminal
		}
		t.Error(e.Message, e.Hint)
	}
	return e.Code
}

func firstLower(text string) string {
	if text == "" {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error { return checkArgs(cmd, args, 0, 0) }

// ExactArgs asks for n arguments.
func ExactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return checkArgs(cmd, args, n, n) }
}

// MaxArgs allows up to n arguments.
func MaxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return checkArgs(cmd, args, 0, n) }
}

func checkArgs(cmd *cobra.Command, args []string, least, most int) error {
	hint := "usage: " + cmd.UseLine()
	switch {
	case len(args) < least:
		return failure.New(failure.Usage, hint, "an argument is missing")
	case len(args) > most:
		return failure.New(failure.Usage, hint, "too many arguments")
	}
	return nil
}

// Group makes a command that is only a name for the commands below it.
func Group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			cmd.SetOut(cmd.ErrOrStderr())
			_ = cmd.Help()
			return failure.Silent(failure.Usage)
		}
		hint := "see `" + cmd.CommandPath() + " --help`"
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			slices.Sort(near)
			hint = "did you mean `" + cmd.CommandPath() + " " + near[0] + "`?"
		}
		return failure.New(failure.Usage, hint, "%q is no command of %s", args[0], cmd.CommandPath())
	}
	return cmd
}
