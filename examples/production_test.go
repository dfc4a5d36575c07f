// Package examples_test runs examples/producer and examples/consumer as what they are, processes, against a real Vault and a
// real Postgres.
package examples_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// patience bounds whatever must not hang, on a machine that is busy with other tests.
const patience = 2 * time.Minute

// bin is the directory of the programs, built once.
var bin string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (code int, err error) {
	if bin, err = os.MkdirTemp("", "fieldcrypt-examples-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(bin)
	build := exec.Command("go", "build", "-o", bin+"/", "../cmd/fieldcrypt", "./producer", "./consumer")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	return m.Run(), nil
}

// drivers are the ways in which the producer writes.
var drivers = map[string][]string{"pgx": nil, "database/sql": {"-database-sql"}}

// shop is a database and a keyring of the test's own.
type shop struct {
	t     *testing.T
	vault *testenv.VaultServer
	db    *pgxpool.Pool
	env   []string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	return newShopOn(t, testenv.Vault(t))
}

func newShopOn(t *testing.T, vault *testenv.VaultServer) *shop {
	t.Helper()
	url := testenv.Postgres(t)
	db, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := &shop{t: t, vault: vault, db: db, env: []string{
		"FIELDCRYPT_SCHEMAS=" + filepath.Join("..", "cmd", "fieldcrypt", "internal", "initialize", "example", "schemas"),
		"FIELDCRYPT_KEYRING=" + vault.URL("shop"),
		"FIELDCRYPT_OUTBOX=" + url,
		"VAULT_ADDR=" + vault.Address,
	}}
	tables, err := os.ReadFile("tables.sql")
	if err != nil {
		t.Fatal(err)
	}
	s.exec(string(tables))
	// The outbox, whose table would be the trail, is not made yet.
	s.run(s.as(vaultkeyring.Creator), "", "fieldcrypt", "keys", "create", "--audit-log", filepath.Join(t.TempDir(), "creation.ndjson"))
	s.run("", "", "fieldcrypt", "migrate")
	return s
}

// as gives a login with the least that a role needs.
func (s *shop) as(role vaultkeyring.Role) (login string) {
	s.t.Helper()
	location, err := vaultkeyring.ParseURL(s.vault.URL("shop"))
	if err != nil {
		s.t.Fatal(err)
	}
	policy, err := vaultkeyring.Policy(role, location)
	if err != nil {
		s.t.Fatal(err)
	}
	return "VAULT_TOKEN=" + s.vault.Token(time.Hour, s.vault.Policy(policy))
}

// command is a program with the shop's settings and a login, and nothing else of the environment.
func (s *shop) command(login, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
	cmd.Env = append([]string{"HOME=" + s.t.TempDir()}, s.env...)
	if login != "" {
		cmd.Env = append(cmd.Env, login)
	}
	return cmd
}

// try runs a program to its end.
func (s *shop) try(login, in, name string, args ...string) (stdout, stderr string, err error) {
	s.t.Helper()
	cmd := s.command(login, name, args...)
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errs
	err = cmd.Run()
	if text := errs.String(); strings.Contains(text, "Lovelace") || strings.Contains(text, "1112223334") {
		s.t.Errorf("%s shows a value: %s", name, text)
	}
	return out.String(), errs.String(), err
}

func (s *shop) run(login, in, name string, args ...string) (stdout string) {
	s.t.Helper()
	stdout, stderr, err := s.try(login, in, name, args...)
	if err != nil {
		s.t.Fatalf("%s %q: %v\n%s", name, args, err, stderr)
	}
	return stdout
}

func (s *shop) exec(sql string) {
	s.t.Helper()
	if _, err := s.db.Exec(s.t.Context(), sql); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func (s *shop) count(query string) (n int) {
	s.t.Helper()
	if err := s.db.QueryRow(s.t.Context(), query).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (s *shop) wantRows(invoices, events int) {
	s.t.Helper()
	if got := s.count(`SELECT count(*) FROM invoices`); got != invoices {
		s.t.Errorf("%d invoices, want %d", got, invoices)
	}
	if got := s.count(`SELECT count(*) FROM outbox_events`); got != events {
		s.t.Errorf("%d events, want %d", got, events)
	}
}

func invoice(number, name, email, taxID string) string {
	return fmt.Sprintf(`{"number":%q,"issued_on":"2026-11-30","customer":{"name":%q,"email":%q,"tax_id":%q},"lines":[{"text":"Support plan","quantity":1,"price":120.50}],"total":120.50}`+"\n",
		number, name, email, taxID)
}

var (
	ada   = invoice("2026-2001", "Ada Lovelace", "ada@example.com", "1112223334")
	grace = invoice("2026-2002", "Grace Hopper", "grace@example.com", "4445556667")
)

const (
	adasLetter   = "To Ada Lovelace <ada@example.com>: invoice 2026-2001 over 120.50\n"
	gracesLetter = "To Grace Hopper <grace@example.com>: invoice 2026-2002 over 120.50\n"
)

func TestAnInvoiceAndItsEventAreCommittedTogetherAndOpenedByAnotherProcess(t *testing.T) {
	t.Parallel()
	for driver, flags := range drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			if out := s.run(s.as(vaultkeyring.Producer), ada+grace, "producer", flags...); out != "issued 2026-2001\nissued 2026-2002\n" {
				t.Errorf("the producer printed %q", out)
			}
			s.wantRows(2, 2)
			if n := s.count(`SELECT count(*) FROM outbox_events WHERE payload::text ~ 'Lovelace|Hopper|example.com|1112223334|4445556667'`); n != 0 {
				t.Errorf("%d events show a flagged value", n)
			}
			if n := s.count(`SELECT count(*) FROM outbox_events WHERE bidx_tax_id IS NOT NULL AND bidx_email IS NOT NULL AND payload::text LIKE
				'{"number":"2026-2001","issued_on":"2026-11-30","customer":{"name":"fc1:%","email":"fc1:%","tax_id":"fc1:%"},"lines":[%],"total":120.50}'`); n != 1 {
				t.Errorf("%d events are Ada's invoice with tokens in it, want 1", n)
			}
			consumer := s.as(vaultkeyring.Consumer)
			for i, want := range []string{adasLetter + gracesLetter, ""} {
				if out := s.run(consumer, "", "consumer"); out != want {
					t.Errorf("run %d of the consumer printed %q, want %q", i+1, out, want)
				}
			}
			if n := s.count(`SELECT count(*) FROM letters`); n != 2 {
				t.Errorf("%d letters, want 2", n)
			}
		})
	}
}

