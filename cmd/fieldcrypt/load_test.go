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

// The test binary is also the service that tests run several of, as processes of their own, told by the environment where everything is, until its standard input
// ends:
//
//	loadservice produce NAME FILE   writes events, and their tax ids into FILE once they are committed
//	loadservice search DIR          searches for tax ids of the files in DIR
//	loadservice both NAME FILE      does both, each after the other
//
// NAME is a part of its tax ids. It ends with an error at the first event that cannot be written, does not open or is not found exactly once.
func loadService(args []string) error {
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
	w := &loadWorker{store: store, ring: ring, read: map[string]int64{}}
	switch role := args[0]; {
	case role == "search" && len(args) == 2:
		w.dir, w.searches = args[1], true
	case (role == "produce" || role == "both") && len(args) == 3:
		w.name, w.dir, w.produces, w.searches = args[1], filepath.Dir(args[2]), true, role == "both"
		if w.committed, err = os.OpenFile(args[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return err
		}
		defer w.committed.Close()
	default:
		return errNoService
	}
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

// loadRefresh is how often the processes refresh; the keyring's propagation time is four times that, as a busy machine may be late with it.
const loadRefresh = 500 * time.Millisecond

type loadWorker struct {
	store     outboxstore.Store
	ring      *keyring.Keyring
	sealer    *envelope.Sealer
	opener    *envelope.Opener
	index     *blindindex.Index
	name      string
	produces  bool
	searches  bool
	committed *os.File
	dir       string
	// known are the tax ids of the files in dir, as far as they were read.
	known    []string
	read     map[string]int64
	written  int
	searched int
}

// step writes an event, then searches for one of those written so far, by any process, and opens it.
func (w *loadWorker) step(ctx context.Context) error {
	if w.produces {
		if err := w.produce(ctx); err != nil {
			return fmt.Errorf("event %d: %w", w.written, err)
		}
	}
	if w.searches {
		return w.search(ctx)
	}
	return nil
}

func (w *loadWorker) produce(ctx context.Context) error {
	taxID := fmt.Sprintf("%s-%06d", w.name, w.written)
	payload := fmt.Appendf(nil, `{"number":%d,"customer":{"name":"Wqxzil Vbkjqp","tax_id":%q}}`, w.written, taxID)
	sealed, err := w.sealer.Seal(ctx, envelope.Event{Type: "invoice.issued", AggregateID: fmt.Sprintf("%s/%d", w.name, w.written), Payload: payload})
	if err != nil {
		return err
	}
	if _, err := w.store.WriteBatch(ctx, sealed); err != nil {
		return err
	}
	w.written++
	_, err = w.committed.WriteString(taxID + "\n") // one write: a process that is killed leaves whole lines
	return err
}

// learn reads what others have written down since.
func (w *loadWorker) learn() error {
	files, err := filepath.Glob(filepath.Join(w.dir, "*.committed"))
	if err != nil {
		return err
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.NewSectionReader(f, w.read[path], 1<<30))
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		whole := bytes.LastIndexByte(text, '\n') + 1
		w.read[path] += int64(whole)
		w.known = append(w.known, strings.Fields(string(text[:whole]))...)
	}
	return nil
}

func (w *loadWorker) search(ctx context.Context) error {
	if err := w.learn(); err != nil || len(w.known) == 0 {
		return err
	}
	taxID := w.known[rand.IntN(len(w.known))]
	search, err := w.index.Search(blindindex.Asked{Text: taxID, String: true})
	if err != nil {
		return err
	}
	found, candidates, err := 0, [][]byte(nil), error(nil)
	if candidates, err = search.Candidates(w.ring.Usable(keyring.Index)); err != nil {
		return err
	}
	for row, err := range w.store.Find(ctx, []outboxstore.Match{{Index: "tax_id", Candidates: candidates}}, outboxstore.FindOptions{}) {
		if err != nil {
			return err
		}
		if row.Err != nil {
			return row.Err
		}
		opened, err := w.opener.Open(ctx, row.Received, envelope.OpenOptions{})
		if err != nil {
			return fmt.Errorf("event %s does not open: %w", taxID, err)
		}
		// The index is short: some rows hold another value.
		if bytes.Contains(opened.Event.Payload, []byte(strconv.Quote(taxID))) {
			found++
		}
	}
	if found != 1 {
		return fmt.Errorf("event %s is found %d times, by keys of revision %d", taxID, found, w.ring.Revision())
	}
	w.searched++
	return nil
}

// loadProject is a project whose processes are told where everything is.
func loadProject(t *testing.T) (p, loaded *project) {
	t.Helper()
	database := testenv.Postgres(t)
	p = newProjectOn(t, serverBackend(t, testenv.Vault(t), database), 4*loadRefresh)
	p.mustCall("migrate")
	return p, p.with(map[string]string{
		"FIELDCRYPT_SCHEMAS": filepath.Join(p.dir, "schemas"), "FIELDCRYPT_KEYRING": p.on.names["KEYRING"], "FIELDCRYPT_OUTBOX": database,
	})
}

// service starts one; close what it returns to end it.
func (p *project) service(args ...string) (*running, io.Closer) {
	p.t.Helper()
	cmd := p.commandOf("loadservice", args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	return p.started(cmd, nil), stdin
}

// Three processes that refresh twice a second write, search and open while keys of both purposes rotate and rows are re-encrypted: no event fails to open, and no
// search misses.
func TestLawRotationsUnderLoadMissNothing(t *testing.T) {
	t.Parallel()
	rotations := 50 / lawScale
	p, loaded := loadProject(t)
	var services []*running
	var inputs []io.Closer
	for number := range 3 {
		name := "s" + strconv.Itoa(number)
		service, stdin := loaded.service("both", name, filepath.Join(p.dir, name+".committed"))
		services, inputs = append(services, service), append(inputs, stdin)
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

var errNoService = errors.New("usage: loadservice produce|both NAME FILE, loadservice search DIR")

// runLoadService is the process's main.
func runLoadService() {
	err := errNoService
	if len(os.Args) > 1 {
		err = loadService(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
