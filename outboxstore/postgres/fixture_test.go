package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	neturl "net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// What only Postgres has. Everything else is in storetest.

// patience bounds whatever must not hang, on a machine that is busy with other tests.
const patience = time.Minute

// secret is the flagged value of every event: it may stand in no error.
const secret = "Ayşe Yılmaz-Öztürk"

func registry(t *testing.T) *schema.Registry {
	t.Helper()
	r, err := schema.LoadFS(fstest.MapFS{"note.v1.json": {Data: []byte(`{"type":"object","properties":{
		"text":{"type":"string"}, "a":{"type":"number"}, "z":{"type":"number"},
		"who":{"type":"string","x-gdpr-sensitive":true,"x-blind-index":{"name":"who"}},
		"tags":{"type":"array","items":{"type":"string","x-gdpr-sensitive":true,"x-blind-index":{"name":"tag","multi":true}}}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fixture is a migrated database with a table of business rows, and keys.
type fixture struct {
	t      *testing.T
	url    string
	store  *postgres.Store
	ring   *keyringtest.Ring
	rings  *keyring.Set
	reg    *schema.Registry
	sealer *envelope.Sealer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := newEmpty(t)
	f.migrate()
	f.exec("CREATE TABLE public.business (n bigint PRIMARY KEY)")
	return f
}

func newEmpty(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, url: noSearchPath(testenv.Postgres(t)), reg: registry(t)}
	f.ring = keyringtest.NewRing(t, keyringtest.Options{})
	var err error
	f.rings, err = keyring.NewSet(f.ring.Keyring)
	f.must(err)
	f.sealer, err = envelope.NewSealer(f.reg, f.rings, envelope.Options{})
	f.must(err)
	f.store = f.open(f.url, postgres.Options{})
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) open(url string, opts postgres.Options) *postgres.Store {
	f.t.Helper()
	store, err := postgres.Open(f.t.Context(), url, opts)
	f.must(err)
	f.t.Cleanup(func() { _ = store.Close() })
	return store
}

func (f *fixture) migrate() {
	f.t.Helper()
	_, err := f.store.Migrate(f.t.Context(), f.reg.Indexes())
	f.must(err)
}

func (f *fixture) exec(statement string, args ...any) {
	f.t.Helper()
	if _, err := f.store.Pool().Exec(f.t.Context(), statement, args...); err != nil {
		f.t.Fatalf("%s: %v", statement, err)
	}
}

// text is the first column of the first row.
func (f *fixture) text(query string, args ...any) string {
	f.t.Helper()
	var value any
	if err := f.store.Pool().QueryRow(f.t.Context(), query, args...).Scan(&value); err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
	return fmt.Sprint(value)
}

func (f *fixture) expect(query, want string) {
	f.t.Helper()
	if got := f.text(query); got != want {
		f.t.Errorf("%s gives %s, want %s", query, got, want)
	}
}

// note is the n-th event.
func note(n int, text string) envelope.Event {
	version := int64(n)
	return envelope.Event{
		ID: noteID(n), Type: "note", AggregateID: "board", AggregateVersion: &version,
		Payload: fmt.Appendf(nil, `{"text":%q, "who":%q,"tags":["tag one","tag %d"]}`, text, secret, n),
	}
}

func noteID(n int) string { return fmt.Sprintf("0190aaaa-0000-7000-8000-%012d", n) }

func (f *fixture) seal(e envelope.Event) envelope.Sealed {
	f.t.Helper()
	sealed, err := f.sealer.Seal(f.t.Context(), e)
	f.must(err)
	return sealed
}

func (f *fixture) notes(first, last int) []envelope.Sealed {
	var all []envelope.Sealed
	for n := first; n <= last; n++ {
		all = append(all, f.seal(note(n, "hello")))
	}
	return all
}

func (f *fixture) write(first, last int) {
	f.t.Helper()
	_, err := f.store.WriteBatch(f.t.Context(), f.notes(first, last)...)
	f.must(err)
}

func (f *fixture) reencrypt(ctx context.Context, store outboxstore.Store) (outboxstore.ReencryptResult, error) {
	f.t.Helper()
	resealer, err := envelope.NewResealer(f.reg, f.rings, envelope.Options{})
	f.must(err)
	return outboxstore.Reencrypt(ctx, store, resealer, outboxstore.ReencryptOptions{BatchSize: 3})
}

// expectSound checks every row with keys.
func (f *fixture) expectSound(rows int64) {
	f.t.Helper()
	verifier, err := envelope.NewVerifier(f.reg, envelope.VerifierOptions{Keyrings: f.rings})
	f.must(err)
	r, err := outboxstore.Verify(f.t.Context(), f.store, verifier, outboxstore.VerifyOptions{})
	f.must(err)
	if r.Rows != rows || r.Findings != 0 {
		f.t.Fatalf("%d rows, want %d: %+v", r.Rows, rows, r)
	}
}

// as finds a typed error.
func as[E error](t *testing.T, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("error is %T (%v), not %T", err, err, e)
	}
	return e
}

// expectFault checks what a database error says, and what it does not: no value, no password, and that it has a hint.
func expectFault(t *testing.T, err error, want outboxstore.DatabaseFault, passwords ...string) *outboxstore.DatabaseError {
	t.Helper()
	e := as[*outboxstore.DatabaseError](t, err)
	if e.Fault != want {
		t.Errorf("fault is %q, want %q: %v", e.Fault, want, err)
	}
	if e.Hint() == "" {
		t.Errorf("no hint: %v", err)
	}
	expectClean(t, err, passwords...)
	return e
}

// expectClean looks for values in the texts of an error and of all that it wraps.
func expectClean(t *testing.T, err error, others ...string) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, s := range append(others, secret, "Yılmaz", "board") {
			if strings.Contains(fmt.Sprintf("%v %+v %q", err, err, err.Error()), s) {
				t.Errorf("a value of %d bytes stands in: %v", len(s), err)
			}
		}
	}
}

// soon fails a test that hangs, and says how long it may take.
func soon(t *testing.T, bound time.Duration) (context.Context, func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	start := time.Now()
	return ctx, func() {
		t.Helper()
		cancel()
		if took := time.Since(start); took > bound {
			t.Errorf("it took %v, more than %v", took, bound)
		}
	}
}

// sqlDB is the database as database/sql has it.
func (f *fixture) sqlDB(url string) *sql.DB {
	f.t.Helper()
	config, err := pgx.ParseConfig(url)
	f.must(err)
	db := stdlib.OpenDB(*config)
	f.t.Cleanup(func() { _ = db.Close() })
	return db
}

// pool is a producer's.
func (f *fixture) pool(url string) *pgxpool.Pool {
	f.t.Helper()
	pool, err := pgxpool.New(f.t.Context(), url)
	f.must(err)
	f.t.Cleanup(pool.Close)
	return pool
}

// other is an index that the schemas do not have yet.
var other = &schema.Index{Name: "other", Bits: 128}

func randomID() string { return uuid.NewString() }

func optionsWithTimeout(d time.Duration) postgres.Options {
	return postgres.Options{StatementTimeout: d}
}

// databaseOf is the URL of another database of the server.
func databaseOf(t *testing.T, url, name string) string {
	return changed(t, url, func(u *neturl.URL) { u.Path = "/" + name })
}
