package postgres_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
)

// A producer's way: no Store, its own pool, both kinds of transactions.
func TestBusinessRowAndEventShareTheirFate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	writer, err := postgres.NewWriter(postgres.Options{})
	f.must(err)
	rows := "SELECT (SELECT count(*) FROM public.business)::text || (SELECT count(*) FROM public.outbox_events)"
	changed := errors.New("changed my mind")
	n := 0
	inPgx := func(end error) error {
		return pgx.BeginFunc(ctx, f.pool(f.url), func(tx pgx.Tx) error {
			n++
			if _, err := tx.Exec(ctx, "INSERT INTO public.business VALUES ($1)", n); err != nil {
				return err
			}
			if _, err := writer.Write(ctx, tx, f.notes(10*n, 10*n+1)...); err != nil {
				return err
			}
			return end
		})
	}
	db := f.sqlDB(f.url)
	inSQL := func(end error) error {
		n++
		tx, err := db.BeginTx(ctx, nil)
		f.must(err)
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "INSERT INTO public.business VALUES ($1)", n); err != nil {
			return err
		}
		if _, err := writer.WriteSQL(ctx, tx, f.notes(10*n, 10*n+1)...); err != nil {
			return err
		}
		if end != nil {
			return end
		}
		return tx.Commit()
	}
	if err := inPgx(changed); !errors.Is(err, changed) {
		t.Fatal(err)
	}
	if err := inSQL(changed); !errors.Is(err, changed) {
		t.Fatal(err)
	}
	f.expect(rows, "00")
	f.must(inPgx(nil))
	f.expect(rows, "12")
	f.must(inSQL(nil))
	f.expect(rows, "24")
	f.expectSound(4)
}

// Each way of sending statements that pgx has; the last two are what a pooler in transaction mode needs.
func TestEveryModeOfPgx(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.store = f.open(with(f.url, "default_query_exec_mode", mode), postgres.Options{})
			odd := note(6, `quotes " and \ and '' and $1 and {a,b} and NULL and `+"\t\u2028 €")
			odd.Headers = map[string]string{"h": `x"y\z`}
			odd.AggregateID = `{"a\b",NULL}`
			odd.AggregateVersion = nil
			results, err := f.store.WriteBatch(t.Context(), append(f.notes(1, 5), f.seal(odd), f.seal(note(1, "hello")))...)
			if err != nil || results[5] != outboxstore.Inserted || results[6] != outboxstore.Duplicate {
				t.Fatalf("%v, %v", results, err)
			}
			row, err := f.store.Get(t.Context(), noteID(6))
			f.must(err)
			w := row.Received.Wire()
			if w.AggregateID != odd.AggregateID || w.Headers["h"] != odd.Headers["h"] || w.AggregateVersion != nil {
				t.Errorf("%q, %q", w.AggregateID, w.Headers)
			}
			f.expectSound(6)
			f.ring.Rotate("seal")
			f.ring.Rotate("index")
			r, err := f.reencrypt(t.Context(), f.store)
			if err != nil || r.Rotated != 6 {
				t.Errorf("%+v, %v", r, err)
			}
			var found int
			matches := []outboxstore.Match{{Index: "tag", Candidates: row.Indexes["tag"]}}
			for range f.store.Find(t.Context(), matches, outboxstore.FindOptions{}) {
				found++
			}
			if found != 0 { // those of the former key
				t.Errorf("found %d", found)
			}
			row, err = f.store.Get(t.Context(), noteID(2))
			f.must(err)
			matches = []outboxstore.Match{{Index: "tag", Candidates: row.Indexes["tag"]}, {Index: "who", Candidates: row.Indexes["who"]}}
			for _, err := range f.store.Find(t.Context(), matches, outboxstore.FindOptions{PageSize: 2}) {
				f.must(err)
				found++
			}
			if found != 6 { // all have the first tag
				t.Errorf("found %d", found)
			}
			sampled := 0
			for _, err := range f.store.Scan(t.Context(), outboxstore.ScanOptions{Sample: 4, Since: time.Now().Add(-time.Hour), Snapshot: true}) {
				f.must(err)
				sampled++
			}
			if sampled != 4 {
				t.Errorf("%d rows sampled", sampled)
			}
			expectNothingToDo(f)
		})
	}
}

func expectNothingToDo(f *fixture) {
	f.t.Helper()
	done, err := f.store.Migrate(f.t.Context(), f.reg.Indexes())
	if err != nil || len(done) != 0 {
		f.t.Errorf("done %+v, error %v", done, err)
	}
}

// Session settings that change what a server writes must not change what is read.
func TestSessionSettingsDoNotMatter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 2)
	url := f.url
	for name, value := range map[string]string{
		"DateStyle": "SQL, DMY", "TimeZone": "ABC-5:45", "bytea_output": "escape", "IntervalStyle": "sql_standard",
		"standard_conforming_strings": "on", "extra_float_digits": "-15", "default_transaction_isolation": "serializable",
	} {
		url = with(url, name, value)
	}
	f.store = f.open(with(url, "default_query_exec_mode", "exec"), postgres.Options{})
	f.write(3, 4)
	f.expectSound(4)
	row, err := f.store.Get(t.Context(), noteID(3))
	f.must(err)
	if age := time.Since(row.CreatedAt); age < -time.Minute || age > time.Minute {
		t.Errorf("created %v ago", age)
	}
}

