package vaultkeyring_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

const (
	// shortTimeout is what a call may take in these tests.
	shortTimeout = time.Second
	// scheduling is what a busy machine may add to it.
	scheduling = 5 * time.Second
)

// everything is each way to call Vault; with the token of a rotator that may
// also create.
var everything = map[string]action{
	"load":      load,
	"open":      openRing,
	"create":    createRing,
	"stage":     stage,
	"encrypt":   encrypt,
	"check key": checkKey,
	"decrypt": func(ctx context.Context, v *vaultkeyring.Vault) error {
		_, err := v.DecryptWithContext(ctx, []byte("vault:v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), nil)
		return err
	},
	"save": func(ctx context.Context, v *vaultkeyring.Vault) error { return v.Save(ctx, []byte("{}"), "1") },
}

// within checks that a call ends in its time, and returns its error.
func within(t *testing.T, what string, do action, vault *vaultkeyring.Vault) error {
	t.Helper()
	began := time.Now()
	err := do(t.Context(), vault)
	if took := time.Since(began); took > shortTimeout+scheduling {
		t.Errorf("%s took %s, and each call may take %s", what, took, shortTimeout)
	}
	return err
}

func TestEveryCallNamesWhatIsWrongWithVault(t *testing.T) {
	t.Parallel()
	v := testenv.PrivateVault(t)
	created(t, v.VaultServer)
	token := roleToken(t, v.VaultServer, long, vaultkeyring.Creator, vaultkeyring.Rotator)
	proxy := testenv.NewProxyTo(t, v.Address)
	// at makes a client of its own for each call, without a connection yet.
	at := func(address string, timeout time.Duration) func() *vaultkeyring.Vault {
		return func() *vaultkeyring.Vault {
			client := newClient(t, address, token)
			client.SetMaxRetries(0)
			vault, err := vaultkeyring.New(location(v.VaultServer), vaultkeyring.Options{Client: client, Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			return vault
		}
	}
	// A busy machine must not make a quick refusal look like a slow Vault.
	direct, proxied := at(v.Address, time.Minute), at("http://"+proxy.Address(), time.Minute)
	hurried, proxiedHurried := at(v.Address, shortTimeout), at("http://"+proxy.Address(), shortTimeout)
	all := func(state string, problem error, vault func() *vaultkeyring.Vault) {
		t.Helper()
		for name, do := range everything {
			what := state + ": " + name
			e := wantError(t, what, within(t, what, do, vault()), problem, token, v.RootToken)
			if !e.Retryable() && e.Problem != vaultkeyring.ErrUncertain {
				t.Errorf("%s: %v is not retryable", what, e)
			}
		}
	}
	works := func(state string, vault *vaultkeyring.Vault) {
		t.Helper()
		for name, do := range map[string]action{"open": openRing, "stage": stage} {
			if err := do(t.Context(), vault); err != nil {
				t.Errorf("%s: %s: %v", state, name, err)
			}
		}
	}
	patient := func() *vaultkeyring.Vault {
		return open(t, v.VaultServer, token, vaultkeyring.Options{Timeout: time.Minute})
	}

	works("at first", patient())
	v.Seal()
	all("sealed", vaultkeyring.ErrSealed, direct)
	v.Unseal()
	works("unsealed again", patient())

	v.Stop()
	all("stopped", vaultkeyring.ErrUnreachable, direct)
	v.StartSealed()
	all("started and still sealed", vaultkeyring.ErrSealed, direct)
	v.Unseal()
	works("started again", patient())

	v.Pause()
	all("hanging", vaultkeyring.ErrTimeout, hurried)
	v.Resume()
	works("going on", patient())

	proxy.Delay(time.Minute)
	all("slow", vaultkeyring.ErrTimeout, proxiedHurried)
	proxy.Cut()
	all("cut off", vaultkeyring.ErrUnreachable, proxied)
	proxy.Mend()
	proxy.Delay(0)

	v.Kill()
	all("killed", vaultkeyring.ErrUnreachable, direct)
	v.Start()
	works("after the kill", patient())
}

// With the client's own retries, what Vault said last is told, not that the time
// was over.
func TestRetriesNeitherOutlastTheTimeNorHideTheReason(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"no time to retry": 2 * time.Second, "time to retry": 12 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
				io.WriteString(w, `{"errors":["Vault is sealed"]}`)
			}))
			t.Cleanup(server.Close)
			l := vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "transit", Key: "k"}
			vault := openAt(t, l, server.URL, "s.token", vaultkeyring.Options{Timeout: timeout})
			began := time.Now()
			wantError(t, name, load(t.Context(), vault), vaultkeyring.ErrSealed, "s.token")
			if took := time.Since(began); took > timeout {
				t.Errorf("it took %s of %s", took, timeout)
			}
			if again := asked.Load() > 1; again != (name == "time to retry") {
				t.Errorf("asked %d times", asked.Load())
			}
		})
	}
}

