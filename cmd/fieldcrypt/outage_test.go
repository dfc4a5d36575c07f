package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// outage is one row of the table in docs/operations.md, which names them as they are named here.
type outage struct {
	name string
	// begin makes it, end mends it.
	begin, end func(*outageSite)
	// problem is what a process that starts, a refresh and a rotator meet.
	problem error
}

var outages = []outage{
	{"Vault is sealed", func(s *outageSite) { s.vault.Seal() }, func(s *outageSite) { s.vault.Unseal() }, vaultkeyring.ErrSealed},
	{"Vault is stopped", func(s *outageSite) { s.vault.Stop() }, func(s *outageSite) { s.vault.Start() }, vaultkeyring.ErrUnreachable},
	{"Vault takes 5 s to answer", func(s *outageSite) { s.delay.Store(int64(5 * time.Second)) }, func(s *outageSite) { s.delay.Store(0) }, vaultkeyring.ErrTimeout},
	{"Vault's rate limit is reached", (*outageSite).limit, (*outageSite).unlimit, vaultkeyring.ErrRateLimited},
	{"Vault answers 503", func(s *outageSite) { s.unavailable.Store(true) }, func(s *outageSite) { s.unavailable.Store(false) }, vaultkeyring.ErrUnavailable},
	{"the token has expired", func(s *outageSite) { s.vault.Revoke(s.token) }, func(s *outageSite) { s.newToken() }, vaultkeyring.ErrToken},
	{"the policy was removed", func(s *outageSite) { s.vault.Must(http.MethodDelete, "sys/policies/acl/"+s.policy, nil) }, func(s *outageSite) { s.putPolicy() }, vaultkeyring.ErrDenied},
	{"the clock jumps an hour", func(s *outageSite) { s.ahead.Store(int64(time.Hour)) }, func(s *outageSite) { s.ahead.Store(0) }, nil},
}

// outageSite is a Vault behind a proxy that can be slow or fail, and the processes that use it.
type outageSite struct {
	t           *testing.T
	vault       *testenv.PrivateVaultServer
	address     string
	location    vaultkeyring.Location
	project     *project
	registry    *schema.Registry
	policy      string
	token       string
	delay       atomic.Int64
	unavailable atomic.Bool
	ahead       atomic.Int64
	clients     []interface{ SetToken(string) }
}