// What pooled sessions leave behind is ours to do without: nothing but Migrate sets anything.
func TestStoresLeaveNoSessionState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := f.open(with(f.url, "pool_max_conns", "1"), postgres.Options{})
	settings := "SELECT string_agg(name || '=' || setting, ';' ORDER BY name) FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout', 'search_path', 'transaction_read_only', 'default_transaction_isolation')"
	ask := func() (text string) {
		f.must(one.Pool().QueryRow(t.Context(), settings).Scan(&text))
		return text
	}
	before := ask()
	_, err := one.Migrate(t.Context(), append(f.reg.Indexes(), other))
	f.must(err)
	_, err = one.WriteBatch(t.Context(), f.notes(1, 2)...)
	f.must(err)
	f.must(last(one.Scan(t.Context(), outboxstore.ScanOptions{Snapshot: true})))
	if after := ask(); after != before {
		t.Errorf("settings were %s and are %s", before, after)
	}
	f.expect("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())", "0")
}

// Pages end by bytes as well, and a payload that no reader would take is not even sent.
func TestLargePayloads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.store = f.open(f.url, postgres.Options{Limits: envelope.Limits{MaxWire: 2 << 20}})
	const rows = 20 // of 1 MB: two pages
	for n := range rows {
		_, err := f.store.WriteBatch(t.Context(), f.seal(note(n+1, strings.Repeat("x", 1_000_000))))
		f.must(err)
	}
	n := 0
	for row, err := range f.store.Scan(t.Context(), outboxstore.ScanOptions{}) {
		if err != nil || row.Err != nil {
			t.Fatal(err, row.Err)
		}
		n++
	}
	if n != rows {
		t.Errorf("%d rows", n)
	}
	f.exec("UPDATE public.outbox_events SET payload = to_json(repeat('y', 3000000)) WHERE aggregate_version = 1")
	row, err := f.store.Get(t.Context(), noteID(1))
	f.must(err)
	var damaged *outboxstore.ColumnError
	if !errors.As(row.Err, &damaged) || damaged.Column != "payload" || len(row.Wire().Payload) != 0 {
		t.Errorf("row %v, %d bytes", row.Err, len(row.Wire().Payload))
	}
}

// The columns' types allow more than fieldcrypt writes.
func TestDamageThatTheTypesAllow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n, c := range []struct{ column, value string }{
		{"occurred_at", "'infinity'"}, {"created_at", "'-infinity'"}, {"published_at", "'0044-03-15 BC'"}, {"occurred_at", "'20000-01-01'"},
		{"key_ids", "'{seal:00000001,NULL}'"}, {"key_ids", "'{{a,b},{c,d}}'"}, {"bidx_tag", "'{NULL}'"}, {"headers", "'[1]'"},
	} {
		f.write(n+1, n+1)
		f.exec("UPDATE public.outbox_events SET " + c.column + " = " + c.value + " WHERE id = '" + noteID(n+1) + "'")
		row, err := f.store.Get(t.Context(), noteID(n+1))
		f.must(err)
		var damaged *outboxstore.ColumnError
		if !errors.As(row.Err, &damaged) || damaged.Column != c.column {
			t.Errorf("%s = %s: %v", c.column, c.value, row.Err)
		}
	}
}

// jsonb would reorder names, rewrite numbers and refuse this escape.
func TestPayloadBytesAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := note(1, "")
	e.Payload = []byte(`{ "z":1, "text" : "a\u0000b\/é\u00e9" , "a":1.50e+2 }`)
	e.Headers = map[string]string{"nul": "a\x00b"}
	_, err := f.store.WriteBatch(t.Context(), f.seal(e))
	f.must(err)
	row, err := f.store.Get(t.Context(), noteID(1))
	f.must(err)
	if got := string(row.Received.Wire().Payload); got != string(e.Payload) {
		t.Errorf("payload is %s", got)
	}
	if got := row.Received.Wire().Headers["nul"]; got != e.Headers["nul"] {
		t.Errorf("header is %q", got)
	}
}

func TestKeysThatAreNoUUID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(1, 1)
	for _, id := range []string{"", "x", strings.ToUpper(noteID(1)), "'; DROP TABLE business; --"} {
		if _, err := f.store.Get(t.Context(), id); !errors.Is(err, outboxstore.ErrNoRow) && id != strings.ToUpper(noteID(1)) {
			t.Errorf("%q: %v", id, err)
		}
		if id == "" {
			continue
		}
		if err := last(f.store.Scan(t.Context(), outboxstore.ScanOptions{After: id})); err == nil && id != strings.ToUpper(noteID(1)) {
			t.Errorf("%q passes", id)
		}
	}
}

// A producer who imports the package must not compile a command line, another dialect or a broker's client.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, unwanted := range []string{"spf13/cobra", "sqlite", "hashicorp/vault", "kafka", "rabbitmq", "nats", "/storetest", "/testenv"} {
			if strings.Contains(dep, unwanted) {
				t.Errorf("depends on %s", dep)
			}
		}
	}
}

func ExampleParseURL() {
	dsn, table, err := postgres.ParseURL("postgres://app@db:5432/shop?table=billing.outbox&sslmode=verify-full")
	fmt.Println(dsn, table, err)
	// Output: postgres://app@db:5432/shop?sslmode=verify-full billing.outbox <nil>
}
