package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/root"
)

// unaudited are the commands that leave no trace, each with the reason. Whatever else there is must be among the steps of audited.
var unaudited = map[string]string{
	"audit":       "is planned",
	"audit trail": "reads what was done",
	"completion":  "has nothing to do with data",
	"help":        "shows help",
	"index leaks": "shows frequencies, and no value", "index plan": "counts in plaintext that its caller has",
	"init":      "makes a demonstration, before there is anything to write into",
	"keys list": "shows ids and states",
	"lint":      "reads schemas", "plan": "reads schemas", "wire-schema": "reads schemas",
	"migrate":  "changes tables",
	"seal":     "seals plaintext that its caller has",
	"validate": "looks at plaintext that its caller has",
	"verify":   "opens in memory and shows nothing",
	"version":  "",
	"write":    "seals plaintext that its caller has",
}

// audited goes through the commands that must be audited, with a trail in one of its places.
type audited struct {
	*project
	env map[string]string
	// place is where the trail is: table, file, beside (the keyring, without an outbox), none (with --no-audit).
	place    string
	identity *age.X25519Identity
	// former is the seal key that was the first primary one.
	former string
}

// step is a call that must be audited.
type step struct {
	command string
	args    func(a *audited) []string
	stdin   string
	// operations are those that it writes into the trail, without keys. before its name.
	operations []string
	// keyring is that whose file the trail is beside. Defaults to default.
	keyring string
	// outbox says that it needs one.
	outbox bool
	// before prepares it.
	before func(a *audited)
}

func fixed(args ...string) func(*audited) []string {
	return func(*audited) []string { return args }
}

func (a *audited) path(name string) string { return filepath.Join(a.dir, name) }

// assume lets a key go where no store is listed.
func (a *audited) assume(args ...string) []string {
	if a.place == "beside" {
		args = append(args, "--assume-unused")
	}
	return args
}

const (
	auditedTaxID = "4815162342"
	auditedName  = "Örsüçğ Çğıöş"
)

func auditedSteps() []step {
	of := func(more ...string) func(*audited) []string {
		return func(a *audited) []string { return append([]string{a.former}, more...) }
	}
	return []step{
		{command: "keys create", args: fixed("--name", "second", "--propagation", "0s"), operations: []string{"keys.create"}, keyring: "second"},
		{command: "keys stores", args: func(a *audited) []string { return []string{"--add", a.env["FIELDCRYPT_OUTBOX"]} }, operations: []string{"keys.stores"}, outbox: true},
		{command: "keys add", args: fixed("--purpose", "seal"), operations: []string{"keys.add"}},
		{command: "keys promote", args: func(a *audited) []string { return []string{a.keyIn("staged"), "--now"} }, operations: []string{"keys.promote"}},
		{command: "keys hold", args: of("--until", "7d", "--reason", "the topic keeps it"), operations: []string{"keys.hold"}},
		{command: "keys hold", args: of("--end"), operations: []string{"keys.hold"}},
		{command: "keys disable", args: func(a *audited) []string { return a.assume(a.former) }, operations: []string{"keys.disable"}},
		{command: "keys enable", args: of(), operations: []string{"keys.enable"}},
		{command: "keys backup", args: func(a *audited) []string {
			return []string{"--recipient", a.identity.Recipient().String(), "--to", a.path("keyring.age")}
		}, operations: []string{"keys.backup"}},
		{command: "keys disable", args: func(a *audited) []string { return a.assume(a.former) }, operations: []string{"keys.disable"}},
		{command: "keys destroy", args: func(a *audited) []string { return a.assume(a.former, "--yes", "--now") }, operations: []string{"keys.destroy"}},
		{command: "keys destroy", args: of("--everywhere", "--yes"), operations: []string{"keys.destroy"}},
		{command: "keys rewrap", args: fixed(), operations: []string{"keys.rewrap"}},
		{command: "keys restore", args: func(a *audited) []string {
			return []string{"--identity-file", a.path("identity.txt"), "--above-revision", "100", "--yes", a.path("keyring.age")}
		}, operations: []string{"keys.restore"}, before: (*audited).lose},
		{command: "rotate", args: fixed("--stage"), operations: []string{"rotate.stage"}},
		{command: "rotate", args: fixed("--promote", "--now"), operations: []string{"rotate.promote"}},
		{command: "rotate", args: fixed("--now", "--purpose", "index", "--re-encrypt"), operations: []string{"rotate.stage", "rotate.promote", "re-encrypt"}, outbox: true, before: (*audited).write},
		{command: "rotate", args: fixed("--retire-only", "--retire-after", "0", "--purpose", "index"), operations: []string{"rotate.retire"}, outbox: true},
		{command: "open", args: func(a *audited) []string { return []string{a.path("sealed.ndjson")} }, operations: []string{"open"}, before: (*audited).seal},
		{command: "find", args: fixed("--index", "tax_id", "--open", "-"), stdin: auditedTaxID + "\n", operations: []string{"find"}, outbox: true},
		{command: "keys move", args: func(a *audited) []string { return []string{"--name", "second", "--to", a.env["MOVED"]} }, operations: []string{"keys.move"}, keyring: "second"},
	}
}

