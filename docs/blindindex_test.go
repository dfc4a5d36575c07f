package docs_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
)

const blindIndex = "docs/blind-index.md"

// markedTables gives the rows of each table that follows a comment <!-- KIND … -->, and what stands in the comment.
func markedTables(t *testing.T, kind string) (marks []string, tables [][][]string) {
	t.Helper()
	marked := regexp.MustCompile(`(?m)^<!-- ` + kind + ` ?(.*?) ?-->\n((?:\|.*\n)+)`)
	for _, match := range marked.FindAllStringSubmatch(read(t, blindIndex), -1) {
		var rows [][]string
		for i, line := range strings.Split(strings.TrimSpace(match[2]), "\n") {
			if i < 2 {
				continue
			}
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
		marks, tables = append(marks, match[1]), append(tables, rows)
	}
	return marks, tables
}

func TestTheFiguresOfBlindIndexesAreThePlanners(t *testing.T) {
	t.Parallel()
	marks, tables := markedTables(t, "plan")
	if len(marks) != 4 {
		t.Fatalf("%d tables of figures, want 4", len(marks))
	}
	for i, mark := range marks {
		plan, err := blindindex.NewPlan(planInput(t, mark))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range tables[i] {
			bits, err := strconv.Atoi(row[0])
			if err != nil {
				t.Fatal(err)
			}
			c, ok := plan.Choice(bits)
			if !ok {
				t.Fatalf("%s: no choice of %d bits", mark, bits)
			}
			hides := map[bool]string{true: "yes", false: "no"}[c.Hides]
			want := fmt.Sprint([]string{row[0], figure(c.FalsePositives), figure(c.ValuesPerBucket), figure(c.Coincidences), hides})
			if got := fmt.Sprint(row); got != want {
				t.Errorf("%s: the table says %s, the planner %s", mark, got, want)
			}
		}
	}
}

// figure writes three digits, and whole numbers whole.
func figure(x float64) string {
	switch {
	case x < 1e-6:
		return "0"
	case x >= 1000:
		return strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

func planInput(t *testing.T, mark string) (in blindindex.PlanInput) {
	t.Helper()
	for _, word := range strings.Fields(mark) {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "rows":
			in.Rows, err = strconv.ParseInt(value, 10, 64)
		case "distinct":
			in.Distinct, err = strconv.ParseInt(value, 10, 64)
		case "top":
			in.TopShare, err = strconv.ParseFloat(value, 64)
		case "other":
			var other blindindex.OtherIndex
			_, err = fmt.Sscanf(value, "%d/%d", &other.Bits, &other.Distinct)
			in.Others = append(in.Others, other)
		default:
			t.Fatalf("%q is no part of a plan", word)
		}
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
	}
	return in
}

func TestTheNormalisersOfBlindIndexesDoWhatTheTableSays(t *testing.T) {
	t.Parallel()
	_, tables := markedTables(t, "normalise")
	if len(tables) != 1 || len(tables[0]) < 8 {
		t.Fatalf("%d tables", len(tables))
	}
	code := regexp.MustCompile("`([^`]*)`")
	list := func(cell string) (texts []string) {
		for _, match := range code.FindAllStringSubmatch(cell, -1) {
			texts = append(texts, match[1])
		}
		return texts
	}
	for _, row := range tables[0] {
		normalizer, err := blindindex.ParseNormalizer(list(row[0]))
		if err != nil {
			t.Fatal(err)
		}
		same := map[string]bool{}
		for _, text := range list(row[1]) {
			same[normalizer.Normalize(text)] = true
		}
		if len(same) != 1 {
			t.Errorf("%s: %s become %v", row[0], row[1], same)
		}
		others := map[string]bool{}
		for _, text := range list(row[2]) {
			others[normalizer.Normalize(text)] = true
		}
		if len(others) != 2 {
			t.Errorf("%s: %s become %v", row[0], row[2], others)
		}
	}
}

// The commands of sections 4 and 6 work as printed, in the order of the document, in the project that fieldcrypt init makes:
// each JSON block is put into its schema first.
func TestTheChangeOfAnIndexWorksAsPrinted(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "./cmd/fieldcrypt")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	run := func(command string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + bin + ":" + os.Getenv("PATH")}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("$ %s\n%s%s%v", command, out, &stderr, err)
		}
		return string(out)
	}
	run("fieldcrypt init .")
	run("fieldcrypt migrate")
	run("fieldcrypt write events.ndjson")
	schema := filepath.Join(dir, "schemas", "invoice.issued.v1.json")
	word := `"x-blind-index": {"normalize": ["trim", "nfkc", "casefold"]}`
	blocks := regexp.MustCompile("(?ms)^```(json|console)\n(.*?)^```$").FindAllStringSubmatch(read(t, blindIndex), -1)
	changes, commands := 0, 0
	for _, block := range blocks {
		if block[1] == "json" {
			changes++
			text, err := os.ReadFile(schema)
			if err != nil {
				t.Fatal(err)
			}
			next := strings.TrimSpace(block[2])
			if strings.Count(string(text), word) != 1 {
				t.Fatalf("the schema does not hold %s once", word)
			}
			if err := os.WriteFile(schema, []byte(strings.Replace(string(text), word, next, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			word = next
			continue
		}
		for _, step := range consoleSteps(block[2]) {
			commands++
			out := run(step.command)
			var got []string
			for line := range strings.Lines(out) {
				got = append(got, strings.TrimSuffix(line, "\n"))
			}
			if !matchOutput(step.output, got) {
				t.Errorf("$ %s\nprinted\n%s\n%s says\n%s", step.command, out, blindIndex, strings.Join(step.output, "\n"))
			}
		}
		if out := run(`printf 'Ayse.Yilmaz@EXAMPLE.com' | fieldcrypt find --index email -`); strings.Count(out, "\n") != 1 {
			t.Errorf("after\n%s\nthe row is found as\n%s", block[2], out)
		}
	}
	if changes != 3 || commands < 8 {
		t.Errorf("%d changes and %d commands", changes, commands)
	}
}

func TestBlindIndexesShowTheExampleAsItIs(t *testing.T) {
	t.Parallel()
	document := read(t, blindIndex)
	snippets := regexp.MustCompile("(?s)<!-- (\\S+) (\\S+) -->\n```go\n(.*?)```\n").FindAllStringSubmatch(document, -1)
	for _, snippet := range snippets {
		if want := region(t, snippet[1], snippet[2]); snippet[3] != want {
			t.Errorf("%s shows region %s of %s as\n%s\nbut it is\n%s", blindIndex, snippet[2], snippet[1], snippet[3], want)
		}
	}
	if len(snippets) != 3 || len(codeBlocks(document, "go")) != 3 {
		t.Errorf("%d snippets, want 3", len(snippets))
	}
}