// A loaded keyring goes on while Vault is away, and sees what changed when it is
// back.
func TestALoadedKeyringOutlivesVault(t *testing.T) {
	t.Parallel()
	v := testenv.PrivateVault(t)
	created(t, v.VaultServer)
	vault := open(t, v.VaultServer, roleToken(t, v.VaultServer, long, vaultkeyring.Consumer), vaultkeyring.Options{})
	ring, err := keyring.Open(t.Context(), ringName, vault, vault, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ring.Close)
	v.Stop()
	if err := ring.Refresh(t.Context()); !errors.Is(err, vaultkeyring.ErrUnreachable) {
		t.Errorf("refreshing while Vault is away: %v, want ErrUnreachable", err)
	}
	k, err := ring.Primary(keyring.Seal)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Derive([]byte("x")); err != nil {
		t.Errorf("deriving while Vault is away: %v", err)
	}
	v.Start()
	if err := ring.Refresh(t.Context()); err != nil {
		t.Errorf("refreshing when Vault is back: %v", err)
	}
}

// lossy is a proxy that lets requests through and loses the answers to some.
type lossy struct {
	*httptest.Server
	loses func(*http.Request) bool
	lost  atomic.Int32
}

func newLossy(t *testing.T, address string, loses func(*http.Request) bool) *lossy {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l := &lossy{loses: loses}
	pass := httputil.NewSingleHostReverseProxy(target)
	pass.ErrorLog = log.New(io.Discard, "", 0) // clients that end are a part of the tests
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.loses(r) {
			pass.ServeHTTP(w, r)
			return
		}
		l.lost.Add(1)
		pass.ServeHTTP(httptest.NewRecorder(), r)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("losing an answer: %v", err)
			return
		}
		conn.Close()
	}))
	t.Cleanup(l.Close)
	return l
}

func isWrite(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/data/")
}

func TestAWriteWhoseAnswerIsLostIsReadBackAndNotRepeated(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	proxy := newLossy(t, v.Address, isWrite)
	vault := openAt(t, location(v), proxy.URL, roleToken(t, v, long, vaultkeyring.Rotator), vaultkeyring.Options{})
	if err := stage(t.Context(), vault); err != nil {
		t.Errorf("staging while answers to writes are lost: %v", err)
	}
	if n := proxy.lost.Load(); n != 1 {
		t.Errorf("the write was sent %d times, want once", n)
	}
	if got := storedVersion(t, v); got != 2 {
		t.Errorf("the document has version %d, want 2", got)
	}
}

func TestAWriteThatCannotBeReadBackIsUncertainAndSaysSo(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	token := roleToken(t, v, long, vaultkeyring.Rotator)
	var written atomic.Bool
	proxy := newLossy(t, v.Address, func(r *http.Request) bool {
		return isWrite(r) && !written.Swap(true) || written.Load()
	})
	vault := openAt(t, location(v), proxy.URL, token, vaultkeyring.Options{})
	err := stage(t.Context(), vault)
	wantError(t, "staging while nothing is answered after the write", err, vaultkeyring.ErrUncertain, token)
	if !errors.Is(err, vaultkeyring.ErrUnreachable) || errors.Is(err, keyring.ErrChanged) {
		t.Errorf("%v: want that it also is ErrUnreachable, and not ErrChanged", err)
	}
	if got := storedVersion(t, v); got != 2 {
		t.Errorf("the document has version %d, want 2", got)
	}
}

// The answer is lost, and another writer's document stands there: it is not
// taken for this one's.
func TestALostAnswerToARefusedWriteIsNoSuccess(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	token := roleToken(t, v, long, vaultkeyring.Rotator)
	rival := open(t, v, token, vaultkeyring.Options{})
	proxy := newLossy(t, v.Address, func(r *http.Request) bool {
		if !isWrite(r) {
			return false
		}
		if err := stage(context.Background(), rival); err != nil {
			t.Errorf("the rival: %v", err)
		}
		return true
	})
	vault := openAt(t, location(v), proxy.URL, token, vaultkeyring.Options{})
	wantError(t, "staging", stage(t.Context(), vault), vaultkeyring.ErrUncertain, token)
	if got := storedVersion(t, v); got != 2 {
		t.Errorf("the document has version %d, want 2: the rival's alone", got)
	}
}

