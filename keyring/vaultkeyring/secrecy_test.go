package vaultkeyring_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fieldcrypt/fieldcrypt/keyring/vaultkeyring"
)

// A proxy for debugging, or a hostile server, repeats whatever it was sent.
func TestNoErrorRepeatsWhatAServerRepeats(t *testing.T) {
	t.Parallel()
	const (
		token     = "hvs.canaryTokenCanaryToken"
		secretID  = "canary-secret-id-0123-4567-89ab"
		plaintext = "canary plaintext that is a keyset"
		document  = `{"canary":"a document that holds keysets"}`
	)
	secrets := []string{token, secretID, plaintext, "a document that holds keysets", base64.StdEncoding.EncodeToString([]byte(plaintext)), "canary"}
	l := vaultkeyring.Location{Mount: "kv", Path: "p", TransitMount: "transit", Key: "k"}
	for _, status := range []int{200, 400, 403, 404, 412, 429, 500, 502, 503} {
		for form, write := range map[string]func(io.Writer, string){
			"JSON errors": func(w io.Writer, echo string) {
				_ = json.NewEncoder(w).Encode(map[string]any{"errors": []string{"you sent " + echo}})
			},
			"a page": func(w io.Writer, echo string) { fmt.Fprintf(w, "<html>you sent %s</html>", echo) },
			"JSON data": func(w io.Writer, echo string) {
				_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"type": echo, "ciphertext": echo, "plaintext": echo, "data": map[string]any{echo: echo}}})
			},
		} {
			for _, checked := range []bool{true, false} {
				t.Run(fmt.Sprintf("%d %s, checks pass %t", status, form, checked), func(t *testing.T) {
					t.Parallel()
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						body, _ := io.ReadAll(r.Body)
						// So that encrypt and save go beyond their checks.
						if checked && strings.Contains(r.URL.Path, "/keys/") {
							io.WriteString(w, `{"data":{"type":"aes256-gcm96"}}`)
							return
						}
						if checked && strings.HasPrefix(r.URL.Path, "/v1/sys/") {
							io.WriteString(w, `{"data":{"type":"kv","options":{"version":"2"}}}`)
							return
						}
						w.WriteHeader(status)
						write(w, r.Header.Get("X-Vault-Token")+" "+string(body))
					}))
					t.Cleanup(server.Close)
					plain := openAt(t, l, server.URL, token, vaultkeyring.Options{Timeout: shortTimeout})
					role := openAt(t, l, server.URL, "", vaultkeyring.Options{
						Timeout: shortTimeout, AppRole: &vaultkeyring.AppRole{RoleID: "role", SecretID: secretID},
					})
					_, encryptErr := plain.EncryptWithContext(t.Context(), []byte(plaintext), nil)
					_, decryptErr := plain.DecryptWithContext(t.Context(), []byte("vault:v1:"+base64.StdEncoding.EncodeToString([]byte(plaintext))), nil)
					for what, err := range map[string]error{
						"load":    load(t.Context(), plain),
						"save":    plain.Save(t.Context(), []byte(document), "1"),
						"encrypt": encryptErr,
						"decrypt": decryptErr,
						"login":   load(t.Context(), role),
					} {
						if err == nil {
							t.Errorf("%s: no error", what)
						}
						noSecret(t, what, err, secrets...)
					}
				})
			}
		}
	}
}
