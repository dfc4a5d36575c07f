package storetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
)

// helperVariable makes a test binary a helper process; its value is the job, whose details come on standard input.
const helperVariable = "FIELDCRYPT_STORETEST_HELPER"

// kills is how often each of the two writing jobs is killed.
const kills = 20

// Main is for the TestMain of a dialect's tests.
func Main[Tx any](m *testing.M, d Dialect[Tx]) {
	job := os.Getenv(helperVariable)
	if job == "" {
		os.Exit(m.Run())
	}
	if err := help(context.Background(), d, job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// helperJob is what a helper process needs to do the same as its parent would.
type helperJob struct {
	Address string
	Keys    []keyringtest.Key
	// First and Last are the events to write.
	First, Last int
	// Change and Stage are those of the law of search.
	Change [2]how
	Stage  stage
}

func help[Tx any](ctx context.Context, d Dialect[Tx], name string) error {
	var job helperJob
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		return err
	}
	jobs := map[string]func(context.Context, Database[Tx], Store[Tx], helperJob) error{
		"audit": auditJob[Tx], "migrate": migrateJob[Tx], "rebuild": rebuildJob[Tx], "reencrypt": reencryptJob[Tx], "write": writeJob[Tx],
	}
	do := jobs[name]
	if do == nil {
		return errors.New("no such job: " + name)
	}
	db, err := d.Connect(ctx, job.Address)
	if err != nil {
		return err
	}
	store, err := db.Store(ctx, "")
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, db, store, job), store.Close(), db.Close())
}

func migrateJob[Tx any](ctx context.Context, _ Database[Tx], store Store[Tx], _ helperJob) error {
	registry, err := loadRegistry()
	if err != nil {
		return err
	}
	_, err = store.Migrate(ctx, registry.Indexes())
	return err
}

// writeJob writes a business row and its event in one transaction each, and says so after the commit.
func writeJob[Tx any](ctx context.Context, db Database[Tx], store Store[Tx], job helperJob) error {
	registry, err := loadRegistry()
	if err != nil {
		return err
	}
	rings, err := job.keyrings(ctx)
	if err != nil {
		return err
	}
	sealer, err := envelope.NewSealer(registry, rings, envelope.Options{})
	if err != nil {
		return err
	}
	for n := job.First; n <= job.Last; n++ {
		sealed, err := sealer.Seal(ctx, invoice(n))
		if err != nil {
			return err
		}
		if err := writeBoth(ctx, db, store, n, sealed); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return nil
}

func writeBoth[Tx any](ctx context.Context, db Database[Tx], store Store[Tx], n int, sealed envelope.Sealed) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	results, err := store.Write(ctx, tx, sealed)
	if err == nil && results[0] == outboxstore.Inserted {
		err = db.ExecTx(ctx, tx, fmt.Sprintf("INSERT INTO business VALUES (%d)", n))
	}
	if err != nil {
		return errors.Join(err, db.Rollback(ctx, tx))
	}
	return db.Commit(ctx, tx)
}

func reencryptJob[Tx any](ctx context.Context, _ Database[Tx], store Store[Tx], job helperJob) error {
	registry, err := loadRegistry()
	if err != nil {
		return err
	}
	rings, err := job.keyrings(ctx)
	if err != nil {
		return err
	}
	resealer, err := envelope.NewResealer(registry, rings, envelope.Options{})
	if err != nil {
		return err
	}
	rotated := int64(0)
	result, err := outboxstore.Reencrypt(ctx, store, resealer, outboxstore.ReencryptOptions{
		BatchSize: 2,
		Progress: func(r outboxstore.ReencryptResult) {
			if r.Rotated > rotated { // what an earlier run has done is passed over in silence
				rotated = r.Rotated
				fmt.Println(rotated)
			}
		},
	})
	if err == nil && result.Failed > 0 {
		err = fmt.Errorf("%d rows failed", result.Failed)
	}
	return err
}

// keyrings makes the parent's keyring again.
func (j helperJob) keyrings(ctx context.Context) (*keyring.Set, error) {
	kek, err := keyringtest.NewKEK()
	if err != nil {
		return nil, err
	}
	doc, err := keyringtest.NewDocument("default", kek.URI(), time.Now(), j.Keys)
	if err != nil {
		return nil, err
	}
	raw, err := doc.Seal(kek)
	if err != nil {
		return nil, err
	}
	store := &keyringtest.Store{}
	store.Put(raw)
	ring, err := keyring.Open(ctx, "default", store, kek, keyring.Options{})
	if err != nil {
		return nil, err
	}
	return keyring.NewSet(ring)
}

