package fieldcrypt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fieldcrypt/fieldcrypt"

// listed is what `go list -json` says of one package. Deps are transitive and without tests; the imports are direct.
type listed struct {
	Dir          string
	ImportPath   string
	Name         string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

// layers, the lowest first: what stands in a line may use its own line and those before it. A package below internal/ has no layer of its own; what it
// imports counts for whoever imports it.
var layers = [][]string{
	{"schema", "keyring", "blindindex", "audittrail"},
	{"envelope"},
	{"outboxstore", "validate"},
	{"cmd", "docs", "examples", "testvectors"},
}

// apart holds further pairs that must not meet, within a line too: the first never depends on the second.
var apart = [][2]string{
	{"schema", "keyring"},
	{"schema", "blindindex"},
	{"schema", "internal"},
	{"keyring", "schema"},
	{"audittrail", "schema"},
	{"audittrail", "keyring"},
	{"audittrail", "blindindex"},
	{"keyring", "audittrail"},
	{"keyring", "blindindex"},
	{"blindindex", "schema"},
	{"validate", "outboxstore"},
	{"outboxstore", "validate"},
}

// onlyIn names the modules that one part of the tree may import directly, in tests too, and nothing else.
var onlyIn = map[string][]string{
	"github.com/santhosh-tekuri/jsonschema": {"schema"},
	"github.com/hashicorp/vault/api":        {"keyring/vaultkeyring", "internal/testenv"},
	"github.com/spf13/cobra":                {"cmd"},
	"github.com/jackc/pgx":                  {"outboxstore/postgres", "cmd", "internal/testenv", "examples"},
	"github.com/twmb/franz-go":              {"outboxstore/relay"},
	"github.com/segmentio/kafka-go":         {"outboxstore/relay"},
	"github.com/nats-io/nats.go":            {"outboxstore/relay"},
	"github.com/rabbitmq/amqp091-go":        {"outboxstore/relay"},
}

// heavy names what no library package may make its users compile, but for the parts that exist for it.
var heavy = map[string][]string{
	"github.com/spf13/cobra":          {"cmd"},
	"github.com/hashicorp/vault":      {"keyring/vaultkeyring", "cmd", "internal/testenv", "examples"},
	"github.com/jackc/pgx":            {"outboxstore/postgres", "cmd", "internal/testenv", "examples"},
	"modernc.org/sqlite":              {"outboxstore/sqlite", "cmd", "examples"},
	"modernc.org/libc":                {"outboxstore/sqlite", "cmd", "examples"},
	"github.com/rogpeppe/go-internal": {"cmd"},
	"pgregory.net/rapid":              {"outboxstore/storetest", "internal"},
}

func TestPackagesKeepTheLayersOfTheArchitecture(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	if !slices.ContainsFunc(packages, func(p listed) bool { return p.ImportPath == module+"/envelope" }) {
		t.Fatalf("go list ./... does not name the package envelope: nothing was checked")
	}
	for _, v := range violations(packages) {
		t.Error(v)
	}
}

func TestEnvelopeCompilesNoCobraVaultClientSQLiteOrPgx(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "./envelope").Output()
	if err != nil {
		t.Fatalf("go list -deps ./envelope: %v", withStderr(err))
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"/schema") {
		t.Fatalf("the dependencies of envelope do not hold schema: the list is not what it should be: %q", deps)
	}
	for _, dep := range deps {
		for _, unwanted := range []string{"cobra", "vault", "sqlite", "pgx"} {
			if strings.Contains(strings.TrimPrefix(dep, module), unwanted) {
				t.Errorf("go list -deps ./envelope holds %s", dep)
			}
		}
	}
}

// Each rule must be able to fail: one package that breaks it, and what is said then.
func TestEachArchitectureRuleIsBrokenByItsCounterexample(t *testing.T) {
	t.Parallel()
	ours := func(dir string, deps ...string) listed {
		return listed{ImportPath: module + "/" + dir, Name: filepath.Base(dir), Deps: deps, Imports: deps}
	}
	tests := map[string]struct {
		pkg  listed
		want string
	}{
		"a lower line uses a higher one":          {ours("envelope", module+"/outboxstore"), "envelope (layer 2) depends on outboxstore (layer 3)"},
		"a subpackage counts as its parent":       {ours("keyring/filekeyring", module+"/envelope/eventline"), "keyring/filekeyring (layer 1) depends on envelope/eventline (layer 2)"},
		"schema uses something of ours":           {ours("schema", module+"/keyring"), "schema must not depend on keyring"},
		"a shared package uses an implementation": {ours("keyring", module+"/keyring/filekeyring"), "keyring depends on keyring/filekeyring, which is below it"},
		"jsonschema outside schema":               {ours("validate", "github.com/santhosh-tekuri/jsonschema/v5"), "validate imports github.com/santhosh-tekuri/jsonschema/v5, which schema alone may"},
		"a heavy dependency in a library":         {ours("envelope", "modernc.org/sqlite/lib"), "envelope makes its users compile modernc.org/sqlite/lib"},
		"a package without a layer":               {ours("elsewhere"), "elsewhere has no layer"},
		"a package named util":                    {ours("internal/util"), "internal/util: a package is named after what it does"},
		"cgo":                                     {ours("envelope", "C"), "envelope uses cgo"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := violations([]listed{test.pkg})
			if !slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, test.want) }) {
				t.Errorf("got %q, want one that begins with %q", got, test.want)
			}
		})
	}
}

