package cutproxy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/cutproxy"
)

func ask(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var n int
	return conn.QueryRow(ctx, "SELECT $1::int", 7).Scan(&n)
}

func TestEveryNumberOfMessagesIsMet(t *testing.T) {
	t.Parallel()
	target := testenv.Postgres(t)
	p := cutproxy.New(t, target)
	url := p.URL(t, target)
	if err := ask(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	p.Open()
	if err := ask(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		p.Cut(n)
		err := ask(t.Context(), url)
		if err == nil {
			if n < 15 {
				t.Errorf("%d messages were enough", n)
			}
			return
		}
		if p.Count() != n {
			t.Fatalf("%d messages passed, want %d", p.Count(), n)
		}
	}
}

func TestFrozenConnectionsStayOpen(t *testing.T) {
	t.Parallel()
	target := testenv.Postgres(t)
	p := cutproxy.New(t, target)
	p.Freeze(3)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := ask(ctx, p.URL(t, target)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}
