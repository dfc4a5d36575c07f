package vaultkeyring

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/hashicorp/vault/api"

	"github.com/fieldcrypt/fieldcrypt/keyring/internal/strictjson"
)

// maxAnswerBytes is far above what the largest document needs.
const maxAnswerBytes = 8 << 20

// request is one call to Vault.
type request struct {
	// operation and path are what errors name.
	operation string
	path      string
	// capability is what the token needs on the path.
	capability string
	// body makes it a write.
	body map[string]any
	// once: it must not be repeated after a failure that leaves open whether
	// it was carried out.
	once bool
	// absent is what a 404 means.
	absent error
	// login: it needs no token and gets one.
	login bool
}

// do makes a call and reads the answer's data into out. A token that has
// expired is replaced once, where a login can.
func (s *session) do(ctx context.Context, r request, out any) error {
	const attempts = 2
	var err error
	for range attempts {
		token, loginErr := s.needToken(ctx)
		if loginErr != nil {
			return loginErr
		}
		err = s.send(ctx, r, token, out)
		if err == nil && s.configured(token) {
			s.keepAlive(token, nil)
		}
		if !errors.Is(err, ErrToken) || !s.forget(token) {
			return err
		}
	}
	return err
}

// logIn gets a token.
func (s *session) logIn(ctx context.Context) (string, error) {
	body, err := s.login.body()
	if err != nil {
		return "", err
	}
	r := request{operation: "log in", path: s.login.path(), body: body, login: true, absent: ErrNoMount}
	var answer struct {
		Auth struct {
			ClientToken   string `json:"client_token"`
			Renewable     bool   `json:"renewable"`
			LeaseDuration int    `json:"lease_duration"`
		} `json:"auth"`
	}
	if err := s.exchange(ctx, r, "", &answer); err != nil {
		return "", err
	}
	if answer.Auth.ClientToken == "" {
		return "", s.notVault(r, "it holds no token")
	}
	s.keepAlive(answer.Auth.ClientToken, &api.SecretAuth{
		ClientToken: answer.Auth.ClientToken, Renewable: answer.Auth.Renewable, LeaseDuration: answer.Auth.LeaseDuration,
	})
	return answer.Auth.ClientToken, nil
}

// send makes a call with a token; out gets what stands under data.
func (s *session) send(ctx context.Context, r request, token string, out any) error {
	if !printableASCII(token) {
		e := s.fail(r, ErrToken)
		e.Detail = "it holds characters that no token has"
		return e
	}
	answer := struct {
		Data any `json:"data"`
	}{Data: out}
	return s.exchange(ctx, r, token, &answer)
}

// exchange sends a request and reads the whole answer.
func (s *session) exchange(ctx context.Context, r request, token string, answer any) error {
	response, err := s.transmit(ctx, r, token)
	if response != nil {
		defer response.Body.Close()
	}
	if err != nil {
		return s.explain(ctx, r, token, response, err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return s.explain(ctx, r, token, nil, err)
	}
	if len(text) == 0 && response.StatusCode == http.StatusNoContent && r.body != nil { // a read gives something
		return nil
	}
	if len(text) > maxAnswerBytes || json.Unmarshal(text, answer) != nil {
		e := s.fail(r, ErrNotVault)
		e.Status = response.StatusCode
		return e
	}
	return nil
}

func (s *session) transmit(ctx context.Context, r request, token string) (*api.Response, error) {
	client := s.repeating
	if r.once {
		client = s.once
	}
	var body []byte
	if r.body != nil {
		text, err := strictjson.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.TrimSpace(text)
	}
	// The token goes with the request, not into the client: another call may
	// have another one.
	logical := client.WithRequestCallbacks(func(req *api.Request) {
		req.ClientToken = token
		req.WrapTTL = "" // VAULT_WRAP_TTL would hide the answer
		if body != nil {
			req.Obj = json.RawMessage(body) // the client makes the body anew from it when it is redirected
		}
	}).Logical()
	if body == nil {
		return logical.ReadRawWithDataWithContext(ctx, r.path, nil)
	}
	return logical.WriteRawWithContext(ctx, r.path, body)
}

func printableASCII(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
