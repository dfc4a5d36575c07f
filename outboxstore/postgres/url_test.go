package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"postgres://":                                   {"postgres://", ""},
		"postgres://u:p%40@h:1/d":                       {"postgres://u:p%40@h:1/d", ""},
		"postgresql://h/d?table=a":                      {"postgresql://h/d", "public.a"},
		"postgres://h/d?sslmode=disable&table=s.a_1":    {"postgres://h/d?sslmode=disable", "s.a_1"},
		"postgres://h/d?options=-c%20a%3Db+c&%74able=a": {"postgres://h/d?options=-c%20a%3Db+c", "public.a"},
		"postgres:///d?host=%2Fvar%2Frun":               {"postgres:///d?host=%2Fvar%2Frun", ""},
	} {
		if dsn, table, err := postgres.ParseURL(text); err != nil || dsn != want[0] || table != want[1] {
			t.Errorf("%q: %q, %q, %v", text, dsn, table, err)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "postgres", "postgres:", "postgres:/h/d", "sqlite:a", "host=h password=s3cret-word", "mysql://u:s3cret-word@h/d",
		"postgres://u:s3cret-word@h:port/d", "postgres://u:s3cret-word@h/d?sslmode=perhaps", "postgres://u:s3cret-word%@h/d",
		"postgres://u:s3cret-word#x@h/d", "postgres://h/d?table=a&table=b", "postgres://h/d?%zz", "postgres://u:p@s3cret-word@h/d", "postgres://x?s3cret-word@h/d", "postgres://u:1/s3cret-word@h/d", "postgres://u:s3cret-word\n@h/d",
	} {
		_, _, err := postgres.ParseURL(text)
		if !errors.Is(err, postgres.ErrURL) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password stands in: %v", err)
		}
	}
	for _, table := range []string{"A", "a;b", "a.b.c", ".a", "a.", "pg_x.a", "information_schema.a", "s." + strings.Repeat("x", 42), `a"`, "s.x_bidx_y"} {
		var refused *outboxstore.TableNameError
		if _, _, err := postgres.ParseURL("postgres://h/d?table=" + table); !errors.As(err, &refused) && !errors.Is(err, postgres.ErrURL) {
			t.Errorf("table %q: %v", table, err)
		}
		if _, err := postgres.NewWriter(postgres.Options{Table: table}); !errors.As(err, &refused) {
			t.Errorf("table %q: %v", table, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"postgres://u:p@h:1/d?table=s.t", "postgres://", "postgres://h/d?table=a&sslmode=disable", "postgresql:///d?host=/x", "postgres://%/?%", "postgres://0table=0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dsn, table, err := postgres.ParseURL(text)
		if err != nil {
			return
		}
		if u, err := url.Parse(dsn); err == nil && u.Query().Has("table") {
			t.Errorf("%q: the table is still in %q", text, dsn)
		}
		if table == "" {
			return
		}
		if _, err := postgres.NewWriter(postgres.Options{Table: table}); err != nil {
			t.Errorf("%q gives table %q: %v", text, table, err)
		}
	})
}