// refuseAtCommit lets both INSERTs pass and refuses the COMMIT.
const refuseAtCommit = `
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$;
	CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON outbox_events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`

func TestATransactionThatFailsLeavesNeitherInvoiceNorEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, says string }{
		"the invoice's number is taken": {`INSERT INTO invoices VALUES ('2026-2001', 1)`, "duplicate key"},
		"the event has no column":       {`ALTER TABLE outbox_events DROP COLUMN bidx_tax_id`, "fieldcrypt migrate"},
		"the commit is refused":         {refuseAtCommit, "not today"},
	} {
		for driver, flags := range drivers {
			t.Run(name+"/"+driver, func(t *testing.T) {
				t.Parallel()
				s := newShop(t)
				s.exec(c.sql)
				before := s.count(`SELECT count(*) FROM invoices`)
				out, stderr, err := s.try(s.as(vaultkeyring.Producer), ada, "producer", flags...)
				if err == nil || out != "" {
					t.Errorf("printed %q, error %v", out, err)
				}
				if !strings.Contains(stderr, "invoice 2026-2001: ") || !strings.Contains(stderr, c.says) {
					t.Errorf("the error is %q, want one that says %q", stderr, c.says)
				}
				s.wantRows(before, 0)
			})
		}
	}
}

// running is a producer whose invoices come one by one.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errs   *syncBuffer
	exited bool
}

func (s *shop) start(login string, flags ...string) *running {
	s.t.Helper()
	r := &running{t: s.t, cmd: s.command(login, "producer", flags...), errs: &syncBuffer{}}
	r.cmd.Stderr = r.errs
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if !r.exited {
			r.kill()
		}
	})
	return r
}

func (r *running) give(invoice string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, invoice); err != nil {
		r.t.Fatalf("%v\n%s", err, r.errs)
	}
}

// issue waits until the invoice is issued.
func (r *running) issue(invoice string) {
	r.t.Helper()
	r.give(invoice)
	if line, err := r.out.ReadString('\n'); err != nil {
		r.t.Fatalf("printed %q, %v\n%s", line, err, r.errs)
	}
}

func (r *running) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	r.exited = true
}

// end lets it end in order.
func (r *running) end() {
	r.t.Helper()
	r.exited = true
	if err := errors.Join(r.in.Close(), r.cmd.Wait()); err != nil {
		r.t.Errorf("%v\n%s", err, r.errs)
	}
}

// until asks again and again until it is so.
func (s *shop) until(what string, so func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-deadline.C:
			s.t.Fatalf("not within %v: %s", patience, what)
		case <-tick.C:
		}
	}
}

