package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/root"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
)

// canaries are the flagged values of all scripts. No window of six bytes of one may stand on any standard error, whatever happens.
var canaries = []string{
	"Wqxzil Vbkjqp", "Örsüçğ Çğıöş", "zvqwx@jkqpz.test", "8675309867", "4815162342", "Qwzxkgasse 77", "Xyzzyqvik", "777000888999",
}

const canaryWindow = 6

// stderrLog names a file that gets a copy of standard error of every run of a script.
const stderrLog = "FIELDCRYPT_TEST_STDERR"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fieldcrypt": func() {
		// The whole program runs; only its standard error is copied.
		os.Exit(run(os.Args[1:]))
	}})
}

func run(args []string) int {
	path := os.Getenv(stderrLog)
	if path == "" {
		return root.Main(args)
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	defer log.Close()
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	stderr := os.Stderr
	os.Stderr = write
	copied := make(chan error)
	go func() {
		_, err := io.Copy(io.MultiWriter(stderr, log), read)
		copied <- err
	}()
	code := root.Main(args)
	write.Close()
	if err := <-copied; err != nil {
		panic(err)
	}
	return code
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			log := filepath.Join(env.WorkDir, ".stderr")
			env.Setenv(stderrLog, log)
			env.Setenv("HOME", env.WorkDir)
			env.Defer(func() { checkCanaries(t, env.WorkDir, log) })
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"keyring": makeKeyring,
			"project": makeProject,
			"repeat":  repeat,
			"saved":   saved,
			"sql":     sqlite,
		},
	})
}

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

// makeKeyring makes a file keyring whose passphrase costs next to nothing to try: keyring FILE PASSPHRASE [NAME [PROPAGATION]]
func makeKeyring(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: keyring FILE PASSPHRASE [NAME [PROPAGATION]]")
	}
	name, propagation := "default", time.Duration(0)
	if len(args) > 2 {
		name = args[2]
	}
	if len(args) > 3 {
		var err error
		propagation, err = time.ParseDuration(args[3])
		ts.Check(err)
	}
	ts.Check(createKeyring(ts.MkAbs(args[0]), args[1], name, propagation))
}

func createKeyring(path, passphrase, name string, propagation time.Duration) error {
	file, err := filekeyring.New(path, filekeyring.Options{
		Argon2id:   filekeyring.Argon2id{Time: 1, MemoryKiB: 8, Threads: 1},
		Passphrase: filekeyring.Passphrase([]byte(passphrase)),
	})
	if err != nil {
		return err
	}
	manager, err := keyring.NewManager(name, file, file, keyring.ManagerOptions{Actor: "test"})
	if err != nil {
		return err
	}
	_, err = manager.Create(context.Background(), keyring.CreateOptions{Propagation: propagation})
	return err
}

// personSchema is what most scripts work with.
const personSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["number", "customer"],
  "properties": {
    "number": {"type": "integer"},
    "note": {"type": "string"},
    "customer": {
      "type": "object",
      "required": ["name"],
      "properties": {
        "name": {"type": "string", "maxLength": 40, "x-gdpr-sensitive": true},
        "email": {"type": ["string", "null"], "format": "email", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["trim", "casefold"]}},
        "tax_id": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": {"normalize": ["digits"], "bits": 8}},
        "points": {"type": "integer", "x-gdpr-sensitive": true, "x-blind-index": true},
        "address": {"type": "object", "x-gdpr-sensitive": true, "properties": {"street": {"type": "string"}}}
      }
    }
  }
}
`

const projectSettings = `schemas: schemas
keyring: file:keyring.json
passphrase_file: passphrase
outbox: sqlite:outbox.db
`

// makeProject makes settings, a schema, a keyring and its passphrase in the current directory: project [PROPAGATION]
func makeProject(ts *testscript.TestScript, neg bool, args []string) {
	propagation := time.Duration(0)
	if len(args) > 0 {
		var err error
		propagation, err = time.ParseDuration(args[0])
		ts.Check(err)
	}
	ts.Check(createProject(ts.MkAbs("."), propagation))
}

func createProject(dir string, propagation time.Duration) error {
	if err := os.MkdirAll(filepath.Join(dir, "schemas"), 0o755); err != nil {
		return err
	}
	const passphrase = "correct horse battery staple"
	for name, text := range map[string]string{
		"fieldcrypt.yaml":                projectSettings,
		"schemas/invoice.issued.v1.json": personSchema,
		"passphrase":                     passphrase + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return createKeyring(filepath.Join(dir, "keyring.json"), passphrase, "default", propagation)
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

func checkCanaries(t *testing.T, dir, log string) {
	text, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Error(err)
	}
	for _, canary := range canaries {
		for at := 0; at+canaryWindow <= len(canary); at++ {
			if window := canary[at : at+canaryWindow]; strings.Contains(string(text), window) {
				t.Errorf("%s: standard error holds %q, a part of a flagged value", filepath.Base(dir), window)
			}
		}
	}
}

// testApp is a program in this process.
func testApp(dir string, stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	return &cli.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, LookupEnv: func(string) (string, bool) { return "", false }, Dir: dir, Now: time.Now}
}
