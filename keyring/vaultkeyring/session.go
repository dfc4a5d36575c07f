package vaultkeyring

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/hashicorp/vault/api"
)

// session is how one keyring calls Vault; its errors name that keyring.
type session struct {
	location Location
	*connection
	released sync.Once
}

// connection calls Vault: with a token that is there or that a login gets, within
// the time that a call has. Several keyrings may share one.
type connection struct {
	address   string
	namespace string
	timeout   time.Duration
	// login gets a token where none is given; nil if there is no way.
	login login
	// given is the caller's client; nil if the client was made here.
	given *api.Client
	// repeating tries again after a failure of the network or of Vault; once is
	// for writes, which must not be repeated blindly.
	repeating *api.Client
	once      *api.Client

	// loggingIn holds one element while somebody logs in.
	loggingIn chan struct{}

	mu sync.Mutex
	// token is what this session has logged in for, or was configured with.
	token string
	// fixed is the token of the configuration, which no login replaces; "" if
	// there is none.
	fixed string
	// tended is the token that a goroutine keeps alive, or that is known not to be
	// kept alive by anything; life ends with the last of the users.
	tended string
	users  int
	closed bool
	life   context.Context
	stop   context.CancelFunc
}

// at is a session of another keyring over the same connection.
func (c *connection) at(location Location) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	return &session{location: location, connection: c}
}

func newSession(location Location, opts Options) (*session, error) {
	c := &connection{given: opts.Client, timeout: opts.Timeout, loggingIn: make(chan struct{}, 1)}
	c.life, c.stop = context.WithCancel(context.Background())
	s := c.at(location)
	switch {
	case opts.AppRole != nil:
		s.login = opts.AppRole
	case opts.Kubernetes != nil:
		s.login = opts.Kubernetes
	}
	client := opts.Client
	if client == nil {
		var err error
		if client, err = environmentClient(); err != nil {
			return nil, err
		}
		if s.timeout <= 0 {
			s.timeout = client.ClientTimeout()
		}
		if s.token, err = s.environmentToken(client); err != nil {
			return nil, err
		}
		s.fixed = s.token
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	s.address = showAddress(client.Address())
	s.namespace = strings.Trim(client.Namespace(), "/")
	for _, copied := range []**api.Client{&s.repeating, &s.once} {
		c, err := client.CloneWithHeaders()
		if err != nil {
			return nil, &SettingsError{Detail: "the client cannot be copied"}
		}
		c.ClearToken()        // it goes with each request
		c.SetClientTimeout(0) // the session's own deadline covers reading the answer, too
		c.SetCheckRetry(inTime(c))
		*copied = c
	}
	s.once.SetMaxRetries(0)
	return s, nil
}

// inTime is the client's own rule for trying again, as long as there is time for
// it: what Vault said last says more than that the time was over.
func inTime(client *api.Client) retryablehttp.CheckRetry {
	again := client.CheckRetry()
	if again == nil {
		again = api.DefaultRetryPolicy
	}
	// The client waits up to twice its longest wait before the second retry.
	needs := 2 * client.MaxRetryWait()
	return func(ctx context.Context, response *http.Response, err error) (bool, error) {
		wait := needs
		if response != nil {
			if response.StatusCode >= http.StatusBadRequest {
				// The client reads a refusal as a whole.
				response.Body = limited{io.LimitReader(response.Body, maxAnswerBytes), response.Body}
			}
			// The client waits as long as it is told to.
			if seconds, err := strconv.ParseInt(response.Header.Get("Retry-After"), 10, 32); err == nil {
				wait = max(wait, time.Duration(seconds)*time.Second+client.MaxRetryWait())
			}
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return false, nil
		}
		return again(ctx, response, err)
	}
}

// limited is a body of which no more is read.
type limited struct {
	io.Reader
	io.Closer
}

// environmentToken says which login counts: an explicit token, else the AppRole or
// Kubernetes, else what `vault login` has left.
func (s *session) environmentToken(client *api.Client) (string, error) {
	if token := client.Token(); token != "" {
		return token, nil
	}
	if s.login == nil {
		s.login = environmentLogin()
	}
	if s.login != nil {
		return "", nil
	}
	return loginToken()
}

// showAddress leaves out a user and a password.
func showAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "at an address that is no URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// bounded gives a call its time.
func (s *session) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.timeout, errOutOfTime)
}

// currentToken is "" if a login is needed.
func (s *session) currentToken() string {
	if s.given != nil {
		if token := s.given.Token(); token != "" {
			return token
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// configured says whether the token is one of the environment, which nobody else
// renews. A client's token is its owner's to renew.
func (s *session) configured(token string) bool {
	return s.fixed != "" && token == s.fixed
}

// forget drops a token that Vault does not take any more, if a login can get
// another one.
func (s *session) forget(token string) bool {
	if s.login == nil || s.given != nil && s.given.Token() != "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token = ""
	}
	return true
}

// needToken logs in if there is no token yet; several callers wait for one
// login.
func (s *session) needToken(ctx context.Context) (string, error) {
	if token := s.currentToken(); token != "" {
		return token, nil
	}
	if s.login == nil {
		return "", s.fail(request{operation: "log in", path: "auth/token"}, ErrNoToken)
	}
	select {
	case s.loggingIn <- struct{}{}:
		defer func() { <-s.loggingIn }()
	case <-ctx.Done():
		return "", s.explainTransport(ctx, request{operation: "log in", path: s.login.path()}, "", ctx.Err())
	}
	if token := s.currentToken(); token != "" {
		return token, nil
	}
	token, err := s.logIn(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
	return token, nil
}
