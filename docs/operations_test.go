package docs_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

const operations = "docs/operations.md"

func TestOperationsShowsThePoliciesAsTheyAre(t *testing.T) {
	t.Parallel()
	document := read(t, operations)
	files, err := filepath.Glob(filepath.Join("policies", "*.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if want := "`" + filepath.Base(file) + "`:\n\n```hcl\n" + read(t, filepath.Join("docs", file)) + "```\n"; !strings.Contains(document, want) {
			t.Errorf("%s does not show %s as it is", operations, file)
		}
	}
	if shown := len(codeBlocks(document, "hcl")); shown != len(files) || shown != 6 {
		t.Errorf("%s shows %d policies of %d, want 6", operations, shown, len(files))
	}
}

// site is a place where the chapter's commands can be run: servers of its own, whose names are as free as on the machine of
// whoever reads it.
type site struct {
	t      *testing.T
	vault  *testenv.VaultServer
	dir    string
	env    []string
	change *strings.Replacer
	// script is what was run so far of functions and variables.
	script string
}

func newSite(t *testing.T) *site {
	t.Helper()
	vault, postgres := testenv.PrivateVault(t), testenv.PrivatePostgres(t)
	s := &site{t: t, vault: vault.VaultServer, dir: t.TempDir()}
	server, err := url.Parse(postgres.URL())
	if err != nil {
		t.Fatal(err)
	}
	s.change = strings.NewReplacer(
		"https://vault.example.com:8200", vault.Address,
		"db.example.com", server.Host,
		"verify-full", "disable", // the test's server has no certificate
		"go run ./examples/", "", // programs that were built for the test
	)
	bin := filepath.Join(s.dir, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "./cmd/fieldcrypt", "./examples/producer", "./examples/consumer")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.link(self, "bin/vault")
	s.link(self, "bin/age-keygen")
	s.link("docs", "docs")
	s.link("examples", "examples")
	if err := os.CopyFS(filepath.Join(s.dir, "schemas"), os.DirFS(filepath.Join(root, "cmd/fieldcrypt/internal/initialize/example/schemas"))); err != nil {
		t.Fatal(err)
	}
	s.write(".vault-token", vault.RootToken)
	s.env = []string{"HOME=" + s.dir, "PATH=" + bin + ":" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	s.letEverybodyIn(postgres.URL())
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// link shows something of the repository, or of anywhere, in the site.
func (s *site) link(to, name string) {
	s.t.Helper()
	if !filepath.IsAbs(to) {
		var err error
		if to, err = filepath.Abs(filepath.Join(root, to)); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := os.Symlink(to, filepath.Join(s.dir, name)); err != nil {
		s.t.Fatal(err)
	}
}

// letEverybodyIn is what the chapter leaves to the reader: how roles log in.
func (s *site) letEverybodyIn(superuser string) {
	s.t.Helper()
	out, err := s.bash(`psql -v ON_ERROR_STOP=1 -q -t '` + superuser + `' <<'SQL'
SELECT format($$COPY (SELECT 'host all all 127.0.0.1/32 trust') TO %L$$, current_setting('hba_file')) \gexec
SELECT pg_reload_conf();
SQL`)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

// bash runs a script with nothing but the site's environment.
func (s *site) bash(script string) (output string, err error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// prelude is what lines of a block mean for those after it: variables and functions.
func prelude(block string) string {
	if strings.HasPrefix(block, "export ") {
		return block
	}
	if strings.HasPrefix(block, "as() {\n") {
		function, _, _ := strings.Cut(block, "\n}\n")
		return function + "\n}\n"
	}
	return ""
}

// run runs one more block.
func (s *site) run(block string) (output string) {
	s.t.Helper()
	block = s.change.Replace(block)
	out, err := s.bash(s.script + block)
	if err != nil {
		s.t.Fatalf("%s\n%v\n%s", block, err, out)
	}
	s.script += prelude(block)
	return out
}

func TestTheChapterSettingUpWorksAsPrinted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, second, _ := strings.Cut(read(t, operations), "\n## 2. ")
	blocks := codeBlocks(first, "sh")
	if len(blocks) != 9 {
		t.Fatalf("%d blocks of commands, want 9", len(blocks))
	}
	var printed strings.Builder
	for _, block := range blocks {
		printed.WriteString(s.run(block))
	}
	for _, want := range []string{
		"issued 2026-2001\nissued 2026-2002\n",
		"To Ada Lovelace <ada@example.com>: invoice 2026-2001 over 120.50\n",
		"rotated 2, skipped 0, failed 0",
		"2 rows, 0 findings, 0 warnings",
	} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the commands do not print %q but\n%s", want, printed.String())
		}
	}
	s.checkDocument(1)
	s.checkSQL()
	s.checkCommands()
	s.checkKeys(codeBlocks(second, "sh"))
}

// checkKeys: the commands of the second chapter work as printed, in a site where the first one's have run.
func (s *site) checkKeys(blocks []string) {
	s.t.Helper()
	if len(blocks) != 6 {
		s.t.Fatalf("%d blocks of commands in the second chapter, want 6", len(blocks))
	}
	var printed strings.Builder
	for _, block := range blocks {
		printed.WriteString(s.run(block))
	}
	for _, want := range []string{
		"restored keyring default: revision ",
		"0 findings, 0 warnings",
		"it was primary not long ago; not before ",
		"rewrapped keyring default: revision ",
		"  approle (",
		"  re-encrypt  ok, of ",
		"\nwhole: ",
	} {
		if !strings.Contains(printed.String(), want) {
			s.t.Errorf("the commands do not print %q but\n%s", want, printed.String())
		}
	}
}

// checkDocument: what is in Vault is what docs/format.md says.
func (s *site) checkDocument(version int) {
	s.t.Helper()
	data, _ := s.vault.Must(http.MethodGet, "secret/data/fieldcrypt/default", nil).Data["data"].(map[string]any)
	text, ok := data["document"].(string)
	if !ok || len(data) != 1 {
		s.t.Fatalf("the secret holds %d fields, want a text named document", len(data))
	}
	var document keyringDocument
	var clear struct{ KEK string }
	unmarshal(s.t, text, &document)
	unmarshal(s.t, document.Clear, &clear)
	if want := "vault-transit:transit/fieldcrypt-default"; clear.KEK != want {
		s.t.Errorf("kek is %q, want %q", clear.KEK, want)
	}
	sealed, err := base64.StdEncoding.DecodeString(document.Keysets.Seal)
	body, isText := strings.CutPrefix(string(sealed), fmt.Sprintf("vault:v%d:", version))
	if _, bodyErr := base64.StdEncoding.DecodeString(body); err != nil || !isText || bodyErr != nil {
		s.t.Errorf("the seal keyset is no base64 of vault:v%d:base64 (%v, %v)", version, err, bodyErr)
	}
}

// roles are those that log in to Postgres, but for the migrator.
var roles = []string{"producer", "consumer", "rotator", "auditor"}

// event is a row that a producer could write.
const event = `INSERT INTO outbox_events (id, aggregate_type, aggregate_id, event_type, event_version, payload, occurred_at)
	VALUES (gen_random_uuid(), 'invoice', '1', 'invoice.issued', 1, '{}', now())`

// checkSQL: what a role was granted works, and nothing else does.
func (s *site) checkSQL() {
	s.t.Helper()
	for _, c := range []struct {
		sql string
		may []string
	}{
		{event, []string{"producer"}},
		{event + ` ON CONFLICT DO NOTHING RETURNING id`, []string{"producer"}},
		{`SELECT * FROM outbox_events`, []string{"producer", "rotator", "auditor"}},
		{`SELECT id, event_type, event_version, aggregate_id, payload, headers FROM outbox_events`, roles},
		{`SELECT bidx_tax_id FROM outbox_events`, []string{"producer", "rotator", "auditor"}},
		{`SELECT id FROM outbox_events FOR NO KEY UPDATE`, []string{"rotator"}},
		{`UPDATE outbox_events SET payload = payload, key_ids = key_ids, bidx_tax_id = bidx_tax_id`, []string{"rotator"}},
		{`DELETE FROM outbox_events`, nil},
		{`TRUNCATE outbox_events`, nil},
		{`INSERT INTO invoices VALUES ('2026-1', 1)`, []string{"producer"}},
		{`SELECT * FROM invoices`, nil},
		{`INSERT INTO letters VALUES (gen_random_uuid(), '2026-1')`, []string{"consumer"}},
		{`SELECT * FROM letters`, []string{"consumer"}},
		{`DELETE FROM letters`, nil},
		{`SELECT * FROM fieldcrypt_migrations`, []string{"auditor"}},
		{`INSERT INTO fieldcrypt_migrations VALUES ('outbox_events', 2)`, nil},
		{`SELECT * FROM fieldcrypt_indexes`, []string{"producer", "rotator", "auditor"}},
		{`DELETE FROM fieldcrypt_indexes`, []string{"rotator"}},
		{`UPDATE fieldcrypt_indexes SET bits = 8`, nil},
		{`SELECT * FROM fieldcrypt_keyrings`, []string{"producer", "rotator", "auditor"}},
		{`UPDATE fieldcrypt_keyrings SET revision = revision`, []string{"producer", "rotator"}},
		{`DELETE FROM fieldcrypt_keyrings`, nil},
		{`SELECT * FROM fieldcrypt_audit`, roles},
		{`INSERT INTO fieldcrypt_audit VALUES (999999, 'x', '\x00')`, []string{"producer", "consumer", "rotator"}},
		{`UPDATE fieldcrypt_audit SET entry = entry`, nil},
		{`DELETE FROM fieldcrypt_audit`, nil},
		{`INSERT INTO fieldcrypt_indexes VALUES ('outbox_events', 'tax_id', 'raw.1', 8)`, nil},
		{`CREATE TABLE mine (x int)`, nil},
		{`CREATE TEMPORARY TABLE mine (x int)`, nil},
		{`CREATE SCHEMA mine`, nil},
		{`ALTER TABLE outbox_events ADD COLUMN mine int`, nil},
		{`CREATE INDEX ON outbox_events (event_type)`, nil},
		{`CREATE TRIGGER mine AFTER INSERT ON outbox_events EXECUTE FUNCTION suppress_redundant_updates_trigger()`, nil},
		{`DROP TABLE outbox_events`, nil},
		{`GRANT SELECT ON outbox_events TO PUBLIC`, nil},
		{`CREATE ROLE mine`, nil},
	} {
		for _, role := range roles {
			url := s.change.Replace("postgres://shop_" + role + "@db.example.com/shop?sslmode=disable")
			out, err := s.bash(fmt.Sprintf("psql -v ON_ERROR_STOP=1 -q '%s' <<'SQL'\nBEGIN;\n%s;\nROLLBACK;\nSQL", url, c.sql))
			denied := slices.ContainsFunc([]string{"permission denied", "must be owner", "no privileges were granted"}, func(text string) bool { return strings.Contains(out, text) })
			switch may := slices.Contains(c.may, role); {
			case may && (err != nil || denied):
				s.t.Errorf("%s may not do %s: %s", role, c.sql, out)
			case !may && !denied:
				s.t.Errorf("%s is not denied %s: %v, %s", role, c.sql, err, out)
			}
		}
	}
}

// checkCommands: what a role is for works, and what it is not for ends in one error that says what is missing.
func (s *site) checkCommands() {
	s.t.Helper()
	const events = `{"type":"invoice.issued","aggregate_id":"2026-7","payload":{"number":"2026-7","issued_on":"2026-11-30","customer":{"name":"Alan Turing","tax_id":"7778889990"},"lines":[{"text":"Tea","quantity":1,"price":1}],"total":1}}`
	s.write("events.ndjson", events+"\n")
	for _, c := range []struct{ role, command, lacks string }{
		{"producer", "fieldcrypt write events.ndjson", ""},
		{"producer", "fieldcrypt find --index tax_id - <<< 7778889990", ""},
		{"producer", "fieldcrypt rotate --now", "lacks the capability"},
		{"consumer", "fieldcrypt keys list", ""},
		{"consumer", "fieldcrypt write events.ndjson", "lacks a right"},
		{"consumer", "fieldcrypt find --index tax_id - <<< 7778889990", "lacks a right"},
		{"consumer", "fieldcrypt keys add --purpose seal", "lacks the capability"},
		{"rotator", "fieldcrypt keys add --purpose index", ""},
		{"rotator", "fieldcrypt rotate --now --purpose all", ""},
		{"producer", "fieldcrypt rotate --re-encrypt-only", "lacks a right"},
		{"rotator", "fieldcrypt rotate --re-encrypt-only --purpose all", ""},
		{"rotator", "fieldcrypt verify --strict", ""},
		{"rotator", "fieldcrypt write events.ndjson", "lacks a right"},
		{"auditor", "fieldcrypt verify --keyless --strict", ""},
		{"auditor", "fieldcrypt migrate --check", ""},
		{"auditor", "fieldcrypt verify", "lacks the capability update"},
		{"auditor", "fieldcrypt rotate --now", "lacks the capability"},
		{"auditor", "fieldcrypt write events.ndjson", "lacks the capability update"},
	} {
		out, err := s.bash(s.script + "as " + c.role + " " + c.command)
		switch {
		case c.lacks == "" && err != nil:
			s.t.Errorf("as %s %s: %v\n%s", c.role, c.command, err, out)
		case c.lacks != "" && (err == nil || !strings.Contains(out, c.lacks)):
			s.t.Errorf("as %s %s: %v, want that it %s\n%s", c.role, c.command, err, c.lacks, out)
		}
		if strings.Contains(out, "Turing") {
			s.t.Errorf("as %s %s: it shows a value\n%s", c.role, c.command, out)
		}
	}
	s.checkTransitRotation()
	s.checkMigrations()
}

// checkTransitRotation: a new version of the Transit key opens what there is, and seals the next change.
func (s *site) checkTransitRotation() {
	s.t.Helper()
	const command = "vault write -f transit/keys/fieldcrypt-default/rotate"
	if !strings.Contains(read(s.t, operations), "`"+command+"`") {
		s.t.Errorf("%s does not name the command %s", operations, command)
	}
	script := command + "\nas producer fieldcrypt write events.ndjson\nas rotator fieldcrypt rotate --now"
	if out, err := s.bash(s.script + script); err != nil {
		s.t.Errorf("%s\n%v\n%s", script, err, out)
	}
	s.checkDocument(2)
}

// checkMigrations: a schema gets a further index, which the migrator alone can bring.
func (s *site) checkMigrations() {
	s.t.Helper()
	path := filepath.Join(s.dir, "schemas", "invoice.issued.v1.json")
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	const flagged = `"minLength": 1, "x-gdpr-sensitive": true`
	changed := strings.Replace(string(text), flagged, flagged+`, "x-blind-index": {"name": "customer_name"}`, 1)
	if changed == string(text) {
		s.t.Fatalf("the schema of the example does not hold %s", flagged)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range []struct{ command, says string }{
		{"as auditor fieldcrypt migrate --check", "run `fieldcrypt migrate`"},
		{"as producer fieldcrypt write events.ndjson", "fieldcrypt migrate"},
		{"as producer fieldcrypt migrate", "lacks a right"},
		{"PGUSER=shop_migrator fieldcrypt migrate", ""},
		{"as producer fieldcrypt write events.ndjson", ""},
		{"as rotator fieldcrypt rotate --re-encrypt-only", ""},
		{"as rotator fieldcrypt verify --strict", ""},
	} {
		out, err := s.bash(s.script + c.command)
		if (c.says == "") != (err == nil) || !strings.Contains(out, c.says) {
			s.t.Errorf("%s: %v, want that it says %q\n%s", c.command, err, c.says, out)
		}
	}
	url := s.change.Replace("postgres://shop_consumer@db.example.com/shop?sslmode=disable")
	if out, err := s.bash(`psql -c 'SELECT bidx_customer_name FROM outbox_events' '` + url + `'`); err == nil || !strings.Contains(out, "permission denied") {
		s.t.Errorf("the consumer reads a column that was added later: %v, %s", err, out)
	}
}

// The defaults of the chapter are those of the code.
func TestOperationsSaysTheDefaultTimeouts(t *testing.T) {
	t.Parallel()
	document := read(t, operations)
	for _, c := range []struct{ file, constant, row string }{
		{"keyring/vaultkeyring/vault.go", "defaultTimeout = 10 * time.Second", "with its retries and logins | 10 s | `VAULT_CLIENT_TIMEOUT`; `vaultkeyring.Options.Timeout` |"},
		{"outboxstore/postgres/store.go", "defaultConnectTimeout   = 10 * time.Second", "| 10 s | `connect_timeout` in the URL, `PGCONNECT_TIMEOUT`; `postgres.Options.ConnectTimeout` |"},
		{"outboxstore/postgres/store.go", "defaultStatementTimeout = 5 * time.Minute", "| 5 min | `postgres.Options.StatementTimeout` |"},
		{"outboxstore/postgres/store.go", "defaultLockTimeout      = 5 * time.Second", "| 5 s | `postgres.Options.LockTimeout` |"},
		{"outboxstore/postgres/store.go", "defaultMigrationWait    = time.Minute", "| 1 min | `postgres.Options.MigrationWait` |"},
		{"keyring/keyring.go", "defaultRefreshTimeout = 10 * time.Second", "| 10 s | `keyring.Options.RefreshTimeout` |"},
	} {
		if !strings.Contains(read(t, c.file), c.constant) {
			t.Errorf("%s does not hold %q: does the chapter still say what it is?", c.file, c.constant)
		}
		if !strings.Contains(document, c.row) {
			t.Errorf("%s has no row that ends in %q", operations, c.row)
		}
	}
}

// Each row of the table of outages is one of the test that makes them, on a real Vault, and the other way round.
func TestOperationsListsTheOutagesThatAreTested(t *testing.T) {
	t.Parallel()
	_, table, ok := strings.Cut(read(t, operations), "\n| outage | ")
	if !ok {
		t.Fatalf("%s has no table of outages", operations)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for line := range strings.Lines(table) {
		if name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | "); strings.HasPrefix(line, "| ") {
			listed = append(listed, name)
		}
	}
	source := read(t, "cmd/fieldcrypt/outage_test.go")
	_, source, _ = strings.Cut(source, "var outages = []outage{\n")
	source, _, _ = strings.Cut(source, "\n}\n")
	var tested []string
	for line := range strings.Lines(source) {
		if rest, ok := strings.CutPrefix(line, "\t{\""); ok {
			name, _, _ := strings.Cut(rest, "\"")
			tested = append(tested, name)
		}
	}
	if len(tested) < 8 || !slices.Equal(listed, tested) {
		t.Errorf("listed are %q\ntested are %q", listed, tested)
	}
}
