package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/cutproxy"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
)

// password stands in every URL that is made wrong: no error may hold it.
const password = "pa55-wörd"

// changed is a URL with something else in it.
func changed(t *testing.T, text string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	f := newEmpty(t)
	admin := changed(t, f.url, func(u *url.URL) {})
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	f.must(err)
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	f.must(closed.Close())
	for name, c := range map[string]struct {
		url  string
		want outboxstore.DatabaseFault
	}{
		"nobody listens":   {changed(t, admin, func(u *url.URL) { u.Host = closed.Addr().String() }), outboxstore.FaultUnreachable},
		"no answer":        {changed(t, admin, func(u *url.URL) { u.Host = silent.Addr().String() }), outboxstore.FaultTimeout},
		"no such host":     {changed(t, admin, func(u *url.URL) { u.Host = "no-such-host.invalid:5432" }), outboxstore.FaultUnreachable},
		"no such database": {changed(t, admin, func(u *url.URL) { u.Path = "/no_such_database" }), outboxstore.FaultNoDatabase},
		"no TLS there":     {with(admin, "sslmode", "require"), outboxstore.FaultUnreachable},
		"a standby":        {with(with(admin, "default_transaction_read_only", "on"), "target_session_attrs", "read-write"), outboxstore.FaultReadOnly},
		"no such setting":  {with(admin, "no_such_setting", "1"), outboxstore.FaultSettings},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, took := soon(t, 10*time.Second)
			defer took()
			_, err := postgres.Open(ctx, c.url, postgres.Options{ConnectTimeout: 3 * time.Second})
			t.Log(err)
			expectFault(t, err, c.want, password)
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
		})
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	role := f.role("LOGIN PASSWORD '" + password + "'")
	right := changed(t, f.url, func(u *url.URL) { u.User = url.UserPassword(role, password) })
	_ = f.open(right, postgres.Options{})
	wrong := changed(t, f.url, func(u *url.URL) { u.User = url.UserPassword(role, password+"!") })
	_, err := postgres.Open(t.Context(), wrong, postgres.Options{})
	t.Log(err)
	expectFault(t, err, outboxstore.FaultLogin, password)
}

// role makes a role of the test's own.
func (f *fixture) role(options string) string {
	f.t.Helper()
	name := "fieldcrypt_" + strings.ReplaceAll(randomID(), "-", "")
	f.exec("CREATE ROLE " + name + " " + options)
	f.t.Cleanup(func() {
		ctx := context.Background()
		_, _ = f.store.Pool().Exec(ctx, "DROP OWNED BY "+name)
		_, _ = f.store.Pool().Exec(ctx, "DROP ROLE "+name)
	})
	return name
}

func TestOutOfConnections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	role := f.role("LOGIN PASSWORD '" + password + "' CONNECTION LIMIT 1")
	url := changed(t, f.url, func(u *url.URL) { u.User = url.UserPassword(role, password) })
	_ = f.open(url, postgres.Options{})
	_, err := postgres.Open(t.Context(), url, postgres.Options{})
	t.Log(err)
	if e := expectFault(t, err, outboxstore.FaultConnections, password); !e.Retryable() {
		t.Error("not retryable")
	}
}

// A server that is stopped, and comes again: errors while it is away, none after.
func TestServerAway(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	f := newEmpty(t)
	f.store = f.open(noSearchPath(server.Database()), postgres.Options{ConnectTimeout: 5 * time.Second})
	f.migrate()
	f.write(1, 2)
	server.Stop()
	for name, call := range f.calls() {
		ctx, took := soon(t, 15*time.Second)
		err := call(ctx)
		took()
		var e *outboxstore.DatabaseError
		if !errors.As(err, &e) || !e.Retryable() || e.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
		expectClean(t, err)
	}
	server.Start()
	f.write(3, 4) // over connections that have died
	f.expectSound(4)
	server.Kill()
	ctx, took := soon(t, patience)
	defer took()
	var err error
	for n := 5; err == nil; n++ { // until its other processes have noticed
		_, err = f.store.WriteBatch(ctx, f.notes(n, n)...)
	}
	as[*outboxstore.DatabaseError](t, err)
	expectClean(t, err)
	t.Log(err)
}