func testProcesses[Tx any](t *testing.T, d Dialect[Tx]) {
	runEmpty(t, d, "two processes migrate at once", func(s *suite[Tx]) {
		var wg sync.WaitGroup
		for range 3 {
			h := s.start("migrate", helperJob{})
			wg.Go(func() {
				if err := h.wait(); err != nil {
					s.t.Error(err)
				}
			})
		}
		wg.Wait()
		s.expectNothingPending(s.registry.Indexes())
	})

	t.Run("a killed writer leaves no half event, and a rerun completes", func(t *testing.T) {
		t.Parallel()
		keys := []keyringtest.Key{keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)}
		s := newSuiteWithKeys(t, d, keys)
		s.migrate()
		s.exec(businessTable)
		told, killed := 0, 0
		for i := range kills {
			job := helperJob{Keys: keys, First: max(1, told-2), Last: told + 500} // more than a kill leaves time for
			last, alive := s.start("write", job).killAfter(rand.IntN(15))
			told = max(told, last)
			if alive {
				killed++
			}
			s.expectTogether(told)
			if i%5 == 0 {
				s.expectSound()
			}
		}
		s.t.Logf("%d of %d kills met a writer at work", killed, kills)
		if killed < kills*3/4 {
			s.t.Errorf("only %d of %d kills met a writer at work", killed, kills)
		}
		last, err := strconv.Atoi(s.count("business"))
		s.must(err)
		if err := s.start("write", helperJob{Keys: keys, First: 1, Last: last + 10}).wait(); err != nil {
			s.t.Error(err)
		}
		s.expectTogether(last + 10)
		s.expectSound()
		s.expectOpens(1, last+10)
	})

	t.Run("a killed re-encryption leaves every row open, and a rerun completes", func(t *testing.T) {
		t.Parallel()
		const events = 240
		former := []keyringtest.Key{keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)}
		keys := []keyringtest.Key{former[0], former[1], keyringtest.NewKey(keyring.Seal, keyring.Primary), keyringtest.NewKey(keyring.Index, keyring.Primary)}
		keys[0].State, keys[1].State = keyring.Active, keyring.Active
		s := newSuiteWithKeys(t, d, keys)
		s.migrate()
		s.writeUnder(former, events)
		killed := 0
		for range kills {
			if _, alive := s.start("reencrypt", helperJob{Keys: keys}).killAfter(rand.IntN(4)); alive {
				killed++
			}
			r := s.verify(outboxstore.VerifyOptions{})
			if r.Findings != 0 || r.Rows != events {
				s.t.Fatalf("after a kill: %+v", r)
			}
		}
		s.t.Logf("%d of %d kills met a re-encryption at work", killed, kills)
		if killed < kills/2 {
			s.t.Errorf("only %d of %d kills met a re-encryption at work", killed, kills)
		}
		if err := s.start("reencrypt", helperJob{Keys: keys}).wait(); err != nil {
			s.t.Error(err)
		}
		s.expectOnlyPrimaries()
		s.expectOpens(1, events)
	})
}

// expectTogether checks that every event has its business row and the other way round, and that what was told of is there.
func (s *suite[Tx]) expectTogether(told int) {
	s.t.Helper()
	lone := s.query("SELECT count(*) FROM business WHERE n NOT IN (SELECT aggregate_version FROM outbox_events)")[0]
	if business, events := s.count("business"), s.count("outbox_events"); business != events || lone != "0" {
		s.t.Fatalf("%s business rows and %s events; %s rows without their event", business, events, lone)
	}
	if n, err := strconv.Atoi(s.count("outbox_events")); err != nil || n < told {
		s.t.Fatalf("%d events where %d commits were told of: %v", n, told, err)
	}
}

func (s *suite[Tx]) expectSound() {
	s.t.Helper()
	if r := s.verify(outboxstore.VerifyOptions{}); r.Findings != 0 || r.Warnings != 0 {
		s.t.Fatalf("after a kill: %+v", r)
	}
}

// writeUnder writes events 1 … last under other keys than the test's primaries.
func (s *suite[Tx]) writeUnder(keys []keyringtest.Key, last int) {
	s.t.Helper()
	rings, err := helperJob{Keys: keys}.keyrings(s.ctx)
	s.must(err)
	sealer, err := envelope.NewSealer(s.registry, rings, envelope.Options{})
	s.must(err)
	var batch []envelope.Sealed
	for n := 1; n <= last; n++ {
		sealed, err := sealer.Seal(s.ctx, invoice(n))
		s.must(err)
		batch = append(batch, sealed)
	}
	_, err = s.store.WriteBatch(s.ctx, batch...)
	s.must(err)
}

// helper is a process of the test binary.
type helper struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Scanner
	stderr *strings.Builder
}

func (s *suite[Tx]) start(name string, job helperJob) *helper {
	s.t.Helper()
	job.Address = s.address
	input, err := json.Marshal(job)
	s.must(err)
	h := &helper{t: s.t, cmd: exec.Command(os.Args[0]), stderr: &strings.Builder{}}
	h.cmd.Env = append(os.Environ(), helperVariable+"="+name, "GORACE=atexit_sleep_ms=0") // else a second at the end of each
	h.cmd.Stdin = strings.NewReader(string(input))
	h.cmd.Stderr = h.stderr
	stdout, err := h.cmd.StdoutPipe()
	s.must(err)
	h.stdout = bufio.NewScanner(stdout)
	s.must(h.cmd.Start())
	return h
}

// wait lets the helper end by itself.
func (h *helper) wait() error {
	for h.stdout.Scan() {
	}
	if err := h.cmd.Wait(); err != nil {
		return fmt.Errorf("helper: %w: %s", err, h.stderr)
	}
	return nil
}

// killAfter reads the given number of the helper's lines, then kills it within the time that its next few steps take. It
// returns the last number that the helper told of, and whether the kill met it alive.
func (h *helper) killAfter(lines int) (last int, alive bool) {
	h.t.Helper()
	read := func() bool {
		if !h.stdout.Scan() {
			return false
		}
		n, err := strconv.Atoi(h.stdout.Text())
		if err != nil {
			h.t.Fatalf("helper said %q", h.stdout.Text())
		}
		last = n
		return true
	}
	for range lines {
		if !read() {
			break
		}
	}
	kill := time.AfterFunc(rand.N(3*time.Millisecond), func() { _ = h.cmd.Process.Kill() })
	defer kill.Stop()
	for read() {
	}
	if err := h.stdout.Err(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		h.t.Fatalf("reading from the helper: %v", err)
	}
	err := h.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Exited()) {
		h.t.Fatalf("helper: %v: %s", err, h.stderr)
	}
	return last, err != nil
}
