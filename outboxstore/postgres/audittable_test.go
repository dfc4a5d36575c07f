package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/audittrail"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv/cutproxy"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
)

func auditEntry(detail string) audittrail.Entry {
	return audittrail.Entry{Time: time.Now(), Actor: "ada@ops1", Operation: "open", Result: audittrail.OK, Detail: detail}
}

// Wherever the connection ends, what Append has returned is in the chain, what it has not may be, and the chain is whole.
func TestAnAppendThatIsCutOffAnywhereLeavesOneChain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var told []audittrail.Hash
	lost := 0
	eachCut(t, f, func(ctx context.Context, url string, n int) error {
		store, err := postgres.Open(ctx, url, postgres.Options{})
		if err != nil {
			return err
		}
		defer store.Close()
		for i := range 3 {
			e, err := store.AuditTrail().Append(ctx, auditEntry(fmt.Sprint(i, " of ", n)))
			if err != nil {
				return err
			}
			told = append(told, e.Hash)
		}
		return nil
	}, func(n int, _ error) {
		// A commit that nobody waits for any more may still be under way: this one comes after it.
		e, err := f.store.AuditTrail().Append(t.Context(), auditEntry(fmt.Sprint("after ", n)))
		f.must(err)
		told = append(told, e.Hash)
		report, err := audittrail.Check(t.Context(), f.store.AuditTrail(), audittrail.CheckOptions{Head: e.Hash})
		f.must(err)
		if report.Finding != nil {
			t.Errorf("%v", report.Finding)
		}
	})
	var stored []audittrail.Hash
	for e, err := range audittrail.Entries(t.Context(), f.store.AuditTrail()) {
		f.must(err)
		stored = append(stored, e.Hash)
		if !slices.Contains(told, e.Hash) {
			lost++
		}
	}
	for _, hash := range told {
		if !slices.Contains(stored, hash) {
			t.Errorf("entry %s was told of and is not there", hash)
		}
	}
	if t.Logf("%d entries, %d of which nobody was told", len(stored), lost); lost == 0 {
		t.Error("no cut met the moment between a commit and its answer")
	}
}

// hung is an Append whose connection passes nothing any more, and stays open.
type hung struct {
	cancel context.CancelFunc
	ended  chan error
}

// hangAfter begins an Append that hangs after n messages.
func (f *fixture) hangAfter(proxy *cutproxy.Proxy, n int) hung {
	f.t.Helper()
	proxy.Freeze(n)
	ctx, cancel := context.WithCancel(f.t.Context())
	h := hung{cancel, make(chan error, 1)}
	go func() {
		store, err := postgres.Open(ctx, proxy.URL(f.t, f.url), postgres.Options{})
		if err == nil {
			_, err = store.AuditTrail().Append(ctx, auditEntry("hangs"))
			err = errors.Join(err, store.Close())
		}
		h.ended <- err
	}()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for proxy.Count() < n {
		select {
		case err := <-h.ended:
			f.t.Fatalf("%d messages are not reached: %v", n, err)
		case <-again.C:
		}
	}
	return h
}

// Somebody stops for good, or his machine does, while he has the lock: others go on after a while.
func TestWhoHangsWithTheTrailsLockIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	proxy := cutproxy.New(t, f.url)
	// Who waits for the rest of a statement that came in part, as no machine sends it, is not idle.
	const holders = `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
	 WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database() AND a.state = 'idle in transaction'`
	for n := 1; ; n++ {
		h := f.hangAfter(proxy, n)
		held := f.text(holders) == "1"
		if held {
			ctx, took := soon(t, 30*time.Second)
			_, err := f.store.AuditTrail().Append(ctx, auditEntry("another"))
			took()
			f.must(err)
		}
		h.cancel()
		proxy.Open()
		err := <-h.ended
		if held {
			if err == nil {
				t.Error("what hung has written all the same")
			}
			return
		}
	}
}

// A database may commit asynchronously; the trail does not.
func TestTheTrailCommitsSynchronously(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("CREATE TABLE public.seen (setting text)")
	f.exec(`CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`)
	f.exec("CREATE TRIGGER see BEFORE INSERT ON public.fieldcrypt_audit FOR EACH ROW EXECUTE FUNCTION public.see()")
	for _, setting := range []string{"off", "on", "remote_apply"} {
		store := f.open(with(f.url, "synchronous_commit", setting), postgres.Options{})
		_, err := store.AuditTrail().Append(t.Context(), auditEntry("x"))
		f.must(err)
	}
	f.expect("SELECT string_agg(setting, ' ') FROM public.seen", "local on remote_apply")
}