func newOutageSite(t *testing.T) *outageSite {
	t.Helper()
	s := &outageSite{t: t, vault: testenv.PrivateVault(t)}
	target, err := url.Parse(s.vault.Address)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d := time.Duration(s.delay.Load()); d > 0 {
			late := time.NewTimer(d)
			defer late.Stop()
			select {
			case <-late.C:
			case <-r.Context().Done():
				return
			}
		}
		if s.unavailable.Load() {
			http.Error(w, `{"errors":["upstream"]}`, http.StatusServiceUnavailable)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.address = server.URL
	s.project = newProjectOn(t, serverBackend(t, s.vault.VaultServer, testenv.Postgres(t)), time.Second)
	s.project.mustCall("migrate")
	if s.location, err = vaultkeyring.ParseURL(s.project.on.names["KEYRING"]); err != nil {
		t.Fatal(err)
	}
	if s.registry, err = schema.Load(filepath.Join(s.project.dir, "schemas")); err != nil {
		t.Fatal(err)
	}
	s.policy = "outage"
	s.putPolicy()
	s.newToken()
	return s
}

func (s *outageSite) putPolicy() {
	s.t.Helper()
	hcl, err := vaultkeyring.Policy(vaultkeyring.Rotator, s.location)
	if err != nil {
		s.t.Fatal(err)
	}
	s.vault.Must(http.MethodPut, "sys/policies/acl/"+s.policy, testenv.Body{"policy": hcl})
}

func (s *outageSite) newToken() {
	s.t.Helper()
	s.token = s.vault.Token(time.Hour, s.policy)
	for _, c := range s.clients {
		c.SetToken(s.token)
	}
}

func (s *outageSite) limit() {
	s.vault.Must(http.MethodPost, "sys/quotas/rate-limit/outage", testenv.Body{"rate": 0.01, "path": s.location.Mount + "/"})
	// The quota lets one request through.
	_, _ = s.vault.Call(s.t.Context(), s.vault.RootToken, http.MethodGet, s.location.Mount+"/data/"+s.location.Path, nil)
}

func (s *outageSite) unlimit() {
	s.vault.Must(http.MethodDelete, "sys/quotas/rate-limit/outage", nil)
}

// place is the keyring's, as a process of its own sees it.
func (s *outageSite) place() *vaultkeyring.Vault {
	s.t.Helper()
	client := testenv.VaultClient(s.t, s.address, s.token)
	s.clients = append(s.clients, client)
	vault, err := vaultkeyring.New(s.location, vaultkeyring.Options{Client: client, Timeout: 3 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	return vault
}

func (s *outageSite) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// open is a process that starts.
func (s *outageSite) open(opts keyring.Options) (*keyring.Keyring, error) {
	opts.Now = s.now
	place := s.place()
	ring, err := keyring.Open(s.t.Context(), "default", place, place, opts)
	if err == nil {
		s.t.Cleanup(ring.Close)
	}
	return ring, err
}

func (s *outageSite) mustOpen(opts keyring.Options) *keyring.Keyring {
	s.t.Helper()
	ring, err := s.open(opts)
	if err != nil {
		s.t.Fatal(err)
	}
	return ring
}

func (s *outageSite) seal(ring *keyring.Keyring) envelope.Sealed {
	s.t.Helper()
	rings, err := keyring.NewSet(ring)
	if err != nil {
		s.t.Fatal(err)
	}
	sealer, err := envelope.NewSealer(s.registry, rings, envelope.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	sealed, err := sealer.Seal(s.t.Context(), envelope.Event{Type: "invoice.issued", AggregateID: "1", Payload: []byte(`{"number":1,"customer":{"name":"Wqxzil Vbkjqp","tax_id":"8675309867"}}`)})
	if err != nil {
		s.t.Errorf("sealing: %v", err)
	}
	return sealed
}

func (s *outageSite) opens(ring *keyring.Keyring, sealed envelope.Sealed) error {
	s.t.Helper()
	rings, err := keyring.NewSet(ring)
	if err != nil {
		s.t.Fatal(err)
	}
	opener, err := envelope.NewOpener(s.registry, rings, envelope.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	received, err := envelope.Parse(sealed.Wire(), envelope.Limits{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = opener.Open(s.t.Context(), received, envelope.OpenOptions{})
	return err
}

// Each row of the table: what a process that starts, a producer, a consumer and a rotator do, while it lasts and after.
func TestOutages(t *testing.T) {
	t.Parallel()
	s := newOutageSite(t)
	for _, o := range outages {
		// One after another: they share a Vault.
		t.Run(o.name, func(t *testing.T) { s.endure(t, o) })
	}
}

func (s *outageSite) endure(t *testing.T, o outage) {
	outer := s.t
	s.t = t
	defer func() { s.t = outer }()
	var failed atomic.Int32
	producer := s.mustOpen(keyring.Options{RefreshInterval: 200 * time.Millisecond, OnEvent: func(e keyring.Event) {
		if e.Kind == keyring.EventRefreshFailed {
			failed.Add(1)
		}
	}})
	consumer := s.mustOpen(keyring.Options{RefreshInterval: -1})
	known := s.seal(producer)
	// A key that the consumer has not loaded yet.
	s.project.mustCall("rotate", "--now")
	unknown := s.seal(s.mustOpen(keyring.Options{RefreshInterval: -1}))
	revision := consumer.Revision() + 2

	o.begin(s)
	before := failed.Load()
	if o.problem != nil {
		s.project.await("a refresh fails", func() (bool, error) { return failed.Load() > before, nil })
	}
	s.seal(producer)
	if err := s.opens(consumer, known); err != nil {
		t.Errorf("the consumer does not open what is under a key that it has: %v", err)
	}
	rotator := s.project.with(map[string]string{"VAULT_ADDR": s.address, "VAULT_TOKEN": s.token, "VAULT_CLIENT_TIMEOUT": "2s"})
	_, startErr := s.open(keyring.Options{RefreshInterval: -1})
	if o.problem == nil {
		if startErr != nil {
			t.Errorf("a process that starts: %v", startErr)
		}
		if err := s.opens(consumer, unknown); err != nil {
			t.Errorf("the consumer: %v", err)
		}
	} else {
		var unknownKey *keyring.UnknownKeyError
		if err := s.opens(consumer, unknown); !errors.As(err, &unknownKey) || !unknownKey.Retryable() || !errors.Is(err, o.problem) {
			t.Errorf("the consumer, of a key that it has not: %v, want an unknown key to be tried again, since %v", err, o.problem)
		}
		if !errors.Is(startErr, o.problem) {
			t.Errorf("a process that starts: %v, want %v", startErr, o.problem)
		}
		if r := rotator.call("keys", "add", "--purpose", "seal"); r.code != failure.Broken || r.stdout != "" {
			t.Errorf("the rotator: %+v", r)
		}
	}

	o.end(s)
	s.project.await("the producer has the newest keyring", func() (bool, error) { return producer.Revision() >= revision, nil })
	s.project.await("the consumer opens what is under the new key", func() (bool, error) { return s.opens(consumer, unknown) == nil, nil })
	if s.project.states(keyring.Seal)["staged"] != 0 {
		t.Error("the rotator staged a key although it failed")
	}
}
