package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
)

func TestNothingWaitsWithoutBoundForAPoolThatTheCallerUsesUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.open(with(f.url, "pool_max_conns", "1"), postgres.Options{StatementTimeout: 2 * time.Second})
	tx, err := s.Pool().Begin(t.Context())
	f.must(err)
	defer tx.Rollback(t.Context())
	for name, call := range map[string]func(ctx context.Context) error{
		"get":        func(ctx context.Context) error { _, err := s.Get(ctx, noteID(1)); return err },
		"writebatch": func(ctx context.Context) error { _, err := s.WriteBatch(ctx, f.notes(1, 2)...); return err },
		"scan": func(ctx context.Context) error {
			for _, err := range s.Scan(ctx, outboxstore.ScanOptions{}) {
				return err
			}
			return nil
		},
		"keycounts": func(ctx context.Context) error { _, err := s.KeyCounts(ctx); return err },
		"pending":   func(ctx context.Context) error { _, err := s.Pending(ctx, nil); return err },
		"migrate":   func(ctx context.Context) error { _, err := s.Migrate(ctx, nil); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if err := call(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v; want an error before the caller's own time is over", name, err)
		}
		cancel()
	}
}

func TestOpenDoesNotHangOnAServerThatIsSilentAfterTheLogin(t *testing.T) {
	t.Parallel()
	f := newEmpty(t)
	cfg, err := pgx.ParseConfig(f.url)
	f.must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port)))
			if err != nil {
				return
			}
			go io.Copy(s, c)
			go func() {
				buf := make([]byte, 1<<16)
				for {
					n, err := s.Read(buf)
					if err != nil {
						return
					}
					c.Write(buf[:n])
					if n >= 6 && string(buf[n-6:n-1]) == "Z\x00\x00\x00\x05" {
						return // ready, and silent from now on
					}
				}
			}()
		}
	}()
	u := changed(t, f.url, func(u *url.URL) { u.Host = l.Addr().String() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // pgx takes up to 15 s to close such a connection
	defer cancel()
	if _, err = postgres.Open(ctx, u, postgres.Options{ConnectTimeout: time.Second, StatementTimeout: 2 * time.Second}); err == nil || ctx.Err() != nil {
		t.Errorf("%v; want an error before the caller's own time is over", err)
	}
}

func TestAnotherClientEncodingStoresNoOtherText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w, err := postgres.NewWriter(postgres.Options{})
	f.must(err)
	conn, err := pgx.Connect(t.Context(), with(f.url, "client_encoding", "LATIN1"))
	f.must(err)
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	f.must(err)
	var encoding *postgres.ClientEncodingError
	if _, err = w.Write(t.Context(), tx, f.seal(note(1, "Zürich"))); !errors.As(err, &encoding) || encoding.Hint() == "" {
		t.Errorf("a caller's session in LATIN1: %v", err)
	}
	// The store's own connections ask for UTF8, whatever the database says.
	f.exec("ALTER DATABASE \"" + conn.Config().Database + "\" SET client_encoding='LATIN1'")
	s := f.open(f.url, postgres.Options{})
	_, err = s.WriteBatch(t.Context(), f.seal(note(2, "Zürich")))
	f.must(err)
	f.expect("select (payload->>'text')='Zürich' from public.outbox_events where id='"+noteID(2)+"'", "true")
}
