package vaultkeyring

import (
	"context"
	"encoding/json"

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
	if s.closed || s.renewing == token {
		return
	}
	s.renewing = token
	go s.renew(token, known)
}

// renew is keepAlive's goroutine.
func (s *session) renew(token string, auth *api.SecretAuth) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.renewing == token {
			s.renewing = ""
		}
	}()
	if auth == nil {
		if auth = s.lookUp(token); auth == nil {
			return
		}
	}
	if !auth.Renewable || auth.LeaseDuration == 0 {
		return // one that never ends, or whose end nothing moves
	}
	client, err := s.repeating.CloneWithHeaders()
	if err != nil {
		return
	}
	client.SetClientTimeout(s.timeout)
	client.SetToken(token)
	watcher, err := client.NewLifetimeWatcher(&api.LifetimeWatcherInput{Secret: &api.Secret{Auth: auth}})
	if err != nil {
		return
	}
	go watcher.Start()
	defer watcher.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-watcher.RenewCh():
		case <-watcher.DoneCh():
			s.forget(token) // the next call logs in, before the token has ended
			return
		}
	}
}

// lookUp asks what kind of token was configured; nil where Vault does not say.
func (s *session) lookUp(token string) *api.SecretAuth {
	ctx, cancel := context.WithTimeout(s.life, s.timeout)
	defer cancel()
	var found struct {
		TTL       json.Number `json:"ttl"`
		Renewable bool        `json:"renewable"`
	}
	r := request{operation: "look up the token", path: "auth/token/lookup-self", capability: "read"}
	if err := s.send(ctx, r, token, &found); err != nil {
		return nil
	}
	seconds, err := found.TTL.Int64()
	if err != nil {
		return nil
	}
	return &api.SecretAuth{ClientToken: token, Renewable: found.Renewable, LeaseDuration: int(seconds)}
}

// Close ends the renewal of the token. The Vault works on, without it.
func (v *Vault) Close() error {
	v.session.close()
	return nil
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stop()
}
