package vaultkeyring

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/hashicorp/vault/api"

	"github.com/fieldcrypt/fieldcrypt/keyring"
)

// errOutOfTime is the cause of a call's end when its own time is over.
var errOutOfTime = errors.New("out of time")

// What Vault says, as far as it decides what the problem is.
const (
	saysChanged     = "check-and-set parameter did not match the current version"
	saysForged      = "message authentication failed"
	saysNoCipher    = "invalid ciphertext"
	saysTooOld      = "disallowed by policy"
	saysNoKey       = "encryption key not found"
	saysNoRoute     = "no handler for route"
	saysBadToken    = "invalid token"
	saysSealed      = "sealed"
	saysUpgrading   = "Upgrading from non-versioned"
	saysUnsupported = "unsupported path"
)

// fail makes an error of a call.
func (s *session) fail(r request, problem error) *Error {
	return &Error{
		Address: s.address, Operation: r.operation, Path: r.path, Problem: problem,
		location: s.location, timeout: s.timeout, login: s.login,
	}
}

// explain turns what the client returned into an *Error. It copies nothing of
// the client's text that could hold a part of the request.
func (s *session) explain(ctx context.Context, r request, token string, response *api.Response, err error) error {
	refusal, ok := errors.AsType[*api.ResponseError](err)
	if !ok {
		return s.explainTransport(ctx, r, token, err)
	}
	texts := strings.Join(refusal.Errors, "; ")
	problem := problemOf(r, refusal.StatusCode, texts)
	if refusal.RawError && refusal.StatusCode < http.StatusInternalServerError && problem != ErrRateLimited {
		problem = ErrNotVault // a page's 404 does not say that there is no keyring, nor its 403 what a token may not
	}
	e := s.fail(r, problem)
	e.Status = refusal.StatusCode
	switch e.Problem {
	case ErrDenied:
		s.explainDenied(ctx, e, r, token)
	case keyring.ErrNotFound:
		s.explainAbsent(e, response)
	case ErrRefused, ErrUnavailable:
		if text := cleaned(texts); !refusal.RawError && !repeats(text, token, r.body) {
			e.Detail = text
		}
	}
	return e
}

// notVault is for an answer that lacks what each of Vault's has.
func (s *session) notVault(r request, detail string) *Error {
	e := s.fail(r, ErrNotVault)
	e.Detail = detail
	return e
}

// explainTransport is for calls without an answer.
func (s *session) explainTransport(ctx context.Context, r request, token string, err error) error {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if errors.Is(cause, errOutOfTime) {
			cause = ErrTimeout
		}
		return s.fail(r, cause)
	}
	e := s.fail(r, ErrUnreachable)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the URL is named already, and may hold a password
	}
	if text := cleaned(err.Error()); !repeats(err.Error(), token, r.body) {
		e.Detail, e.Err = text, err
		return e
	}
	e.Detail = "the answer is not HTTP, and repeats the request"
	return e
}

// unsent says whether a request surely never reached Vault.
func unsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func problemOf(r request, status int, texts string) error {
	says := func(what string) bool { return strings.Contains(texts, what) }
	switch {
	case says(saysNoRoute), status == http.StatusNotFound && says(saysUnsupported):
		return ErrNoMount
	case r.login && (status == http.StatusBadRequest || status == http.StatusForbidden):
		return ErrLogin
	case status == http.StatusForbidden:
		if says(saysBadToken) {
			return ErrToken
		}
		return ErrDenied
	case status == http.StatusNotFound && r.absent != nil:
		return r.absent
	case status == http.StatusTooManyRequests:
		return ErrRateLimited
	case status == http.StatusServiceUnavailable && says(saysSealed):
		return ErrSealed
	case says(saysUpgrading):
		return ErrUnavailable
	case says(saysChanged):
		return keyring.ErrChanged
	case says(saysForged), says(saysNoCipher):
		return ErrNotAuthentic
	case says(saysTooOld):
		return ErrKeyVersion
	case says(saysNoKey):
		return ErrNoKey
	case status >= http.StatusInternalServerError:
		return ErrUnavailable
	default:
		return ErrRefused
	}
}

// explainDenied asks Vault what it thinks of the token: not every version says
// whether it denied what a token may do, or does not know the token at all.
func (s *session) explainDenied(ctx context.Context, e *Error, r request, token string) {
	e.Capability = r.capability
	if r.path == lookUpPath {
		return
	}
	response, err := s.transmit(ctx, request{path: lookUpPath}, token)
	if response != nil {
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswerBytes))
	}
	refusal, refused := errors.AsType[*api.ResponseError](err)
	switch {
	case refused && strings.Contains(strings.Join(refusal.Errors, "; "), saysBadToken):
		e.Problem, e.Capability = ErrToken, ""
	case err != nil:
		e.Detail = "or it has expired; vault does not say which"
	}
}

// repeats says whether a foreign text repeats a part of a request: what stands
// between here and Vault may be set to show what it was sent.
func repeats(text, token string, body any) bool {
	const window = 8 // bytes; shorter parts say nothing
	switch sent := body.(type) {
	case map[string]any:
		for _, part := range sent {
			if repeats(text, "", part) {
				return true
			}
		}
	case string:
		for i := 0; i+window <= len(text); i++ {
			if strings.Contains(sent, text[i:i+window]) {
				return true
			}
		}
	}
	return token != "" && repeats(text, "", token)
}

// longRun is what could be a token, a ciphertext or a key in Vault's text.
var longRun = regexp.MustCompile(`[A-Za-z0-9+/=_.-]{28,}`)

// cleaned makes a foreign text fit for an error: one line, short, and without
// anything that could be a secret.
func cleaned(text string) string {
	const most = 200
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	text = longRun.ReplaceAllString(text, "…")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strings.TrimSpace(text)
}
