package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/blindindex"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
	"github.com/fieldcrypt/fieldcrypt/outboxstore"
	"github.com/fieldcrypt/fieldcrypt/outboxstore/postgres"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// The test binary is also the service that a test runs several of, as processes of their own: `loadservice NUMBER`, told by the environment where everything is,
// until its standard input ends. It writes events and searches for what it has written, and ends with an error at the first event that does not open or is not
// found exactly once.
func loadService(args []string) error {
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	reg, err := schema.Load(os.Getenv("FIELDCRYPT_SCHEMAS"))
	if err != nil {
		return err
	}
	store, err := postgres.Open(ctx, os.Getenv("FIELDCRYPT_OUTBOX"), postgres.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	where, err := vaultkeyring.ParseURL(os.Getenv("FIELDCRYPT_KEYRING"))
	if err != nil {
		return err
	}
	vault, err := vaultkeyring.New(where, vaultkeyring.Options{Timeout: time.Minute})
	if err != nil {
		return err
	}
	ring, err := keyring.Open(ctx, "default", vault, vault, keyring.Options{RefreshInterval: loadRefresh, Memory: store.KeyringMemory()})
	if err != nil {
		return err
	}
	defer ring.Close()
	rings, err := keyring.NewSet(ring)
	if err != nil {
		return err
	}
	w := &loadWorker{store: store, ring: ring, number: number}
	if w.sealer, err = envelope.NewSealer(reg, rings, envelope.Options{}); err != nil {
		return err
	}
	if w.opener, err = envelope.NewOpener(reg, rings, envelope.Options{}); err != nil {
		return err
	}
	for _, ix := range reg.Indexes() {
		if ix.Name == "tax_id" {
			if w.index, err = envelope.BlindIndex(ix); err != nil {
				return err
			}
		}
	}
	for {
		select {
		case <-ended:
			_, err := fmt.Printf("%d events, %d searches\n", w.written, w.searched)
			return err
		default:
		}
		if err := w.step(ctx); err != nil {
			return err
		}
	}
}

// loadRefresh is how often the processes refresh; the keyring's propagation time is twice that.
const loadRefresh = time.Second

type loadWorker struct {
	store    outboxstore.Store
	ring     *keyring.Keyring
	sealer   *envelope.Sealer
	opener   *envelope.Opener
	index    *blindindex.Index
	number   int
	written  int
	searched int
}

func (w *loadWorker) taxID(n int) string { return fmt.Sprintf("%d-%06d", w.number, n) }

// step writes an event, then searches for one of those written so far, by any process's keys, and opens it.
func (w *loadWorker) step(ctx context.Context) error {
	payload := fmt.Appendf(nil, `{"number":%d,"customer":{"name":"Wqxzil Vbkjqp","tax_id":%q}}`, w.written, w.taxID(w.written))
	sealed, err := w.sealer.Seal(ctx, envelope.Event{Type: "invoice.issued", AggregateID: fmt.Sprintf("%d/%d", w.number, w.written), Payload: payload})
	if err != nil {
		return fmt.Errorf("sealing event %d: %w", w.written, err)
	}
	if _, err := w.store.WriteBatch(ctx, sealed); err != nil {
		return fmt.Errorf("writing event %d: %w", w.written, err)
	}
	w.written++
	n := rand.IntN(w.written)
	search, err := w.index.Search(blindindex.Asked{Text: w.taxID(n), String: true})
	if err != nil {
		return err
	}
	candidates, err := search.Candidates(w.ring.Usable(keyring.Index))
	if err != nil {
		return err
	}
	found := 0
	for row, err := range w.store.Find(ctx, []outboxstore.Match{{Index: "tax_id", Candidates: candidates}}, outboxstore.FindOptions{}) {
		if err != nil {
			return err
		}
		if row.Err != nil {
			return row.Err
		}
		opened, err := w.opener.Open(ctx, row.Received, envelope.OpenOptions{})
		if err != nil {
			return fmt.Errorf("event %d of %d does not open: %w", n, w.written, err)
		}
		// The index is short: some rows hold another value.
		if bytes.Contains(opened.Event.Payload, []byte(w.taxID(n))) {
			found++
		}
	}
	if found != 1 {
		return fmt.Errorf("event %d of %d is found %d times, of revision %d", n, w.written, found, w.ring.Revision())
	}
	w.searched++
	return nil
}

// Three processes that refresh every second write, search and open while keys of both purposes rotate and rows are re-encrypted: no event fails to open, and no
// search misses.
func TestLawRotationsUnderLoadMissNothing(t *testing.T) {
	t.Parallel()
	rotations := 50 / lawScale
	vault, database := testenv.Vault(t), testenv.Postgres(t)
	p := newProjectOn(t, serverBackend(t, vault, database), 2*loadRefresh)
	p.mustCall("migrate")
	loaded := p.with(map[string]string{
		"FIELDCRYPT_SCHEMAS": filepath.Join(p.dir, "schemas"), "FIELDCRYPT_KEYRING": p.on.names["KEYRING"], "FIELDCRYPT_OUTBOX": database,
	})
	var services []*running
	var inputs []io.Closer
	for number := range 3 {
		cmd := loaded.commandOf("loadservice", strconv.Itoa(number))
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		services, inputs = append(services, p.started(cmd, nil)), append(inputs, stdin)
	}
	done := 0
	for ; done < rotations; done++ {
		args := []string{"rotate", "--purpose", "all"}
		if done%5 == 4 {
			args = append(args, "--re-encrypt")
		}
		if r := p.call(args...); r.code != failure.Done {
			t.Errorf("rotation %d: %+v", done, r)
			break
		}
		if ended := anyEnded(services); ended {
			break
		}
	}
	for i, service := range services {
		_ = inputs[i].Close()
		r := service.wait()
		if r.code != failure.Done || !strings.Contains(r.stdout, " events, ") {
			t.Errorf("service %d after %d rotations: %+v", i, done, r)
		}
		t.Logf("service %d: %s", i, strings.TrimSpace(r.stdout))
	}
	p.mustCall("verify", "--output", "json")
	if active := p.states(keyring.Seal)["active"]; active != done {
		t.Errorf("%d active keys after %d rotations", active, done)
	}
}

// anyEnded says whether a process ended before it was told to.
func anyEnded(services []*running) bool {
	for _, s := range services {
		select {
		case err := <-s.done:
			s.done <- err
			return true
		default:
		}
	}
	return false
}

var errNoService = errors.New("usage: loadservice NUMBER")

// runLoadService is the process's main.
func runLoadService() {
	err := errNoService
	if len(os.Args) == 2 {
		err = loadService(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
