package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

const (
	million = 1_000_000
	// maxSearchRatio is how much longer a search by blind index may take than one on a plain indexed text column.
	maxSearchRatio = 2.0
	// minSearches is how many of each have to be timed before their medians are compared.
	minSearches = 500
)

// BenchmarkSearchAMillionRows searches an outbox of a million rows by blind index, and by a plain indexed text column of the
// same table, in turns, each for a value of its own. plain and blind are one statement for the same columns; blind counts
// the computing of its candidates too, under two usable keys. find is Store.Find, which
// reads whole rows. It fails where blind takes more than twice as long as plain, or walks the table.
func BenchmarkSearchAMillionRows(b *testing.B) {
	ctx := b.Context()
	m := newMillion(b)
	b.Run("search", func(b *testing.B) {
		var plain, blind, find []time.Duration
		timed := func(into *[]time.Duration, search func() (id string, err error), n int) {
			start := time.Now()
			id, err := search()
			*into = append(*into, time.Since(start))
			if err != nil || id != millionID(n).String() {
				b.Fatalf("row %d: found %q, error %v", n, id, err)
			}
		}
		each := func() {
			for _, search := range []struct {
				into *[]time.Duration
				by   func(context.Context, int) (string, error)
			}{{&plain, m.plain}, {&blind, m.blind}, {&find, m.find}} {
				n := rand.IntN(million)
				timed(search.into, func() (string, error) { return search.by(ctx, n) }, n)
			}
		}
		for b.Loop() {
			each()
		}
		for len(plain) < minSearches {
			each()
		}
		p, bl, f := median(plain), median(blind), median(find)
		ratio := float64(bl) / float64(p)
		b.ReportMetric(float64(p.Nanoseconds()), "plain-ns")
		b.ReportMetric(float64(bl.Nanoseconds()), "blind-ns")
		b.ReportMetric(float64(f.Nanoseconds()), "find-ns")
		b.ReportMetric(ratio, "blind/plain")
		b.ReportMetric(0, "ns/op") // of all three: says nothing
		if ratio > maxSearchRatio {
			b.Errorf("a search by blind index takes %.2f times one by a plain column, more than %.1f (medians %v and %v of %d)", ratio, maxSearchRatio, bl, p, len(plain))
		}
	})
}

func median(times []time.Duration) time.Duration {
	times = slices.Sorted(slices.Values(times))
	return times[len(times)/2]
}

// millionRows is a table with a million rows, each with a value of its own.
type millionRows struct {
	store  *postgres.Store
	pool   *pgxpool.Pool
	index  *blindindex.Index
	column *blindindex.Column
	ring   *keyring.Keyring
}

// millionValue is the n-th row's value, which normalises to itself.
func millionValue(n int) string { return "TR" + strconv.Itoa(1_000_000_000+n*7) }

// millionID grows with n, as a UUIDv7 does with time.
func millionID(n int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], 0x0190aaaa_0000_7000+uint64(n)<<16)
	binary.BigEndian.PutUint64(id[8:], 0x8000_000000000000|uint64(n))
	return id
}

