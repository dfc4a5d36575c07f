package connect

import "testing"

// Not parallel: libpq's variables belong to the process.
func TestAListedStoreSaysWhatTheEnvironmentMeans(t *testing.T) {
	for _, c := range []struct{ port, given, want string }{
		{"", "postgres://app:s3cret@db/shop?table=outbox_events", "postgres://app@db/shop"},
		{"", "postgres://app@db/shop?sslmode=require&table=public.outbox_events", "postgres://app@db/shop"},
		{"", "postgres://app@db/shop?table=billing.outbox_events", "postgres://app@db/shop?table=billing.outbox_events"},
		{"", "postgres://app@db/shop?table=other", "postgres://app@db/shop?table=other"},
		{"6432", "postgres://app@db/shop", "postgres://app@db:6432/shop"},
		{"6432", "postgres://app@db:5432/shop", "postgres://app@db:5432/shop"},
		{"6432", "postgres://app@db/shop?port=7432", "postgres://app@db/shop?port=7432"},
		{"6432", "postgres://app@[::1]/shop", "postgres://app@[::1]:6432/shop"},
		{"6432", "postgres://one,two/shop", "postgres://one,two/shop"},
		{"6432", "postgres:///shop", "postgres:///shop"},
	} {
		t.Setenv("PGPORT", c.port)
		if got, err := DataStore(c.given, ""); err != nil || got.URL != c.want {
			t.Errorf("PGPORT=%s %s: listed as %s, want %s (%v)", c.port, c.given, got.URL, c.want, err)
		}
	}
}
