package vaultkeyring

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hashicorp/vault/api"
)

// keepAlive renews a token until it cannot be renewed any more, or the session is
// closed: a token that nobody renews dies at the end of its time, in the middle of
// the night. When a renewal ends and a login is at hand, the token is dropped, so
// that the next call logs in; one that was given is used for as long as it lives.
//
// It is started by the first call that needs the token, for each token once.
func (s *session) keepAlive(token string, known *api.SecretAuth) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.tended == token {
		return
	}
	s.tended = token
	go func() {
		if s.renew(token, known) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tended == token {
			s.tended = ""
		}
	}()
}

// renew is keepAlive's goroutine. It says whether it has learnt that the token need
// not be looked at again.
func (s *session) renew(token string, auth *api.SecretAuth) (settled bool) {
	if auth == nil {
		var err error
		if auth, err = s.lookUp(token); err != nil {
			return errors.Is(err, ErrDenied) // it may not look at itself, nor renew itself
		}
	}
	if !auth.Renewable || auth.LeaseDuration == 0 {
		return true // one that never ends, or whose end nothing moves
	}
	client, err := s.repeating.CloneWithHeaders()
	if err != nil {
		return false
	}
	client.SetClientTimeout(s.timeout)
	client.SetToken(token)
	watcher, err := client.NewLifetimeWatcher(&api.LifetimeWatcherInput{Secret: &api.Secret{Auth: auth}})
	if err != nil {
		return false
	}
	go watcher.Start()
	defer watcher.Stop()
	for {
		select {
		case <-s.life.Done():
			return false
		case <-watcher.RenewCh():
		case <-watcher.DoneCh():
			s.forget(token) // the next call logs in, before the token has ended
			return false
		}
	}
}

// lookUp asks what kind of token was configured.
func (s *session) lookUp(token string) (*api.SecretAuth, error) {
	ctx, cancel := context.WithTimeout(s.life, s.timeout)
	defer cancel()
	var found struct {
		TTL       json.Number `json:"ttl"`
		Renewable bool        `json:"renewable"`
	}
	r := request{operation: "look up the token", path: lookUpPath, capability: "read"}
	if err := s.send(ctx, r, token, &found); err != nil {
		return nil, err
	}
	seconds, err := found.TTL.Int64()
	if err != nil {
		return nil, s.notVault(r, "it does not say how long the token lives")
	}
	return &api.SecretAuth{ClientToken: token, Renewable: found.Renewable, LeaseDuration: int(seconds)}, nil
}

// Close ends the renewal of the token, once all that share it are closed. The Vault
// works on, without it.
func (v *Vault) Close() error {
	v.session.released.Do(v.session.leave)
	return nil
}

func (c *connection) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users == 0 {
		c.closed = true
		c.stop()
	}
}
