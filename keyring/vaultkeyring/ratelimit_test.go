package vaultkeyring_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fieldcrypt/fieldcrypt/internal/testenv"
	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// limited answers 429 to the first requests, and says when to come again.
func limited(t *testing.T, v *testenv.VaultServer, times int32, after time.Duration) (address string, asked *atomic.Int32) {
	t.Helper()
	target, err := url.Parse(v.Address)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= times {
			w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
			http.Error(w, `{"errors":["rate limit quota exceeded"]}`, http.StatusTooManyRequests)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestARateLimitIsHonoured(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	const after = 2 * time.Second
	address, asked := limited(t, v, 1, after)
	vault := openAt(t, location(v), address, v.RootToken, vaultkeyring.Options{Timeout: time.Minute})
	began := time.Now()
	if err := load(t.Context(), vault); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited < after || asked.Load() != 2 {
		t.Errorf("it asked %d times within %s, and was told to wait for %s", asked.Load(), waited, after)
	}
}

func TestARateLimitThatOutlastsTheTimeoutIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	v := testenv.Vault(t)
	created(t, v)
	address, asked := limited(t, v, 1000, time.Hour)
	vault := openAt(t, location(v), address, v.RootToken, vaultkeyring.Options{Timeout: time.Minute})
	began := time.Now()
	wantError(t, "a limit of an hour", load(t.Context(), vault), vaultkeyring.ErrRateLimited)
	if waited := time.Since(began); waited > 30*time.Second || asked.Load() != 1 {
		t.Errorf("it asked %d times within %s", asked.Load(), waited)
	}
}