func TestTheMainModuleHoldsNoReplaceAndNoWorkspace(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatalf("go mod edit -json: %v", withStderr(err))
	}
	var mod struct {
		Module  struct{ Path string }
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	if mod.Module.Path != module {
		t.Errorf("the module is %q, want %q", mod.Module.Path, module)
	}
	for _, r := range mod.Replace {
		t.Errorf("go.mod replaces %s: go install %s/cmd/fieldcrypt@latest would refuse it", r.Old.Path, module)
	}
	if _, err := os.Stat("go.work"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("go.work: %v, want that it does not exist: it would hide what a user of the module gets", err)
	}
}

func TestNoPackageRunsCodeWhenItIsImported(t *testing.T) {
	t.Parallel()
	files := 0
	for _, p := range listPackages(t) {
		for _, name := range p.GoFiles {
			files++
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range initFunctions(f) {
				t.Errorf("%s: func init: state that an import makes cannot be chosen by the importer", set.Position(at))
			}
		}
	}
	if files == 0 {
		t.Error("go list named no file: nothing was checked")
	}
}

func TestAnInitFunctionIsSeen(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\ntype t int\nfunc (t) init() {}\nfunc init() {}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := initFunctions(f); len(got) != 1 {
		t.Errorf("got %d init functions, want 1", len(got))
	}
}

func initFunctions(f *ast.File) []token.Pos {
	var at []token.Pos
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			at = append(at, fn.Pos())
		}
	}
	return at
}

// violations names every broken rule, with the package that breaks it.
func violations(packages []listed) []string {
	var found []string
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, p := range packages {
		dir := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if dir == "" {
			continue // the root: tests of the whole tree, such as this one
		}
		layer := layerOf(dir)
		if layer == 0 && !within(dir, "internal") {
			say("%s has no layer: say in layers (architecture_test.go) which line of the architecture it belongs to", dir)
		}
		if slices.Contains([]string{"util", "utils", "common", "helpers", "misc"}, p.Name) {
			say("%s: a package is named after what it does", dir)
		}
		if slices.Contains(p.Imports, "C") {
			say("%s uses cgo: everything builds with CGO_ENABLED=0", dir)
		}
		for _, dep := range p.Deps {
			for lib, where := range heavy {
				if within(dep, lib) && !withinAny(dir, where) {
					say("%s makes its users compile %s (`go mod why %s` shows the way)", dir, dep, dep)
				}
			}
			depDir, ok := strings.CutPrefix(dep, module+"/")
			if !ok {
				continue
			}
			if depLayer := layerOf(depDir); layer > 0 && depLayer > layer {
				say("%s (layer %d) depends on %s (layer %d): a lower line never imports a higher one", dir, layer, depDir, depLayer)
			}
			if within(depDir, dir) && !within(depDir, dir+"/internal") {
				say("%s depends on %s, which is below it: what all share knows none of them", dir, depDir)
			}
			for _, pair := range apart {
				if within(dir, pair[0]) && within(depDir, pair[1]) {
					say("%s must not depend on %s", dir, depDir)
				}
			}
		}
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for lib, where := range onlyIn {
				if within(imp, lib) && !withinAny(dir, where) {
					say("%s imports %s, which %s alone may", dir, imp, strings.Join(where, ", "))
				}
			}
		}
	}
	return found
}

// layerOf counts from 1; 0 is no layer.
func layerOf(dir string) int {
	for i, line := range layers {
		if withinAny(dir, line) {
			return i + 1
		}
	}
	return 0
}

// within reports that path is tree or below it; a major version's suffix counts as below.
func within(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

func withinAny(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return within(path, tree) })
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,Name,GoFiles,Imports,TestImports,XTestImports,Deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list ./...: %v", withStderr(err))
	}
	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("the output of go list: %v", err)
		}
		packages = append(packages, p)
	}
}

func withStderr(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}
