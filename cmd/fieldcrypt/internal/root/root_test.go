package root

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/reference"
)

func TestTheReferenceIsWhatTheCommandsSay(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "..", "docs", "cli.md")
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != reference.Markdown(New(&cli.App{})) {
		t.Errorf("docs/cli.md is stale: run go run ./cmd/fieldcrypt/internal/docgen > docs/cli.md")
	}
}

func each(t *testing.T, check func(t *testing.T, cmd *cobra.Command)) {
	t.Helper()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		check(t, cmd)
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(New(&cli.App{}))
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" {
			t.Errorf("%s has no help", cmd.CommandPath())
		}
		if !cmd.IsAdditionalHelpTopicCommand() && !strings.HasPrefix(cmd.Example, "  ") {
			t.Errorf("%s has no examples", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Long) {
			if width := len([]rune(strings.TrimSuffix(line, "\n"))); width > 120 {
				t.Errorf("%s: a line of help is %d wide: %s", cmd.CommandPath(), width, line)
			}
		}
	})
}

var called = regexp.MustCompile(`fieldcrypt ([a-z-]+(?: [a-z-]+)?)(.*)`)

func TestExamplesNameCommandsAndFlagsThatExist(t *testing.T) {
	t.Parallel()
	tree := New(&cli.App{})
	each(t, func(t *testing.T, cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			for _, part := range strings.FieldsFunc(line, func(r rune) bool { return r == '|' || r == '&' }) {
				call := called.FindStringSubmatch(part)
				if call == nil {
					continue
				}
				found, _, err := tree.Find(strings.Fields(call[1]))
				if err != nil || found == tree {
					t.Errorf("%s: the example calls no command: %s", cmd.CommandPath(), part)
					continue
				}
				found.InitDefaultHelpFlag()
				for _, flag := range regexp.MustCompile(`--([a-z][a-z0-9-]*)`).FindAllStringSubmatch(part, -1) {
					if found.Flag(flag[1]) == nil && tree.PersistentFlags().Lookup(flag[1]) == nil {
						t.Errorf("%s: the example gives a flag that %s does not have: --%s", cmd.CommandPath(), found.CommandPath(), flag[1])
					}
				}
			}
		}
	})
}
