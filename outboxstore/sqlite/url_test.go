package sqlite_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/sqlite"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"sqlite:a.db":                     {"a.db", "outbox_events"},
		"sqlite:/x/y z#%41.db":            {"/x/y z#%41.db", "outbox_events"},
		"sqlite:a.db?":                    {"a.db", "outbox_events"},
		"sqlite:a.db?table=billing":       {"a.db", "billing"},
		"sqlite:sub/dir/a.db?table=b%5Fc": {"sub/dir/a.db", "b_c"},
		"plain.db":                        {"plain.db", "outbox_events"},
		"plain?table=x.db":                {"plain?table=x.db", "outbox_events"},
	} {
		if path, table, err := sqlite.ParseURL(text); err != nil || path != want[0] || table != want[1] {
			t.Errorf("%q: %q, %q, %v", text, path, table, err)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "sqlite:", "sqlite:?table=x", "sqlite::memory:", ":memory:", "file:a.db", "sqlite:file:a.db",
		"sqlite:a.db?mode=ro", "sqlite:a.db?table=a&table=b", "sqlite:a.db?%zz", "sqlite:a.db?_pragma=x"} {
		if _, _, err := sqlite.ParseURL(text); !errors.Is(err, sqlite.ErrURL) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, table := range []string{"", "A", "a;b", "public.outbox", strings.Repeat("x", 99)} {
		var refused *outboxstore.TableNameError
		if _, _, err := sqlite.ParseURL("sqlite:a.db?table=" + table); !errors.As(err, &refused) && !errors.Is(err, sqlite.ErrURL) {
			t.Errorf("table %q: %v", table, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"sqlite:a.db", "sqlite:a.db?table=x", "a b", "sqlite:%?%", ":memory:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, table, err := sqlite.ParseURL(text)
		if err != nil {
			return
		}
		if path == "" || outboxstore.CheckTable(table) != nil {
			t.Errorf("%q gives path %q, table %q", text, path, table)
		}
	})
}
