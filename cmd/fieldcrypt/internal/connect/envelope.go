package connect

import (
	"context"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// Sealer seals under the configured keyrings.
func Sealer(ctx context.Context, s *cli.Session, reg *schema.Registry) (*envelope.Sealer, error) {
	rings, err := AllKeyrings(ctx, s, reg)
	if err != nil {
		return nil, err
	}
	return sealer(s, reg, rings)
}

// SealerFor seals for the one configured outbox, and warns of keyrings that do not list it.
func SealerFor(ctx context.Context, s *cli.Session, reg *schema.Registry) (*envelope.Sealer, error) {
	rings, err := AllKeyrings(ctx, s, reg)
	if err != nil {
		return nil, err
	}
	u, err := s.Settings.Outbox()
	if err != nil {
		return nil, err
	}
	store, err := DataStore(u, "")
	if err != nil {
		return nil, err
	}
	for _, name := range rings.Unlisted(store.URL) {
		s.Terminal.Warn("keyring %s does not list this outbox: a key that it needs could be disabled; run `fieldcrypt keys stores --name %s --add %s`", name, name, store.URL)
	}
	return sealer(s, reg, rings)
}

func sealer(s *cli.Session, reg *schema.Registry, rings *keyring.Set) (*envelope.Sealer, error) {
	return envelope.NewSealer(reg, rings, envelope.Options{Now: s.Now})
}

// Opener opens with those keyrings that are configured.
func Opener(ctx context.Context, s *cli.Session, reg *schema.Registry) (*envelope.Opener, error) {
	rings, err := AllKeyrings(ctx, s, reg)
	if err != nil {
		return nil, err
	}
	return envelope.NewOpener(reg, rings, envelope.Options{Now: s.Now})
}

// Redacter opens nothing: it needs no keyring.
func Redacter(reg *schema.Registry) (*envelope.Opener, error) {
	none, err := keyring.NewSet()
	if err != nil {
		return nil, err
	}
	return envelope.NewOpener(reg, none, envelope.Options{})
}
