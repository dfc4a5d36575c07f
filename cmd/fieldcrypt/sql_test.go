package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// changeRows changes a database behind fieldcrypt's back: sql URL STATEMENT
func changeRows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql URL STATEMENT")
	}
	var rows int64
	var err error
	if path, ok := strings.CutPrefix(args[0], "sqlite:"); ok {
		rows, err = execSQLite(ts.MkAbs(path), args[1])
	} else {
		rows, err = execPostgres(context.Background(), args[0], args[1])
	}
	ts.Check(err)
	if rows == 0 && !strings.HasPrefix(args[1], "CREATE") {
		ts.Fatalf("the statement changed no row")
	}
}

func execSQLite(path, statement string) (rows int64, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	result, err := db.Exec(statement)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func execPostgres(ctx context.Context, url, statement string) (rows int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	tag, err := conn.Exec(ctx, statement)
	return tag.RowsAffected(), err
}

// rows counts the rows of the project's outbox, without the program.
func (p *project) rows() (n int, err error) {
	const count = "SELECT count(*) FROM outbox_events"
	if !p.on.inFiles() {
		conn, err := pgx.Connect(p.t.Context(), p.on.names["OUTBOX"])
		if err != nil {
			return 0, err
		}
		defer conn.Close(p.t.Context())
		err = conn.QueryRow(p.t.Context(), count).Scan(&n)
		return n, err
	}
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "outbox.db"))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRow(count).Scan(&n)
	return n, err
}

// column reads one column of texts from the project's database, without the program.
func (p *project) column(t testing.TB, query string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.on.names["OUTBOX"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}
