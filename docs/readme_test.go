package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// region gives the lines of a program between "//readme:begin NAME" and "//readme:end".
func region(t *testing.T, path, name string) string {
	t.Helper()
	_, text, found := strings.Cut(read(t, path), "//readme:begin "+name+"\n")
	if !found {
		t.Fatalf("%s has no region %s", path, name)
	}
	text, _, found = strings.Cut(text, "//readme:end\n")
	if !found {
		t.Fatalf("region %s of %s has no end", name, path)
	}
	return strings.Trim(text, "\n") + "\n"
}

// What the README shows is what the tested examples do.
func TestTheReadmeShowsTheExamplesAsTheyAre(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	marked := regexp.MustCompile("(?s)<!-- (\\S+) (\\S+) -->\n```go\n(.*?)```\n")
	snippets := marked.FindAllStringSubmatch(readme, -1)
	for _, snippet := range snippets {
		path, name, shown := snippet[1], snippet[2], snippet[3]
		if want := region(t, path, name); shown != want {
			t.Errorf("the README shows region %s of %s as\n%s\nbut it is\n%s", name, path, shown, want)
		}
	}
	if all := len(codeBlocks(readme, "go")); len(snippets) != 3 || all != len(snippets) {
		t.Errorf("%d of %d Go snippets name their source, want 3 of 3", len(snippets), all)
	}
}

// step is one command of a console block, and what it must print.
type step struct {
	command string
	output  []string
}

func consoleSteps(block string) []step {
	var steps []step
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: command})
		} else if len(steps) > 0 {
			last := &steps[len(steps)-1]
			last.output = append(last.output, line)
		}
	}
	return steps
}

// matchOutput compares lines; a line "…" stands for any number of lines.
func matchOutput(want, got []string) bool {
	for i, line := range want {
		if line != "…" {
			if len(got) == 0 || got[0] != line {
				return false
			}
			got = got[1:]
			continue
		}
		for skip := 0; skip <= len(got); skip++ {
			if matchOutput(want[i+1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(got) == 0
}

// The commands of the README's walk work as printed, and print what it says: only `make build` and `go run` are replaced by
// programs that were built for the test.
func TestTheReadmesCommandsWorkAsPrinted(t *testing.T) {
	t.Parallel()
	blocks := codeBlocks(read(t, "README.md"), "console")
	if len(blocks) != 1 {
		t.Fatalf("%d console blocks, want 1", len(blocks))
	}
	steps := consoleSteps(blocks[0])
	if len(steps) < 8 || steps[0].command != "make build" {
		t.Fatalf("the walk has %d steps and begins with %q", len(steps), steps[0].command)
	}
	clone := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(clone, "bin")+"/",
		"./cmd/fieldcrypt", "./examples/embedded/producer", "./examples/embedded/consumer", "./examples/embedded/find")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	examples, err := filepath.Abs(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(clone, "examples")); err != nil {
		t.Fatal(err)
	}
	dir := clone
	for _, step := range steps[1:] {
		if to, ok := strings.CutPrefix(step.command, "cd "); ok {
			dir = filepath.Join(dir, to)
			continue
		}
		command := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(step.command, "go run ../examples/embedded/", "../bin/"))
		command.Dir = dir
		for _, variable := range os.Environ() {
			if !strings.HasPrefix(variable, "FIELDCRYPT_") {
				command.Env = append(command.Env, variable)
			}
		}
		var stderr strings.Builder
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("$ %s\n%s%s%v", step.command, out, stderr.String(), err)
		}
		var got []string
		for line := range strings.Lines(string(out)) {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
		if !matchOutput(step.output, got) {
			t.Errorf("$ %s\nprinted\n%s\nthe README says\n%s", step.command, out, strings.Join(step.output, "\n"))
		}
	}
}

// commandNames finds the commands that a table's first column names.
func commandNames(table string) map[string]bool {
	names := map[string]bool{}
	code := regexp.MustCompile("`(?:fieldcrypt )?([a-z-]+(?: [a-z]+)?)`")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, match := range code.FindAllStringSubmatch(cells[1], -1) {
			names[match[1]] = true
		}
	}
	return names
}

func TestTheReadmeListsEveryCommand(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "README.md"), "## Commands\n")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := commandNames(table)
	documented := 0
	for heading := range strings.Lines(read(t, "docs/cli.md")) {
		command, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(heading), "#"), " fieldcrypt ")
		if !ok || command == "keys" || command == "index" || command == "completion bash" {
			continue
		}
		documented++
		if !listed[command] {
			t.Errorf("the README does not list the command %s", command)
		}
		delete(listed, command)
	}
	for command := range listed {
		t.Errorf("the README lists %s, which docs/cli.md does not have", command)
	}
	if documented < 10 {
		t.Errorf("docs/cli.md has only %d commands", documented)
	}
}
