package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs what is about files, settings and the terminal, with a keyring and an outbox in files.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "script", inFiles)
}

// TestScriptsOnEachBackend runs the same scripts with everything in files, and against a real Vault and a real Postgres.
func TestScriptsOnEachBackend(t *testing.T) {
	t.Parallel()
	t.Run("file-sqlite", func(t *testing.T) {
		t.Parallel()
		runScripts(t, "each", inFiles)
	})
	t.Run("vault-postgres", func(t *testing.T) {
		t.Parallel()
		runScripts(t, "each", onServers)
	})
}

// TestScriptsOnServers runs what only a Vault and a Postgres have.
func TestScriptsOnServers(t *testing.T) {
	t.Parallel()
	runScripts(t, "servers", onServers)
}

func runScripts(t *testing.T, dir string, on func(testing.TB) *backend) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			t := env.T().(testing.TB) // of the script itself
			b := on(t)
			for name, value := range b.env {
				env.Setenv(name, value)
			}
			for name, value := range b.names {
				env.Setenv(name, value)
			}
			env.Values[backendKey{}] = b
			log := filepath.Join(env.WorkDir, ".stderr")
			env.Setenv(stderrLog, log)
			env.Setenv("HOME", env.WorkDir)
			env.Vars = append(env.Vars, raceOption)
			env.Defer(func() { checkLog(t, filepath.Base(env.WorkDir), log, b.secrets) })
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "files", "servers":
				return (cond == "files") == (dir == "script" || strings.Contains(t.Name(), "file-sqlite")), nil
			}
			return false, errors.New("no such condition")
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"keyring": makeKeyring,
			"lose":    loseKeyring,
			"project": makeProject,
			"repeat":  repeat,
			"saved":   saved,
			"sql":     changeRows,
		},
	})
}

// backendKey is where a script's backend stands among its values.
type backendKey struct{}

// exits runs a command and asks for its exit code: exits CODE PROGRAM ARG…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if want == 1 || want == 2 {
		errorLines(ts)
	}
}

var errorLine = regexp.MustCompile(`(?m)^error: (.+)$`)

// errorLines checks the form of what a command that failed says: one error, in lower case, without a final period.
func errorLines(ts *testscript.TestScript) {
	found := errorLine.FindAllStringSubmatch(ts.ReadFile("stderr"), -1)
	if len(found) != 1 {
		ts.Fatalf("%d error lines, want 1", len(found))
	}
	text := found[0][1]
	if strings.HasSuffix(text, ".") || text[0] >= 'A' && text[0] <= 'Z' {
		ts.Fatalf("not in the form of an error: %s", text)
	}
}

// makeKeyring makes a further keyring: keyring URL [NAME]
func makeKeyring(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: keyring URL [NAME]")
	}
	name := "default"
	if len(args) > 1 {
		name = args[1]
	}
	if path, ok := strings.CutPrefix(args[0], "file:"); ok {
		ts.Check(createFileKeyring(ts.MkAbs(path), name, 0))
		return
	}
	ts.Check(ts.Exec("fieldcrypt", "keys", "create", "--name", name, "--keyring", name+"="+args[0]))
}

// makeProject makes settings, a schema, a keyring and its passphrase in the current directory: project [PROPAGATION]
func makeProject(ts *testscript.TestScript, neg bool, args []string) {
	b := ts.Value(backendKey{}).(*backend)
	ts.Check(b.writeProject(ts.MkAbs(".")))
	if b.inFiles() {
		propagation := time.Duration(0)
		if len(args) > 0 {
			var err error
			propagation, err = time.ParseDuration(args[0])
			ts.Check(err)
		}
		ts.Check(createFileKeyring(ts.MkAbs("keyring.json"), "default", propagation))
		return
	}
	create := []string{"keys", "create"}
	if len(args) > 0 {
		create = append(create, "--propagation", args[0])
	}
	ts.Check(ts.Exec("fieldcrypt", create...))
}

// loseKeyring takes the project's keyring away: lose
func loseKeyring(ts *testscript.TestScript, neg bool, args []string) {
	b := ts.Value(backendKey{}).(*backend)
	if b.inFiles() {
		ts.Check(os.Remove(ts.MkAbs("keyring.json")))
		return
	}
	b.lose()
}

// repeat writes a line that is too long for a script: repeat FILE PART…, where a PART of the form COUNT*TEXT stands for that many times TEXT.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: repeat FILE PART…")
	}
	times := regexp.MustCompile(`^([0-9]+)\*`)
	var b strings.Builder
	for _, part := range args[1:] {
		count := 1
		if found := times.FindStringSubmatch(part); found != nil {
			part = part[len(found[0]):]
			var err error
			count, err = strconv.Atoi(found[1])
			ts.Check(err)
		}
		b.WriteString(strings.Repeat(part, count))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()+"\n"), 0o600))
}

// saved keeps a part of the last standard output in a variable: saved VARIABLE REGEXP, with one group.
func saved(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: saved VARIABLE REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("no match of %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}