// newAudited makes a project on a backend, with its trail in one of the places.
func newAudited(t *testing.T, on func(testing.TB) *backend, place string) *audited {
	t.Helper()
	a := &audited{place: place}
	if b := on(t); b.inFiles() {
		a.project = newProject(t, -1)
	} else {
		a.project = newProjectOn(t, b, 0)
	}
	a.env = map[string]string{"FIELDCRYPT_OUTBOX": a.absolute("OUTBOX"), "FIELDCRYPT_KEYRING": "default=" + a.absolute("KEYRING") + " second=" + a.absolute("ANOTHER"), "MOVED": a.absolute("NOKEYRING"),
		"FIELDCRYPT_SCHEMAS": a.path("schemas"), "FIELDCRYPT_PASSPHRASE_FILE": a.path("passphrase")}
	a.auditInTable()
	switch place {
	case "file":
		a.env["FIELDCRYPT_AUDIT_LOG"] = a.path("trail.ndjson")
	case "beside":
		a.env["FIELDCRYPT_OUTBOX"] = ""
		text, err := os.ReadFile(a.path("fieldcrypt.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(a.path("fieldcrypt.yaml"), bytes.ReplaceAll(text, []byte("outbox: "), []byte("# ")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	a.identity = identity
	if err := os.WriteFile(a.path("identity.txt"), []byte(identity.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if place != "beside" {
		a.must("migrate")
	}
	a.former = a.keyIn("primary")
	return a
}

// absolute is a URL of the backend, whatever the working directory.
func (a *audited) absolute(name string) string {
	for _, scheme := range []string{"file:", "sqlite:"} {
		if rest, ok := strings.CutPrefix(a.on.names[name], scheme); ok {
			return scheme + a.path(rest)
		}
	}
	return a.on.names[name]
}

// run runs a command with the settings of the place, and more.
func (a *audited) run(stdin string, args ...string) result {
	a.t.Helper()
	if !a.on.inFiles() {
		return a.with(a.env).callWith(stdin, args...)
	}
	var stdout, stderr bytes.Buffer
	app := &cli.App{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Dir: a.dir, Now: time.Now, LookupEnv: func(name string) (string, bool) {
		value, ok := a.env[name]
		return value, ok
	}}
	code := root.Run(a.t.Context(), app, args)
	r := result{code, stdout.String(), stderr.String()}
	a.clean(r)
	return r
}

func (a *audited) must(args ...string) result {
	a.t.Helper()
	r := a.run("", args...)
	if r.code != failure.Done {
		a.t.Fatalf("%v: %+v", args, r)
	}
	return r
}

// keyIn is the first seal key in a state.
func (a *audited) keyIn(state string) string {
	a.t.Helper()
	for line := range strings.Lines(a.must("keys", "list", "--output", "json").stdout) {
		if strings.Contains(line, `"purpose":"seal"`) && strings.Contains(line, `"state":"`+state+`"`) {
			_, rest, _ := strings.Cut(line, `"id":"`)
			return rest[:8]
		}
	}
	a.t.Fatalf("no seal key is %s", state)
	return ""
}

func (a *audited) lose() {
	if !a.on.inFiles() {
		a.on.lose()
	} else if err := os.Remove(a.path("keyring.json")); err != nil {
		a.t.Fatal(err)
	}
}

const auditedEvent = `{"id":"0193aaaa-0000-7000-8000-000000000001","type":"invoice.issued","aggregate_id":"1","payload":{"number":1,"customer":{"name":"` + auditedName + `","tax_id":"` + auditedTaxID + `"}}}` + "\n"

func (a *audited) write() {
	if r := a.run(auditedEvent, "write", "-"); r.code != failure.Done {
		a.t.Fatalf("write: %+v", r)
	}
}

func (a *audited) seal() {
	r := a.run(auditedEvent, "seal", "-")
	if r.code != failure.Done {
		a.t.Fatalf("seal: %+v", r)
	}
	if err := os.WriteFile(a.path("sealed.ndjson"), []byte(r.stdout), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// entries reads the trail; nothing where there is none.
func (a *audited) entries(keyring string) (entries []audittrail.Entry) {
	a.t.Helper()
	said := a.must("audit", "trail", "--name", keyring, "--output", "json").stdout
	for _, leak := range leaks(said, a.on.secrets) {
		a.t.Errorf("the trail holds %q", leak)
	}
	for line := range strings.Lines(said) {
		e, err := audittrail.Parse([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			a.t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// do goes through one step: without a trail that can be written it does nothing, and with one it writes what it does.
func (a *audited) do(s step) {
	a.t.Helper()
	if s.keyring == "" {
		s.keyring = "default"
	}
	args := slices.Concat(strings.Fields(s.command), s.args(a))
	before := a.entries(s.keyring)

	refused := a.run(s.stdin, append(slices.Clone(args), "--audit-log", a.path("no/such/directory/trail"))...)
	if refused.code != failure.Broken || !strings.Contains(refused.stderr, " was not begun, since the audit trail in ") || strings.Contains(refused.stdout, auditedTaxID) {
		a.t.Fatalf("%v, with a trail that cannot be written: %+v", args, refused)
	}

	if a.place == "none" {
		args = append(args, "--no-audit")
	}
	r := a.run(s.stdin, args...)
	if r.code != failure.Done {
		a.t.Fatalf("%v: %+v", args, r)
	}
	var want, got []string
	if a.place == "none" {
		if !strings.Contains(r.stderr, "warning: --no-audit: ") {
			a.t.Errorf("%v does not warn: %s", args, r.stderr)
		}
	} else {
		for _, operation := range s.operations {
			want = append(want, operation+" begun", operation+" ok")
		}
	}
	after := a.entries(s.keyring)
	for _, e := range after[len(before):] {
		got = append(got, e.Operation+" "+string(e.Result))
		if e.Actor == "" || e.Of != 0 && e.Of != e.Seq-1 {
			a.t.Errorf("%v: %s", args, e.Text())
		}
	}
	if !slices.Equal(got, want) {
		a.t.Errorf("%v writes %q, want %q", args, got, want)
	}
}

func TestEveryCommandThatMustBeAuditedIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on     func(testing.TB) *backend
		places []string
	}{
		"file-sqlite":    {inFiles, []string{"table", "file", "beside", "none"}},
		"vault-postgres": {onServers, []string{"table", "none"}},
	} {
		for _, place := range c.places {
			t.Run(name+"/"+place, func(t *testing.T) {
				t.Parallel()
				a := newAudited(t, c.on, place)
				for _, s := range auditedSteps() {
					if s.outbox && place == "beside" {
						continue
					}
					if s.before != nil {
						s.before(a)
					}
					a.do(s)
					if t.Failed() {
						return
					}
				}
				if r := a.must("audit", "trail", "--check"); !strings.HasPrefix(r.stdout, "whole: ") || strings.Contains(r.stderr, "without an outcome") {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// A new command is either audited, which the steps show, or said to leave no trace.
func TestEveryCommandIsAuditedOrSaidNotToBe(t *testing.T) {
	t.Parallel()
	known := maps.Clone(unaudited)
	for _, s := range auditedSteps() {
		if _, ok := unaudited[s.command]; ok {
			t.Errorf("%s is audited, and said not to be", s.command)
		}
		known[s.command] = ""
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "fieldcrypt"), " ")
		group := cmd.HasSubCommands() && path != "audit"
		if _, ok := known[path]; !ok && !cmd.Hidden && !group && !cmd.IsAdditionalHelpTopicCommand() {
			t.Errorf("%s is neither among the steps of audited nor among unaudited", path)
		}
		delete(known, path)
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	tree := root.New(&cli.App{})
	tree.InitDefaultHelpCmd()
	walk(tree)
	for path := range known {
		t.Errorf("there is no command %s", path)
	}
}
