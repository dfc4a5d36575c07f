package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The planner has no statistics to go by. These are the store's own statements: searches have to lead with the blind index,
// scans with the key, and nothing may walk the table or sort it.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Migrate(t.Context(), []*schema.Index{{Name: "who"}, {Name: "what"}, {Name: "tag", Multi: true}}); err != nil {
		t.Fatal(err)
	}
	many := slices.Repeat([][]byte{{1}}, 500) // as after many rotations
	who, what, tag := outboxstore.Match{Index: "who", Candidates: many}, outboxstore.Match{Index: "what", Candidates: many}, outboxstore.Match{Index: "tag", Candidates: many}
	for name, c := range map[string]struct {
		matches []outboxstore.Match
		want    string
	}{
		"one index":       {[]outboxstore.Match{who}, "USING INDEX ix_outbox_events_bidx_who (bidx_who=?)"},
		"two indexes":     {[]outboxstore.Match{what, who}, "USING INDEX ix_outbox_events_bidx_wh"},
		"multi index":     {[]outboxstore.Match{tag}, "ix_outbox_events_bidx_tag"},
		"multi and other": {[]outboxstore.Match{tag, who}, "ix_outbox_events_bidx_"}, // either may lead
		"scan":            {nil, "(id>?)"},
	} {
		p := pageQuery{}
		if c.matches != nil {
			if p, _, err = store.search(t.Context(), c.matches); err != nil {
				t.Fatal(err)
			}
		}
		shape, err := store.readyShape(t.Context(), store.db)
		if err != nil {
			t.Fatal(err)
		}
		query := newRowQuery(shape)
		plan := explain(t, store.db, query.text(p.conditions()))
		if !strings.Contains(plan, c.want) || strings.Contains(plan, "SCAN e") {
			t.Errorf("%s: plan has no %q, or walks the table:\n%s", name, c.want, plan)
		}
		if name == "scan" && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s sorts:\n%s", name, plan)
		}
		for _, side := range []string{"SCAN k", "SCAN m"} {
			if strings.Contains(plan, side) {
				t.Errorf("%s walks a side table:\n%s", name, plan)
			}
		}
	}
}

func explain(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	args := []any{1}
	for range strings.Count(query, "?") - 1 {
		args = append(args, "x")
	}
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
