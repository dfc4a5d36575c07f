package connect

import (
	"strings"
	"testing"
)

func TestAURLIsShownWithoutAnyPassword(t *testing.T) {
	t.Parallel()
	for u, want := range map[string]string{
		"sqlite:outbox.db?table=x": "sqlite:outbox.db?table=x",
		"postgres://app@db/app":    "postgres://app@db/app",
		"postgres://app:hunter2@db:5433/app?sslmode=require&table=events.outbox":    "postgres://app@db:5433/app?table=events.outbox",
		"postgres://db/app?user=app&password=hunter2&sslpassword=hunter2":           "postgres://db/app",
		"postgres://db?user=app&password=hunter2":                                   "postgres://db?user=app",
		"postgres://?service=shop&password=hunter2":                                 "postgres:///?service=shop",
		"postgres:///app?host=/var/run/postgresql&port=5433&password=hunter2":       "postgres:///app?host=%2Fvar%2Frun%2Fpostgresql&port=5433",
		"postgres://app:hunter2%zz@db/app":                                          "postgres://…",
		"postgresql://app:hunter2@one:1,two:2/app?target_session_attrs=read-write&": "postgresql://app@one:1,two:2/app",
	} {
		got := Redact(u)
		if got != want || strings.Contains(got, "hunter2") {
			t.Errorf("%s is shown as %s, want %s", u, got, want)
		}
	}
}