// Both rows are written, and the process dies while it commits.
func TestAProducerThatIsKilledInItsCommitLeavesNeitherInvoiceNorEvent(t *testing.T) {
	t.Parallel()
	for driver, flags := range drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			const lock = "1"
			s.exec(`
				CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(` + lock + `); RETURN NULL; END $$;
				CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON outbox_events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()`)
			holder, err := s.db.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer holder.Rollback(context.WithoutCancel(t.Context()))
			if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock(`+lock+`)`); err != nil {
				t.Fatal(err)
			}
			r := s.start(s.as(vaultkeyring.Producer), flags...)
			r.give(ada)
			waiting := `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE l.locktype = 'advisory' AND NOT l.granted AND a.datname = current_database() AND a.query ILIKE 'commit%'`
			s.until("the producer commits", func() bool { return s.count(waiting) == 1 })
			r.kill()
			s.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'commit%'`)
			s.until("Postgres has ended the connection", func() bool { return s.count(waiting) == 0 })
			if err := holder.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.wantRows(0, 0)
			s.run(s.as(vaultkeyring.Producer), ada, "producer", flags...)
			s.wantRows(1, 1)
		})
	}
}

func TestTwoConsumersAtOnceApplyEachEventOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var invoices strings.Builder
	const n = 150 // more than the consumer reads at once
	for i := range n {
		invoices.WriteString(invoice(fmt.Sprintf("2026-%d", 3000+i), "Ada Lovelace", "ada@example.com", "1112223334"))
	}
	s.run(s.as(vaultkeyring.Producer), invoices.String(), "producer")
	login := s.as(vaultkeyring.Consumer)
	outs := make([]string, 3)
	var wg sync.WaitGroup
	for i := range outs {
		wg.Go(func() {
			out, stderr, err := s.try(login, "", "consumer")
			if err != nil {
				t.Errorf("%v\n%s", err, stderr)
			}
			outs[i] = out
		})
	}
	wg.Wait()
	letters := map[string]bool{}
	for line := range strings.Lines(strings.Join(outs, "")) {
		if letters[line] {
			t.Errorf("twice: %s", line)
		}
		letters[line] = true
	}
	if rows := s.count(`SELECT count(*) FROM letters`); len(letters) != n || rows != n {
		t.Errorf("%d letters and %d rows, want %d of each", len(letters), rows, n)
	}
}

func TestAnEventThatWasTamperedWithIsRefusedAndStopsNoOther(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.run(s.as(vaultkeyring.Producer), ada+grace, "producer")
	// Ada's name in the place of her address: both are good tokens, in the wrong places.
	s.exec(`UPDATE outbox_events SET payload = jsonb_set(payload::jsonb, '{customer,email}', payload::jsonb #> '{customer,name}')::json
		WHERE payload::text LIKE '%2026-2001%'`)
	out, stderr, err := s.try(s.as(vaultkeyring.Consumer), "", "consumer")
	if err == nil || !strings.Contains(stderr, "/customer/email") {
		t.Errorf("error %v, %q, want one that names /customer/email", err, stderr)
	}
	if out != gracesLetter {
		t.Errorf("printed %q, want %q", out, gracesLetter)
	}
}

func TestARotationReachesARunningProducer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := s.start(s.as(vaultkeyring.Producer), "-refresh", "50ms")
	r.issue(ada)
	s.run(s.as(vaultkeyring.Rotator), "", "fieldcrypt", "rotate", "--now")
	number := 4000
	s.until("the new key is used", func() bool {
		number++
		r.issue(invoice(fmt.Sprintf("2026-%d", number), "Grace Hopper", "grace@example.com", "4445556667"))
		return s.count(`SELECT count(DISTINCT k) FROM outbox_events, unnest(key_ids) k WHERE k LIKE 'seal:%'`) == 2
	})
	r.end()
	out := s.run(s.as(vaultkeyring.Consumer), "", "consumer")
	if !strings.HasPrefix(out, adasLetter) || strings.Count(out, "\n") != s.count(`SELECT count(*) FROM invoices`) {
		t.Errorf("the consumer printed %q", out)
	}
}

func TestALoadedKeyringGoesOnWhileVaultIsAwayAndANewProcessSaysSo(t *testing.T) {
	t.Parallel()
	vault := testenv.PrivateVault(t)
	s := newShopOn(t, vault.VaultServer)
	login := s.as(vaultkeyring.Producer)
	r := s.start(login, "-refresh", "50ms")
	r.issue(ada)
	vault.Stop()
	s.until("a refresh fails", func() bool { return strings.Contains(r.errs.String(), "going on with what is loaded") })
	r.issue(grace)
	r.end()
	s.wantRows(2, 2)
	_, stderr, err := s.try(login, ada, "producer")
	if err == nil || !strings.Contains(stderr, "vault cannot be reached") {
		t.Errorf("a new process: %v, %q", err, stderr)
	}
	s.wantRows(2, 2)
	vault.Start() // so that what the test made there can be removed
}

// syncBuffer takes what a process prints while the test reads it.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
