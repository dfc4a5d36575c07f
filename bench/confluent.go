//go:build cgo

package bench

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/rules/encryption"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/serde"
	"github.com/confluentinc/confluent-kafka-go/v2/schemaregistry/serde/jsonschema"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// confluent is Confluent's serializer with field-level encryption by tags in a JSON Schema, validation on: its own client, against a registry that is
// served here over HTTP, and a KMS in this process.
type confluent struct {
	serializer *jsonschema.Serializer
	server     *httptest.Server
	registry   *schemaRegistry
	kms        *localKMS
}

// message is the order as a Go struct: Confluent's serializer takes no JSON text. It changes what it is given, so that each message needs a new one.
type message struct {
	OrderID   string   `json:"order_id"`
	Created   string   `json:"created"`
	Currency  string   `json:"currency"`
	Total     float64  `json:"total"`
	Items     int      `json:"items"`
	Channel   string   `json:"channel"`
	Campaign  *string  `json:"campaign"`
	Warehouse string   `json:"warehouse"`
	Email     string   `json:"email"`
	Customer  customer `json:"customer"`
	TaxID     string   `json:"tax_id"`
	Comment   string   `json:"comment"`
}

type customer struct {
	Name    string `json:"name"`
	Segment string `json:"segment"`
}

const confluentTopic = "orders"

// newConfluent makes a serializer whose KMS takes latency for each call.
func newConfluent(latency time.Duration) (*confluent, error) {
	schema := strings.ReplaceAll(orderSchema, `"x-gdpr-sensitive": true`, `"confluent:tags": ["PII"]`)
	schema = strings.ReplaceAll(schema, `, "x-blind-index": {"normalize": ["trim", "casefold"]}`, "")
	schema = strings.ReplaceAll(schema, `, "x-blind-index": true`, "")
	kms, err := newLocalKMS(latency)
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(map[string]any{
		"id": 1, "subject": confluentTopic + "-value", "version": 1, "schemaType": "JSON", "schema": schema,
		"ruleSet": map[string]any{"domainRules": []any{map[string]any{
			"name": "encrypt", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "ENCRYPT", "tags": []string{"PII"}, "onFailure": "ERROR,NONE",
			"params": map[string]string{"encrypt.kek.name": "orders", "encrypt.kms.type": "bench", "encrypt.kms.key.id": kms.id},
		}}},
	})
	if err != nil {
		return nil, err
	}
	// What the library registers in its globals serves one registry only: it gets new ones, and the serializer its own.
	encryption.Register()
	rules := serde.NewRuleRegistry()
	rules.RegisterExecutor(encryption.NewFieldExecutor())
	encryption.RegisterKMSDriver(kms) // each has a prefix of its own
	reg := newSchemaRegistry(confluentTopic+"-value", answer)
	c := &confluent{server: httptest.NewServer(reg), registry: reg, kms: kms}
	client, err := schemaregistry.NewClient(schemaregistry.NewConfig(c.server.URL))
	if err != nil {
		c.close()
		return nil, err
	}
	config := jsonschema.NewSerializerConfig()
	config.AutoRegisterSchemas, config.UseLatestVersion, config.EnableValidation = false, true, true
	if c.serializer, err = jsonschema.NewSerializer(client, serde.ValueSerde, config); err != nil {
		c.close()
		return nil, err
	}
	if err := c.serializer.SetRuleRegistry(&rules, nil); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *confluent) seal(m *message) ([]byte, error) {
	return c.serializer.Serialize(confluentTopic, m)
}

func (c *confluent) close() { c.server.Close() }

// localKMS is a KMS in this process: Tink's AES-256-GCM. It implements the driver, the client and the AEAD that Confluent's library asks for.
type localKMS struct {
	id      string
	aead    tink.AEAD
	latency time.Duration
	calls   atomic.Int64
}

func newLocalKMS(latency time.Duration) (*localKMS, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, err
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, err
	}
	return &localKMS{id: "kms-" + latency.String(), aead: primitive, latency: latency}, nil
}

func (k *localKMS) GetKeyURLPrefix() string { return "bench://" + k.id }

func (k *localKMS) NewKMSClient(map[string]string, *string) (registry.KMSClient, error) {
	return k, nil
}

func (k *localKMS) Supported(uri string) bool { return strings.HasPrefix(uri, k.GetKeyURLPrefix()) }

func (k *localKMS) GetAEAD(string) (tink.AEAD, error) { return k, nil }

func (k *localKMS) Encrypt(plaintext, data []byte) ([]byte, error) {
	k.call()
	return k.aead.Encrypt(plaintext, data)
}

func (k *localKMS) Decrypt(ciphertext, data []byte) ([]byte, error) {
	k.call()
	return k.aead.Decrypt(ciphertext, data)
}

func (k *localKMS) call() {
	k.calls.Add(1)
	if k.latency > 0 {
		time.Sleep(k.latency) // what is measured: the way to a KMS on a fast network
	}
}
