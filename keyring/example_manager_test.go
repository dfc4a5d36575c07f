package keyring_test

import (
	"context"
	"time"

	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/keyringtest"
)

const quarter = 90 * 24 * time.Hour

// exampleManager manages a keyring whose primary keys are a quarter old.
func exampleManager() (*keyring.Manager, *clock) {
	kek, err := keyringtest.NewKEK()
	if err != nil {
		panic(err)
	}
	c := clockAt(noon)
	m, err := keyring.NewManager("default", &keyringtest.Store{}, kek, keyring.ManagerOptions{Actor: "ops@example.com", Now: c.Now})
	if err != nil {
		panic(err)
	}
	if _, err := m.Create(context.Background(), keyring.CreateOptions{}); err != nil {
		panic(err)
	}
	c.Advance(quarter)
	return m, c
}
