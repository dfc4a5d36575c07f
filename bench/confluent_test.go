//go:build cgo

package bench

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"
)

func newMessage(tb testing.TB) *message {
	tb.Helper()
	m := new(message)
	if err := json.Unmarshal(orderPayload(), m); err != nil {
		tb.Fatal(err)
	}
	return m
}

// Confluent's serializer must do the work that is compared: the three values are gone, encrypted under a key that its KMS gave.
func TestConfluentSealsTheOrder(t *testing.T) {
	t.Parallel()
	c, err := newConfluent(0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for range 3 {
		before := c.registry.asked
		m := newMessage(t)
		out, err := c.seal(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"ada.lovelace@example.org", "Ada Lovelace", "12345678901"} {
			if bytes.Contains(out, []byte(secret)) {
				t.Errorf("%s is left in clear: %s", secret, out)
			}
		}
		if m.Email == "ada.lovelace@example.org" {
			t.Error("the caller's message is not changed: a benchmark may give the same one twice")
		}
		if ct, err := base64.StdEncoding.DecodeString(m.Email); err != nil || len(ct) != 12+len("ada.lovelace@example.org")+16 {
			t.Errorf("%q is no AES-GCM ciphertext: %v", m.Email, err)
		}
		t.Logf("%d KMS calls, %d requests to the registry, %d bytes", c.kms.calls.Load(), c.registry.asked-before, len(out))
	}
	if c.kms.calls.Load() == 0 || c.registry.asked == 0 {
		t.Error("neither the KMS nor the registry was asked")
	}
}

func benchmarkConfluent(b *testing.B, latency time.Duration) {
	c, err := newConfluent(latency)
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	fresh := *newMessage(b)
	first := fresh
	if _, err := c.seal(&first); err != nil { // fills the client's caches
		b.Fatal(err)
	}
	b.ReportAllocs()
	calls := c.kms.calls.Load()
	for b.Loop() {
		m := fresh
		if _, err := c.seal(&m); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(c.kms.calls.Load()-calls)/float64(b.N), "kms-calls/op")
}
