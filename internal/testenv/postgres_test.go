package testenv_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
)

func TestEachTestHasAFreshDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	one, other := testenv.Postgres(t), testenv.Postgres(t)
	if one == other {
		t.Fatal("both tests have the same database")
	}
	query(t, one, "CREATE TABLE only_here (x int)")
	if err := tryQuery(t, other, "SELECT x FROM only_here"); code(err) != "42P01" {
		t.Errorf("a table of another test's database: %v, want undefined_table", err)
	}
}

func TestADatabaseIsDroppedWithItsTestAlsoWhileSomebodyIsConnected(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("owner", func(t *testing.T) {
		url = testenv.Postgres(t)
		if _, err := pgx.Connect(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	})
	if err := tryQuery(t, url, "SELECT 1"); code(err) != "3D000" {
		t.Errorf("the database after its test: %v, want invalid_catalog_name", err)
	}
}

func TestAPrivatePostgresKeepsItsDataAndURLOverStopAndKill(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	url := server.Database()
	query(t, url, "CREATE TABLE kept (x int)")
	server.Stop()
	if err := tryQuery(t, url, "SELECT 1"); err == nil {
		t.Error("a stopped server answers")
	}
	server.Start()
	query(t, url, "SELECT x FROM kept")
	server.Kill()
	if err := tryQuery(t, url, "SELECT 1"); err == nil {
		t.Error("a killed server answers")
	}
	server.Start()
	query(t, url, "SELECT x FROM kept")
}

func query(t *testing.T, url, sql string) {
	t.Helper()
	if err := tryQuery(t, url, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func tryQuery(t *testing.T, url, sql string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return err
	}
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), sql)
	return err
}

func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
