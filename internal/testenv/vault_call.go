package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Body is the body of a request to Vault.
type Body map[string]any

// Answer is Vault's answer, as far as tests need it.
type Answer struct {
	Data map[string]any `json:"data"`
	Auth struct {
		ClientToken string `json:"client_token"`
	} `json:"auth"`
}

func (a Answer) text(member string) string {
	s, _ := a.Data[member].(string)
	return s
}

// Must is Call with the root token; an error fails the test.
func (v *VaultServer) Must(method, path string, body Body) Answer {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), setUpWait)
	defer cancel()
	answer, err := v.Call(ctx, v.RootToken, method, path, body)
	if err != nil {
		v.t.Fatalf("setting up Vault: %v", err)
	}
	return answer
}

// CallError is Vault's refusal.
type CallError struct {
	Method, Path string
	Status       int
	Text         string
}

func (e *CallError) Error() string {
	return fmt.Sprintf("%s %s: %d: %s", e.Method, e.Path, e.Status, e.Text)
}

// Call speaks Vault's HTTP API without a client, so that what tests expect of
// the server does not depend on what they test. path is without /v1/.
func (v *VaultServer) Call(ctx context.Context, token, method, path string, body Body) (answer Answer, err error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(v.Address, "/")+"/v1/"+path, content)
	if err != nil {
		return answer, err
	}
	request.Header.Set("X-Vault-Token", token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return answer, &CallError{Method: method, Path: path, Status: response.StatusCode, Text: string(bytes.TrimSpace(text))}
	}
	if len(text) == 0 {
		return answer, nil
	}
	return answer, json.Unmarshal(text, &answer)
}
