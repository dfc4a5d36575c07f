package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// asked is a command of the program that is tried while something is away, with its standard input.
type asked struct {
	args  []string
	stdin string
}

// commands are those that need keys and rows.
var commands = []asked{
	{args: []string{"write"}, stdin: oneEvent},
	{args: []string{"verify"}},
	{args: []string{"rotate", "--re-encrypt"}},
	{args: []string{"find", "--index", "tax_id", "-"}, stdin: "8675309867"},
}

// fails asks for one error with its hint, exit 1, in time.
func (p *project) fails(c asked, within time.Duration, message, hint string) {
	p.t.Helper()
	start := time.Now()
	r := p.callWith(c.stdin, c.args...)
	took := time.Since(start)
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	if r.code != failure.Broken || len(lines) != 2 ||
		!regexp.MustCompile("^error: .*"+message).MatchString(lines[0]) || !regexp.MustCompile("^hint: .*"+hint).MatchString(lines[1]) || strings.HasSuffix(lines[0], ".") {
		p.t.Errorf("%v: code %d, want 1, an error like %q and a hint like %q\n%s%s", c.args, r.code, message, hint, r.stdout, r.stderr)
	}
	if took > within {
		p.t.Errorf("%v took %v, more than %v", c.args, took, within)
	}
}

// allFail tries all commands at once: most of their time is waiting.
func (p *project) allFail(within time.Duration, message, hint string) {
	p.t.Helper()
	var wait sync.WaitGroup
	for _, c := range commands {
		wait.Go(func() { p.fails(c, within, message, hint) })
	}
	wait.Wait()
}

// loaded is what a machine that is busy with other tests may add to any time.
const loaded = 20 * time.Second

// Each fault of Vault, met by every command that loads keys.
func TestEachFaultOfVaultIsOneErrorWithAHint(t *testing.T) {
	t.Parallel()
	vault := testenv.PrivateVault(t)
	project := newProjectOn(t, serverBackend(t, vault.VaultServer, testenv.Postgres(t)), 0)
	project.mustCall("migrate")
	if r := project.callWith(oneEvent, "write"); r.code != failure.Done {
		t.Fatalf("%+v", r)
	}
	before := project.states(keyring.Seal)

	vault.Seal()
	project.allFail(loaded, "vault is sealed", "vault operator unseal")
	vault.Unseal()

	const patience = time.Second
	impatient := project.with(map[string]string{"VAULT_CLIENT_TIMEOUT": patience.String()})
	vault.Pause()
	impatient.allFail(patience+loaded, `vault did not answer in time \(1s\)`, "vault status")
	vault.Resume()

	proxy := testenv.NewProxyTo(t, vault.Address)
	slow := impatient.with(map[string]string{"VAULT_ADDR": "http://" + proxy.Address()})
	proxy.Delay(5 * patience)
	slow.allFail(patience+loaded, "vault did not answer in time", "vault status")
	proxy.Delay(0)
	project.with(map[string]string{"VAULT_ADDR": "http://" + proxy.Address()}).mustCall("verify")

	short := vault.Token(time.Second, "root")
	<-time.After(1500 * time.Millisecond) // Vault's own clock ends the token
	project.with(map[string]string{"VAULT_TOKEN": short}).allFail(loaded, "the token is not valid or has expired", "VAULT_TOKEN")
	revoked := vault.Token(time.Hour, "root")
	vault.Revoke(revoked)
	project.with(map[string]string{"VAULT_TOKEN": revoked}).allFail(loaded, "the token is not valid or has expired", "VAULT_TOKEN")

	vault.Stop()
	project.allFail(loaded, "vault cannot be reached", "VAULT_ADDR")
	vault.Start()
	if got := project.states(keyring.Seal); got["primary"] != before["primary"] || got["staged"] != 0 || got["active"] != 0 {
		t.Errorf("after failures alone the keyring holds %v, before %v", got, before)
	}
}

