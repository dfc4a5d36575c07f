// Package reference writes the commands' help as one Markdown document.
package reference

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const head = `# The command line

<!-- Made by go run ./cmd/fieldcrypt/internal/docgen > docs/cli.md; a test fails when it is stale. Do not edit. -->

`

// Markdown writes the help of a program: the program, its topics, its commands.
func Markdown(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString(root.Long + "\n\n")
	commands(&b, root)
	for _, topic := range root.Commands() {
		if topic.IsAdditionalHelpTopicCommand() {
			b.WriteString("## " + topic.Short + "\n\n")
			prose(&b, topic.Long)
		}
	}
	b.WriteString("## Flags of every command\n\n")
	flags(&b, root.PersistentFlags())
	for _, cmd := range root.Commands() {
		command(&b, cmd)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// commands lists what stands below a command.
func commands(b *strings.Builder, parent *cobra.Command) {
	b.WriteString("| command | does |\n|---|---|\n")
	for _, cmd := range parent.Commands() {
		if documented(cmd) {
			b.WriteString("| [`" + cmd.CommandPath() + "`](#" + strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ") | " + cmd.Short + " |\n")
		}
	}
	b.WriteString("\n")
}

func documented(cmd *cobra.Command) bool {
	return !cmd.Hidden && !cmd.IsAdditionalHelpTopicCommand()
}

func command(b *strings.Builder, cmd *cobra.Command) {
	if !documented(cmd) {
		return
	}
	b.WriteString("## " + cmd.CommandPath() + "\n\n")
	if cmd.HasSubCommands() {
		prose(b, cmd.Long)
		commands(b, cmd)
	} else {
		fence(b, cmd.UseLine())
		prose(b, cmd.Long)
	}
	if cmd.Example != "" {
		b.WriteString("Examples:\n\n")
		fence(b, cmd.Example)
	}
	flags(b, cmd.NonInheritedFlags())
	for _, below := range cmd.Commands() {
		command(b, below)
	}
}

// prose writes help text, whose indented parts are code in Markdown too.
func prose(b *strings.Builder, text string) { b.WriteString(text + "\n\n") }

func fence(b *strings.Builder, text string) {
	b.WriteString("```\n")
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimPrefix(line, "  "))
	}
	b.WriteString("\n```\n\n")
}

func flags(b *strings.Builder, set *pflag.FlagSet) {
	var rows strings.Builder
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if value != "" {
			name += " " + value
		}
		if plain := f.DefValue; plain != "" && plain != "false" && plain != "[]" && plain != "0" && !strings.Contains(usage, "(default") {
			usage += " (default " + plain + ")"
		}
		rows.WriteString("| `" + cell(name) + "` | " + cell(usage) + " |\n")
	})
	if rows.Len() > 0 {
		b.WriteString("| flag | |\n|---|---|\n" + rows.String() + "\n")
	}
}

// cell keeps a text within its cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
