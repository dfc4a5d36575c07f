package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

// What a Column gives works with pgx itself, too, in each of its modes: a simple, a compound and an array column, NULLs, and
// DDL that builds its index beside writers.
func TestAColumnWithPgxItself(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			config, err := pgxpool.ParseConfig(testenv.Postgres(t))
			must(err)
			config.ConnConfig.DefaultQueryExecMode = mode
			db, err := pgxpool.NewWithConfig(ctx, config)
			must(err)
			t.Cleanup(db.Close)

			ring := keyringtest.New(t)
			simple, err := blindindex.New("tax_id", []string{"digits"}, 128)
			must(err)
			several, err := blindindex.New("email", []string{"email"}, 64)
			must(err)
			compound, err := blindindex.NewCompound("name_birth", [][]string{{"casefold"}, {"digits"}}, 96)
			must(err)
			columns := map[string]*blindindex.Column{}
			_, err = db.Exec(ctx, "CREATE TABLE people (id integer PRIMARY KEY)")
			must(err)
			for _, index := range []*blindindex.Index{simple, several, compound} {
				column, err := blindindex.NewColumn(ring, index, blindindex.ColumnOptions{Multi: index == several})
				must(err)
				columns[index.Name()] = column
				ddl, err := column.DDL(blindindex.Postgres, "public.people", blindindex.DDLOptions{Concurrently: true, Unique: index == simple})
				must(err)
				for _, statement := range ddl {
					_, err = db.Exec(ctx, statement)
					must(err)
				}
			}
			insert := func(id int, taxID any, emails []string, name, birth any) error {
				t.Helper()
				a, err := columns["tax_id"].Value(taxID)
				must(err)
				b, err := columns["email"].Value(emails)
				must(err)
				c, err := columns["name_birth"].Value(name, birth)
				must(err)
				_, err = db.Exec(ctx, "INSERT INTO people (id, bidx_tax_id, bidx_email, bidx_name_birth) VALUES ($1, $2, $3, $4)", id, a, b, c)
				return err
			}
			must(insert(1, "123", []string{"ada@example.com", "lovelace@example.com"}, "Ada", "1815-12-10"))
			must(insert(2, nil, nil, "Ada", nil))
			must(insert(3, "", []string{""}, nil, nil))
			must(insert(4, 123, []string{"ada@EXAMPLE.com"}, "ADA", "18151210")) // an integer is no string
			var taken *pgconn.PgError
			if err := insert(5, "1-2-3", nil, nil, nil); !errors.As(err, &taken) || taken.Code != "23505" {
				t.Errorf("a tax id twice: %v", err)
			}
			var nulls int
			must(db.QueryRow(ctx, "SELECT count(*) FROM people WHERE bidx_tax_id IS NULL AND bidx_email IS NULL AND bidx_name_birth IS NULL").Scan(&nulls))
			if nulls != 2 {
				t.Errorf("%d rows have no index, want 2", nulls)
			}
			for _, c := range []struct {
				index  string
				values []any
				want   []int
			}{
				{"tax_id", []any{"1 2 3"}, []int{1}},
				{"tax_id", []any{123}, []int{4}},
				{"tax_id", []any{"none"}, nil},
				{"email", []any{"ada@Example.com"}, []int{1, 4}},
				{"email", []any{[]string{"lovelace@example.com", "x@example.com"}}, []int{1}},
				{"name_birth", []any{"aDA", "1815 12 10"}, []int{1, 4}},
				{"name_birth", []any{"Ada", nil}, nil},
			} {
				where, args, err := columns[c.index].Where(blindindex.Postgres, 2, c.values...)
				must(err)
				rows, err := db.Query(ctx, "SELECT id FROM people WHERE id < $1 AND "+where+" ORDER BY id", append([]any{100}, args...)...)
				must(err)
				got, err := pgx.CollectRows(rows, pgx.RowTo[int])
				must(err)
				if !slices.Equal(got, c.want) {
					t.Errorf("%s %v: rows %v, want %v", c.index, c.values, got, c.want)
				}
				candidates, err := columns[c.index].Candidates(c.values...)
				must(err)
				if c.index == "email" || len(candidates) == 0 {
					continue
				}
				rows, err = db.Query(ctx, "SELECT id FROM people WHERE bidx_"+c.index+" = ANY($1::bytea[]) ORDER BY id", candidates)
				must(err)
				if got, err = pgx.CollectRows(rows, pgx.RowTo[int]); err != nil || !slices.Equal(got, c.want) {
					t.Errorf("%s %v by ANY: rows %v, error %v, want %v", c.index, c.values, got, err, c.want)
				}
			}
		})
	}
}
