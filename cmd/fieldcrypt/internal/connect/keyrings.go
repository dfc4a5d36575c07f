package connect

import (
	"context"
	"errors"
	"slices"

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
		file, err := file(configured, pass.ask)
		if err != nil {
			return nil, err
		}
		ring, err := keyring.Open(ctx, configured.Name, file, file, keyring.Options{Logger: s.Log, Now: s.Now})
		if err != nil {
			return nil, err
		}
		s.Log.Debug("loaded keyring", "keyring", ring.Name(), "revision", ring.Revision())
		rings = append(rings, ring)
	}
	return keyring.NewSet(rings...)
}

// Manager changes the keyring of this name.
func Manager(_ context.Context, s *cli.Session, name string) (*keyring.Manager, error) {
	return manager(s, name, newPassphrase(s).ask)
}

// NewManager is Manager for a keyring that is to be created: a passphrase from a prompt is asked for twice.
func NewManager(_ context.Context, s *cli.Session, name string) (*keyring.Manager, error) {
	return manager(s, name, newPassphrase(s).askTwice)
}

func manager(s *cli.Session, name string, pass filekeyring.PassphraseFunc) (*keyring.Manager, error) {
	url, ok := s.Settings.KeyringURL(name)
	if !ok {
		hint := "give --keyring URL, set " + settings.EnvKeyring + ", or write keyring: into " + settings.FileName
		if name != settings.DefaultKeyring {
			hint = "give --keyring " + name + "=URL, or correct --name"
		}
		return nil, failure.New(failure.Broken, hint, "keyring %s is not configured", name)
	}
	file, err := file(settings.Keyring{Name: name, URL: url}, pass)
	if err != nil {
		return nil, err
	}
	return keyring.NewManager(name, file, file, keyring.ManagerOptions{Actor: actor.Name(), Logger: s.Log, Now: s.Now})
}

// Others describes the other configured keyrings that exist, whose key ids must not be used again.
func Others(ctx context.Context, s *cli.Session, name string) ([]*keyring.Description, error) {
	return descriptions(ctx, s, func(other string) bool { return other != name })
}

// KeyStates are the clear parts of the configured keyrings that exist: no passphrase is asked for.
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

// KeyIDs are the ids of a keyring's keys, from its clear part.
func KeyIDs(ctx context.Context, configured settings.Keyring) ([]keyring.KeyInfo, error) {
	d, err := describe(ctx, configured)
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
		d, err := describe(ctx, configured)
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

func describe(ctx context.Context, configured settings.Keyring) (*keyring.Description, error) {
	file, err := file(configured, nil)
	if err != nil {
		return nil, err
	}
	document, _, err := file.Load(ctx)
	if err != nil {
		return nil, err
	}
	return keyring.InspectDocument(configured.Name, document)
}

func file(configured settings.Keyring, pass filekeyring.PassphraseFunc) (*filekeyring.File, error) {
	scheme := schemeOf(configured.URL)
	if scheme != "file" {
		return nil, noScheme("keyring "+configured.Name, scheme, plannedKeyrings[scheme], "file:PATH")
	}
	return filekeyring.New(configured.URL[len("file:"):], filekeyring.Options{Passphrase: pass})
}