// Each role of the package's policies does what it is for, and for the rest the error names the capability and the path.
func TestAMissingPolicyIsNamedWithItsPathAndCapability(t *testing.T) {
	t.Parallel()
	vault := testenv.Vault(t)
	p := newProjectOn(t, serverBackend(t, vault, testenv.Postgres(t)), 0)
	p.mustCall("migrate")
	where, err := vaultkeyring.ParseURL(p.on.names["KEYRING"])
	if err != nil {
		t.Fatal(err)
	}
	as := func(policies ...string) *project {
		return p.with(map[string]string{"VAULT_TOKEN": vault.Token(time.Hour, policies...)})
	}
	role := func(r vaultkeyring.Role) *project {
		hcl, err := vaultkeyring.Policy(r, where)
		if err != nil {
			t.Fatal(err)
		}
		return as(vault.Policy(hcl))
	}
	lacks := func(capability, path string) (message, hint string) {
		path = regexp.QuoteMeta(path)
		return path + ": permission denied: the token lacks the capability " + capability, `path "` + path + `" \{ capabilities = \["` + capability + `"\] \}`
	}
	data, decrypt, keys := where.Mount+"/data/"+where.Path, where.TransitMount+"/decrypt/"+where.Key, where.TransitMount+"/keys/"+where.Key

	message, hint := lacks("read", data)
	as("default").allFail(loaded, message, hint)

	producer := role(vaultkeyring.Producer)
	for _, c := range []asked{commands[0], commands[1], commands[3]} {
		if r := producer.callWith(c.stdin, c.args...); r.code != failure.Done {
			t.Errorf("producer: %v: %+v", c.args, r)
		}
	}
	message, hint = lacks("read", keys)
	producer.fails(commands[2], loaded, message, hint)

	auditor := role(vaultkeyring.Auditor)
	auditor.mustCall("verify", "--keyless", "--strict")
	message, hint = lacks("update", decrypt)
	auditor.allFail(loaded, message, hint)

	reader := as(vault.Policy(`path "` + data + `" { capabilities = ["read"] }`))
	reader.mustCall("verify", "--keyless", "--strict")

	rotator := role(vaultkeyring.Rotator)
	rotator.mustCall("rotate", "--re-encrypt")
	p.mustCall("verify", "--strict")
}

