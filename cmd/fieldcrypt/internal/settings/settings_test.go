package settings

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
)

// resolve runs Resolve in dir with a command line and an environment.
func resolve(t *testing.T, dir string, env map[string]string, args ...string) (*Settings, error) {
	t.Helper()
	var flags Flags
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Bind(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return Source{Flags: &flags, Set: set, LookupEnv: lookup, Dir: dir}.Resolve()
}

// project makes a directory tree with a settings file at its root and returns a directory two levels below it.
func project(t *testing.T, yaml string) (below string) {
	t.Helper()
	root := t.TempDir()
	below = filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, FileName), []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	return below
}

const everything = `
schemas: [schemas, /abs/more]
keyring:
  default: file:keys/default.json
  health: vault://secret/health?transit=transit/health
outbox: sqlite:outbox.db?table=other
passphrase_file: pass
output: json
`

func TestFilePathsAreRelativeToTheFile(t *testing.T) {
	t.Parallel()
	s, err := resolve(t, project(t, everything), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"../../schemas", "/abs/more"}; !reflect.DeepEqual(s.Schemas, want) {
		t.Errorf("schemas %q, want %q", s.Schemas, want)
	}
	if want := []Keyring{{"default", "file:../../keys/default.json"}, {"health", "vault://secret/health?transit=transit/health"}}; !reflect.DeepEqual(s.Keyrings, want) {
		t.Errorf("keyrings %q, want %q", s.Keyrings, want)
	}
	if want := []string{"sqlite:../../outbox.db?table=other"}; !reflect.DeepEqual(s.Outboxes, want) {
		t.Errorf("outboxes %q, want %q", s.Outboxes, want)
	}
	if s.PassphraseFile != "../../pass" || s.Output != JSON || s.File != "../../fieldcrypt.yaml" {
		t.Errorf("passphrase file %q, output %q, file %q", s.PassphraseFile, s.Output, s.File)
	}
}

func TestEnvironmentWinsOverTheFileAndIsRelativeToTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		EnvSchemas: "one two", EnvKeyring: "file:k.json  health=file:h.json", EnvOutbox: "sqlite:x.db", EnvPassphraseFile: "p", EnvOutput: "text",
	}
	s, err := resolve(t, project(t, everything), env)
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		File: "../../fieldcrypt.yaml", Schemas: []string{"one", "two"}, Keyrings: []Keyring{{"default", "file:k.json"}, {"health", "file:h.json"}},
		Outboxes: []string{"sqlite:x.db"}, PassphraseFile: "p", Output: Text, LogLevel: s.LogLevel, outboxOrigin: FromEnv, outputOrigin: FromEnv,
	}
	if !reflect.DeepEqual(*s, want) {
		t.Errorf("got  %+v\nwant %+v", *s, want)
	}
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{EnvSchemas: "env", EnvKeyring: "file:env", EnvOutbox: "sqlite:env", EnvOutput: "json"}
	s, err := resolve(t, project(t, everything), env, "--schemas", "f 1", "--schemas", "f,2", "--keyring", "health=file:a=b", "--outbox", "sqlite:f", "--output", "text")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"f 1", "f,2"}; !reflect.DeepEqual(s.Schemas, want) {
		t.Errorf("schemas %q, want %q", s.Schemas, want)
	}
	if want := []Keyring{{"health", "file:a=b"}}; !reflect.DeepEqual(s.Keyrings, want) {
		t.Errorf("keyrings %q, want %q", s.Keyrings, want)
	}
	if s.Outboxes[0] != "sqlite:f" || s.Output != Text {
		t.Errorf("outbox %q, output %q", s.Outboxes, s.Output)
	}
}

