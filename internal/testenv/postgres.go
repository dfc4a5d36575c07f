package testenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/server"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/internal/share"
)

// EnvPostgresURL names a Postgres server to use instead of a shared one.
const EnvPostgresURL = "FIELDCRYPT_TEST_POSTGRES_URL"

// setUpWait bounds a statement that sets a test up or clears up after it.
const setUpWait = time.Minute

// Postgres returns the URL of a fresh database: UTF-8, the owner's password and
// sslmode in the URL. It is dropped with the test, whoever is connected.
func Postgres(t testing.TB) string {
	t.Helper()
	admin := os.Getenv(EnvPostgresURL)
	if admin == "" {
		admin = postgresLease.join(t, share.Postgres).URL
	}
	return newDatabase(t, admin)
}

// PrivatePostgres starts a cluster of the test's own, which the test may stop,
// start and kill.
func PrivatePostgres(t testing.TB) *PostgresServer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyWait)
	defer cancel()
	p, err := server.NewPostgres(ctx)
	if err != nil {
		t.Fatalf("a Postgres of the test's own: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Remove(); err != nil {
			t.Errorf("removing the test's Postgres: %v", err)
		}
	})
	s := &PostgresServer{t: t, server: p}
	s.Start()
	return s
}

// PostgresServer is a cluster of a test's own.
type PostgresServer struct {
	t      testing.TB
	server *server.Postgres
}

// URL is that of the superuser in the database postgres; it stays when the
// server is stopped and started.
func (s *PostgresServer) URL() string { return s.server.URL() }

// Database returns the URL of a fresh database.
func (s *PostgresServer) Database() string {
	s.t.Helper()
	return createDatabase(s.t, s.server.URL())
}

// Start starts it and waits until it takes connections.
func (s *PostgresServer) Start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), readyWait)
	defer cancel()
	if err := s.server.Start(ctx); err != nil {
		s.t.Fatalf("starting the test's Postgres: %v", err)
	}
}

// Stop ends it as `pg_ctl stop -m fast` does.
func (s *PostgresServer) Stop() {
	s.t.Helper()
	if err := s.server.Stop(); err != nil {
		s.t.Fatalf("stopping the test's Postgres: %v", err)
	}
}

// Kill kills the postmaster; its other processes notice and end.
func (s *PostgresServer) Kill() { s.server.Kill() }

// newDatabase makes a database and drops it with the test.
func newDatabase(t testing.TB, admin string) string {
	t.Helper()
	made := createDatabase(t, admin)
	t.Cleanup(func() {
		u, err := url.Parse(made)
		if err != nil {
			t.Errorf("dropping the test's database: %v", err)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), setUpWait)
		defer cancel()
		if err := execute(ctx, admin, "DROP DATABASE IF EXISTS "+pgx.Identifier{u.Path[1:]}.Sanitize()+" WITH (FORCE)"); err != nil {
			t.Errorf("dropping the test's database: %v", err)
		}
	})
	return made
}

func createDatabase(t testing.TB, admin string) string {
	t.Helper()
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatalf("%s is no URL", EnvPostgresURL) // not the error: it repeats the password
	}
	ctx, cancel := context.WithTimeout(t.Context(), setUpWait)
	defer cancel()
	name := "fieldcrypt_" + unique()
	if err := execute(ctx, admin, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		t.Fatalf("creating a database for the test: %v", err)
	}
	u.Path = "/" + name
	return u.String()
}

func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}

// unique returns a name that no other test has.
func unique() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}
