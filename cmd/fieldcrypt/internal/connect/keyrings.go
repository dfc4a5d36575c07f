package connect

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/actor"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/cli"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/failure"
	"github.com/fieldcrypt/fieldcrypt/cmd/fieldcrypt/internal/settings"
	"github.com/fieldcrypt/fieldcrypt/envelope"
	"github.com/fieldcrypt/fieldcrypt/keyring"
	"github.com/fieldcrypt/fieldcrypt/keyring/filekeyring"
	"github.com/fieldcrypt/fieldcrypt/schema"
)

// AllKeyrings loads the configured keyrings that some schema seals under.
func AllKeyrings(ctx context.Context, s *cli.Session, reg *schema.Registry) (*keyring.Set, error) {
	var names []string
	for _, event := range reg.Events() {
		names = append(names, event.Plan().Keyrings()...)
	}
	return Keyrings(ctx, s, names...)
}

// Keyrings loads those of the named keyrings that are configured. What nobody needs is not loaded, so that its passphrase need not be at hand.
func Keyrings(ctx context.Context, s *cli.Session, names ...string) (*keyring.Set, error) {
	var rings []*keyring.Keyring
	pass := newPassphrase(s)
	for _, configured := range s.Settings.Keyrings {
		if !slices.Contains(names, configured.Name) {
			continue
		}
		p, err := keyringPlace(s, configured, pass.ask)
		if err != nil {
			return nil, err
		}
		ring, err := keyring.Open(ctx, configured.Name, p, p, keyring.Options{Logger: s.Log, Now: s.Now, Memory: s.Memory})
		if err != nil {
			return nil, err
		}
		s.Log.Debug("loaded keyring", "keyring", ring.Name(), "revision", ring.Revision())
		rings = append(rings, ring)
	}
	return keyring.NewSet(rings...)
}

// Manager changes the keyring of this name.
func Manager(ctx context.Context, s *cli.Session, name string) (*keyring.Manager, error) {
	return manager(ctx, s, name, newPassphrase(s).ask)
}

// NewManager is Manager for a keyring that is to be created: a passphrase from a prompt is asked for twice, and a Transit key that another configured keyring
// names is refused.
func NewManager(ctx context.Context, s *cli.Session, name string) (*keyring.Manager, error) {
	m, err := manager(ctx, s, name, newPassphrase(s).askTwice)
	if err != nil {
		return nil, err
	}
	return m, checkKEKs(s, name)
}

// ManagerAt is NewManager for another place than the configured one.
func ManagerAt(ctx context.Context, s *cli.Session, name, url string) (*keyring.Manager, error) {
	p, err := keyringPlace(s, settings.Keyring{Name: name, URL: url}, newPassphrase(s).askTwice)
	if err != nil {
		return nil, err
	}
	return keyring.NewManager(name, p, p, keyring.ManagerOptions{Actor: actor.Name(), Logger: s.Log, Now: s.Now, Memory: memoryOf(ctx, s)})
}

// ClearPart describes a keyring as it is stored, without any key: nothing proves that it is what its writer wrote.
func ClearPart(ctx context.Context, s *cli.Session, name string) (*keyring.Description, error) {
	configured, err := configuredAs(s, name)
	if err != nil {
		return nil, err
	}
	p, err := keyringPlace(s, configured, nil)
	if err != nil {
		return nil, err
	}
	return describe(ctx, name, p)
}

func configuredAs(s *cli.Session, name string) (settings.Keyring, error) {
	url, ok := s.Settings.KeyringURL(name)
	if !ok {
		hint := "give --keyring URL, set " + settings.EnvKeyring + ", or write keyring: into " + settings.FileName
		if name != settings.DefaultKeyring {
			hint = "give --keyring " + name + "=URL, or correct --name"
		}
		return settings.Keyring{}, failure.New(failure.Broken, hint, "keyring %s is not configured", name)
	}
	return settings.Keyring{Name: name, URL: url}, nil
}

func manager(ctx context.Context, s *cli.Session, name string, pass filekeyring.PassphraseFunc) (*keyring.Manager, error) {
	configured, err := configuredAs(s, name)
	if err != nil {
		return nil, err
	}
	p, err := keyringPlace(s, configured, pass)
	if err != nil {
		return nil, err
	}
	return keyring.NewManager(name, p, p, keyring.ManagerOptions{Actor: actor.Name(), Logger: s.Log, Now: s.Now, Memory: memoryOf(ctx, s)})
}

// Others describes the other configured keyrings that exist, whose key ids must not be used again.
func Others(ctx context.Context, s *cli.Session, name string) ([]*keyring.Description, error) {
	return descriptions(ctx, s, func(other string) bool { return other != name })
}

// KeyStates are the clear parts of the configured keyrings that exist: no passphrase is asked for, and nothing is decrypted; in Vault, reading the document is
// all that the token must be allowed.
func KeyStates(ctx context.Context, s *cli.Session) (envelope.KeyInfos, error) {
	all, err := descriptions(ctx, s, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	states := envelope.KeyInfos{}
	for _, d := range all {
		states[d.Name()] = d.Keys()
	}
	return states, nil
}

// completionTimeout bounds each call to Vault while a shell waits for words.
const completionTimeout = 2 * time.Second

// KeyIDs are the ids of a keyring's keys, from its clear part, for a shell that waits for words.
func KeyIDs(ctx context.Context, configured settings.Keyring) ([]keyring.KeyInfo, error) {
	var store keyring.Store
	var err error
	if schemeOf(configured.URL) == "vault" {
		store, err = vaultPlace(configured, completionTimeout)
	} else {
		store, err = keyringPlace(nil, configured, nil)
	}
	if err != nil {
		return nil, err
	}
	d, err := describe(ctx, configured.Name, store)
	if err != nil {
		return nil, err
	}
	return d.Keys(), nil
}

func descriptions(ctx context.Context, s *cli.Session, wanted func(name string) bool) ([]*keyring.Description, error) {
	var all []*keyring.Description
	for _, configured := range s.Settings.Keyrings {
		if !wanted(configured.Name) {
			continue
		}
		p, err := keyringPlace(s, configured, nil)
		if err != nil {
			return nil, err
		}
		d, err := describe(ctx, configured.Name, p)
		if errors.Is(err, keyring.ErrNotFound) {
			continue // configured and not created yet
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func describe(ctx context.Context, name string, store keyring.Store) (*keyring.Description, error) {
	document, _, err := store.Load(ctx)
	if err != nil {
		return nil, inKeyring(name, err)
	}
	return keyring.InspectDocument(name, document)
}
