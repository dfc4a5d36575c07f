package envelope_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// A Go value is sealed and opened as json.Marshal and json.Unmarshal have it. What of it is personal, the schema says alone.
func ExampleTyped() {
	type Contact struct {
		Email string  `json:"email"`
		Phone *string `json:"phone,omitempty"`
	}
	type Registration struct {
		Contact
		Born time.Time `json:"born"`
		Plan string    `json:"plan"`
	}
	sealer, opener := newClub()
	ctx := context.Background()

	registered := envelope.Typed[Registration]{Type: "member.registered"}
	sealed, err := registered.Seal(ctx, sealer, envelope.Event{AggregateID: "4711"}, Registration{
		Contact: Contact{Email: "ada@example.org"},
		Born:    time.Date(1985, 12, 10, 0, 0, 0, 0, time.UTC),
		Plan:    "gold & <more>",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("in clear:", bytes.Contains(sealed.Wire().Payload, []byte("ada@example.org")), bytes.Contains(sealed.Wire().Payload, []byte("gold & <more>")))

	received, err := envelope.Parse(sealed.Wire(), envelope.Limits{}) // from a row, or from a message
	if err != nil {
		log.Fatal(err)
	}
	registration, opened, err := registered.Open(ctx, opener, received, envelope.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(opened.Event.AggregateID, registration.Email, registration.Born.Year(), registration.Plan)
	// Output:
	// in clear: false true
	// 4711 ada@example.org 1985 gold & <more>
}

// newClub makes what a service opens once: schemas, a keyring, and what seals and opens with them.
func newClub() (*envelope.Sealer, *envelope.Opener) {
	ctx := context.Background()
	registry, err := schema.LoadFS(fstest.MapFS{"member.registered.v1.json": {Data: []byte(`{
		"type": "object",
		"properties": {
			"email": {"type": "string", "x-gdpr-sensitive": true},
			"phone": {"type": "string", "x-gdpr-sensitive": true},
			"born": {"type": "string", "format": "date-time", "x-gdpr-sensitive": true},
			"plan": {"type": "string"}
		}
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
