package main

import (
	"database/sql"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// sqlite changes a database behind fieldcrypt's back: sql FILE STATEMENT
func sqlite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	result, err := db.Exec(args[1])
	ts.Check(err)
	if rows, err := result.RowsAffected(); err == nil && rows == 0 && !strings.HasPrefix(args[1], "CREATE") {
		ts.Fatalf("the statement changed no row")
	}
}