func TestAnEmptyVariableIsNotSet(t *testing.T) {
	t.Parallel()
	s, err := resolve(t, project(t, everything), map[string]string{EnvSchemas: "", EnvOutput: ""})
	if err != nil || len(s.Schemas) != 2 || s.Output != JSON {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestDefaultsWhereNothingIsSet(t *testing.T) {
	t.Parallel()
	s, err := resolve(t, t.TempDir(), nil)
	if err != nil || s.Output != Text || len(s.Schemas)+len(s.Keyrings)+len(s.Outboxes) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := s.Outbox(); err == nil {
		t.Error("no outbox, and no error")
	}
}

func TestAURLWithAnEqualsSignIsNotTakenForAName(t *testing.T) {
	t.Parallel()
	k, err := parseKeyring("vault://secret/x?transit=transit/x")
	if err != nil || k.Name != DefaultKeyring || k.URL != "vault://secret/x?transit=transit/x" {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestBadSettingsAreRefusedWithTheirPlaceAndCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		yaml string
		env  map[string]string
		args []string
		code failure.Code
		want string
	}{
		"flag without scheme":      {args: []string{"--keyring", "keyring.json"}, code: failure.Usage, want: "--keyring: a URL must begin with its scheme"},
		"flag with a bad name":     {args: []string{"--keyring", "Health=file:x"}, code: failure.Usage, want: `"Health" is no name of a keyring`},
		"keyring twice":            {args: []string{"--keyring", "file:x", "--keyring", "default=file:y"}, code: failure.Usage, want: `keyring "default" is given twice`},
		"outbox twice":             {args: []string{"--outbox", "sqlite:x", "--outbox", "sqlite:x"}, code: failure.Usage, want: "the same outbox is given twice"},
		"output":                   {args: []string{"--output", "xml"}, code: failure.Usage, want: `"xml" is no form of output`},
		"log level":                {args: []string{"--log-level", "loud"}, code: failure.Usage, want: `"loud" is no log level`},
		"variable":                 {env: map[string]string{EnvOutput: "xml"}, code: failure.Broken, want: "the variable FIELDCRYPT_OUTPUT: "},
		"file, unknown setting":    {yaml: "schema: x\n", code: failure.Broken, want: "fieldcrypt.yaml:1:1: schema is no setting"},
		"file, twice":              {yaml: "schemas: x\noutput: json\nschemas: y\n", code: failure.Broken, want: "fieldcrypt.yaml:3:1: schemas is there twice"},
		"file, wrong type":         {yaml: "schemas:\n  a: b\n", code: failure.Broken, want: "fieldcrypt.yaml:2:3: schemas must be a string"},
		"file, number in list":     {yaml: "schemas: [1]\n", code: failure.Broken, want: "fieldcrypt.yaml:1:11: schemas must be a string"},
		"file, not YAML":           {yaml: "a: [\n", code: failure.Broken, want: "fieldcrypt.yaml is not YAML"},
		"file, two documents":      {yaml: "output: json\n---\noutput: json\n", code: failure.Broken, want: "more than one YAML document"},
		"file, a list":             {yaml: "- x\n", code: failure.Broken, want: "must be a map of settings"},
		"file, bad name":           {yaml: "keyring:\n  Health: file:x\n", code: failure.Broken, want: `fieldcrypt.yaml:2:3: keyring "Health" is no name of a keyring`},
		"file, bad URL":            {yaml: "outbox: outbox.db\n", code: failure.Broken, want: "fieldcrypt.yaml: outbox: a URL must begin with its scheme"},
		"file, lint":               {yaml: "lint:\n  ignore:\n    - rules: x\n", code: failure.Broken, want: `fieldcrypt.yaml:3:7: lint.ignore knows no "rules"`},
		"file, lint is not a map":  {yaml: "lint: x\n", code: failure.Broken, want: "lint must be a map"},
		"file, lint.other":         {yaml: "lint:\n  other: x\n", code: failure.Broken, want: "lint.other is no setting"},
		"file, ignore is no list":  {yaml: "lint:\n  ignore: x\n", code: failure.Broken, want: "lint.ignore must be a list"},
		"file, ignore holds texts": {yaml: "lint:\n  ignore: [x]\n", code: failure.Broken, want: "lint.ignore must hold maps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := resolve(t, project(t, c.yaml), c.env, c.args...)
			var explained *failure.Error
			if !errors.As(err, &explained) {
				t.Fatalf("got %v", err)
			}
			if explained.Code != c.code || !strings.Contains(explained.Message, c.want) || explained.Hint == "" && !strings.Contains(name, "YAML") && !strings.Contains(name, "documents") {
				t.Errorf("code %d, message %q, hint %q; want code %d and %q", explained.Code, explained.Message, explained.Hint, c.code, c.want)
			}
		})
	}
}

func TestNoErrorRepeatsAPassword(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	for _, yaml := range []string{
		"outbox:\n  x: postgres://u:" + secret + "@h/d\n",
		"outbox: //u:" + secret + "@h/d\n",
		"outbox: [[ 'postgres://u:" + secret + "@h/d' ]]\n",
		"keyring: [ 'vault://u:" + secret + "@h/d' ]\n",
		"outbox: 'postgres://u:" + secret + "@h/d\n",
	} {
		if _, err := resolve(t, project(t, yaml), nil); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", yaml, err)
		}
	}
	if _, err := resolve(t, t.TempDir(), nil, "--outbox", "//u:"+secret+"@h/d"); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("flag: %v", err)
	}
	if _, err := resolve(t, t.TempDir(), nil, "--keyring", "//u:"+secret+"@h/d"); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("flag: %v", err)
	}
}

func TestSeveralOutboxesAreRefusedWhereOneIsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		code failure.Code
	}{
		"flags":    {args: []string{"--outbox", "sqlite:a", "--outbox", "sqlite:b"}, code: failure.Usage},
		"variable": {env: map[string]string{EnvOutbox: "sqlite:a sqlite:b"}, code: failure.Broken},
	} {
		s, err := resolve(t, t.TempDir(), c.env, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Outbox()
		var explained *failure.Error
		if !errors.As(err, &explained) || explained.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheNearestFileCounts(t *testing.T) {
	t.Parallel()
	below := project(t, "schemas: far\n")
	if err := os.WriteFile(filepath.Join(below, "..", FileName), []byte("schemas: near\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := resolve(t, below, nil)
	if err != nil || s.Schemas[0] != "../near" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAnEmptyFileHoldsNothing(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{"", "# nothing\n", "---\n", "{}\n"} {
		if s, err := resolve(t, project(t, yaml), nil); err != nil || len(s.Schemas) != 0 {
			t.Errorf("%q: %+v, %v", yaml, s, err)
		}
	}
}

func TestLintIgnoresAreRead(t *testing.T) {
	t.Parallel()
	s, err := resolve(t, project(t, "lint:\n  ignore:\n    - rule: r\n      file: f\n      location: /l\n      reason: because\n"), nil)
	if err != nil || !reflect.DeepEqual(s.LintIgnores, []LintIgnore{{"r", "f", "/l", "because"}}) {
		t.Errorf("%+v, %v", s, err)
	}
}