// calls are all of a store's.
func (f *fixture) calls() map[string]func(context.Context) error {
	s, sealed := f.store, f.seal(note(7, "hello"))
	return map[string]func(context.Context) error{
		"WriteBatch": func(ctx context.Context) error { _, err := s.WriteBatch(ctx, sealed); return err },
		"WriteEach":  func(ctx context.Context) error { _, err := s.WriteEach(ctx, sealed); return err },
		"Get":        func(ctx context.Context) error { _, err := s.Get(ctx, noteID(1)); return err },
		"KeyCounts":  func(ctx context.Context) error { _, err := s.KeyCounts(ctx); return err },
		"Pending":    func(ctx context.Context) error { _, err := s.Pending(ctx, f.reg.Indexes()); return err },
		"Migrate":    func(ctx context.Context) error { _, err := s.Migrate(ctx, f.reg.Indexes()); return err },
		"Scan":       func(ctx context.Context) error { return last(s.Scan(ctx, outboxstore.ScanOptions{})) },
		"Snapshot":   func(ctx context.Context) error { return last(s.Scan(ctx, outboxstore.ScanOptions{Snapshot: true})) },
		"Sample":     func(ctx context.Context) error { return last(s.Scan(ctx, outboxstore.ScanOptions{Sample: 2})) },
		"Find": func(ctx context.Context) error {
			return last(s.Find(ctx, []outboxstore.Match{{Index: "who", Candidates: [][]byte{{1}}}}, outboxstore.FindOptions{}))
		},
		"AuditAppend": func(ctx context.Context) error { _, err := s.AuditTrail().Append(ctx, auditEntry("x")); return err },
		"AuditCheck": func(ctx context.Context) error {
			_, err := audittrail.Check(ctx, s.AuditTrail(), audittrail.CheckOptions{})
			return err
		},
	}
}

// last is the error that a sequence of rows ends with.
func last(rows func(func(*outboxstore.Row, error) bool)) (err error) {
	for _, e := range rows {
		err = e
	}
	return err
}