// An AppRole whose token ends while a rotation waits logs in again: from the variables, and from files.
func TestAnAppRoleOutlivesItsTokens(t *testing.T) {
	t.Parallel()
	vault := testenv.PrivateVault(t) // the variables know no other mount than auth/approle
	project := newProjectOn(t, serverBackend(t, vault.VaultServer, testenv.Postgres(t)), 3*time.Second)
	project.mustCall("migrate")
	where, err := vaultkeyring.ParseURL(project.on.names["KEYRING"])
	if err != nil {
		t.Fatal(err)
	}
	hcl, err := vaultkeyring.Policy(vaultkeyring.Rotator, where)
	if err != nil {
		t.Fatal(err)
	}
	const role = "auth/approle/role/rotator"
	vault.Must(http.MethodPost, "sys/auth/approle", testenv.Body{"type": "approle"})
	vault.Must(http.MethodPost, role, testenv.Body{"token_policies": []string{vault.Policy(hcl)}, "token_ttl": "2s", "token_max_ttl": "2s"})
	roleID := vault.Must(http.MethodGet, role+"/role-id", nil).Data["role_id"].(string)
	secretID := vault.Must(http.MethodPost, role+"/secret-id", testenv.Body{}).Data["secret_id"].(string)

	login := map[string]string{"VAULT_TOKEN": "", "VAULT_ROLE_ID": roleID, "VAULT_SECRET_ID": secretID}
	if r := project.with(login).mustCall("rotate", "--re-encrypt"); !strings.Contains(r.stdout, "waiting until ") || !strings.Contains(r.stdout, "promoted seal key ") {
		t.Errorf("%+v", r)
	}
	for name, text := range map[string]string{"role-id": roleID, "secret-id": secretID} {
		if err := os.WriteFile(filepath.Join(project.dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	project.with(map[string]string{"VAULT_TOKEN": "", "VAULT_ROLE_ID_FILE": "role-id", "VAULT_SECRET_ID_FILE": "secret-id"}).mustCall("keys", "list")
	// A secret id may be good for one login: all keyrings of a run share it.
	where.Path, where.Key = "another", "another"
	more, err := vaultkeyring.Policy(vaultkeyring.Rotator, where)
	if err != nil {
		t.Fatal(err)
	}
	configured := []string{"--keyring", project.on.names["KEYRING"], "--keyring", "more=" + project.on.names["ANOTHER"]}
	project.mustCall(append([]string{"keys", "create", "--name", "more"}, configured...)...)
	vault.Must(http.MethodPost, role, testenv.Body{"token_policies": []string{vault.Policy(hcl), vault.Policy(more)}, "secret_id_num_uses": 1})
	login["VAULT_SECRET_ID"] = vault.Must(http.MethodPost, role+"/secret-id", testenv.Body{}).Data["secret_id"].(string)
	project.with(login).mustCall(append([]string{"keys", "add", "--purpose", "index"}, configured...)...) // which looks at the ids of both

	login["VAULT_SECRET_ID"] = "b8df6d3e-2f5b-4b4f-9d2f-3f4b0d6f1c11"
	project.with(login).allFail(loaded, "the login was refused", "check VAULT_ROLE_ID and VAULT_SECRET_ID")
}

// A keyring that is loaded goes on working when Vault is sealed in the middle; nothing is written in clear.
func TestAWriteGoesOnWhenVaultIsSealedMeanwhile(t *testing.T) {
	t.Parallel()
	vault := testenv.PrivateVault(t)
	project := newProjectOn(t, serverBackend(t, vault.VaultServer, testenv.Postgres(t)), 0)
	project.mustCall("migrate")
	writer, stdin := project.startWrite()
	writeLine(t, stdin, oneEvent)
	project.awaitRows(1)
	vault.Seal()
	writeLine(t, stdin, oneEvent)
	project.awaitRows(2)
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if r := writer.wait(); r.code != failure.Done || r.stdout != "written 2, duplicates 0, refused 0\n" {
		t.Errorf("%+v", r)
	}
	vault.Unseal()
	project.mustCall("verify", "--strict")
}

func writeLine(t *testing.T, to io.Writer, line string) {
	t.Helper()
	if _, err := io.WriteString(to, line); err != nil {
		t.Fatal(err)
	}
}

// Each fault of Postgres, met by every command that asks the outbox.
func TestEachFaultOfPostgresIsOneErrorWithAHint(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	database := server.Database()
	p := newProjectOn(t, serverBackend(t, testenv.Vault(t), database), 0)
	before := p.states(keyring.Seal)
	at := func(change func(u *url.URL, q url.Values)) *project {
		u, err := url.Parse(database)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		change(u, q)
		u.RawQuery = q.Encode()
		return p.with(map[string]string{"FIELDCRYPT_OUTBOX": u.String()})
	}
	exec := func(statement string) {
		t.Helper()
		if _, err := execPostgres(t.Context(), database, statement); err != nil {
			t.Fatal(err)
		}
	}

	p.allFail(loaded, `the database has no table "outbox_events"`, "run `fieldcrypt migrate`")
	at(func(u *url.URL, _ url.Values) { u.Path = "/no_such_database" }).allFail(loaded, "the server has no such database", "create it")
	at(func(u *url.URL, _ url.Values) { u.User = url.UserPassword("postgres", "Xyzzyqvik") }).allFail(loaded, "the database refuses the login", "PGPASSWORD")
	if got := p.states(keyring.Seal); got["primary"] != 1 || len(got) != 1 || before["primary"] != 1 {
		t.Errorf("rotations that could not re-encrypt anything made keys: %v", got)
	}

	p.mustCall("migrate")
	if r := p.callWith(oneEvent, "write"); r.code != failure.Done {
		t.Fatalf("%+v", r)
	}

	// A read-only database is enough for what only reads.
	readOnly := at(func(_ *url.URL, q url.Values) { q.Set("default_transaction_read_only", "on") })
	readOnly.fails(commands[0], loaded, "the database is read-only.*; 0 events were committed before that", "connect to the primary")
	readOnly.fails(commands[2], loaded, "the database is read-only.*; the keys are rotated, and rows are left under the old ones", "`fieldcrypt rotate --re-encrypt-only` goes on from there")
	readOnly.mustCall("verify")
	if r := readOnly.callWith("8675309867", "find", "--index", "tax_id", "-"); r.code != failure.Done || strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("find on a read-only database: %+v", r)
	}
	readOnly.fails(asked{args: []string{"migrate", "--outbox", withParameter(t, readOnly.on.env["FIELDCRYPT_OUTBOX"], "table", "second")}}, loaded, "the database is read-only", "connect to the primary")
	p.mustCall("rotate", "--re-encrypt-only")
	p.mustCall("verify", "--strict")

	// A role without rights, then one that may connect once only, and somebody has that connection.
	exec("CREATE ROLE nobody LOGIN PASSWORD 'Xyzzyqvik'")
	nobody := at(func(u *url.URL, _ url.Values) { u.User = url.UserPassword("nobody", "Xyzzyqvik") })
	nobody.allFail(loaded, "the database role lacks a right", "grant it to the role")
	exec("ALTER ROLE nobody CONNECTION LIMIT 1")
	holder, err := pgx.Connect(t.Context(), nobody.on.env["FIELDCRYPT_OUTBOX"])
	if err != nil {
		t.Fatal(err)
	}
	nobody.allFail(loaded, "the database has no connection left", "use fewer connections")
	if err := holder.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	// Another transaction holds the table for longer than a migration waits.
	release := lockTable(t, database)
	p.with(map[string]string{"FIELDCRYPT_SCHEMAS": "schemas " + moreSchemas(t)}).
		fails(asked{args: []string{"migrate"}}, 5*time.Second+loaded, "another transaction holds a lock for too long", "try again")
	release()

	// A server that takes connections and says nothing, then one that is cut off in the middle, then none.
	proxy := testenv.NewProxyTo(t, database)
	far := at(func(u *url.URL, q url.Values) { u.Host = proxy.Address(); q.Set("connect_timeout", "3") })
	proxy.Delay(10 * time.Second)
	far.allFail(3*time.Second+loaded, "the database did not answer in time", "allow more time")
	proxy.Delay(0)
	writer, stdin := far.startWrite()
	rows, err := p.rows()
	if err != nil {
		t.Fatal(err)
	}
	writeLine(t, stdin, oneEvent)
	p.awaitRows(rows + 1)
	proxy.Cut()
	writeLine(t, stdin, oneEvent)
	if r := writer.wait(); r.code != failure.Broken || !regexp.MustCompile(`(?m)^error: .*; 1 event was committed before that$`).MatchString(r.stderr) || !strings.Contains(r.stderr, "\nhint: ") {
		t.Errorf("a write that is cut off: %+v", r)
	}
	server.Stop()
	p.allFail(loaded, "the database cannot be reached", "that the database is running")
	server.Start()
	p.mustCall("verify")
}

func withParameter(t *testing.T, text, name, value string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// moreSchemas is a directory with a schema that has an index of its own.
func moreSchemas(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const text = `{"type": "object", "properties": {"phone": {"type": "string", "x-gdpr-sensitive": true, "x-blind-index": true}}}`
	if err := os.WriteFile(filepath.Join(dir, "order.placed.v1.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lockTable holds the outbox table as a long transaction of somebody else's does.
func lockTable(t *testing.T, database string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE outbox_events IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := conn.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}