func storedVersion(t *testing.T, v *testenv.VaultServer) int {
	t.Helper()
	answer := v.Must(http.MethodGet, v.KV+"/metadata/"+testPath, nil)
	version, ok := answer.Data["current_version"].(float64)
	if !ok {
		t.Fatalf("no version in %v", answer.Data)
	}
	return int(version)
}

func TestACallersEndIsTheCallers(t *testing.T) {
	t.Parallel()
	v := testenv.PrivateVault(t)
	created(t, v.VaultServer)
	token := roleToken(t, v.VaultServer, long, vaultkeyring.Creator, vaultkeyring.Rotator)
	v.Pause()
	defer v.Resume()
	mine := errors.New("the caller's reason")
	for name, do := range everything {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, mine)
		err := do(ctx, open(t, v.VaultServer, token, vaultkeyring.Options{Timeout: time.Minute}))
		cancel()
		if !errors.Is(err, mine) {
			t.Errorf("%s: %v, want the caller's reason", name, err)
		}
		noSecret(t, name, err, token)
	}
}

// What stands before Vault may answer with anything.
func TestAnswersThatAreNotVaultsAreErrors(t *testing.T) {
	t.Parallel()
	answers := map[string]struct {
		status int
		body   string
		want   error
	}{
		"a page":              {200, "<html>hello</html>", vaultkeyring.ErrNotVault},
		"nothing":             {200, "", vaultkeyring.ErrNotVault},
		"no content":          {204, "", vaultkeyring.ErrNotVault},
		"another JSON":        {200, `[1]`, vaultkeyring.ErrNotVault},
		"empty data":          {200, `{"data":{}}`, vaultkeyring.ErrNotVault},
		"null data":           {200, `{"data":null}`, vaultkeyring.ErrNotVault},
		"wrong types":         {200, `{"data":{"data":1,"metadata":2,"ciphertext":3,"plaintext":4,"type":5}}`, vaultkeyring.ErrNotVault},
		"a gateway's failure": {502, "<html>bad gateway</html>", vaultkeyring.ErrUnavailable},
		"a page's 404":        {404, "<html>not found</html>", vaultkeyring.ErrNotVault},
		"a page's 403":        {403, "<html>forbidden</html>", vaultkeyring.ErrNotVault},
		"TLS is missing":      {400, "Client sent an HTTP request to an HTTPS server.", vaultkeyring.ErrNotVault},
		"a page's 429":        {429, "<html>slow down</html>", vaultkeyring.ErrRateLimited},
		"a failure":           {500, `{"errors":["internal error"]}`, vaultkeyring.ErrUnavailable},
		"a standby":           {503, `{"errors":[]}`, vaultkeyring.ErrUnavailable},
		"a rate limit":        {429, `{"errors":["request path \"x\": rate limit quota exceeded"]}`, vaultkeyring.ErrRateLimited},
		"a refusal":           {400, `{"errors":["something else"]}`, vaultkeyring.ErrRefused},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(answer.status)
				io.WriteString(w, answer.body)
			}))
			t.Cleanup(server.Close)
			l := vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "transit", Key: "k"}
			for _, what := range []string{"load", "encrypt", "decrypt", "check key"} {
				vault := openAt(t, l, server.URL, "s.token", vaultkeyring.Options{Timeout: shortTimeout})
				err := within(t, what, everything[what], vault)
				if what == "encrypt" || what == "check key" {
					// The key is checked first, and has no type here.
					if errors.Is(err, vaultkeyring.ErrUnsuitableKey) && answer.want == vaultkeyring.ErrNotVault {
						continue
					}
				}
				want := answer.want
				if what == "load" && strings.HasSuffix(name, "data") {
					want = vaultkeyring.ErrMalformed // a KV mount of version 1 answers so
				}
				var e *vaultkeyring.Error
				if !errors.Is(err, want) || !errors.As(err, &e) {
					t.Errorf("%s: %v, want %q", what, err, want)
					continue
				}
				if want == vaultkeyring.ErrNotVault && (strings.Contains(e.Hint(), "rollback") || !strings.Contains(e.Hint(), "VAULT_ADDR") || !e.Retryable()) {
					t.Errorf("%s: %v: hint %q, retryable %t", what, err, e.Hint(), e.Retryable())
				}
			}
		})
	}
}

func TestNoServerAtAllIsUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	l := vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "transit", Key: "k"}
	for name, do := range everything {
		vault := openAt(t, l, "http://user:password@"+address, "s.token", vaultkeyring.Options{Timeout: shortTimeout})
		e := wantError(t, name, within(t, name, do, vault), vaultkeyring.ErrUnreachable, "password", "s.token")
		if !strings.Contains(e.Error(), address) {
			t.Errorf("%s: %v does not name the address %s", name, e, address)
		}
	}
}
