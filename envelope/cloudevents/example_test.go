package cloudevents_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/envelope/cloudevents"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// A producer hands a sealed event to its broker's client, and a consumer reads and opens it.
func Example() {
	sealer, opener := newShop()
	ctx := context.Background()

	// The producer, or a relay that reads the outbox.
	codec, err := cloudevents.New(cloudevents.Options{Source: "https://shop.example/invoices"})
	if err != nil {
		log.Fatal(err)
	}
	sealed, err := sealer.Seal(ctx, envelope.Event{
		ID:          "01935d2c-8a40-7c3e-9b1f-5d2e7a90c4b1",
		Type:        "invoice.issued",
		AggregateID: "42",
		Payload:     []byte(`{"total":"99.90","email":"ada@example.org"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	message, err := codec.Message(sealed)
	if err != nil {
		log.Fatal(err)
	}
	// With franz-go: kgo.Record{Key: []byte(aggregateID), Value: message.Body}, and kgo.RecordHeader(h) for each header.
	for _, h := range message.Headers {
		if h.Key != "ce_time" {
			fmt.Printf("%s: %s\n", h.Key, h.Value)
		}
	}

	// The consumer.
	received, err := codec.ParseMessage(message)
	if err != nil {
		log.Fatal(err)
	}
	opened, err := opener.Open(ctx, received, envelope.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", opened.Event.Payload)
	// Output:
	// ce_specversion: 1.0
	// ce_id: 01935d2c-8a40-7c3e-9b1f-5d2e7a90c4b1
	// ce_type: invoice.issued
	// ce_source: https://shop.example/invoices
	// ce_subject: 42
	// ce_aggregatetype: invoice
	// ce_dataschema: fieldcrypt:invoice.issued/1
	// content-type: application/json
	// {"total":"99.90","email":"ada@example.org"}
}

// Over HTTP, a sealed event is a request in CloudEvents' binary mode.
func ExampleCodec_HTTP() {
	sealer, opener := newShop()
	codec, err := cloudevents.New(cloudevents.Options{Source: "https://shop.example/invoices"})
	if err != nil {
		log.Fatal(err)
	}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(codec.MaxBody())))
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		received, err := codec.ParseHTTP(r.Header, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest) // it holds no value
			return
		}
		opened, err := opener.Open(r.Context(), received, envelope.OpenOptions{})
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		fmt.Printf("%s: %s\n", opened.Event.AggregateID, opened.Event.Payload)
	}))
	defer server.Close()

	sealed, err := sealer.Seal(context.Background(), envelope.Event{
		Type: "invoice.issued", AggregateID: "42", Payload: []byte(`{"total":"99.90","email":"ada@example.org"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	header, body, err := codec.HTTP(sealed)
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, server.URL, bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	response.Body.Close()
	fmt.Println(response.Status)
	// Output:
	// 42: {"total":"99.90","email":"ada@example.org"}
	// 200 OK
}

// newShop makes what a service opens once: schemas, a keyring, and what seals and opens with them.
func newShop() (*envelope.Sealer, *envelope.Opener) {
	ctx := context.Background()
	registry, err := schema.LoadFS(fstest.MapFS{"invoice.issued.v1.json": {Data: []byte(`{
		"type": "object",
		"properties": {"total": {"type": "string"}, "email": {"type": "string", "x-gdpr-sensitive": true}}
	}`)}})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file, err := filekeyring.New(filepath.Join(dir, "keyring.json"), filekeyring.Options{
		Argon2id:   filekeyring.Argon2id{MemoryKiB: 64, Threads: 1, Time: 1}, // fast: it protects nothing
		Passphrase: filekeyring.Passphrase([]byte("correct horse battery staple")),
	})
	if err != nil {
		log.Fatal(err)
	}
	manager, err := keyring.NewManager("default", file, file, keyring.ManagerOptions{Actor: "ops@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := manager.Create(ctx, keyring.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	ring, err := keyring.Open(ctx, "default", file, file, keyring.Options{})
	if err != nil {
		log.Fatal(err)
	}
	rings, err := keyring.NewSet(ring)
	if err != nil {
		log.Fatal(err)
	}
	sealer, err := envelope.NewSealer(registry, rings, envelope.Options{})
	if err != nil {
		log.Fatal(err)
	}
	opener, err := envelope.NewOpener(registry, rings, envelope.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return sealer, opener
}