// A server that stops answering: each statement has its time.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 2)
	proxy := cutproxy.New(t, f.url)
	for name := range f.calls() {
		if name == "Migrate" { // an index takes its time: the caller's context is its bound
			continue
		}
		t.Run(name, func(t *testing.T) {
			proxy.Open()
			frozen := *f
			frozen.store = f.open(proxy.URL(t, f.url), postgres.Options{StatementTimeout: time.Second, ConnectTimeout: 3 * time.Second})
			proxy.FreezeNow()
			defer proxy.Open()
			ctx, took := soon(t, 20*time.Second)
			defer took()
			if e := expectFault(t, frozen.calls()[name](ctx), outboxstore.FaultTimeout); !e.Retryable() {
				t.Error("not retryable")
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 2)
	readOnly := *f
	readOnly.store = f.open(with(f.url, "default_transaction_read_only", "on"), postgres.Options{})
	writes := map[string]bool{"WriteBatch": true, "WriteEach": true, "AuditAppend": true}
	for name, call := range readOnly.calls() {
		err := call(t.Context())
		if !writes[name] {
			f.must(err)
			continue
		}
		expectFault(t, err, outboxstore.FaultReadOnly)
	}
	_, err := readOnly.store.Migrate(t.Context(), append(f.reg.Indexes(), other))
	t.Log(err)
	expectFault(t, err, outboxstore.FaultReadOnly)
	row, err := f.store.Get(t.Context(), noteID(1))
	f.must(err)
	_, err = readOnly.store.Replace(t.Context(), outboxstore.Replacement{Row: row, Sealed: f.seal(note(1, "hello"))})
	expectFault(t, err, outboxstore.FaultReadOnly)

	// A caller's read-only transaction.
	tx, err := f.store.Pool().BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	f.must(err)
	defer tx.Rollback(t.Context())
	_, err = f.store.Write(t.Context(), tx, f.seal(note(9, "hello")))
	expectFault(t, err, outboxstore.FaultReadOnly)
	if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("the transaction is not usable any more: %v", err)
	}
}

// What a role may do at run time needs no DDL, and what it lacks is said.
func TestRolesWithoutDDL(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 2)
	as := func(grants ...string) *postgres.Store {
		role := f.role("LOGIN PASSWORD '" + password + "'")
		for _, grant := range grants {
			f.exec(fmt.Sprintf(grant, role))
		}
		return f.open(changed(t, f.url, func(u *url.URL) { u.User = url.UserPassword(role, password) }), postgres.Options{})
	}
	ctx := t.Context()
	producer := as("GRANT SELECT, INSERT ON public.outbox_events TO %s")
	results, err := producer.WriteBatch(ctx, append(f.notes(3, 4), f.notes(1, 1)...)...)
	if err != nil || results[1] != outboxstore.Inserted || results[2] != outboxstore.Duplicate {
		t.Errorf("a producer: %v, %v", results, err)
	}
	_, err = producer.Migrate(ctx, append(f.reg.Indexes(), other))
	expectFault(t, err, outboxstore.FaultPermission, password)
	t.Log(err)

	row, err := f.store.Get(ctx, noteID(1))
	f.must(err)
	replacement := outboxstore.Replacement{Row: row, Sealed: f.seal(note(1, "hello"))}
	_, err = producer.Replace(ctx, replacement)
	expectFault(t, err, outboxstore.FaultPermission, password)
	rotator := as("GRANT SELECT ON public.outbox_events TO %s", "GRANT UPDATE (payload, key_ids, bidx_who, bidx_tag) ON public.outbox_events TO %s")
	if changed, err := rotator.Replace(ctx, replacement); err != nil || !changed[0] {
		t.Errorf("a rotator: %v, %v", changed, err)
	}
	_, err = rotator.WriteBatch(ctx, f.notes(9, 9)...)
	expectFault(t, err, outboxstore.FaultPermission, password)

	nobody := as()
	_, err = nobody.Get(ctx, noteID(1))
	expectFault(t, err, outboxstore.FaultPermission, password)
	auditor := as("GRANT SELECT ON public.outbox_events TO %s")
	if _, err := auditor.KeyCounts(ctx); err != nil {
		t.Errorf("an auditor: %v", err)
	}
}

// What the database refuses is said of the event, without the server's message, which quotes the row.
func TestRowsThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("ALTER TABLE public.outbox_events ADD CONSTRAINT no_seven CHECK (aggregate_version <> 7)")
	f.exec(`CREATE FUNCTION public.loud() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN IF NEW.aggregate_version = 8 THEN RAISE EXCEPTION 'payload is % of %', NEW.payload, NEW.aggregate_id; END IF; RETURN NEW; END$$`)
	f.exec("CREATE TRIGGER loud BEFORE INSERT ON public.outbox_events FOR EACH ROW EXECUTE FUNCTION public.loud()")
	long := note(4, "hello")
	for range 400 { // more than an index takes, also compressed
		long.AggregateID += "board" + randomID()
	}
	for name, bad := range map[string]envelope.Event{"constraint": note(7, "hello"), "trigger": note(8, "hello"), "limit": long} {
		sealed := []envelope.Sealed{f.seal(note(1, "hello")), f.seal(bad), f.seal(note(2, "hello"))}
		err := pgx.BeginFunc(t.Context(), f.store.Pool(), func(tx pgx.Tx) error {
			_, err := f.store.Write(t.Context(), tx, sealed...)
			if e := as[*outboxstore.EventError](t, err); e.Position != 1 {
				t.Errorf("%s: position is %d", name, e.Position)
			}
			expectFault(t, err, outboxstore.FaultRefused)
			t.Log(err)
			_, err = tx.Exec(t.Context(), "INSERT INTO public.business VALUES ($1)", len(name))
			return err
		})
		f.must(err)
		f.expect("SELECT count(*) FROM public.outbox_events", "0")
		outcomes, err := f.store.WriteEach(t.Context(), sealed...)
		f.must(err)
		if outcomes[0].Result != outboxstore.Inserted || outcomes[1].Err == nil || outcomes[2].Result != outboxstore.Inserted {
			t.Errorf("%s: outcomes %+v", name, outcomes)
		}
		expectClean(t, outcomes[1].Err)
		f.exec("DELETE FROM public.outbox_events")
	}
}

func TestTriggerThatIgnoresAnInsertIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("CREATE FUNCTION public.mute() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$")
	f.exec("CREATE TRIGGER mute BEFORE INSERT ON public.outbox_events FOR EACH ROW EXECUTE FUNCTION public.mute()")
	results, err := f.store.WriteBatch(t.Context(), f.notes(1, 2)...)
	if e := as[*outboxstore.EventError](t, err); results != nil || e.Position != 0 {
		t.Errorf("results %v, position %d", results, e.Position)
	}
}

func TestUnusableTransactions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	begin := func() pgx.Tx {
		tx, err := f.store.Pool().Begin(ctx)
		f.must(err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		return tx
	}
	over := begin()
	f.must(over.Commit(ctx))
	failed := begin()
	if _, err := failed.Exec(ctx, "SELECT 1/0"); err == nil {
		t.Fatal("no error")
	}
	busy := begin()
	rows, err := busy.Query(ctx, "SELECT generate_series(1, 1000)")
	f.must(err)
	defer rows.Close()
	for name, tx := range map[string]pgx.Tx{"over": over, "failed": failed, "busy": busy} {
		_, err := f.store.Write(ctx, tx, f.seal(note(1, "hello")))
		t.Log(err)
		if e := as[*outboxstore.DatabaseError](t, err); e.Fault != outboxstore.FaultTransaction {
			t.Errorf("%s: %v", name, err)
		}
	}
	tx, err := f.sqlDB(f.url).BeginTx(ctx, nil)
	f.must(err)
	f.must(tx.Rollback())
	_, err = f.store.WriteSQL(ctx, tx, f.seal(note(1, "hello")))
	expectFault(t, err, outboxstore.FaultTransaction)
	if _, err := f.store.Write(ctx, nil, f.seal(note(1, "hello"))); err == nil {
		t.Error("no transaction passes")
	}
	if _, err := f.store.WriteSQL(ctx, nil, f.seal(note(1, "hello"))); err == nil {
		t.Error("no transaction passes")
	}
}

// A context that ends while a statement waits takes the transaction along: nothing is left, and nothing hangs.
func TestContextThatEndsWhileAnotherWriterIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, err := f.store.Pool().Begin(t.Context())
	f.must(err)
	defer first.Rollback(context.Background())
	_, err = f.store.Write(t.Context(), first, f.seal(note(1, "hello")))
	f.must(err)

	_, took := soon(t, 10*time.Second)
	defer took()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = pgx.BeginFunc(t.Context(), f.store.Pool(), func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO public.business VALUES (1)")
		f.must(err)
		_, err = f.store.Write(ctx, tx, f.seal(note(1, "hello")))
		if e := expectFault(t, err, outboxstore.FaultTimeout); !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		return nil // a caller who commits all the same
	})
	if err == nil {
		t.Error("the transaction was committed")
	}
	f.must(first.Commit(t.Context()))
	f.expect("SELECT (SELECT count(*) FROM public.business)::text || (SELECT count(*) FROM public.outbox_events)", "01")
}

func TestTheDriversErrorIsInside(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")
	err := pgx.BeginTxFunc(t.Context(), f.store.Pool(), pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		_, err := f.store.Write(t.Context(), tx, f.seal(note(1, "hello")))
		return err
	})
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "25006" {
		t.Errorf("error is %v", err)
	}
}