func newMillion(b *testing.B) *millionRows {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	start := time.Now()
	ctx := b.Context()
	m := &millionRows{}
	var err error
	m.store, err = postgres.Open(ctx, testenv.Postgres(b), postgres.Options{})
	must(err)
	b.Cleanup(func() { must(m.store.Close()) })
	m.pool = m.store.Pool()
	indexes := []*schema.Index{{Name: "tax_id", Normalize: []string{"trim", "nfkc"}, Bits: 128}}
	_, err = m.store.Migrate(ctx, indexes)
	must(err)
	keys := keyringtest.NewRing(b, keyringtest.Options{})
	m.ring = keys.Keyring
	m.index, err = blindindex.New("tax_id", indexes[0].Normalize, indexes[0].Bits)
	must(err)
	m.column, err = blindindex.NewColumn(m.ring, m.index, blindindex.ColumnOptions{})
	must(err)
	primary, err := m.ring.Primary(keyring.Index)
	must(err)

	// Indexes are built when the rows are there, as it is done with a table of that size.
	for _, statement := range []string{
		"ALTER TABLE public.outbox_events ADD COLUMN plain text",
		"DROP INDEX public.ix_outbox_events_bidx_tax_id, public.ix_outbox_events_key_ids, public.ix_outbox_events_pending",
	} {
		_, err = m.pool.Exec(ctx, statement)
		must(err)
	}
	payload := `{"tax_id":"fc1:0f3a9c01:` + strings.Repeat("A", 59) + `"}`
	keyIDs := []string{"index:" + primary.ID().String(), "seal:0f3a9c01"}
	now := time.Now()
	columns := []string{"id", "aggregate_type", "aggregate_id", "event_type", "event_version", "payload", "occurred_at", "published_at", "key_ids", "bidx_tax_id", "plain"}
	copied, err := m.pool.CopyFrom(ctx, pgx.Identifier{"public", "outbox_events"}, columns, pgx.CopyFromSlice(million, func(n int) ([]any, error) {
		value := millionValue(n)
		stored, err := m.column.Value(value)
		return []any{millionID(n), "customer", strconv.Itoa(n), "customer.registered", 1, payload, now, now, keyIDs, stored, value}, err
	}))
	must(err)
	if copied != million {
		b.Fatalf("%d rows", copied)
	}
	keys.Stage(keyring.Index) // a search asks under both
	must(keys.Keyring.Refresh(ctx))
	_, err = m.pool.Exec(ctx, "CREATE INDEX ix_plain ON public.outbox_events (plain) WHERE plain IS NOT NULL")
	must(err)
	_, err = m.store.Migrate(ctx, indexes)
	must(err)
	_, err = m.pool.Exec(ctx, "VACUUM (ANALYZE) public.outbox_events")
	must(err)
	m.expectIndexScans(b)
	b.Logf("set up in %v", time.Since(start).Round(time.Second))
	return m
}

const millionColumns = "SELECT id::text, payload::text FROM public.outbox_events WHERE "

func (m *millionRows) one(ctx context.Context, sql string, args ...any) (id string, err error) {
	var payload string
	err = m.pool.QueryRow(ctx, sql, args...).Scan(&id, &payload)
	return id, err
}

func (m *millionRows) plain(ctx context.Context, n int) (string, error) {
	return m.one(ctx, millionColumns+"plain = $1", millionValue(n))
}

func (m *millionRows) blind(ctx context.Context, n int) (string, error) {
	where, args, err := m.column.Where(blindindex.Postgres, 1, "  "+millionValue(n))
	if err != nil {
		return "", err
	}
	return m.one(ctx, millionColumns+where, args...)
}

func (m *millionRows) find(ctx context.Context, n int) (id string, err error) {
	candidates, err := m.index.Candidates(m.ring.Usable(keyring.Index), m.index.Query(millionValue(n), true, false))
	if err != nil {
		return "", err
	}
	for row, err := range m.store.Find(ctx, []outboxstore.Match{{Index: "tax_id", Candidates: candidates}}, outboxstore.FindOptions{}) {
		if err != nil {
			return "", err
		}
		id += row.ID // more than one shows
	}
	return id, nil
}

// expectIndexScans asks how Postgres goes about both searches.
func (m *millionRows) expectIndexScans(b *testing.B) {
	b.Helper()
	where, args, err := m.column.Where(blindindex.Postgres, 1, millionValue(7))
	if err != nil {
		b.Fatal(err)
	}
	for index, c := range map[string]struct {
		where string
		args  []any
	}{
		"ix_plain":                     {"plain = $1", []any{millionValue(7)}},
		"ix_outbox_events_bidx_tax_id": {where, args},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			plan, err := m.explain(b.Context(), mode, millionColumns+c.where, c.args...)
			if err != nil {
				b.Fatal(err)
			}
			if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "Index Scan") {
				b.Errorf("%s: no index scan of %s:\n%s", mode, index, plan)
			}
		}
	}
}

func (m *millionRows) explain(ctx context.Context, mode, sql string, args ...any) (plan string, err error) {
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL plan_cache_mode = "+mode); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "EXPLAIN "+sql, args...)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		plan = strings.Join(lines, "\n")
		if err != nil {
			return fmt.Errorf("explain: %w", err)
		}
		return nil
	})
	return plan, err
}
