package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// planRows is the size of the table whose plans are looked at.
const planRows = 100_000

// These are the store's own statements, on a table that the planner has statistics of: searches have to lead with the blind
// index, scans with the key, the relay with the partial index, and nothing may walk the table. Each index is also asked
// before there are statistics, as on the first day.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := Open(ctx, testenv.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Migrate(ctx, []*schema.Index{{Name: "who"}, {Name: "what"}, {Name: "tag", Multi: true}}); err != nil {
		t.Fatal(err)
	}
	fill(t, store)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			if _, err := store.pool.Exec(ctx, "ANALYZE public.outbox_events"); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(fmt.Sprintf("statistics %v", analyzed), func(t *testing.T) { expectPlans(t, store, analyzed) })
	}
}

// fill writes rows of which one in a hundred is pending, one in a thousand needs an old key, and whose index values are
// nearly all different, but for a frequent one.
func fill(t *testing.T, store *Store) {
	t.Helper()
	_, err := store.pool.Exec(t.Context(), `
INSERT INTO public.outbox_events (id, aggregate_type, aggregate_id, aggregate_version, event_type, event_version, payload, occurred_at, published_at, key_ids, bidx_who, bidx_what, bidx_tag)
SELECT gen_random_uuid(), 'invoice', n::text, 1, 'invoice.issued', 1, '{"name":"fc1"}', now(), CASE WHEN n % 100 > 0 THEN now() END,
       CASE WHEN n % 1000 = 0 THEN '{seal:00000001}'::text[] ELSE '{seal:00000002,index:00000003}'::text[] END,
       decode(md5(n::text), 'hex'), decode(md5((n % 50)::text), 'hex'), ARRAY[decode(md5(n::text), 'hex'), decode(md5((n / 2)::text), 'hex')]
FROM generate_series(1, $1::int) n`, planRows)
	if err != nil {
		t.Fatal(err)
	}
}

func expectPlans(t *testing.T, store *Store, analyzed bool) {
	ctx := t.Context()
	two := [][]byte{hash(t, store, 7), hash(t, store, 77)}
	match := func(index string) outboxstore.Match { return outboxstore.Match{Index: index, Candidates: two} }
	shape, err := store.readyShape(ctx, store.direct())
	if err != nil {
		t.Fatal(err)
	}
	query := newRowQuery(shape)
	for name, c := range map[string]struct {
		matches []outboxstore.Match
		limit   int
		want    string
		after   string
	}{
		"one index":                  {[]outboxstore.Match{match("who")}, 1000, "ix_outbox_events_bidx_who", ""},
		"one index, the first row":   {[]outboxstore.Match{match("who")}, 1, "ix_outbox_events_bidx_who", ""},
		"one index, the next page":   {[]outboxstore.Match{match("who")}, 1000, "ix_outbox_events_bidx_who", "50000000-0000-4000-8000-000000000000"},
		"rare and frequent":          {[]outboxstore.Match{match("what"), match("who")}, 1000, "ix_outbox_events_bidx_who", ""},
		"multi index":                {[]outboxstore.Match{match("tag")}, 1000, "ix_outbox_events_bidx_tag", ""},
		"multi index, the first row": {[]outboxstore.Match{match("tag")}, 1, "ix_outbox_events_bidx_tag", ""},
		"multi index and other":      {[]outboxstore.Match{match("tag"), match("who")}, 1000, "ix_outbox_events_bidx_", ""},
		"scan":                       {nil, 1000, "pk_outbox_events", ""},
		"scan, the next page":        {nil, 1000, "pk_outbox_events", "50000000-0000-4000-8000-000000000000"},
	} {
		w, page := &where{}, scanPage
		if c.matches != nil {
			if w, _, err = search(shape, store.direct(), c.matches); err != nil {
				t.Fatal(err)
			}
			page = findPage
		}
		if err := w.after(c.after); err != nil {
			t.Fatal(err)
		}
		p := page(store.names, w, c.limit)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			plan := explain(t, store, mode, query.sql+p.rest, append([]any{store.maxPayload()}, p.args...)...)
			if !strings.Contains(plan, c.want) || strings.Contains(plan, "Seq Scan on outbox_events") {
				t.Errorf("%s, %s: no %s, or the table is walked:\n%s", name, mode, c.want, plan)
			}
			if c.matches == nil && strings.Contains(plan, "Sort") {
				t.Errorf("%s, %s sorts:\n%s", name, mode, plan)
			}
			if c.matches != nil && strings.Contains(plan, "Index Scan using pk_outbox_events on outbox_events e_1") {
				t.Errorf("%s, %s: the key leads the search:\n%s", name, mode, plan)
			}
		}
	}
	pending := explain(t, store, "auto", "SELECT id FROM "+store.names.quoted()+" WHERE published_at IS NULL ORDER BY created_at, id LIMIT 100 FOR UPDATE SKIP LOCKED")
	if !strings.Contains(pending, "ix_outbox_events_pending") || strings.Contains(pending, "Sort") {
		t.Errorf("pending rows:\n%s", pending)
	}
	if analyzed {
		keys := explain(t, store, "auto", "SELECT count(*) FROM "+store.names.quoted()+" WHERE key_ids && ARRAY['seal:00000001']")
		if !strings.Contains(keys, "ix_outbox_events_key_ids") {
			t.Errorf("rows of a key:\n%s", keys)
		}
	}
	version := explain(t, store, "force_generic_plan", "SELECT id FROM "+store.names.quoted()+" WHERE aggregate_type = $1::text AND aggregate_id = $2::text AND aggregate_version = $3::text::bigint", "invoice", "7", "1")
	if !strings.Contains(version, "uq_outbox_events_aggregate") {
		t.Errorf("taken version:\n%s", version)
	}
	ids := explain(t, store, "force_generic_plan", query.sql+"WHERE e.id = ANY($2::text[]::uuid[]) ORDER BY e.id FOR NO KEY UPDATE OF e", "1", "{50000000-0000-4000-8000-000000000000}")
	if !strings.Contains(ids, "pk_outbox_events") || strings.Contains(ids, "Seq Scan") {
		t.Errorf("rows by id:\n%s", ids)
	}
}

func hash(t *testing.T, store *Store, n int) (value []byte) {
	t.Helper()
	if err := store.pool.QueryRow(t.Context(), "SELECT decode(md5($1::text), 'hex')", fmt.Sprint(n)).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// explain prepares the statement, since with parameters the plan may be another one than with values.
func explain(t *testing.T, store *Store, mode, query string, args ...any) (plan string) {
	t.Helper()
	literals := make([]string, len(args))
	for i, arg := range args {
		text := fmt.Sprint(arg)
		if list, ok := arg.(pgtype.FlatArray[*string]); ok {
			text = textArray(list)
		}
		literals[i] = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	err := pgx.BeginFunc(t.Context(), store.pool, func(tx pgx.Tx) error {
		ctx := context.WithoutCancel(t.Context())
		for _, statement := range []string{"SET LOCAL plan_cache_mode = " + mode, "PREPARE asked AS " + query} {
			if _, err := tx.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		execute := "EXPLAIN EXECUTE asked"
		if len(literals) > 0 {
			execute += "(" + strings.Join(literals, ", ") + ")"
		}
		rows, err := tx.Query(ctx, execute, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		plan = strings.Join(lines, "\n")
		_, err = tx.Exec(ctx, "DEALLOCATE asked")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
